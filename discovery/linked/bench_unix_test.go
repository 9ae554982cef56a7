//go:build unix

package linked_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/discovery/linked"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/transport/bridgelink"
)

const benchTags = 1000

// BenchmarkLink sends samples of 1000 tags from a bridge to an engine, over gRPC on the loopback interface, as fast as they are acknowledged: blocks of
// 1000 samples, a second of each tag apart. ns/op and the processor time are of one sample, both sides together.
func BenchmarkLink(b *testing.B) {
	for _, gzip := range []bool{false, true} {
		name := "plain"
		if gzip {
			name = "gzip"
		}
		b.Run("received/"+name, func(b *testing.B) { // the link alone
			hub := newBenchHub(b)
			points := make([]tags.Point, benchTags)
			for i := range points {
				points[i].Address = tagName(i)
			}
			ctx, cancel := context.WithCancel(b.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				if hub.Driver("press-1").Connect(ctx) == nil {
					_ = hub.Driver("press-1").(tags.Forwarder).Forward(ctx, points, func(context.Context, []tags.Forwarded) error { return nil })
				}
			}()
			stream(b, hub, gzip)
			cancel()
			<-done
		})
	}
	b.Run("engine", func(b *testing.B) { benchEngine(b, nil) }) // and the tag engine, without a history
	b.Run("stored", func(b *testing.B) {                        // and a history in SQLite
		db, err := sqlite.Open(b.Context(), sqlite.Options{Dir: b.TempDir()}, historystore.Schema())
		require.NoError(b, err)
		defer func() { require.NoError(b, db.Close(context.Background())) }()
		store, err := historystore.New(db, historystore.Options{})
		require.NoError(b, err)
		var samples []history.Sample
		benchEngine(b, func(ctx context.Context, changes []tags.Change) error {
			samples = samples[:0]
			for i := range changes {
				c := &changes[i]
				samples = append(samples, history.Sample{Tag: c.Tag.Name, Time: c.SourceTime, Value: c.Value, Quality: c.Quality, Reason: c.Reason})
			}
			return store.Append(ctx, samples)
		})
	})
}

func tagName(i int) string { return fmt.Sprintf("temperature.%d", i) }

func newBenchHub(b *testing.B) *linked.Hub {
	hub, err := linked.New(bindings{}, linked.Options{})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, hub.Close(context.Background())) })
	return hub
}

func benchEngine(b *testing.B, store func(context.Context, []tags.Change) error) {
	hub := newBenchHub(b)
	engine, err := tags.New(tags.Options{Store: store})
	require.NoError(b, err)
	defer func() { require.NoError(b, engine.Close(context.Background())) }()
	require.NoError(b, engine.AddDriver("press", hub.Driver("press-1"), tags.DriverOptions{}))
	defs := make([]tags.Tag, benchTags)
	for i := range defs {
		defs[i] = tags.Tag{Name: "press." + tagName(i), Driver: "press", Address: tagName(i), DataType: tags.Float}
	}
	require.NoError(b, engine.DefineTags(defs...))
	stream(b, hub, false)
}

// dialGRPC opens a link to the hub over the loopback interface.
func dialGRPC(b *testing.B, hub *linked.Hub, gzip bool) link.BridgeConn {
	service, err := bridgelink.NewServer(hub)
	require.NoError(b, err)
	g := grpc.NewServer()
	service.Register(g)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = g.Serve(l)
	}()
	b.Cleanup(func() {
		g.Stop()
		<-done
	})
	c, err := bridgelink.Dial(b.Context(), bridgelink.DialOptions{URL: "http://" + l.Addr().String(), Gzip: gzip})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, c.Close()) })
	return c
}

// stream sends b.N samples.
func stream(b *testing.B, hub *linked.Hub, gzip bool) {
	c := dialGRPC(b, hub, gzip)
	require.NoError(b, c.Send(link.FromBridge{Hello: &link.Hello{Protocol: link.Protocol, BridgeID: "press-1", Key: "secret", Epoch: "e"}}))
	names := make([]string, benchTags)
	for i := range names {
		names[i] = tagName(i)
	}
	require.NoError(b, c.Send(link.FromBridge{Names: &link.Names{Names: names}}))
	const size = 1000
	window := make(chan struct{}, link.MaxUnackedBatches)
	blocks := (b.N + size - 1) / size
	done := make(chan error, 1)
	go func() { done <- receiveAcks(c, size, uint64(blocks*size), window) }()
	r := rand.New(rand.NewPCG(1, 2))
	entries := make([]link.Entry, size)
	at, bytes := time.Now().Add(-24*time.Hour).Truncate(time.Microsecond), 0
	b.ResetTimer()
	before := cpuTime(b)
	for n := range blocks {
		for i := range entries {
			entries[i].Sample = link.Sample{Tag: uint32(i % benchTags), Time: at.Add(time.Duration(i%10) * 1234 * time.Microsecond),
				Value: tags.FloatValue(math.Round(r.Float64()*1e6) / 1e3), Quality: tags.Good}
		}
		at = at.Add(time.Second)
		data := link.Encode(entries)
		bytes += len(data)
		window <- struct{}{}
		require.NoError(b, c.Send(link.FromBridge{Batch: &link.Batch{Block: link.Block{First: uint64(n*size) + 1, Count: size, Data: data}}}))
	}
	require.NoError(b, <-done)
	b.StopTimer()
	used := cpuTime(b) - before
	total := float64(blocks * size)
	b.ReportMetric(total/b.Elapsed().Seconds(), "samples/s")
	b.ReportMetric(float64(used)/total, "cpu-ns/sample")
	b.ReportMetric(float64(bytes)/total, "B/sample")
}

// receiveAcks frees a place in the window for each block that is acknowledged, until all are.
func receiveAcks(c link.BridgeConn, size, last uint64, window <-chan struct{}) error {
	for acked := uint64(0); acked < last; {
		f, err := c.Recv()
		if err != nil {
			return err
		}
		if f.Ack != nil {
			for ; acked < f.Ack.Through; acked += size {
				<-window
			}
		}
	}
	return nil
}

// cpuTime returns the processor time of the process.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
