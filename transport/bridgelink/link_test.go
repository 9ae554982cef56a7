package bridgelink

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
	"github.com/otkit/otkit/tags"
)

// hubFunc is a Hub.
type hubFunc func(ctx context.Context, c link.EngineConn) error

func (f hubFunc) Serve(ctx context.Context, c link.EngineConn) error { return f(ctx, c) }

// serve serves links by f and returns the address.
func serve(t testing.TB, f hubFunc, opts ...grpc.ServerOption) string {
	s, err := NewServer(f)
	require.NoError(t, err)
	g := grpc.NewServer(opts...)
	s.Register(g)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = g.Serve(l)
	}()
	t.Cleanup(func() {
		g.Stop()
		<-done
	})
	return l.Addr().String()
}

func dial(t testing.TB, o DialOptions) link.BridgeConn {
	c, err := Dial(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

// echoed sends frames and returns what the engine's end received.
func echoed(t *testing.T, o DialOptions, frames ...link.FromBridge) []link.FromBridge {
	received, ended := make(chan link.FromBridge), make(chan error, 1)
	o.URL = "http://" + serve(t, func(ctx context.Context, c link.EngineConn) error {
		for {
			f, err := c.Recv()
			if err != nil {
				ended <- err
				return err
			}
			select {
			case received <- f:
			case <-ctx.Done():
				return nil
			}
		}
	})
	c := dial(t, o)
	go func() {
		for _, f := range frames {
			if err := c.Send(f); err != nil {
				ended <- err
			}
		}
	}()
	var got []link.FromBridge
	for range frames {
		select {
		case f := <-received:
			got = append(got, f)
		case err := <-ended:
			require.NoError(t, err)
		}
	}
	return got
}

var hello = link.FromBridge{Hello: &link.Hello{Protocol: 1, BridgeID: "press-1", Token: "t", Key: "k", Epoch: "e", Version: "v", ManifestHash: "h"}}

func manyTags(n int) []link.ManifestTag {
	list := make([]link.ManifestTag, n)
	for i := range list {
		list[i] = link.ManifestTag{Name: fmt.Sprintf("line-7.press.temperature.%d", i), Address: "40001", DataType: "Float", ScanInterval: 1000}
	}
	return list
}

func TestFramesFromTheBridge(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)
	list := manyTags(100_000)
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Name
	}
	list[0] = link.ManifestTag{Name: "a", Address: "b", DataType: "Int", Length: 2, ScanInterval: 3, Unit: "bar", Description: "d", Access: "ReadWrite", Min: tags.Ptr(1), Max: tags.Ptr(2)}
	frames := []link.FromBridge{
		hello,
		{Names: &link.Names{Names: []string{"a", "b"}}},
		{Manifest: &link.Manifest{BridgeID: "press-1", DriverType: "Modbus", DriverID: "m", Tags: list, AvailableSubmodels: []string{"A", "B"}, ActiveSubmodels: []string{"A"},
			Shell: &link.Shell{ID: "urn:a", IDShort: "A", AssetKind: "Instance", GlobalAssetID: "urn:b", EquipmentCategory: "Press", Nameplate: link.Nameplate{
				ManufacturerName: "1", ManufacturerProductDesignation: "2", SerialNumber: "3", YearOfConstruction: "2026", HardwareVersion: "5", SoftwareVersion: "6"}}}},
		{Manifest: &link.Manifest{BridgeID: "press-1", Tags: list[:1], ActiveSubmodels: []string{}}},
		{Batch: &link.Batch{Block: link.Block{First: 7, Count: 3, Data: []byte{1, 2}}, Late: 2}},
		{Live: &link.Live{Data: []byte{3}}},
		{Written: &link.Written{ID: 9, Outcome: link.OutcomeFailed, Error: "e"}},
		{Browsed: &link.Browsed{ID: 5, Tags: list}},
		{Browsed: &link.Browsed{ID: 6, Error: "no"}},
		{Pong: &link.Pong{Time: at, Buffer: link.Buffer{Waiting: 12, Bytes: 3, MaxBytes: 4, Dropped: 5, OldestSeconds: 6.5}}},
		{Released: &link.Released{}},
	}
	for name, o := range map[string]DialOptions{"gzip": {Gzip: true}, "plain": {}} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, frames, echoed(t, o, frames...))
		})
	}

	// A dictionary is divided by what carries it.
	var all []string
	chunks := 0
	addr := serve(t, func(_ context.Context, c link.EngineConn) error {
		for {
			f, err := c.Recv()
			if err != nil {
				return err
			}
			if f.Names != nil {
				require.Len(t, all, int(f.Names.First))
				all = append(all, f.Names.Names...)
				chunks++
			}
			if len(all) == len(names) {
				return nil
			}
		}
	}, grpc.MaxRecvMsgSize(maxMessage))
	c := dial(t, DialOptions{URL: "http://" + addr})
	require.NoError(t, c.Send(hello))
	require.NoError(t, c.Send(link.FromBridge{Names: &link.Names{Names: names}}))
	_, err := c.Recv()
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, names, all)
	require.Greater(t, chunks, 1)
}

