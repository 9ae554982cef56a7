package tags_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// moodyLog is a write log that takes outcomes slowly, or not at all.
type moodyLog struct {
	*tags.MemoryWriteLog
	broken atomic.Bool
	slow   atomic.Int64 // nanoseconds
	calls  atomic.Int64 // with outcomes
}

func newMoodyLog() *moodyLog { return &moodyLog{MemoryWriteLog: tags.NewMemoryWriteLog(1000)} }

func (l *moodyLog) Put(ctx context.Context, writes []tags.Write) error {
	if writes[0].State.Final() {
		l.calls.Add(1)
		if l.broken.Load() {
			return errDevice
		}
		select {
		case <-time.After(time.Duration(l.slow.Load())):
		case <-ctx.Done():
		}
	}
	return l.MemoryWriteLog.Put(ctx, writes)
}

// stored requires the state that the log itself has.
func (l *moodyLog) stored(t *testing.T, w tags.Write, want tags.WriteState) {
	t.Helper()
	got, err := l.Get(t.Context(), w.ID)
	require.NoError(t, err)
	require.Equal(t, want, got.State)
}

func onlineWith(t *testing.T, log tags.WriteLog, o tags.DriverOptions) (*tags.Engine, *device) {
	t.Helper()
	e, err := tags.New(tags.Options{Writes: log})
	require.NoError(t, err)
	d := newDevice()
	o.Tags = []tags.Tag{intTag("plc.a"), intTag("plc.b")}
	require.NoError(t, e.AddDriver("plc", d, o))
	after(time.Second)
	return e, d
}

func TestASlowLogHoldsUpNoDriver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newMoodyLog()
		e, d := onlineWith(t, log, tags.DriverOptions{PollInterval: 100 * time.Millisecond})
		log.slow.Store(int64(4 * time.Second))
		before := d.readsOf("b")
		first := write(t, e, "plc.a", 1)
		after(time.Second)
		requireOutcome(t, e, first, tags.WriteDone)
		log.stored(t, first, tags.WriteQueued)
		second := write(t, e, "plc.a", 2)
		after(time.Second)
		requireOutcome(t, e, second, tags.WriteDone)
		require.InDelta(t, 20, d.readsOf("b")-before, 3)
		after(10 * time.Second)
		log.stored(t, first, tags.WriteDone)
		log.stored(t, second, tags.WriteDone)
		require.NoError(t, e.Close(t.Context()))
	})
}

func TestAnOutcomeIsLoggedOnceTheLogWorksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newMoodyLog()
		e, d := onlineWith(t, log, tags.DriverOptions{MaxWrites: 2})
		log.broken.Store(true)
		writes := []tags.Write{write(t, e, "plc.a", 1), write(t, e, "plc.a", 2)}
		after(time.Minute)
		for _, w := range writes {
			requireOutcome(t, e, w, tags.WriteDone)
			log.stored(t, w, tags.WriteQueued)
		}
		require.Less(t, log.calls.Load(), int64(25), "it is not tried without a pause")
		_, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(3)})
		require.ErrorIs(t, err, tags.ErrQueueFull, "what waits for the log is bounded")
		require.Len(t, d.writtenValues(), 2)
		require.Zero(t, status(t, e, "plc").QueuedWrites, "nothing waits for the driver")
		log.broken.Store(false)
		after(6 * time.Second)
		for _, w := range writes {
			log.stored(t, w, tags.WriteDone)
		}
		third := write(t, e, "plc.a", 3)
		synctest.Wait()
		log.stored(t, third, tags.WriteDone)
		require.NoError(t, e.Close(t.Context()))
	})
}

