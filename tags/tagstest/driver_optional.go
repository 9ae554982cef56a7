package tagstest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

func testMaxBatch(t *testing.T, dev *device) {
	l, ok := dev.d.(tags.BatchLimiter)
	if !ok {
		t.Skip("the driver is no BatchLimiter")
	}
	require.Positive(t, l.MaxBatch(), "MaxBatch")
	points := make([]tags.Point, min(l.MaxBatch(), 10_000))
	for i := range points {
		points[i] = dev.Readable[i%len(dev.Readable)]
	}
	dev.connect(t)
	dev.readGood(t, points...)
}

func testBrowse(t *testing.T, dev *device) {
	b, ok := dev.d.(tags.Browser)
	if !ok {
		t.Skip("the driver is no Browser")
	}
	dev.connect(t)
	var found []tags.Tag
	var err error
	dev.limited(t, "Browse", dev.Timeout+soon, func() { found, err = b.Browse(dev.context(t)) })
	require.NoError(t, err, "Browse")
	require.NotEmpty(t, found, "Browse found nothing, but the device has readable points")
	seen := make(map[string]bool, len(found))
	var points []tags.Point
	for _, tag := range found {
		require.NotEmpty(t, tag.Name, "name of a browsed tag")
		require.False(t, seen[tag.Name], "Browse gives the name %q twice", tag.Name)
		seen[tag.Name] = true
		require.NotEmpty(t, tag.Address, "address of the browsed tag %q", tag.Name)
		require.True(t, tag.DataType.Valid(), "data type %q of the browsed tag %q", tag.DataType, tag.Name)
		require.Contains(t, []tags.AccessMode{tags.ReadOnly, tags.ReadWrite}, tag.Access, "access of the browsed tag %q", tag.Name)
		points = append(points, tags.Point{Address: tag.Address, NativeType: tag.NativeType, Type: tag.DataType})
	}
	dev.read(t, points[:min(len(points), 1000)]...)
	if c, ok := dev.d.(tags.PointValidator); ok {
		for _, p := range points {
			require.NoError(t, c.ValidatePoint(p), "ValidatePoint of the browsed address %q", p.Address)
		}
	}

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	dev.limited(t, "Browse with a cancelled context", soon, func() { _, _ = b.Browse(canceled) })
	dev.recover(t)
}

func testValidatePoint(t *testing.T, dev *device) {
	c, ok := dev.d.(tags.PointValidator)
	if !ok {
		t.Skip("the driver is no PointValidator")
	}
	for _, p := range append(pointsOf(dev.Writable), dev.Readable...) { // without a connection
		require.NoError(t, c.ValidatePoint(p), "ValidatePoint of %q", p.Address)
	}
	if dev.Malformed.Address != "" {
		require.Error(t, c.ValidatePoint(dev.Malformed), "ValidatePoint of %q", dev.Malformed.Address)
	}
}

// subscription collects what Subscribe emits.
type subscription struct {
	cancel context.CancelFunc
	done   chan error // gets what Subscribe returned
	news   chan tags.Reading

	mu       sync.Mutex
	returned bool
	faults   []string
}

func (dev *device) subscribe(t *testing.T, points []tags.Point) *subscription {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	s := &subscription{cancel: cancel, done: make(chan error, 1), news: make(chan tags.Reading, 1)}
	emit := func(i int, r tags.Reading) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.returned:
			s.faults = append(s.faults, "emit was called after Subscribe had returned")
		case i < 0 || i >= len(points):
			s.faults = append(s.faults, fmt.Sprintf("emit was called with index %d of %d points", i, len(points)))
		case r.Err == nil && r.Value.Type() != points[i].Type:
			s.faults = append(s.faults, fmt.Sprintf("%s was emitted with a value of type %q", points[i].Address, r.Value.Type()))
		default:
			select { // the newest reading is enough
			case <-s.news:
			default:
			}
			s.news <- r
		}
	}
	go func() {
		err := dev.d.(tags.Subscriber).Subscribe(ctx, points, emit)
		s.mu.Lock()
		s.returned = true
		s.mu.Unlock()
		s.done <- err
	}()
	return s
}

