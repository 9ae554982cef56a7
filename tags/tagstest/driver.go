package tagstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// DriverHarness makes a driver for the suite and describes its device.
type DriverHarness struct {
	// New makes a driver that is not connected. It is called for each part of the suite, which closes the
	// driver; stop everything else that it starts in t.Cleanup.
	New func(t testing.TB) tags.Driver

	// Readable lists points that the device answers, with the type that they have; at least one.
	Readable []tags.Point
	// Writable lists points with a value that the device accepts and returns when read. A point may
	// be there twice with different values, which lets the suite check the order of writes.
	Writable []tags.WriteItem
	// Refused lists writes that do not succeed: to a read-only point, or with a wrong type.
	Refused []tags.WriteItem
	// Missing is a well-formed point that the device does not have; none when its Address is empty.
	Missing tags.Point
	// Malformed is a point whose address the driver cannot understand; none when its Address is empty.
	Malformed tags.Point

	// Disconnect cuts the connection and keeps the device away, so that reading and connecting fail;
	// Reconnect brings it back. Set both or neither.
	Disconnect, Reconnect func(t testing.TB, d tags.Driver)
	// Stall keeps the device connected but silent; Resume ends that. Set both or neither.
	Stall, Resume func(t testing.TB, d tags.Driver)

	// Timeout is how long one call may take, and how long recovery may take; default 10 s.
	Timeout time.Duration
}

// soon is how long after the end of its context a call may take to return. It is wide because
// machines that run tests are busy.
const soon = 2 * time.Second

// TestDriver checks a driver against the contract of tags.Driver and of those of tags.Planner,
// tags.Subscriber, tags.Unpolled, tags.Browser, tags.PointValidator and tags.BatchLimiter that it has.
func TestDriver(t *testing.T, h DriverHarness) {
	t.Helper()
	require.NotNil(t, h.New, "DriverHarness.New is required")
	require.NotEmpty(t, h.Readable, "DriverHarness.Readable needs a point")
	require.Equal(t, h.Disconnect == nil, h.Reconnect == nil, "set DriverHarness.Disconnect and Reconnect, or neither")
	require.Equal(t, h.Stall == nil, h.Resume == nil, "set DriverHarness.Stall and Resume, or neither")
	for _, p := range slices.Concat(h.Readable, pointsOf(h.Writable), []tags.Point{h.Missing, h.Malformed}) {
		require.True(t, p.Address == "" || p.Type.Valid(), "the Type of the harness's point %q is %q: set Bool, Int, Float, String or Bytes", p.Address, p.Type)
	}
	if h.Timeout == 0 {
		h.Timeout = 10 * time.Second
	}
	for _, part := range []struct {
		name string
		run  func(*testing.T, *device)
	}{
		{"NotConnected", testNotConnected},
		{"ConnectAgain", testConnectAgain},
		{"CloseAnyTime", testCloseAnyTime},
		{"ReadEach", testReadEach},
		{"ReadInOrder", testReadInOrder},
		{"ReadNothing", testReadNothing},
		{"MissingPoint", testMissingPoint},
		{"MalformedPoint", testMalformedPoint},
		{"WriteEach", testWriteEach},
		{"WriteInOrder", testWriteInOrder},
		{"RefusedWrite", testRefusedWrite},
		{"CanceledContext", testCanceledContext},
		{"ExpiredDeadline", testExpiredDeadline},
		{"DisconnectAndReconnect", testDisconnectAndReconnect},
		{"StallAndResume", testStallAndResume},
		{"MaxBatch", testMaxBatch},
		{"Plan", testPlan},
		{"PlansTogether", testPlansTogether},
		{"PlanEndedContext", testPlanEndedContext},
		{"PlanDisconnect", testPlanDisconnect},
		{"Browse", testBrowse},
		{"ValidatePoint", testValidatePoint},
		{"Subscribe", testSubscribe},
		{"SubscribeDisconnect", testSubscribeDisconnect},
		{"SubscribeFirst", testSubscribeFirst},
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, newDevice(t, h)) })
	}
	t.Run("NoGoroutineLeft", func(t *testing.T) { testNoGoroutineLeft(t, h) })
}

// device is a driver under test with its harness. Its methods fail the test when a call does not
// return, or when it returns what no driver may return.
type device struct {
	DriverHarness
	d tags.Driver
}

func newDevice(t testing.TB, h DriverHarness) *device {
	t.Helper()
	dev := &device{DriverHarness: h, d: h.New(t)}
	t.Cleanup(func() { dev.close(t) })
	return dev
}

// limited runs a call of the driver in time.
func (dev *device) limited(t testing.TB, what string, limit time.Duration, call func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		call()
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		t.Fatalf("%s did not return within %v", what, limit)
	}
}

