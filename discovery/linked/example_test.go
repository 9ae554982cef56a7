package linked_test

import (
	"context"
	"fmt"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/discovery/linked"
	"github.com/otkit/otkit/tags"
)

// bindings knows one bridge.
type bindings struct{}

func (bindings) OpenLink(_ context.Context, h link.Hello) (linked.Grant, error) {
	if h.BridgeID != "press-1" || h.Key != "secret" {
		return linked.Grant{}, link.ErrRefused
	}
	return linked.Grant{EngineID: "engine-1"}, nil
}
func (bindings) ConfirmKey(context.Context, string) error                    { return nil }
func (bindings) StorePosition(context.Context, string, string, uint64) error { return nil }
func (bindings) UpdateManifest(context.Context, string, link.Manifest) error { return nil }
func (bindings) LinkChanged(context.Context, string, bool) error             { return nil }
func (bindings) Lost(context.Context, string, string, uint64, uint64) error  { return nil }
func (bindings) Buffered(string, link.Buffer)                                {}
func (bindings) Released(context.Context, string) error                      { return nil }
func (bindings) Event(context.Context, string, link.Event) error             { return nil }

// A bridge delivers a sample. The tag engine calls Connect and Forward.
func Example() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	hub, err := linked.New(bindings{}, linked.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	bridge, engine := link.Pipe()
	go func() { link.CloseEngine(engine, hub.Serve(ctx, engine)) }()
	sample := link.Sample{Tag: 0, Time: time.Now(), Value: tags.FloatValue(21.5), Quality: tags.Good}
	for _, f := range []link.FromBridge{
		{Hello: &link.Hello{Protocol: link.Protocol, BridgeID: "press-1", Key: "secret", Epoch: "e1"}},
		{Names: &link.Names{Names: []string{"temperature"}}},
		{Batch: &link.Batch{Block: link.Block{First: 1, Count: 1, Data: link.Encode([]link.Entry{{Sample: sample}})}}},
	} {
		_ = bridge.Send(f)
	}

	driver := hub.Driver("press-1")
	if err := driver.Connect(ctx); err != nil {
		fmt.Println(err)
		return
	}
	points := []tags.Point{{Address: "temperature", Type: tags.Float}}
	_ = driver.(tags.Forwarder).Forward(ctx, points, func(_ context.Context, readings []tags.Forwarded) error {
		for _, r := range readings {
			fmt.Println(points[r.Point].Address, r.Reading.Value, r.Reading.Quality)
		}
		cancel()
		return nil
	})
	fmt.Println(hub.Close(context.Background()))
	// Output:
	// temperature 21.5 Good
	// <nil>
}
