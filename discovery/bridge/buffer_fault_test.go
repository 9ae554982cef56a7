package bridge_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery/bridge"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

// brokenBuffer fails while it is told to, or waits.
type brokenBuffer struct {
	bridge.Buffer
	mu   sync.Mutex
	err  error
	wait chan struct{}
}

func (b *brokenBuffer) Append(ctx context.Context, epoch string, blocks []link.Block) error {
	b.mu.Lock()
	err, wait := b.err, b.wait
	b.mu.Unlock()
	if wait != nil {
		<-wait
	}
	if err != nil {
		return err
	}
	return b.Buffer.Append(ctx, epoch, blocks)
}

func (b *brokenBuffer) set(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.err = err
}

func TestAFullDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &brokenBuffer{Buffer: bridge.NewMemoryBuffer(1_000_000)}
		r := newRig(t, 1, func(o *bridge.Options) { o.Buffer, o.MaxPending = b, 1<<18 })
		pass(time.Second)
		r.bind()
		r.count(1, 10)
		require.NoError(t, r.host.Flush(t.Context()))
		b.set(errors.New("no space"))
		r.count(11, 1000)
		require.ErrorIs(t, r.host.Flush(t.Context()), bridge.ErrBuffer)
		b.set(nil)
		pass(2 * time.Second)
		require.NoError(t, r.host.Flush(t.Context()))
		pass(time.Second)
		r.requireCount(1000)

		b.set(errors.New("no space"))
		r.count(1001, 100_000)
		pass(time.Minute)
		s, err := r.host.Stats(t.Context())
		require.NoError(t, err)
		require.Equal(t, "no space", s.BufferError)
		require.LessOrEqual(t, s.Pending, (1<<18)/4, "an encoded entry takes more than 4 bytes")
		require.EqualValues(t, 99_000, s.MemoryDropped+uint64(s.Pending))
		require.False(t, s.LastDropAt.IsZero())
		b.set(nil)
		pass(10 * time.Second)
		values := r.engine.values("t0")
		kept := values[1000:]
		require.EqualValues(t, 100_001-s.Pending, kept[0], "the oldest are gone")
		require.EqualValues(t, 100_000, kept[len(kept)-1])
		require.Equal(t, s.MemoryDropped, r.engine.lost, "the engine knows how many")
		r.engine.do(func() {
			last := r.engine.stored[len(r.engine.stored)-1]
			require.Equal(t, bridge.EventSamplesDropped, last.event.Kind)
		})
	})
}

func TestWhatTheBufferDropsIsSaid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		r := newRig(t, 1, func(o *bridge.Options) {
			o.Buffer, o.Logger = bridge.NewMemoryBuffer(1000), slog.New(slog.NewTextHandler(&lines, nil))
		})
		pass(time.Second)
		r.engine.do(func() { r.engine.away = true })
		r.bind()
		for i := range 20 {
			r.count(1+i*1000, 1000+i*1000)
			pass(time.Second)
		}
		s, err := r.host.Stats(t.Context())
		require.NoError(t, err)
		require.Positive(t, s.Dropped)
		require.WithinDuration(t, time.Now(), s.LastDropAt, time.Minute)
		pass(time.Minute)
		r.end()
		require.Equal(t, 1, strings.Count(lines.String(), "buffered samples lost"), lines.String())
	})
}

// tornBuffer finds at its next call that it is damaged, and goes on with another one.
type tornBuffer struct {
	bridge.Buffer
	mu   sync.Mutex
	torn bool
	on   string // the call that finds it
}

var errTorn = errors.New("file is not a database")

func (b *tornBuffer) find(call string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.torn || call != b.on {
		return nil
	}
	b.torn = false
	s, err := b.Buffer.Stats(context.Background())
	if err == nil {
		err = b.Renew(context.Background(), s.Last)
	}
	return errors.Join(errTorn, err)
}

func (b *tornBuffer) Append(ctx context.Context, epoch string, blocks []link.Block) error {
	if err := b.find("Append"); err != nil {
		return err
	}
	return b.Buffer.Append(ctx, epoch, blocks)
}

func (b *tornBuffer) Ack(ctx context.Context, epoch string, through uint64) error {
	if err := b.find("Ack"); err != nil {
		return err
	}
	return b.Buffer.Ack(ctx, epoch, through)
}

