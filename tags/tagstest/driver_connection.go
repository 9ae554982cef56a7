package tagstest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/tags"
)

func (dev *device) requireNotConnected(t testing.TB, when string) {
	t.Helper()
	_, err := dev.readCtx(t, dev.context(t), dev.Timeout+soon, dev.Readable[0])
	require.ErrorIs(t, err, tags.ErrNotConnected, "Read %s", when)
	if len(dev.Writable) > 0 {
		_, err = dev.writeCtx(t, dev.context(t), dev.Timeout+soon, dev.Writable[0])
		require.ErrorIs(t, err, tags.ErrNotConnected, "Write %s", when)
	}
}

func testNotConnected(t *testing.T, dev *device) {
	dev.requireNotConnected(t, "before Connect")
	dev.connect(t)
	dev.readGood(t, dev.Readable...)
	dev.close(t)
	dev.requireNotConnected(t, "after Close")
}

func testConnectAgain(t *testing.T, dev *device) {
	for range 3 {
		dev.connect(t)
		dev.readGood(t, dev.Readable...)
		dev.close(t)
	}
	dev.connect(t)
	dev.connect(t) // the engine may connect over a connection that is half open
	dev.readGood(t, dev.Readable...)
}

func testCloseAnyTime(t *testing.T, dev *device) {
	dev.close(t)
	dev.close(t)
	dev.connect(t)
	dev.close(t)
	dev.close(t)
	dev.connect(t)
	dev.readGood(t, dev.Readable...)
}

func testCanceledContext(t *testing.T, dev *device) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_ = dev.connectCtx(t, canceled, soon)
	dev.connect(t)
	dev.endedContext(t, canceled)
}

func testExpiredDeadline(t *testing.T, dev *device) {
	dev.connect(t)
	expired, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	dev.endedContext(t, expired)
}

// endedContext calls Read and Write with a context that is over. They may fail or succeed, but they
// return soon, report which, and do not affect later calls.
func (dev *device) endedContext(t testing.TB, ctx context.Context) {
	t.Helper()
	_, _ = dev.readCtx(t, ctx, soon, dev.Readable...)
	dev.recover(t)
	if len(dev.Writable) > 0 {
		item := dev.Writable[0]
		_, _ = dev.writeCtx(t, ctx, soon, item)
		dev.recover(t)
		dev.writeGood(t, item)
	}
}

func testDisconnectAndReconnect(t *testing.T, dev *device) {
	if dev.Disconnect == nil {
		t.Skip("the harness has no Disconnect")
	}
	for range 2 {
		dev.connect(t)
		dev.readGood(t, dev.Readable...)
		dev.Disconnect(t, dev.d)
		dev.untilNotConnected(t)
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		require.Error(t, dev.connectCtx(t, short, soon), "Connect while the device is away")
		cancel()
		dev.requireNotConnected(t, "while the device is away")
		dev.Reconnect(t, dev.d)
		dev.recover(t)
	}
}

// untilNotConnected reads until the driver has noticed that the connection is gone. Before that
// single points may fail, but none may be read.
func (dev *device) untilNotConnected(t testing.TB) {
	t.Helper()
	deadline := time.Now().Add(dev.Timeout)
	for {
		out, err := dev.readCtx(t, dev.context(t), dev.Timeout+soon, dev.Readable[0])
		if err != nil {
			require.ErrorIs(t, err, tags.ErrNotConnected, "Read when the connection is gone")
			return
		}
		require.Error(t, out[0].Err, "Read when the connection is gone must not give a value")
		require.False(t, time.Now().After(deadline), "Read does not say ErrNotConnected within %v", dev.Timeout)
		time.Sleep(10 * time.Millisecond)
	}
}

func testStallAndResume(t *testing.T, dev *device) {
	if dev.Stall == nil {
		t.Skip("the harness has no Stall")
	}
	dev.connect(t)
	dev.readGood(t, dev.Readable...)
	for _, end := range []struct {
		how  string
		make func() (context.Context, context.CancelFunc)
	}{
		{"a deadline", func() (context.Context, context.CancelFunc) {
			return context.WithTimeout(t.Context(), 50*time.Millisecond)
		}},
		{"a cancel", func() (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			stop := time.AfterFunc(50*time.Millisecond, cancel)
			return ctx, func() { stop.Stop(); cancel() }
		}},
	} {
		dev.Stall(t, dev.d)
		ctx, cancel := end.make()
		out, err := dev.readCtx(t, ctx, soon, dev.Readable[0])
		cancel()
		if err == nil {
			require.Error(t, out[0].Err, "Read from a silent device, ended by %s", end.how)
		}
		dev.Resume(t, dev.d)
		dev.recover(t)
		if len(dev.Writable) > 0 {
			dev.stalledWrite(t, end.how, end.make)
		}
	}
}

// stalledWrite writes to a silent device, and sees whether the value arrived that the driver reports as not taken.
func (dev *device) stalledWrite(t *testing.T, how string, end func() (context.Context, context.CancelFunc)) {
	t.Helper()
	item, differs := dev.newValue(t)
	dev.Stall(t, dev.d)
	ctx, cancel := end()
	errs := make([]error, 1)
	var failed error
	dev.limited(t, "Write", soon, func() { failed = dev.d.Write(ctx, []tags.WriteItem{item}, errs) })
	cancel()
	if failed == nil {
		require.Error(t, errs[0], "Write to a silent device, ended by %s", how)
	}
	dev.Resume(t, dev.d)
	dev.recover(t)
	err := errs[0]
	if err == nil || !differs || errors.Is(err, tags.ErrUncertain) || errors.Is(err, tags.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) {
		return
	}
	require.NotEqual(t, item.Value, dev.readGood(t, item.Point)[0].Value,
		"Write of %s returned %v, but the device has the value: wrap tags.ErrUncertain", item.Point.Address, err)
}

// newValue returns a writable point with a value that it does not have. Where the harness has one value for each point, and
// they all have it, differs is false.
func (dev *device) newValue(t *testing.T) (item tags.WriteItem, differs bool) {
	t.Helper()
	for i, r := range dev.readGood(t, pointsOf(dev.Writable)...) {
		if r.Value != dev.Writable[i].Value {
			return dev.Writable[i], true
		}
	}
	return dev.Writable[0], false
}

func testNoGoroutineLeft(t *testing.T, h DriverHarness) {
	before := goleak.IgnoreCurrent()
	t.Run("Use", func(t *testing.T) { // a test of its own, so that its cleanups have run before the check
		dev := newDevice(t, h)
		for range 5 {
			dev.connect(t)
			dev.readGood(t, dev.Readable...)
			canceled, cancel := context.WithCancel(t.Context())
			cancel()
			_, _ = dev.readCtx(t, canceled, soon, dev.Readable...)
			_ = dev.connectCtx(t, canceled, soon)
			dev.close(t)
		}
	})
	if err := goleak.Find(before); err != nil {
		t.Errorf("goroutines are left after Close: %v", err)
	}
}