func TestFramesFromTheEngine(t *testing.T) {
	at := time.Date(2026, 3, 4, 5, 6, 7, 8000, time.UTC)
	frames := []link.FromEngine{
		{Welcome: &link.Welcome{EngineID: "e", Key: "k", Position: 7, WantManifest: true, Time: at,
			Reach: link.Reach{Pins: []string{"p"}, URLs: []string{"http://b:5001"}, Silence: 4 * time.Second}}},
		{Welcome: &link.Welcome{EngineID: "e", Time: at}},
		{Ack: &link.Ack{Through: 5}}, {Ping: &link.Ping{Time: at}}, {Browse: &link.Browse{ID: 3}}, {Reach: &link.Reach{Pins: []string{"a", "b"}}},
		{Reach: &link.Reach{URLs: []string{"http://b:5001", "http://c:5001"}, Silence: time.Second}},
	}
	for _, v := range []tags.Value{{}, tags.BoolValue(true), tags.IntValue(-5), tags.FloatValue(1.5), tags.StringValue("x"), tags.BytesValue([]byte{255})} {
		frames = append(frames, link.FromEngine{Write: &link.Write{ID: 1, Tag: "a", Value: v, Deadline: at}})
	}
	peer := make(chan string, 1)
	addr := serve(t, func(_ context.Context, c link.EngineConn) error {
		peer <- c.Peer()
		for _, f := range frames {
			if err := c.Send(f); err != nil {
				return err
			}
		}
		return nil
	})
	c := dial(t, DialOptions{URL: "http://" + addr})
	for _, want := range frames {
		got, err := c.Recv()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	_, err := c.Recv()
	require.ErrorIs(t, err, io.EOF)
	require.Contains(t, <-peer, "127.0.0.1")
}

// Text that is not UTF-8, which drivers may have, does not end the link.
func TestTextThatIsNotUTF8(t *testing.T) {
	got := echoed(t, DialOptions{}, hello,
		link.FromBridge{Names: &link.Names{Names: []string{"a\xff"}}},
		link.FromBridge{Written: &link.Written{Error: "\xff"}},
		link.FromBridge{Manifest: &link.Manifest{Tags: []link.ManifestTag{{Unit: "\xb0C"}}}})
	require.Equal(t, "a\uFFFD", got[1].Names.Names[0])
	require.Equal(t, "\uFFFD", got[2].Written.Error)
	require.Equal(t, "\uFFFDC", got[3].Manifest.Tags[0].Unit)
}

// Errors keep their meaning. What is not an engine's own refusal must not make a bridge free.
func TestErrorsOfTheEngine(t *testing.T) {
	stopping := fault.New(fault.Unavailable, "SERVER_STOPPING", "the server stops")
	for name, c := range map[string]struct{ err, want error }{
		"refused":   {link.Refusal("engine-1"), link.ErrRefused},
		"protocol":  {link.ErrProtocol.Because("first is 0"), link.ErrProtocol},
		"replaced":  {link.ErrReplaced, link.ErrReplaced},
		"elsewhere": {link.Elsewhere("engine-2", "https://b:5001"), link.ErrElsewhere},
		"nowhere":   {link.Elsewhere("", ""), link.ErrElsewhere},
		"ended":     {link.ErrEnded, link.ErrEnded},
		"silent":    {link.ErrSilent, link.ErrSilent},
		"stopping":  {stopping, link.ErrEnded},
		"internal":  {errors.New("SECRET"), nil},
		"proxy":     {status.Error(codes.Unauthenticated, "go away"), nil},
		"login":     {fault.New(fault.Unauthenticated, "UNAUTHORIZED", "token required"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			addr := serve(t, func(context.Context, link.EngineConn) error { return c.err })
			conn := dial(t, DialOptions{URL: "http://" + addr})
			_, err := conn.Recv()
			require.Error(t, err)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
				require.Contains(t, err.Error(), c.err.Error())
				require.Equal(t, link.RefusedBy(c.err), link.RefusedBy(err))
				engine, url := link.SentTo(c.err)
				gotEngine, gotURL := link.SentTo(err)
				require.Equal(t, []string{engine, url}, []string{gotEngine, gotURL})
			} else {
				require.NotErrorIs(t, err, link.ErrRefused)
				require.NotContains(t, err.Error(), "SECRET")
				require.NotContains(t, err.Error(), "rpc error")
			}
			require.Error(t, conn.Send(hello))
		})
	}
}

