package tags_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// confirmed writes a value that is to be read back.
func confirmed(t *testing.T, e *tags.Engine, name string, v tags.Value) tags.Write {
	t.Helper()
	w, err := e.Write(t.Context(), tags.WriteRequest{Tag: name, Value: v, Confirm: true})
	require.NoError(t, err)
	return w
}

// A driver that cannot tell whether the value arrived must not have the write called failed.
func TestWriteWhoseFateIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want tags.WriteState
	}{
		"uncertain": {fmt.Errorf("exception 5: %w", tags.ErrUncertain), tags.WriteUnknown},
		"timeout":   {fmt.Errorf("odd: %w", tags.ErrTimeout), tags.WriteUnknown},
		"deadline":  {fmt.Errorf("odd: %w", context.DeadlineExceeded), tags.WriteUnknown},
		"refused":   {errDevice, tags.WriteFailed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice()
				d.refuse["a"] = c.err
				e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
				w := write(t, e, "plc.a", 1)
				synctest.Wait()
				require.Contains(t, requireOutcome(t, e, w, c.want).Error, c.err.Error())
				require.Equal(t, tags.DriverOnline, status(t, e, "plc").State)
			})
		})
	}
}

// halfDriver loses its connection in the middle of a batch and says what it knows of each item.
type halfDriver struct{ *device }

func (d halfDriver) Write(ctx context.Context, items []tags.WriteItem, errs []error) error {
	errs[1] = fmt.Errorf("no answer: %w", tags.ErrUncertain)
	errs[2] = errors.New("not sent")
	errs[3] = tags.ErrNotConnected
	return tags.ErrNotConnected
}

func TestConnectionLostInTheMiddleOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := halfDriver{newDevice()}
		e := online(t, d, tags.DriverOptions{PollInterval: time.Hour, Tags: []tags.Tag{intTag("plc.a")}})
		thaw := holdPoll(t, e, d.device)
		var writes []tags.Write
		for i := range 4 {
			writes = append(writes, write(t, e, "plc.a", int64(i)))
		}
		thaw()
		for i, want := range []tags.WriteState{tags.WriteUnknown, tags.WriteUnknown, tags.WriteFailed, tags.WriteUnknown} {
			requireOutcome(t, e, writes[i], want)
		}
	})
}

// holdPoll keeps the driver plc in a Read, so that what is written meanwhile goes out in one batch.
func holdPoll(t *testing.T, e *tags.Engine, d *device) (thaw func()) {
	t.Helper()
	gate := make(chan struct{})
	d.set(func(d *device) { d.hold = gate })
	require.NoError(t, e.DefineTags(intTag("plc.hold")))
	after(time.Second)
	return func() {
		d.set(func(d *device) { d.hold = nil })
		close(gate)
		synctest.Wait()
	}
}

func TestSupersededWriteIsUnconfirmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
		thaw := holdPoll(t, e, d)
		first, plain, last := confirmed(t, e, "plc.a", tags.IntValue(1)), write(t, e, "plc.a", 2), confirmed(t, e, "plc.a", tags.IntValue(3))
		thaw()
		require.Contains(t, requireOutcome(t, e, first, tags.WriteUnconfirmed).Error, "a later write to the same tag")
		requireOutcome(t, e, plain, tags.WriteDone)
		requireOutcome(t, e, last, tags.WriteConfirmed)

		d.set(func(d *device) { d.echo = false })
		slow := confirmed(t, e, "plc.a", tags.IntValue(4)) // the device takes its time, and is asked for something else
		after(100 * time.Millisecond)
		requireOutcome(t, e, slow, tags.WriteQueued)
		d.has("a", tags.IntValue(5))
		next := confirmed(t, e, "plc.a", tags.IntValue(5))
		synctest.Wait()
		require.Contains(t, requireOutcome(t, e, slow, tags.WriteUnconfirmed).Error, "a later write to the same tag")
		requireOutcome(t, e, next, tags.WriteConfirmed)
	})
}

func TestWhatCountsAsReadBack(t *testing.T) {
	i, f := tags.IntValue, tags.FloatValue
	for _, c := range []struct {
		typ           tags.DataType
		written, read tags.Value
		same          bool
	}{
		{tags.Int, i(10_000_000), i(10_000_009), false},
		{tags.Int, i(math.MaxInt64), i(math.MaxInt64 - 1), false},
		{tags.Int, i(7), f(7), true},
		{tags.Int, i(1 << 24), f(1<<24 + 1), false},
		{tags.Float, f(7), i(7), true},
		{tags.Float, f(0.1), f(float64(float32(0.1))), true},
		{tags.Float, f(0.1), f(0.1000001), false},
		{tags.Float, f(1e300), f(1e301), false},
		{tags.Float, f(0), f(math.Copysign(0, -1)), true},
		{tags.Bool, tags.BoolValue(true), i(1), false},
		{tags.String, tags.StringValue("on"), tags.StringValue("off"), false},
	} {
		t.Run(fmt.Sprintf("%s %s %s", c.typ, c.written, c.read), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice()
				d.echo = false
				d.has("a", c.read)
				e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a", ofType(c.typ))}})
				w := confirmed(t, e, "plc.a", c.written)
				after(2 * time.Second)
				want := tags.WriteUnconfirmed
				if c.same {
					want = tags.WriteConfirmed
				}
				requireOutcome(t, e, w, want)
			})
		})
	}
}

