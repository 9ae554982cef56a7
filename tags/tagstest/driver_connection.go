package tagstest

import (
	"context"
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

func testBreakAndMend(t *testing.T, dev *device) {
	if dev.Disconnect == nil {
		t.Skip("the harness has no Break")
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

func testFreezeAndThaw(t *testing.T, dev *device) {
	if dev.Stall == nil {
		t.Skip("the harness has no Freeze")
	}
	dev.connect(t)
	dev.readGood(t, dev.Readable...)
	dev.Stall(t, dev.d)
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
		ctx, cancel := end.make()
		out, err := dev.readCtx(t, ctx, soon, dev.Readable[0])
		cancel()
		if err == nil {
			require.Error(t, out[0].Err, "Read from a silent device, ended by %s", end.how)
		}
		if len(dev.Writable) == 0 {
			continue
		}
		ctx, cancel = end.make()
		errs, err := dev.writeCtx(t, ctx, soon, dev.Writable[0])
		cancel()
		if err == nil {
			require.Error(t, errs[0], "Write to a silent device, ended by %s", end.how)
		}
	}
	dev.Resume(t, dev.d)
	dev.recover(t)
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
