package alarms_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

// twice is a store that gives each change up once and calls it again, as stores may.
type twice struct{ *alarms.Memory }

var errAgain = errors.New("again")

func (m twice) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	err := m.Memory.Write(ctx, refs, func(next int64, found []alarms.RefResult) (alarms.Changes, error) {
		if _, err := change(next, found); err != nil {
			return alarms.Changes{}, err
		}
		return alarms.Changes{}, errAgain
	})
	if !errors.Is(err, errAgain) {
		return err
	}
	return m.Memory.Write(ctx, refs, change)
}

func newStore() twice { return twice{alarms.NewMemory()} }

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2024, 2, 28, 12, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func service(t testing.TB, store alarms.Store, o alarms.Options) *alarms.Service {
	t.Helper()
	s, err := alarms.New(t.Context(), store, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

func pump(key string) alarms.Alarm {
	return alarms.Alarm{Key: key, Source: "P-101", Message: "pump failed", Severity: alarms.Warning}
}

func raise(t testing.TB, s *alarms.Service, a alarms.Alarm) alarms.Occurrence {
	t.Helper()
	o, err := s.Raise(t.Context(), a)
	require.NoError(t, err)
	return o
}

func kinds(t testing.TB, s *alarms.Service) []alarms.EventKind {
	t.Helper()
	events, err := s.Events(t.Context(), 0, 10_000)
	require.NoError(t, err)
	var out []alarms.EventKind
	for _, e := range events {
		out = append(out, e.Kind)
	}
	return out
}

func TestRaiseAndClear(t *testing.T) {
	c := newClock()
	s := service(t, newStore(), alarms.Options{Now: c.now})
	first := raise(t, s, pump("app:1"))
	require.Positive(t, first.Code)
	require.True(t, first.Active)
	require.Equal(t, "Equipment", first.SourceType)
	require.Equal(t, c.now(), first.RaisedAt)

	c.add(time.Minute)
	again := raise(t, s, pump("app:1"))
	require.Equal(t, first, again, "raising an active one changes nothing")
	worse := pump("app:1")
	worse.Severity, worse.Message = alarms.Critical, "pump on fire"
	escalated := raise(t, s, worse)
	require.Equal(t, first.ID, escalated.ID)
	require.Equal(t, alarms.Critical, escalated.Severity)
	require.Equal(t, "pump on fire", escalated.Message)
	require.Equal(t, alarms.Critical, raise(t, s, pump("app:1")).Severity, "a lower severity changes nothing")

	cleared, err := s.Clear(t.Context(), alarms.ByKey("app:1"), "", "")
	require.NoError(t, err)
	require.False(t, cleared.Active)
	require.Equal(t, c.now(), cleared.ClearedAt)
	_, err = s.Clear(t.Context(), alarms.ByCode(first.Code), "", "")
	require.NoError(t, err, "clearing twice changes nothing")
	second := raise(t, s, pump("app:1"))
	require.NotEqual(t, first.ID, second.ID)
	require.Equal(t, first.Code, second.Code)
	require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Escalated, alarms.Cleared, alarms.Raised}, kinds(t, s))
	_, err = s.Clear(t.Context(), alarms.ByKey("app:unknown"), "", "")
	require.ErrorIs(t, err, alarms.ErrAlarmNotFound)
	stale, err := s.Clear(t.Context(), alarms.ByID(first.ID), "", "")
	require.NoError(t, err)
	require.Equal(t, first.ID, stale.ID, "an old occurrence's id does not clear the new one")
	active, err := s.Active(t.Context())
	require.NoError(t, err)
	require.Len(t, active, 1)
}

func TestTimesOfSources(t *testing.T) {
	c := newClock()
	s := service(t, newStore(), alarms.Options{Now: c.now})
	a := pump("a")
	a.At = c.now().Add(-time.Hour).In(time.FixedZone("", 9*3600))
	require.Equal(t, c.now().Add(-time.Hour), raise(t, s, a).RaisedAt, "the source's time, in UTC")
	a = pump("b")
	a.At = c.now().Add(time.Hour)
	require.Equal(t, c.now(), raise(t, s, a).RaisedAt, "no time to come")
}