func (s *subscription) wait(t *testing.T, limit time.Duration, when string) error {
	t.Helper()
	select {
	case err := <-s.done:
		return err
	case <-time.After(limit):
		t.Fatalf("Subscribe did not return within %v after %s", limit, when)
		return nil
	}
}

func (s *subscription) requireNoFaults(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Empty(t, s.faults)
}

func testSubscribe(t *testing.T, dev *device) {
	if _, ok := dev.d.(tags.Subscriber); !ok {
		t.Skip("the driver is no Subscriber")
	}
	early := dev.subscribe(t, dev.Readable)
	require.ErrorIs(t, early.wait(t, dev.Timeout, "a call before Connect"), tags.ErrNotConnected, "Subscribe before Connect")

	dev.connect(t)
	points := dev.Readable
	if len(dev.Writable) > 0 {
		points = []tags.Point{dev.Writable[0].Point}
	}
	s := dev.subscribe(t, points)
	if len(dev.Writable) > 0 {
		dev.untilEmitted(t, s)
	}
	dev.readGood(t, dev.Readable...) // meanwhile
	s.cancel()
	_ = s.wait(t, soon, "the end of its context")
	if len(dev.Writable) > 0 {
		dev.writeGood(t, dev.Writable...)
	}
	time.Sleep(50 * time.Millisecond) // gives a late emit the chance to happen
	s.requireNoFaults(t)

	again := dev.subscribe(t, points)
	again.cancel()
	_ = again.wait(t, soon, "the end of its context")
	dev.readGood(t, dev.Readable...)
}

// untilEmitted writes the values of the first writable point in turn until its last one is emitted. It
// writes more than once because a driver does not report when its device has taken the subscription.
func (dev *device) untilEmitted(t *testing.T, s *subscription) {
	t.Helper()
	var items []tags.WriteItem
	for _, item := range dev.Writable {
		if item.Point == dev.Writable[0].Point {
			items = append(items, item)
		}
	}
	want := items[len(items)-1].Value
	deadline := time.After(dev.Timeout)
	for {
		for _, item := range items {
			dev.writeGood(t, item)
		}
		select {
		case r := <-s.news:
			if r.Err == nil && r.Value == want {
				return
			}
		case err := <-s.done:
			t.Fatalf("Subscribe returned before its context ended: %v", err)
		case <-deadline:
			t.Fatalf("the value %v that was written to %s was not emitted within %v", want, items[0].Point.Address, dev.Timeout)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func testSubscribeDisconnect(t *testing.T, dev *device) {
	if _, ok := dev.d.(tags.Subscriber); !ok || dev.Disconnect == nil {
		t.Skip("the driver is not a Subscriber, or the harness has no Disconnect")
	}
	dev.connect(t)
	s := dev.subscribe(t, dev.Readable)
	time.Sleep(20 * time.Millisecond) // so that the cut finds a subscription, most of the time
	dev.Disconnect(t, dev.d)
	require.ErrorIs(t, s.wait(t, dev.Timeout, "the connection was cut"), tags.ErrNotConnected, "Subscribe when the connection is gone")
	dev.Reconnect(t, dev.d)
	dev.recover(t)
	s.requireNoFaults(t)
}

func testSubscribeFirst(t *testing.T, dev *device) {
	if _, ok := dev.d.(tags.Unpolled); !ok {
		t.Skip("the driver is not Unpolled")
	}
	dev.connect(t)
	for range 2 { // what was emitted to another subscription does not count
		for _, p := range dev.Readable {
			s := dev.subscribe(t, []tags.Point{p})
			select {
			case r := <-s.news:
				requireGood(t, p, r)
			case <-time.After(dev.Timeout):
				t.Fatalf("Subscribe has not emitted the newest reading of %s within %v", p.Address, dev.Timeout)
			}
			s.cancel()
			_ = s.wait(t, soon, "the end of its context")
			s.requireNoFaults(t)
		}
	}
}
