package audit_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/audit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// faulty is a store that can fail, hang, and count its transactions.
type faulty struct {
	*audit.Memory
	fail atomic.Bool
	hang atomic.Bool
}

var errDisk = errors.New("disk full")

func (f *faulty) Append(ctx context.Context, entries []audit.Entry) (int64, error) {
	if f.hang.Load() {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	if f.fail.Load() {
		return 0, errDisk
	}
	return f.Memory.Append(ctx, entries)
}

func newLog(t *testing.T, s audit.Store, o audit.Options) *audit.Log {
	t.Helper()
	l, err := audit.New(s, o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, l.Close(ctx))
		require.NoError(t, l.Close(ctx))
	})
	return l
}

func records(t *testing.T, l *audit.Log, q audit.Query) []audit.Record {
	t.Helper()
	page, _, err := l.List(t.Context(), q)
	require.NoError(t, err)
	return page
}

var write = audit.Act{Actor: "anna", Action: "writeTag", Objects: []string{"line.level"}}

func TestBeginEnd(t *testing.T) {
	l := newLog(t, audit.NewMemory(), audit.Options{})
	intent, err := l.Begin(t.Context(), write)
	require.NoError(t, err)
	require.Equal(t, audit.Pending, records(t, l, audit.Query{})[0].Outcome)
	intent.End(audit.Result{Outcome: audit.Failed, Code: "X", Detail: "why"})
	intent.End(audit.Result{Outcome: audit.Succeeded})
	got := records(t, l, audit.Query{})
	require.Len(t, got, 1)
	require.Equal(t, intent.ID(), got[0].ID)
	require.Equal(t, audit.Result{Outcome: audit.Failed, Code: "X", Detail: "why"}, got[0].Result)
	require.Zero(t, l.Stats().Pending)

	one, err := l.Get(t.Context(), intent.ID())
	require.NoError(t, err)
	require.Equal(t, got[0], one)
	_, err = l.Get(t.Context(), 99)
	require.ErrorIs(t, err, audit.ErrRecordNotFound)
}

func TestStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Memory: audit.NewMemory()}
		l := newLog(t, s, audit.Options{})
		intent, err := l.Begin(t.Context(), write)
		require.NoError(t, err)

		s.fail.Store(true)
		_, err = l.Begin(t.Context(), write)
		require.ErrorIs(t, err, audit.ErrUnavailable)
		require.ErrorIs(t, err, errDisk)
		intent.End(audit.Result{Outcome: audit.Succeeded})
		require.True(t, l.Record(audit.Act{Actor: "bert", Action: "acknowledgeAlarm"}, audit.Result{Outcome: audit.Succeeded}))
		time.Sleep(10 * time.Second)
		require.Equal(t, 2, l.Stats().Pending)

		s.fail.Store(false)
		time.Sleep(2 * time.Second)
		got := records(t, l, audit.Query{})
		require.Len(t, got, 2, "the act that was refused has no record")
		require.Equal(t, "acknowledgeAlarm", got[0].Action)
		require.Equal(t, audit.Succeeded, got[1].Outcome, "the outcome was tried again")
		require.Zero(t, l.Stats().Pending)
	})
}

// gated is a store that takes no intents while it is closed.
type gated struct {
	*audit.Memory
	closed atomic.Bool
}

func (g *gated) Admit() error {
	if g.closed.Load() {
		return audit.ErrUnavailable
	}
	return nil
}

func TestIntentsAreNotAdmitted(t *testing.T) {
	s := &gated{Memory: audit.NewMemory()}
	l := newLog(t, s, audit.Options{})
	intent, err := l.Begin(t.Context(), write)
	require.NoError(t, err)
	s.closed.Store(true)
	_, err = l.Begin(t.Context(), write)
	require.ErrorIs(t, err, audit.ErrUnavailable)
	require.True(t, l.Stats().Failing, "changes are refused")
	intent.End(audit.Result{Outcome: audit.Succeeded})
	require.True(t, l.Record(audit.Act{Actor: "bert", Action: "acknowledgeAlarm"}, audit.Result{Outcome: audit.Succeeded}))
	got := records(t, l, audit.Query{})
	require.Len(t, got, 2, "outcomes and events are stored all the same")
	require.Equal(t, audit.Succeeded, got[1].Outcome)
	s.closed.Store(false)
	require.False(t, l.Stats().Failing)
}