func TestClockSetBack(t *testing.T) {
	c := newClock()
	s := service(t, newStore(), alarms.Options{Now: c.now})
	first := raise(t, s, pump("a"))
	c.add(-time.Hour)
	acked, err := s.Acknowledge(t.Context(), alarms.ByID(first.ID), "anna", "")
	require.NoError(t, err)
	require.False(t, acked.AcknowledgedAt.Before(first.RaisedAt), "not acknowledged before it was raised")
	cleared, err := s.Clear(t.Context(), alarms.ByKey("a"), "", "")
	require.NoError(t, err)
	require.False(t, cleared.ClearedAt.Before(acked.AcknowledgedAt), "not cleared before it was acknowledged")
	second := raise(t, s, pump("a"))
	require.True(t, second.RaisedAt.After(first.RaisedAt))
	list, err := s.RecentHistory(t.Context(), 10)
	require.NoError(t, err)
	require.Equal(t, []string{second.ID, first.ID}, []string{list[0].ID, list[1].ID}, "in the order in which they were raised")
	page, err := s.History(t.Context(), c.now().Add(-time.Hour), c.now().Add(2*time.Hour), alarms.ListQuery{Page: 1, PageSize: 10})
	require.NoError(t, err)
	require.Equal(t, 2, page.Total, "no alarm is lost")
	require.Equal(t, second.ID, page.Occurrences[0].ID)
}

func TestAcknowledge(t *testing.T) {
	s := service(t, newStore(), alarms.Options{})
	byID, byCode := raise(t, s, pump("a")), raise(t, s, pump("b"))
	o, err := s.Acknowledge(t.Context(), alarms.ByID(byID.ID), "anna", "on my way")
	require.NoError(t, err)
	require.Equal(t, "anna", o.AcknowledgedBy)
	require.Equal(t, "on my way", o.Comment)
	require.True(t, o.Active)
	_, err = s.Acknowledge(t.Context(), alarms.ByID(byID.ID), "ben", "")
	require.ErrorIs(t, err, alarms.ErrAlreadyAcknowledged)
	_, err = s.Acknowledge(t.Context(), alarms.ByCode(byID.Code), "ben", "")
	require.ErrorIs(t, err, alarms.ErrAlarmNotFound, "acknowledged by id counts for the code")
	_, err = s.Acknowledge(t.Context(), alarms.ByCode(byCode.Code), "ben", "")
	require.NoError(t, err)
	_, err = s.Acknowledge(t.Context(), alarms.ByID(byCode.ID), "ben", "")
	require.ErrorIs(t, err, alarms.ErrAlreadyAcknowledged, "acknowledged by code counts for the id")
	for _, ref := range []alarms.Ref{alarms.ByID("x"), alarms.ByCode(99), alarms.ByKey("nothing")} {
		_, err = s.Acknowledge(t.Context(), ref, "ben", "")
		require.ErrorIs(t, err, alarms.ErrAlarmNotFound)
	}
	_, err = s.Acknowledge(t.Context(), alarms.ByID(byID.ID), " ", "")
	require.ErrorIs(t, err, alarms.ErrInvalidRequest)

	gone := raise(t, s, pump("c"))
	_, err = s.Clear(t.Context(), alarms.ByKey("c"), "", "")
	require.NoError(t, err)
	c, err := s.Condition(t.Context(), alarms.ByKey("c"))
	require.NoError(t, err)
	require.Equal(t, alarms.StateReturnedUnacknowledged, c.State())
	_, err = s.Acknowledge(t.Context(), alarms.ByCode(gone.Code), "ben", "")
	require.ErrorIs(t, err, alarms.ErrAlarmNotFound)
	_, err = s.Acknowledge(t.Context(), alarms.ByID(gone.ID), "ben", "")
	require.NoError(t, err)
	c, err = s.Condition(t.Context(), alarms.ByKey("c"))
	require.NoError(t, err)
	require.Equal(t, alarms.StateNormal, c.State())
	active, err := s.Active(t.Context())
	require.NoError(t, err)
	require.Empty(t, active)
	page, err := s.List(t.Context(), alarms.ListQuery{Page: 1, PageSize: 50})
	require.NoError(t, err)
	require.Equal(t, 2, page.Total, "acknowledged ones stay in the list while they are active")
}