func (dev *device) context(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), dev.Timeout)
	t.Cleanup(cancel)
	return ctx
}

func (dev *device) connectCtx(t testing.TB, ctx context.Context, limit time.Duration) (err error) {
	t.Helper()
	dev.limited(t, "Connect", limit, func() { err = dev.d.Connect(ctx) })
	return err
}

func (dev *device) connect(t testing.TB) {
	t.Helper()
	require.NoError(t, dev.connectCtx(t, dev.context(t), dev.Timeout+soon), "Connect")
}

func (dev *device) close(t testing.TB) {
	t.Helper()
	dev.limited(t, "Close", dev.Timeout, func() {
		if err := dev.d.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
}

// readCtx reads points and checks what holds for every Read that succeeds as a whole: each item has
// an error, or a value of the point's type.
func (dev *device) readCtx(t testing.TB, ctx context.Context, limit time.Duration, points ...tags.Point) ([]tags.Reading, error) {
	t.Helper()
	out := make([]tags.Reading, len(points))
	asked := slices.Clone(points)
	var err error
	dev.limited(t, "Read", limit, func() { err = dev.d.Read(ctx, asked, out) })
	require.Equal(t, points, asked, "Read must not change the points")
	if err != nil {
		return nil, err
	}
	for i, r := range out {
		requireReading(t, fmt.Sprintf("Read of point %d (%s)", i, points[i].Address), points[i], r)
	}
	return out, nil
}

func requireReading(t testing.TB, what string, p tags.Point, r tags.Reading) {
	t.Helper()
	if r.Err == nil {
		require.Equal(t, p.Type, r.Value.Type(), "%s has no Err, so it must have a value of the point's type", what)
		require.LessOrEqual(t, r.Quality, tags.Good, "%s has a quality that does not exist", what)
	}
}

// read reads in batches of the driver's size.
func (dev *device) read(t testing.TB, points ...tags.Point) []tags.Reading {
	t.Helper()
	out := make([]tags.Reading, 0, len(points))
	for batch := range slices.Chunk(points, dev.batch()) {
		got, err := dev.readCtx(t, dev.context(t), dev.Timeout+soon, batch...)
		require.NoError(t, err, "Read")
		out = append(out, got...)
	}
	return out
}

// readGood reads points that the harness declares.
func (dev *device) readGood(t testing.TB, points ...tags.Point) []tags.Reading {
	t.Helper()
	out := dev.read(t, points...)
	for i, r := range out {
		requireGood(t, points[i], r)
	}
	return out
}

func requireGood(t testing.TB, p tags.Point, r tags.Reading) {
	t.Helper()
	require.NoError(t, r.Err, "Read of %s", p.Address)
	require.NotEqual(t, tags.Bad, r.Quality, "Read of %s: Quality is Bad: set Reading.Quality", p.Address)
}

func (dev *device) batch() int {
	if l, ok := dev.d.(tags.BatchLimiter); ok {
		return max(1, l.MaxBatch())
	}
	return 500
}

// errUntouched fills errs before a Write, to see whether the driver sets each.
var errUntouched = errors.New("the driver did not set this error")

func (dev *device) writeCtx(t testing.TB, ctx context.Context, limit time.Duration, items ...tags.WriteItem) ([]error, error) {
	t.Helper()
	errs := make([]error, len(items))
	for i := range errs {
		errs[i] = errUntouched
	}
	var err error
	dev.limited(t, "Write", limit, func() { err = dev.d.Write(ctx, slices.Clone(items), errs) })
	if err != nil {
		return nil, err
	}
	for i := range errs {
		require.NotErrorIs(t, errs[i], errUntouched, "Write of item %d (%s)", i, items[i].Point.Address)
	}
	return errs, nil
}

func (dev *device) writeGood(t testing.TB, items ...tags.WriteItem) {
	t.Helper()
	errs, err := dev.writeCtx(t, dev.context(t), dev.Timeout+soon, items...)
	require.NoError(t, err, "Write")
	for i, e := range errs {
		require.NoError(t, e, "Write of %s", items[i].Point.Address)
	}
}

// recover does what the engine does after a failure: it connects whenever the driver reports that it
// must, until reading works again.
func (dev *device) recover(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(dev.Timeout)
	for {
		out, err := dev.readCtx(t, dev.context(t), dev.Timeout+soon, dev.Readable[0])
		if err == nil && out[0].Err == nil {
			break
		}
		if err == nil {
			err = out[0].Err
		}
		require.False(t, time.Now().After(deadline), "the driver has not recovered within %v: %v", dev.Timeout, err)
		if errors.Is(err, tags.ErrNotConnected) {
			if err := dev.connectCtx(t, dev.context(t), dev.Timeout+soon); err != nil {
				t.Logf("Connect while recovering: %v", err)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	dev.readGood(t, dev.Readable...)
}
