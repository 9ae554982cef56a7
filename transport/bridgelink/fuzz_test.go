package bridgelink

import (
	"context"
	"encoding/binary"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/discovery/linked"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/tags"
)

// openBindings lets every bridge in.
type openBindings struct{}

func (openBindings) OpenLink(context.Context, link.Hello) (linked.Grant, error) {
	return linked.Grant{EngineID: "engine-1"}, nil
}
func (openBindings) ConfirmKey(context.Context, string) error                    { return nil }
func (openBindings) StorePosition(context.Context, string, string, uint64) error { return nil }
func (openBindings) UpdateManifest(context.Context, string, link.Manifest) error { return nil }
func (openBindings) LinkChanged(context.Context, string, bool) error             { return nil }
func (openBindings) Lost(context.Context, string, string, uint64, uint64) error  { return nil }
func (openBindings) Buffered(string, link.Buffer)                                {}
func (openBindings) Released(context.Context, string) error                      { return nil }
func (openBindings) Event(context.Context, string, link.Event) error             { return nil }

// script is an engine's end of a link whose bridge sends what is written down, and then ends it.
type script struct {
	messages []*platformv1.BridgeFrame
	parts    parts
}

func (*script) Send(link.FromEngine) error { return nil }
func (*script) Peer() string               { return "script" }

func (s *script) Recv() (link.FromBridge, error) {
	for len(s.messages) > 0 {
		m := s.messages[0]
		s.messages = s.messages[1:]
		if f, whole, err := s.parts.add(m, proto.Size(m)); err != nil || whole {
			return f, err
		}
	}
	return link.FromBridge{}, io.EOF
}

// Whatever a bridge sends, the engine neither panics nor hangs.
func FuzzFrames(f *testing.F) {
	hello := &platformv1.BridgeFrame{Frame: &platformv1.BridgeFrame_Hello{Hello: &platformv1.BridgeHello{Protocol: 1, BridgeId: "press-1", Key: "k", Epoch: "e"}}}
	block := link.Encode([]link.Entry{{Sample: link.Sample{Value: tags.IntValue(1), Quality: tags.Good}}, {Event: &link.Event{Kind: link.DriverOffline}}})
	var all []byte
	for _, frame := range []link.FromBridge{
		{Names: &link.Names{Names: []string{"a", "b"}}},
		{Live: &link.Live{Data: block}},
		{Batch: &link.Batch{Block: link.Block{First: 1, Count: 2, Data: block}, Late: 1}},
		{Manifest: &link.Manifest{BridgeID: "press-1", Tags: []link.ManifestTag{{Name: "a", Min: tags.Ptr(1)}}}},
		{Browsed: &link.Browsed{ID: 1, Tags: []link.ManifestTag{{Name: "a"}}}},
		{Written: &link.Written{ID: 1, Outcome: link.OutcomeDone}},
		{Pong: &link.Pong{}},
	} {
		for m := range bridgeMessages(frame) {
			data, err := proto.Marshal(m)
			require.NoError(f, err)
			one := append(binary.LittleEndian.AppendUint16(nil, uint16(len(data))), data...)
			f.Add(one)
			all = append(all, one...)
		}
	}
	f.Add(all)
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &script{messages: []*platformv1.BridgeFrame{hello}}
		for len(data) >= 2 {
			n := min(int(binary.LittleEndian.Uint16(data)), len(data)-2)
			m := &platformv1.BridgeFrame{}
			if proto.Unmarshal(data[2:2+n], m) != nil {
				break // gRPC ends the link
			}
			s.messages, data = append(s.messages, m), data[2+n:]
		}
		hub, err := linked.New(openBindings{}, linked.Options{UnknownTagWait: 1})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { // what the tag engine does
			defer close(done)
			driver := hub.Driver("press-1")
			if driver.Connect(ctx) == nil {
				_ = driver.(tags.Forwarder).Forward(ctx, []tags.Point{{Address: "a"}}, func(context.Context, []tags.Forwarded) error { return nil })
			}
		}()
		_ = hub.Serve(ctx, s)
		cancel()
		<-done
		require.NoError(t, hub.Close(context.Background()))
	})
}