// A failure that nothing tries again does not count for ever.
func TestFailureOfAnIntentPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Memory: audit.NewMemory()}
		l := newLog(t, s, audit.Options{})
		s.fail.Store(true)
		_, err := l.Begin(t.Context(), write)
		require.ErrorIs(t, err, errDisk)
		require.True(t, l.Stats().Failing)
		time.Sleep(11 * time.Second)
		require.False(t, l.Stats().Failing)
	})
}

func TestStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &faulty{Memory: audit.NewMemory()}
		l := newLog(t, s, audit.Options{AppendTimeout: 3 * time.Second})
		s.hang.Store(true)
		begun := time.Now()
		_, err := l.Begin(t.Context(), write)
		require.ErrorIs(t, err, audit.ErrUnavailable)
		require.Equal(t, 3*time.Second, time.Since(begun))
		s.hang.Store(false)
		synctest.Wait()
		require.Empty(t, records(t, l, audit.Query{}))
		require.Zero(t, l.Stats().Pending)
	})
}

// slow is a store whose appends take a second.
type slow struct{ *audit.Memory }

func (s slow) Append(ctx context.Context, entries []audit.Entry) (int64, error) {
	time.Sleep(time.Second)
	return s.Memory.Append(context.WithoutCancel(ctx), entries)
}

func TestCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t, slow{audit.NewMemory()}, audit.Options{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := l.Begin(ctx, write)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(3 * time.Second)
		got := records(t, l, audit.Query{})
		require.Len(t, got, 1)
		require.Equal(t, audit.Refused, got[0].Outcome, "the intent was stored, but nobody acted")
		require.Zero(t, l.Stats().Pending)
	})
}

func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t, slow{audit.NewMemory()}, audit.Options{})
		const acts = 500
		begun := time.Now()
		var wg sync.WaitGroup
		for range acts {
			wg.Go(func() {
				if err := l.Do(t.Context(), write, func(context.Context) error { return nil }, nil); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.LessOrEqual(t, time.Since(begun), 5*time.Second, "transactions of a second each")
		_, total, err := l.List(t.Context(), audit.Query{Outcome: audit.Succeeded, Count: true})
		require.NoError(t, err)
		require.EqualValues(t, acts, total)
		require.EqualValues(t, 2*acts, l.Stats().Stored)
	})
}

func TestTooManyPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t, audit.NewMemory(), audit.Options{MaxPending: 2})
		first, err := l.Begin(t.Context(), write)
		require.NoError(t, err)
		second, err := l.Begin(t.Context(), write)
		require.NoError(t, err)
		_, err = l.Begin(t.Context(), write)
		require.ErrorIs(t, err, audit.ErrUnavailable)
		require.False(t, l.Record(write, audit.Result{Outcome: audit.Succeeded}))
		require.EqualValues(t, 1, l.Stats().Lost)
		first.End(audit.Result{Outcome: audit.Succeeded})
		third, err := l.Begin(t.Context(), write)
		require.NoError(t, err)
		second.End(audit.Result{Outcome: audit.Succeeded})
		third.End(audit.Result{Outcome: audit.Succeeded})
	})
}

func TestPanicIsUnknown(t *testing.T) {
	l := newLog(t, audit.NewMemory(), audit.Options{})
	require.Panics(t, func() {
		_ = l.Do(t.Context(), write, func(context.Context) error { panic("boom") }, nil)
	})
	require.Equal(t, audit.Unknown, records(t, l, audit.Query{})[0].Outcome)
}