func TestParallelAcknowledges(t *testing.T) {
	s := service(t, newStore(), alarms.Options{})
	for range 20 {
		o := raise(t, s, pump("a"))
		var wg sync.WaitGroup
		var won atomic.Int32
		for n := range 12 {
			ref := []alarms.Ref{alarms.ByID(o.ID), alarms.ByCode(o.Code)}[n%2]
			wg.Go(func() {
				_, err := s.Acknowledge(t.Context(), ref, fmt.Sprintf("operator %d", n), "")
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, alarms.ErrAlreadyAcknowledged) && !errors.Is(err, alarms.ErrAlarmNotFound) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.Equal(t, int32(1), won.Load())
		_, err := s.Clear(t.Context(), alarms.ByKey("a"), "", "")
		require.NoError(t, err)
	}
}

func TestParallelRaises(t *testing.T) {
	s := service(t, newStore(), alarms.Options{})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if _, err := s.Raise(t.Context(), pump("a")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, []alarms.EventKind{alarms.Raised}, kinds(t, s))
}

func TestApplyIsAllOrNothing(t *testing.T) {
	s := service(t, newStore(), alarms.Options{})
	bad := pump("b")
	bad.Source, bad.Severity, bad.Message = "", 9, string([]byte{0xff})
	_, err := s.RaiseMany(t.Context(), []alarms.Alarm{pump("a"), bad})
	require.ErrorIs(t, err, alarms.ErrInvalidAlarm)
	for _, field := range []string{"[1].source", "[1].severity", "[1].message"} {
		require.ErrorContains(t, err, field)
	}
	require.Empty(t, kinds(t, s))
	_, err = s.RaiseMany(t.Context(), make([]alarms.Alarm, 10_001))
	require.ErrorIs(t, err, alarms.ErrBatchSizeExceeded)

	a := pump("a")
	results, err := s.Apply(t.Context(), []alarms.Signal{{Raise: &a}, {Key: "a"}, {Raise: &a}, {Raise: &a}, {Key: "unknown"}})
	require.NoError(t, err)
	var changed []alarms.EventKind
	for _, r := range results {
		changed = append(changed, r.Changed)
	}
	require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared, alarms.Raised, "", ""}, changed)
	require.NotEqual(t, results[0].Occurrence.ID, results[2].Occurrence.ID)
}

func TestLatching(t *testing.T) {
	s := service(t, newStore(), alarms.Options{})
	a := pump("a")
	a.Latching = true
	o := raise(t, s, a)
	_, err := s.Reset(t.Context(), alarms.ByCode(o.Code), "anna", "")
	require.ErrorIs(t, err, alarms.ErrNotReturned)
	returned, err := s.Clear(t.Context(), alarms.ByKey("a"), "", "")
	require.NoError(t, err)
	require.True(t, returned.Active, "it stays until it is reset")
	require.Equal(t, o.ID, raise(t, s, a).ID)
	_, err = s.Reset(t.Context(), alarms.ByID(o.ID), "anna", "")
	require.ErrorIs(t, err, alarms.ErrNotReturned, "it came back")
	_, err = s.Clear(t.Context(), alarms.ByKey("a"), "", "")
	require.NoError(t, err)
	reset, err := s.Reset(t.Context(), alarms.ByCode(o.Code), "anna", "checked")
	require.NoError(t, err)
	require.False(t, reset.Active)
	_, err = s.Reset(t.Context(), alarms.ByCode(o.Code), "anna", "")
	require.ErrorIs(t, err, alarms.ErrAlarmNotFound)
	require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Returned, alarms.Recurred, alarms.Returned, alarms.Reset}, kinds(t, s))
}

func TestWithholding(t *testing.T) {
	s := service(t, newStore(), alarms.Options{})
	sub, err := s.Subscribe(alarms.SubscribeOptions{})
	require.NoError(t, err)
	defer sub.Close()
	type act func(context.Context, alarms.Ref, string, string) (alarms.Condition, error)
	for _, c := range []struct {
		on, off act
		state   alarms.State
		list    alarms.ListState
		kinds   []alarms.EventKind
	}{
		{s.SuppressByDesign, s.UnsuppressByDesign, alarms.StateSuppressedByDesign, alarms.ListSuppressed, []alarms.EventKind{alarms.Suppressed, alarms.Raised, alarms.Unsuppressed}},
		{s.OutOfService, s.InService, alarms.StateOutOfService, alarms.ListOutOfService, []alarms.EventKind{alarms.OutOfService, alarms.Raised, alarms.InService}},
		{func(ctx context.Context, ref alarms.Ref, by, comment string) (alarms.Condition, error) {
			return s.Shelve(ctx, ref, time.Hour, by, comment)
		}, s.Unshelve, alarms.StateShelved, alarms.ListShelved, []alarms.EventKind{alarms.Shelved, alarms.Raised, alarms.Unshelved}},
	} {
		key := string(c.state)
		before := len(kinds(t, s))
		cond, err := c.on(t.Context(), alarms.ByKey(key), "anna", "why") // before it was ever raised
		require.NoError(t, err)
		require.Equal(t, c.state, cond.State())
		o := raise(t, s, pump(key))
		require.NotZero(t, o.Suppression)
		page, err := s.List(t.Context(), alarms.ListQuery{Page: 1, PageSize: 10})
		require.NoError(t, err)
		for _, shown := range page.Occurrences {
			require.NotEqual(t, o.ID, shown.ID, "withheld from the list")
		}
		page, err = s.List(t.Context(), alarms.ListQuery{Page: 1, PageSize: 10, State: c.list})
		require.NoError(t, err)
		require.Equal(t, 1, page.Total)
		cond, err = c.off(t.Context(), alarms.ByCode(o.Code), "ben", "")
		require.NoError(t, err)
		require.Equal(t, alarms.StateUnacknowledged, cond.State())
		_, err = c.off(t.Context(), alarms.ByCode(o.Code), "ben", "")
		require.NoError(t, err, "twice changes nothing")
		require.Equal(t, c.kinds, kinds(t, s)[before:])
		events, err := sub.Next(t.Context(), 0)
		require.NoError(t, err)
		require.Len(t, events, 1, "told once, when it is shown again")
		require.Equal(t, c.kinds[2], events[0].Kind)
		require.Equal(t, o.ID, events[0].Occurrence.ID)
		require.Zero(t, events[0].Occurrence.Suppression)
	}
	_, err = s.Shelve(t.Context(), alarms.ByCode(99), time.Hour, "anna", "")
	require.ErrorIs(t, err, alarms.ErrAlarmNotFound)
	for _, d := range []time.Duration{0, -1, 25 * time.Hour} {
		_, err = s.Shelve(t.Context(), alarms.ByKey("a"), d, "anna", "")
		require.ErrorIs(t, err, alarms.ErrInvalidRequest)
	}
}

func TestUnshelvedByTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		s, err := alarms.New(t.Context(), store, alarms.Options{})
		require.NoError(t, err)
		a, b := raise(t, s, pump("a")), raise(t, s, pump("b"))
		_, err = s.Shelve(t.Context(), alarms.ByCode(a.Code), 10*time.Minute, "anna", "")
		require.NoError(t, err)
		_, err = s.Shelve(t.Context(), alarms.ByCode(b.Code), time.Hour, "anna", "")
		require.NoError(t, err)
		_, err = s.Acknowledge(t.Context(), alarms.ByCode(b.Code), "anna", "")
		require.NoError(t, err)
		sub, err := s.Subscribe(alarms.SubscribeOptions{})
		require.NoError(t, err)
		time.Sleep(10*time.Minute - time.Second)
		synctest.Wait()
		state(t, s, a.Code, alarms.StateShelved)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		state(t, s, a.Code, alarms.StateUnacknowledged)
		state(t, s, b.Code, alarms.StateShelved)
		events, err := sub.Next(t.Context(), 0)
		require.NoError(t, err)
		require.Equal(t, alarms.Unshelved, events[0].Kind)
		require.Empty(t, events[0].By)
		require.NoError(t, s.Close(context.Background()))

		time.Sleep(2 * time.Hour) // nothing runs when the second time limit comes
		s, err = alarms.New(t.Context(), store, alarms.Options{})
		require.NoError(t, err)
		state(t, s, b.Code, alarms.StateAcknowledged)
		all, err := s.Events(t.Context(), 0, 100)
		require.NoError(t, err)
		require.Equal(t, alarms.Unshelved, all[len(all)-1].Kind)
		require.False(t, all[len(all)-1].Annunciate, "somebody knows of it")
		require.NoError(t, s.Close(context.Background()))
	})
}

func state(t *testing.T, s *alarms.Service, code int64, want alarms.State) {
	t.Helper()
	c, err := s.Condition(t.Context(), alarms.ByCode(code))
	require.NoError(t, err)
	require.Equal(t, want, c.State())
}

// flaky is a store whose writes fail while it is told so.
type flaky struct {
	*alarms.Memory
	broken atomic.Bool
	hold   chan struct{} // when not nil, a write waits for it
}

var errDisk = errors.New("disk is full")

func (f *flaky) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	if f.hold != nil {
		<-f.hold
	}
	if f.broken.Load() {
		return errDisk
	}
	return f.Memory.Write(ctx, refs, change)
}

func TestStoreFails(t *testing.T) {
	store := &flaky{Memory: alarms.NewMemory()}
	s := service(t, store, alarms.Options{})
	sub, err := s.Subscribe(alarms.SubscribeOptions{All: true})
	require.NoError(t, err)
	defer sub.Close()
	store.broken.Store(true)
	_, err = s.Raise(t.Context(), pump("a"))
	require.ErrorIs(t, err, errDisk)
	store.broken.Store(false)
	raise(t, s, pump("b"))
	events, err := sub.Next(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, events, 1, "what was not stored is not told")
	require.Equal(t, "b", events[0].Occurrence.Key)
}