func (b *tornBuffer) Peek(ctx context.Context, epoch string, after uint64, maxBytes int) ([]link.Block, error) {
	if err := b.find("Peek"); err != nil {
		return nil, err
	}
	return b.Buffer.Peek(ctx, epoch, after, maxBytes)
}

func (b *tornBuffer) Stats(ctx context.Context) (bridge.BufferStats, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, err := b.Buffer.Stats(ctx)
	if !b.torn && b.on != "" {
		s.Damage = "a test has torn it"
	}
	return s, err
}

func TestABufferThatIsTornWhileItRuns(t *testing.T) {
	for _, call := range []string{"Append", "Ack", "Peek"} {
		t.Run(call, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := &tornBuffer{Buffer: bridge.NewMemoryBuffer(0)}
				r := newRig(t, 1, func(o *bridge.Options) { o.Buffer = b })
				pass(time.Second)
				r.bind()
				r.count(1, 100)
				pass(time.Second)
				if call == "Peek" { // a backlog of another process
					r.engine.do(func() { r.engine.away = true })
					r.engine.cut(errCut)
					pass(time.Second)
					require.NoError(t, r.host.Flush(t.Context()))
					r.end()
					r.engine.do(func() { r.engine.away, r.engine.position = false, map[string]uint64{} })
					require.NoError(t, b.Append(t.Context(), b.Epoch(), []link.Block{{First: 10_000, Count: 1, Data: []byte("x")}}))
				}
				b.mu.Lock()
				b.torn, b.on = true, call
				b.mu.Unlock()
				if call == "Peek" {
					r.start()
				}
				r.count(101, 200)
				pass(time.Minute)
				r.count(201, 300)
				pass(time.Minute)
				values := r.engine.values("t0")
				require.Contains(t, values, int64(200))
				require.Equal(t, upTo(300)[200:], values[len(values)-100:])
				reported := false
				r.engine.do(func() {
					for _, s := range r.engine.stored {
						reported = reported || s.event != nil && s.event.Kind == bridge.EventBufferDamaged
					}
				})
				require.True(t, reported)
			})
		})
	}
}

// A call that nobody of the link makes, such as that for the health, finds the damage.
func TestABufferThatIsTornBehindTheBackOfTheLink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bridge.NewMemoryBuffer(0)
		r := newRig(t, 1, func(o *bridge.Options) { o.Buffer = b })
		pass(time.Second)
		r.bind()
		r.count(1, 100)
		pass(time.Second)
		r.engine.do(func() { r.engine.away = true })
		r.engine.cut(errCut)
		r.count(101, 200)
		require.NoError(t, r.host.Flush(t.Context()))
		r.end()
		r.start()
		pass(time.Second)
		s, err := b.Stats(t.Context())
		require.NoError(t, err)
		require.Greater(t, s.First, uint64(100))
		require.NoError(t, b.Renew(t.Context(), s.First-1))
		r.count(201, 300)
		pass(time.Second)
		r.engine.do(func() { r.engine.away = false })
		pass(time.Minute)
		require.Subset(t, r.engine.values("t0"), upTo(300))
		require.Zero(t, r.engine.lost)
	})
}

func TestABufferThatHasLostItsNewestSamples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 1)
		pass(time.Second)
		r.bind()
		pass(time.Second)
		r.count(1, 100)
		pass(time.Second)
		r.end()
		old := r.o.Buffer
		// The file is an earlier one: the engine has more.
		fresh := bridge.NewMemoryBuffer(0)
		names, err := old.Names(t.Context())
		require.NoError(t, err)
		require.NoError(t, fresh.AddNames(t.Context(), names))
		var entries []link.Entry
		for range 40 {
			entries = append(entries, link.Entry{Sample: link.Sample{Time: time.Now(), Quality: tags.Bad}})
		}
		require.NoError(t, fresh.Append(t.Context(), fresh.Epoch(), []link.Block{{First: 1, Count: 40, Data: link.Encode(entries)}}))
		r.o.Buffer = fresh
		r.engine.do(func() { r.engine.position[fresh.Epoch()] = 100 })
		r.start()
		r.count(101, 130)
		pass(10 * time.Second)
		r.requireCount(130)
		require.Zero(t, r.engine.lost)
		r.engine.do(func() {
			kinds := []string{}
			for _, s := range r.engine.stored[100:] {
				if s.event != nil {
					kinds = append(kinds, s.event.Kind)
				}
			}
			require.Contains(t, kinds, bridge.EventBufferDamaged)
		})
	})
}
