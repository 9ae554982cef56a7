package rules_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

// forwarder is a device that stores and forwards, over a link that can be lost.
type forwarder struct {
	mu     sync.Mutex
	down   chan struct{} // closed while there is no link
	newest tags.Reading
	store  func(context.Context, []tags.Forwarded) error
}

func newForwarder() *forwarder { return &forwarder{down: make(chan struct{})} }

func (f *forwarder) link() chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.down
}

func (f *forwarder) Connect(context.Context) error {
	select {
	case <-f.link():
		return tags.ErrNotConnected
	default:
		return nil
	}
}

func (f *forwarder) Read(context.Context, []tags.Point, []tags.Reading) error {
	return tags.ErrNotConnected
}

func (f *forwarder) Write(context.Context, []tags.WriteItem, []error) error {
	return tags.ErrNotConnected
}

func (f *forwarder) Close() error { return nil }

func (f *forwarder) Subscribe(ctx context.Context, points []tags.Point, emit func(int, tags.Reading)) error {
	f.mu.Lock()
	newest := f.newest
	f.mu.Unlock()
	if len(points) > 0 && !newest.Time.IsZero() {
		emit(0, newest)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.link():
		return tags.ErrNotConnected
	}
}

func (f *forwarder) Forward(ctx context.Context, _ []tags.Point, store func(context.Context, []tags.Forwarded) error) error {
	f.mu.Lock()
	f.store = store
	f.mu.Unlock()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.link():
		return tags.ErrNotConnected
	}
}

// send forwards values of the tag, a second apart.
func (f *forwarder) send(t *testing.T, from time.Time, late bool, values ...float64) {
	t.Helper()
	f.mu.Lock()
	store := f.store
	f.mu.Unlock()
	list := make([]tags.Forwarded, len(values))
	for i, v := range values {
		list[i].Reading = tags.Reading{Value: tags.FloatValue(v), Quality: tags.Good, Time: from.Add(time.Duration(i) * time.Second), Late: late}
	}
	require.NoError(t, store(t.Context(), list))
}

// TestReplayThroughATagEngine loses the link of a device that stores and forwards, twice.
func TestReplayThroughATagEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, err := tags.New(tags.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, engine.Close(context.Background())) }()
		p := &plant{t: t, store: &flaky{memory: newMemory()}, options: rules.Options{Current: func(tag string) (tags.Snapshot, bool) {
			s, err := engine.Read(tag)
			return s, err == nil
		}}}
		require.NoError(t, p.store.AddRule(t.Context(), rule(rules.High, func(r *rules.Rule) { r.Tag = "plc.t" })))
		require.NoError(t, p.store.AddRule(t.Context(), rule(rules.BadQuality, func(r *rules.Rule) { r.ID, r.Tag = "bad", "plc.t" })))
		p.start()
		defer p.stop()
		engine.Observe(p.rules.Observe)
		device := newForwarder()
		require.NoError(t, engine.AddDriver("plc", device, tags.DriverOptions{Tags: []tags.Tag{{Name: "plc.t", Driver: "plc", Address: "a", DataType: tags.Float}}}))
		pass(time.Minute)
		device.send(t, time.Now(), false, 50)
		for range 2 {
			pass(time.Second)
			lost := time.Now()
			close(device.link())
			pass(10 * time.Minute)
			snapshot, err := engine.Read("plc.t")
			require.NoError(t, err)
			require.Equal(t, tags.ReasonNotConnected, snapshot.Sample.Reason)

			// 50, then 90 for two seconds, 50, and 90 until now.
			last := time.Now().Add(-time.Minute)
			device.mu.Lock()
			device.down, device.newest = make(chan struct{}), tags.Reading{Value: tags.FloatValue(90), Quality: tags.Good, Time: last}
			device.mu.Unlock()
			pass(time.Minute)
			require.NotNil(t, p.active(), "the newest value goes ahead")
			device.send(t, lost.Add(time.Second), true, 50, 90, 90, 50)
			device.send(t, last, true, 90)
			require.Equal(t, "2-4", p.lates(lost)[len(p.lates(lost))-1])
			device.send(t, time.Now(), false, 50)
			require.Nil(t, p.active())
		}
		require.Len(t, p.lates(time.Now()), 2, "each is told once, and the link is none of them")
		page, err := p.store.Occurrences(t.Context(), alarms.Query{Limit: 100})
		require.NoError(t, err)
		require.Len(t, page.Occurrences, 3*2, "late ones, those of the present, and the link")
		pass(time.Minute)
	})
}