func TestWriteOfAnOldDefinitionIsNotSent(t *testing.T) {
	for name, c := range map[string]struct {
		change func(e *tags.Engine) error
		sent   bool
	}{
		"address": {func(e *tags.Engine) error {
			return e.DefineTags(intTag("plc.a", func(t *tags.Tag) { t.Address = "b" }))
		}, false},
		"read-only": {func(e *tags.Engine) error {
			return e.DefineTags(intTag("plc.a", func(t *tags.Tag) { t.Access = tags.ReadOnly }))
		}, false},
		"limits": {func(e *tags.Engine) error { return e.DefineTags(intTag("plc.a", between(0, 50))) }, false},
		"scale":  {func(e *tags.Engine) error { return e.DefineTags(intTag("plc.a", scaled(2, 0))) }, false},
		"type":   {func(e *tags.Engine) error { return e.DefineTags(intTag("plc.a", ofType(tags.Float))) }, false},
		"driver": {func(e *tags.Engine) error {
			return e.DefineTags(intTag("plc.a", func(t *tags.Tag) { t.Driver = "other" }))
		}, false},
		"removed": {func(e *tags.Engine) error { e.RemoveTags("plc.a"); return nil }, false},
		"removed and back": {func(e *tags.Engine) error {
			e.RemoveTags("plc.a")
			return e.DefineTags(intTag("plc.a"))
		}, false},
		"unit":      {func(e *tags.Engine) error { return e.DefineTags(intTag("plc.a", func(t *tags.Tag) { t.Unit = "bar" })) }, true},
		"unchanged": {func(e *tags.Engine) error { return e.DefineTags(intTag("plc.a")) }, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDevice()
				e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
				thaw := holdPoll(t, e, d)
				w := write(t, e, "plc.a", 90)
				require.NoError(t, c.change(e))
				thaw()
				if c.sent {
					requireOutcome(t, e, w, tags.WriteDone)
					return
				}
				require.Equal(t, "the tag's definition changed before the value was sent", requireOutcome(t, e, w, tags.WriteFailed).Error)
				require.Empty(t, d.writtenValues())
				require.Zero(t, status(t, e, "plc").QueuedWrites)
			})
		})
	}
}

// addressee is a driver that must not be given another driver's points.
type addressee struct {
	*device
	own   string
	wrong *atomic.Int64
}

func (d addressee) Write(_ context.Context, items []tags.WriteItem, _ []error) error {
	for _, item := range items {
		if item.Point.Address != d.own {
			d.wrong.Add(1)
		}
	}
	return nil
}

func TestWritesToATagThatMovesGoWhereItIs(t *testing.T) {
	e := newEngine(t, tags.Options{})
	var wrong atomic.Int64
	at := func(driver string) tags.Tag {
		return intTag("t.a", func(t *tags.Tag) { t.Driver, t.Address = driver, driver })
	}
	for _, id := range []string{"one", "two"} {
		require.NoError(t, e.AddDriver(id, addressee{newDevice(), id, &wrong}, tags.DriverOptions{PollInterval: time.Hour}))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	requests := slices.Repeat([]tags.WriteRequest{{Tag: "t.a", Text: "1"}}, tags.MaxBatch)
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for ctx.Err() == nil {
				if err := errors.Join(e.DefineTags(at("one")), e.DefineTags(at("two"))); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			for ctx.Err() == nil {
				_, _, _ = e.WriteMany(ctx, requests)
			}
		})
	}
	group.Wait()
	require.Zero(t, wrong.Load())
}

// slowWriter takes its time for each Write.
type slowWriter struct{ *device }

func (d slowWriter) Write(ctx context.Context, items []tags.WriteItem, errs []error) error {
	time.Sleep(5 * time.Millisecond)
	return d.device.Write(ctx, items, errs)
}

func TestAStreamOfWritesDoesNotStopPolling(t *testing.T) {
	for name, confirm := range map[string]bool{"plain": false, "confirmed by a deaf device": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := slowWriter{newDevice()}
				d.echo = false
				e := online(t, d, tags.DriverOptions{PollInterval: 100 * time.Millisecond, Tags: []tags.Tag{intTag("plc.a"), intTag("plc.b")}})
				before := d.readsOf("b")
				for range 2000 {
					_, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(1), Confirm: confirm})
					require.NoError(t, err)
					time.Sleep(2 * time.Millisecond)
				}
				require.InDelta(t, 40, d.readsOf("b")-before, 4)
				require.Equal(t, tags.Good, sampleOf(t, e, "plc.b").Quality)
			})
		})
	}
}

func TestReadingBackDoesNotStopPolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		d.echo = false
		e := online(t, d, tags.DriverOptions{PollInterval: 100 * time.Millisecond, ConfirmTimeout: 10 * time.Second, Tags: []tags.Tag{intTag("plc.a"), intTag("plc.b")}})
		w := confirmed(t, e, "plc.a", tags.IntValue(1))
		before := d.readsOf("b")
		after(9 * time.Second)
		requireOutcome(t, e, w, tags.WriteQueued)
		require.InDelta(t, 90, d.readsOf("b")-before, 2)
		after(2 * time.Second)
		requireOutcome(t, e, w, tags.WriteUnconfirmed)
	})
}

func TestCloseReadsBackWhatItSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDevice()
		d.echo = false
		e := online(t, d, tags.DriverOptions{ConfirmTimeout: 10 * time.Second, Tags: []tags.Tag{intTag("plc.a"), intTag("plc.b")}})
		late, never := confirmed(t, e, "plc.a", tags.IntValue(1)), confirmed(t, e, "plc.b", tags.IntValue(1))
		synctest.Wait()
		time.AfterFunc(time.Second, func() { d.has("a", tags.IntValue(1)) })
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		require.NoError(t, e.Close(ctx))
		requireOutcome(t, e, late, tags.WriteConfirmed)
		require.Contains(t, requireOutcome(t, e, never, tags.WriteUnconfirmed).Error, "stopped before the value could be read back")
	})
}