// picky is a store that refuses every write about one key.
type picky struct {
	*alarms.Memory
	hold chan struct{}
}

func (p *picky) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	<-p.hold
	for _, ref := range refs {
		if ref.Key == "refused" {
			return errDisk
		}
	}
	return p.Memory.Write(ctx, refs, change)
}

func TestOneCallFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &picky{Memory: alarms.NewMemory(), hold: make(chan struct{})}
		s, err := alarms.New(t.Context(), store, alarms.Options{})
		require.NoError(t, err)
		errs := make(map[string]chan error)
		for _, key := range []string{"a", "refused", "b", "c"} { // a is being written, the others gather
			errs[key] = make(chan error, 1)
			go func() { _, err := s.Raise(t.Context(), pump(key)); errs[key] <- err }()
			synctest.Wait()
		}
		close(store.hold)
		for _, key := range []string{"a", "b", "c"} {
			require.NoError(t, <-errs[key], "%s shares a transaction with one that fails", key)
		}
		require.ErrorIs(t, <-errs["refused"], errDisk)
		require.Len(t, kinds(t, s), 3)
		require.NoError(t, s.Close(context.Background()))
	})
}

func TestCloseAndContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &flaky{Memory: alarms.NewMemory(), hold: make(chan struct{})}
		s, err := alarms.New(t.Context(), store, alarms.Options{})
		require.NoError(t, err)
		begun := make(chan error, 1)
		go func() { _, err := s.Raise(t.Context(), pump("begun")); begun <- err }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.Raise(ctx, pump("given up"))
		require.Error(t, err)
		last := make(chan error, 1)
		go func() { _, err := s.Raise(t.Context(), pump("taken")); last <- err }()
		synctest.Wait()
		ended := make(chan struct{})
		go func() { _ = s.Close(context.Background()); close(ended) }()
		synctest.Wait()
		_, err = s.Raise(t.Context(), pump("late"))
		require.ErrorIs(t, err, alarms.ErrClosed)
		close(store.hold)
		require.NoError(t, <-begun)
		require.NoError(t, <-last, "what was taken is stored before Close returns")
		<-ended
		_, err = store.Condition(t.Context(), alarms.ByKey("given up"))
		require.ErrorIs(t, err, alarms.ErrAlarmNotFound)
		require.NoError(t, s.Close(context.Background()))
		_, err = s.Subscribe(alarms.SubscribeOptions{})
		require.ErrorIs(t, err, alarms.ErrClosed)
	})
}

func TestOptions(t *testing.T) {
	_, err := alarms.New(t.Context(), nil, alarms.Options{})
	require.Error(t, err)
	for name, o := range map[string]alarms.Options{
		"MaxTimeShelved":        {MaxTimeShelved: -1},
		"MaxCommitBatch":        {MaxCommitBatch: -1},
		"MaxPending":            {MaxPending: -1},
		"Limits.FloodEnd":       {Limits: alarms.Limits{FloodEnd: 20}},
		"Limits.Top":            {Limits: alarms.Limits{Top: 1000}},
		"Limits.RateAcceptable": {Limits: alarms.Limits{RateAcceptable: 20}},
	} {
		_, err := alarms.New(t.Context(), alarms.NewMemory(), o)
		require.ErrorContains(t, err, name)
	}
}

// TestOccurrencesOfOneMoment has a condition come and go within one tick of the clock, in one call and in
// several.
func TestOccurrencesOfOneMoment(t *testing.T) {
	c := newClock()
	s := service(t, newStore(), alarms.Options{Now: c.now})
	a := pump("a")
	flap := []alarms.Signal{{Raise: &a}, {Key: "a"}, {Raise: &a}, {Key: "a"}}
	many := slices.Repeat([]alarms.Signal{{Raise: &a}, {Key: "a"}}, 4000)
	var raised []time.Time
	for _, signals := range [][]alarms.Signal{flap, many, flap} {
		results, err := s.Apply(t.Context(), signals)
		require.NoError(t, err)
		for i, r := range results {
			require.NotEmpty(t, r.Changed)
			require.Equal(t, i%2 == 0, r.Occurrence.Active)
			if i%2 == 0 {
				raised = append(raised, r.Occurrence.RaisedAt)
			} else {
				require.False(t, r.Occurrence.ClearedAt.Before(r.Occurrence.RaisedAt))
			}
		}
	}
	for i, at := range raised {
		require.Equal(t, c.now().Add(time.Duration(i)*time.Microsecond), at)
	}
	c.add(-time.Hour)
	require.True(t, raise(t, s, a).RaisedAt.After(raised[len(raised)-1]), "nor where the clock is set back")
}