// Of a stranger nothing is collected, and of a bridge no more than a manifest may have.
func TestListsAreBounded(t *testing.T) {
	for name, messages := range map[string][]*platformv1.BridgeFrame{
		"not Hello": {{Frame: &platformv1.BridgeFrame_Manifest{Manifest: &platformv1.BridgeManifest{More: true}}}},
		"nothing":   {{}},
		"kind":      {{Frame: &platformv1.BridgeFrame_Hello{Hello: &platformv1.BridgeHello{}}}, {}},
		"endless":   nil,
	} {
		t.Run(name, func(t *testing.T) {
			ended := make(chan error, 1)
			addr := serve(t, func(_ context.Context, c link.EngineConn) error {
				for {
					if _, err := c.Recv(); err != nil {
						ended <- err
						return err
					}
				}
			})
			conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
			require.NoError(t, err)
			defer func() { require.NoError(t, conn.Close()) }()
			stream, err := platformv1.NewBridgeLinkClient(conn).Connect(t.Context())
			require.NoError(t, err)
			if messages == nil {
				part := &platformv1.BridgeManifest{More: true, Tags: make([]*platformv1.BridgeTag, 20_000)}
				for i := range part.Tags {
					part.Tags[i] = &platformv1.BridgeTag{Name: "x"}
				}
				messages = []*platformv1.BridgeFrame{{Frame: &platformv1.BridgeFrame_Hello{Hello: &platformv1.BridgeHello{}}}}
				for range 11 {
					messages = append(messages, &platformv1.BridgeFrame{Frame: &platformv1.BridgeFrame_Manifest{Manifest: part}})
				}
			}
			for _, m := range messages {
				if err := stream.Send(m); err != nil {
					require.ErrorIs(t, err, io.EOF)
				}
			}
			require.ErrorIs(t, <-ended, link.ErrProtocol)
		})
	}
}

// certificate returns a certificate of its own making.
func certificate(t *testing.T, key *ecdsa.PrivateKey, serial int64) tls.Certificate {
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "engine"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(-24 * time.Hour)} // a clock that is wrong does not lock the bridge out
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