func TestCrashShows(t *testing.T) {
	now := time.Now()
	s := audit.NewMemory()
	crashed := newLog(t, s, audit.Options{Now: func() time.Time { return now }})
	_, err := crashed.Begin(t.Context(), write)
	require.NoError(t, err)
	later := newLog(t, s, audit.Options{Now: func() time.Time { return now.Add(time.Hour) }})
	require.Equal(t, audit.Result{Outcome: audit.Unknown, Detail: audit.LostDetail}, records(t, later, audit.Query{})[0].Result)
}

func TestClosed(t *testing.T) {
	s := &faulty{Memory: audit.NewMemory()}
	l, err := audit.New(s, audit.Options{})
	require.NoError(t, err)
	intent, err := l.Begin(t.Context(), write)
	require.NoError(t, err)
	s.fail.Store(true)
	intent.End(audit.Result{Outcome: audit.Succeeded})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, l.Close(ctx), "1 entries lost")
	_, err = l.Begin(t.Context(), write)
	require.ErrorIs(t, err, audit.ErrClosed)
	require.False(t, l.Record(write, audit.Result{Outcome: audit.Succeeded}))
}

func TestRefusalsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t, audit.NewMemory(), audit.Options{RefusedPerMinute: 10})
		for range 1000 {
			l.RecordRefused(audit.Act{Action: "login"}, audit.Result{Outcome: audit.Refused})
		}
		time.Sleep(61 * time.Second)
		got := records(t, l, audit.Query{})
		require.Len(t, got, 11)
		require.Equal(t, audit.SkippedAction, got[0].Action)
		require.Contains(t, got[0].Detail, "990 ")
	})
}

func TestQueryRules(t *testing.T) {
	l := newLog(t, audit.NewMemory(), audit.Options{})
	for _, q := range []audit.Query{{Limit: -1}, {Offset: -1}, {Outcome: "done"}, {Actor: string(make([]byte, 2000))}} {
		_, _, err := l.List(t.Context(), q)
		require.ErrorIs(t, err, audit.ErrInvalidQuery)
	}
	_, _, err := l.List(t.Context(), audit.Query{Limit: 501})
	require.ErrorIs(t, err, audit.ErrPageSizeExceeded)
	now := time.Now()
	_, _, err = l.List(t.Context(), audit.Query{From: now, To: now})
	require.ErrorIs(t, err, audit.ErrInvalidTimeRange)
}

func TestAll(t *testing.T) {
	s := audit.NewMemory()
	l := newLog(t, s, audit.Options{})
	for range 3 {
		_, err := s.Append(t.Context(), make([]audit.Entry, 401))
		require.NoError(t, err)
	}
	want := int64(3 * 401)
	for r, err := range l.All(t.Context(), audit.Query{}) {
		require.NoError(t, err)
		require.Equal(t, want, r.ID)
		want--
	}
	require.Zero(t, want)
}

func TestNew(t *testing.T) {
	_, err := audit.New(nil, audit.Options{})
	require.ErrorContains(t, err, "store is required")
	for _, o := range []audit.Options{{MaxAge: time.Second}, {MaxEntries: 1}, {MaxPending: -1}, {RefusedPerMinute: -1}, {AppendTimeout: -1}} {
		_, err := audit.New(audit.NewMemory(), o)
		require.ErrorContains(t, err, "Options.")
	}
}

func TestTrimEnds(t *testing.T) {
	l := newLog(t, audit.NewMemory(), audit.Options{MaxEntries: 1000})
	for range 1010 {
		require.True(t, l.Record(write, audit.Result{Outcome: audit.Succeeded}))
		if l.Stats().Pending > 500 {
			records(t, l, audit.Query{}) // waits until all are stored
		}
	}
	records(t, l, audit.Query{})
	n, err := l.Trim(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 10, n)
	for range 3 { // notices of removals must not push the records out
		n, err = l.Trim(t.Context())
		require.NoError(t, err)
		require.Zero(t, n)
	}
	report, err := l.Verify(t.Context())
	require.NoError(t, err)
	require.True(t, report.Intact(), report.Problem)
	require.EqualValues(t, 1001, report.Entries)
}