// A write is listed with its outcome, and by it, while the log has not taken the outcome.
func TestListsOfWritesHaveOutcomesThatAreNotLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := newMoodyLog()
		e, d := onlineWith(t, log, tags.DriverOptions{Timeout: time.Minute})
		requireList := func(f tags.WriteFilter, want ...tags.Write) {
			t.Helper()
			page, err := e.ListWrites(t.Context(), tags.WriteListQuery{WriteFilter: f})
			require.NoError(t, err)
			require.Equal(t, len(want), page.Total)
			require.Len(t, page.Writes, len(want))
			for i, w := range want {
				single, err := e.GetWrite(t.Context(), w.ID)
				require.NoError(t, err)
				require.Equal(t, single, page.Writes[i])
			}
		}
		logged := write(t, e, "plc.a", 1)
		after(time.Second)
		log.broken.Store(true)
		pending := write(t, e, "plc.b", 2)
		after(time.Second)
		log.stored(t, pending, tags.WriteQueued)
		hold := make(chan struct{})
		d.set(func(d *device) { d.holdWrite = hold })
		queued := write(t, e, "plc.b", 3)
		after(time.Second)

		requireList(tags.WriteFilter{}, queued, pending, logged)
		requireList(tags.WriteFilter{States: []tags.WriteState{tags.WriteDone}}, pending, logged)
		requireList(tags.WriteFilter{States: []tags.WriteState{tags.WriteQueued}}, queued)
		requireList(tags.WriteFilter{States: []tags.WriteState{tags.WriteDone}, Tag: "plc.b"}, pending)
		requireList(tags.WriteFilter{States: []tags.WriteState{tags.WriteDone}, Driver: "plc", Address: "B"}, pending)
		requireList(tags.WriteFilter{States: []tags.WriteState{tags.WriteFailed}})
		close(hold)
		log.broken.Store(false)
		after(10 * time.Second)
		requireList(tags.WriteFilter{States: []tags.WriteState{tags.WriteDone}}, queued, pending, logged)
		require.NoError(t, e.Close(t.Context()))
	})
}

func TestCloseLogsOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		repair time.Duration // after Close was called
		ok     bool
	}{"in time": {2 * time.Second, true}, "too late": {time.Hour, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := newMoodyLog()
				e, _ := onlineWith(t, log, tags.DriverOptions{})
				log.broken.Store(true)
				w := write(t, e, "plc.a", 1)
				after(20 * time.Second)
				repair := time.AfterFunc(c.repair, func() { log.broken.Store(false) })
				defer repair.Stop()
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				err := e.Close(ctx)
				requireOutcome(t, e, w, tags.WriteDone)
				if c.ok {
					require.NoError(t, err)
					log.stored(t, w, tags.WriteDone)
					return
				}
				require.ErrorContains(t, err, "the outcomes of 1 writes could not be logged")
				require.ErrorIs(t, err, context.DeadlineExceeded)
			})
		})
	}
}

// A caller that goes away while its write is logged must not leave it in the log and unsent.
type leavingLog struct {
	*tags.MemoryWriteLog
	leave context.CancelFunc
}

func (l leavingLog) Put(ctx context.Context, writes []tags.Write) error {
	l.leave()
	return l.MemoryWriteLog.Put(ctx, writes)
}

func TestACallerThatGoesAwayDoesNotUndoAWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		e, d := onlineWith(t, leavingLog{tags.NewMemoryWriteLog(10), cancel}, tags.DriverOptions{})
		w, err := e.Write(ctx, tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(1)})
		require.NoError(t, err)
		synctest.Wait()
		requireOutcome(t, e, w, tags.WriteDone)
		_, err = e.Write(ctx, tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(2)})
		require.ErrorIs(t, err, context.Canceled, "one that has gone before does not write")
		require.Equal(t, []tags.Value{tags.IntValue(1)}, d.writtenValues())
		require.NoError(t, e.Close(t.Context()))
	})
}

// stuckLog takes no notice of its context.
type stuckLog struct {
	*tags.MemoryWriteLog
	gate chan struct{}
}

func (l stuckLog) Put(ctx context.Context, writes []tags.Write) error {
	if writes[0].State.Final() {
		<-l.gate
	}
	return l.MemoryWriteLog.Put(ctx, writes)
}

func TestCloseDoesNotWaitForALogForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		e, _ := onlineWith(t, stuckLog{tags.NewMemoryWriteLog(10), gate}, tags.DriverOptions{})
		write(t, e, "plc.a", 1)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		require.ErrorContains(t, e.Close(ctx), "the outcomes of 1 writes could not be logged")
		require.LessOrEqual(t, time.Since(start), 3*time.Second)
		close(gate)
	})
}