func TestOnlyPinnedKeysAreTrusted(t *testing.T) {
	key, renewed := newKey(t), newKey(t)
	first := certificate(t, key, 1)
	current := make(chan tls.Certificate, 1)
	current <- first
	pins := []string{Pin(first.Leaf)}
	next := certificate(t, renewed, 3)
	addr := serve(t, func(_ context.Context, c link.EngineConn) error { // it announces the key that it will have
		if _, err := c.Recv(); err != nil {
			return err
		}
		return c.Send(link.FromEngine{Reach: &link.Reach{Pins: []string{Pin(first.Leaf), Pin(next.Leaf)}}})
	}, grpc.Creds(credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		c := <-current
		current <- c
		return &c, nil
	}})))
	use := func(c tls.Certificate) {
		<-current
		current <- c
	}
	o := DialOptions{URL: "https://" + addr, Pins: pins}
	dial(t, o)

	use(certificate(t, key, 2)) // renewed with the same key
	c := dial(t, o)
	require.NoError(t, c.Send(hello))
	f, err := c.Recv()
	require.NoError(t, err)

	use(next)
	_, err = Dial(t.Context(), o)
	require.ErrorIs(t, err, ErrPin)
	o.Pins = f.Reach.Pins
	dial(t, o)

	stranger := certificate(t, newKey(t), 1)
	use(stranger)
	_, err = Dial(t.Context(), o)
	require.ErrorIs(t, err, ErrPin)

	_, err = Dial(t.Context(), DialOptions{URL: "http://" + addr})
	require.Error(t, err, "TLS is not left out")
}

func TestDialOptions(t *testing.T) {
	for name, o := range map[string]DialOptions{
		"URL":  {URL: "engine:5001"},
		"host": {URL: "http://"},
		"ftp":  {URL: "ftp://engine"},
		"pins": {URL: "https://engine"},
		"pin":  {URL: "https://engine", Pins: []string{"sha256/abc"}},
		"form": {URL: "https://engine", Pins: []string{strings.Repeat("a", 44)}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Dial(t.Context(), o)
			require.Equal(t, fault.Invalid, fault.KindOf(err))
			require.ErrorContains(t, err, "DialOptions.")
		})
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // never answers
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = Dial(ctx, DialOptions{URL: "https://" + l.Addr().String(), Pins: []string{Pin(certificate(t, newKey(t), 1).Leaf)}})
	require.ErrorIs(t, err, context.DeadlineExceeded)

	gone, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, gone.Close())
	_, err = Dial(t.Context(), DialOptions{URL: "http://" + gone.Addr().String()})
	require.ErrorContains(t, err, "refused")
	require.NotContains(t, err.Error(), gone.Addr().String(), "the caller names it")
	require.NotContains(t, err.Error(), "rpc error")
}

// The context of Dial does not end the link, and Close ends what waits.
func TestALinkOutlivesItsDialing(t *testing.T) {
	addr := serve(t, func(ctx context.Context, c link.EngineConn) error {
		_, err := c.Recv()
		if err == nil {
			err = c.Send(link.FromEngine{Ack: &link.Ack{Through: 1}})
		}
		if err == nil {
			_, err = c.Recv()
		}
		return err
	})
	ctx, cancel := context.WithCancel(t.Context())
	c, err := Dial(ctx, DialOptions{URL: "http://" + addr})
	require.NoError(t, err)
	cancel()
	require.NoError(t, c.Send(hello))
	_, err = c.Recv()
	require.NoError(t, err)
	waiting := make(chan error, 1)
	go func() {
		_, err := c.Recv()
		waiting <- err
	}()
	require.NoError(t, c.Close())
	require.Error(t, <-waiting)
	require.NoError(t, c.Close())
}

// What a bridge does not read waits at the sender, not in a queue.
func TestASlowReaderHoldsTheSenderBack(t *testing.T) {
	const size = 64 << 10
	sent := make(chan struct{}, 1_000_000)
	addr := serve(t, func(_ context.Context, c link.EngineConn) error {
		if _, err := c.Recv(); err != nil {
			return err
		}
		for {
			if err := c.Send(link.FromEngine{Reach: &link.Reach{Pins: []string{strings.Repeat("x", size)}}}); err != nil {
				return err
			}
			sent <- struct{}{}
		}
	})
	c := dial(t, DialOptions{URL: "http://" + addr})
	require.NoError(t, c.Send(hello))
	count := 0
	for quiet := false; !quiet; {
		select {
		case <-sent:
			count++
			require.Less(t, count*size, 64<<20)
		case <-time.After(500 * time.Millisecond):
			quiet = true
		}
	}
	for range count + 1 { // it goes on where it was
		_, err := c.Recv()
		require.NoError(t, err)
	}
}
