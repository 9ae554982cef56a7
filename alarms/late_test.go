package alarms_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

const pastID = "019b0000-0000-7000-8000-%012x"

// past is a report of an occurrence that began and ended some minutes after midnight.
func past(n, began, ended int, alter func(*alarms.Alarm)) alarms.Signal {
	a := pump("p")
	a.ID, a.At, a.Labels = fmt.Sprintf(pastID, n), minute(began), map[string]string{"group": "g"}
	if alter != nil {
		alter(&a)
	}
	return alarms.Signal{Raise: &a, Ended: minute(ended)}
}

func minute(n int) time.Time {
	return time.Date(2026, 1, 1, 0, n, 0, 0, time.UTC)
}

// lateService is a service at 01:00.
func lateService(t *testing.T) *alarms.Service {
	return service(t, newStore(), alarms.Options{Now: func() time.Time { return minute(60) }})
}

func apply(t *testing.T, s *alarms.Service, signals ...alarms.Signal) []alarms.Result {
	t.Helper()
	results, err := s.Apply(t.Context(), signals)
	require.NoError(t, err)
	return results
}

// TestLateOccurrence reports one that is over, three times.
func TestLateOccurrence(t *testing.T) {
	s := lateService(t)
	annunciated, err := s.Subscribe(alarms.SubscribeOptions{})
	require.NoError(t, err)
	defer annunciated.Close()
	r := apply(t, s, past(1, 10, 12, nil), past(1, 10, 12, nil))
	require.Equal(t, alarms.Raised, r[0].Changed)
	require.Empty(t, r[1].Changed)
	require.Equal(t, r[0].Occurrence, r[1].Occurrence)
	again := apply(t, s, past(1, 10, 12, nil))
	require.Empty(t, again[0].Changed)
	require.Equal(t, r[0].Occurrence, again[0].Occurrence)

	o := r[0].Occurrence
	require.True(t, o.Late())
	require.Equal(t, map[string]string{"group": "g", "late": "true"}, o.Labels)
	require.False(t, o.Active)
	require.Equal(t, minute(10), o.RaisedAt)
	require.Equal(t, minute(12), o.ClearedAt)
	events, err := s.Events(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, events, 2)
	for i, want := range []alarms.Event{{Kind: alarms.Raised, At: minute(10), Annunciate: true}, {Kind: alarms.Cleared, At: minute(12)}} {
		require.Equal(t, want.Kind, events[i].Kind)
		require.Equal(t, want.At, events[i].At)
		require.Equal(t, want.Annunciate, events[i].Annunciate)
		require.Equal(t, o, events[i].Occurrence, "nobody takes it for active")
	}
	told, err := annunciated.Next(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, told, 1, "annunciated once")

	c, err := s.Condition(t.Context(), alarms.ByKey("p"))
	require.NoError(t, err)
	require.Equal(t, alarms.StateReturnedUnacknowledged, c.State())
	counts, err := s.Counts(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, counts[alarms.ListReturned])
	require.Zero(t, counts[alarms.ListActive])
	trend, err := s.Trend(t.Context(), minute(0), minute(60))
	require.NoError(t, err)
	require.Equal(t, 1, trend[0].Total)
	_, err = s.Acknowledge(t.Context(), alarms.ByID(o.ID), "anna", "")
	require.NoError(t, err)
	c, err = s.Condition(t.Context(), alarms.ByKey("p"))
	require.NoError(t, err)
	require.Equal(t, alarms.StateNormal, c.State())
}

// TestLateOccurrenceLeavesThePresent reports some while another occurrence is active or newer.
func TestLateOccurrenceLeavesThePresent(t *testing.T) {
	for name, latching := range map[string]bool{"plain": false, "latching": true} {
		t.Run(name, func(t *testing.T) {
			s := lateService(t)
			latch := func(a *alarms.Alarm) { a.Latching = latching }
			a := pump("p")
			a.At = minute(20)
			present := raise(t, s, a)
			requireLast := func(want alarms.Occurrence) {
				t.Helper()
				c, err := s.Condition(t.Context(), alarms.ByKey("p"))
				require.NoError(t, err)
				require.Equal(t, &want, c.Last)
			}
			for i, at := range []int{10, 30} {
				o := apply(t, s, past(i, at, at+1, latch))[0].Occurrence
				require.False(t, o.Active, "the condition has an active one")
				requireLast(present)
			}
			cleared, err := s.Clear(t.Context(), alarms.ByKey("p"), "", "")
			require.NoError(t, err)
			require.False(t, apply(t, s, past(3, 12, 13, latch))[0].Occurrence.Active)
			requireLast(cleared)
			newest := apply(t, s, past(4, 40, 41, latch))[0].Occurrence
			requireLast(newest)
			require.Equal(t, latching, newest.Active)
			returned, err := s.List(t.Context(), alarms.ListQuery{State: alarms.ListReturned, Page: 1, PageSize: 10})
			require.NoError(t, err)
			want := 5
			if latching {
				want = 4
			}
			require.Equal(t, want, returned.Total, "each waits for its acknowledgement")
		})
	}
}

// TestLateLatchingOccurrence waits for its reset, and recurs.
func TestLateLatchingOccurrence(t *testing.T) {
	s := lateService(t)
	o := apply(t, s, past(1, 10, 12, func(a *alarms.Alarm) { a.Latching = true }))[0].Occurrence
	require.True(t, o.Active)
	require.Equal(t, minute(12), o.ReturnedAt)
	require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Returned}, kinds(t, s))
	a := pump("p")
	a.Latching = true
	require.Equal(t, alarms.Recurred, apply(t, s, alarms.Signal{Raise: &a})[0].Changed)
	apply(t, s, alarms.Signal{Key: "p"})
	_, err := s.Reset(t.Context(), alarms.ByKey("p"), "anna", "")
	require.NoError(t, err)
	list, err := s.List(t.Context(), alarms.ListQuery{Page: 1, PageSize: 10})
	require.NoError(t, err)
	require.Zero(t, list.Total)
}

// TestLateOccurrenceWhileSuppressed is recorded and not annunciated, then or later.
func TestLateOccurrenceWhileSuppressed(t *testing.T) {
	s := lateService(t)
	_, err := s.OutOfService(t.Context(), alarms.ByKey("p"), "anna", "")
	require.NoError(t, err)
	o := apply(t, s, past(1, 10, 12, nil))[0].Occurrence
	require.Equal(t, alarms.SuppressionOutOfService, o.Suppression)
	_, err = s.InService(t.Context(), alarms.ByKey("p"), "anna", "")
	require.NoError(t, err)
	events, err := s.Events(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Len(t, events, 4)
	for _, e := range events {
		require.False(t, e.Annunciate)
	}
}

// TestLateTimes has times of a clock that is ahead, and two occurrences that began with others.
func TestLateTimes(t *testing.T) {
	s := lateService(t)
	ahead := apply(t, s, past(1, 50, 90, nil))[0].Occurrence
	require.Equal(t, minute(60), ahead.ClearedAt, "nothing ended in the future")
	require.Equal(t, minute(50).Add(time.Microsecond), apply(t, s, past(2, 50, 50, nil))[0].Occurrence.RaisedAt,
		"no two occurrences of a condition begin at one time")
	for name, bad := range map[string]alarms.Signal{
		"no begin":           past(3, 0, 1, func(a *alarms.Alarm) { a.At = time.Time{} }),
		"ended before":       past(3, 2, 1, nil),
		"nothing to raise":   {Key: "p", Ended: minute(1)},
		"an id that is none": past(3, 0, 1, func(a *alarms.Alarm) { a.ID = "x" }),
	} {
		_, err := s.Apply(t.Context(), []alarms.Signal{bad})
		require.ErrorIs(t, err, alarms.ErrInvalidAlarm, name)
	}
}

// TestLateSignalsArePendingQuietly are not listed before they are stored: nobody can act on them.
func TestLateSignalsArePendingQuietly(t *testing.T) {
	s := lateService(t)
	s.ShowPending(t.Context(), []alarms.PendingSignals{{Key: "p", Signals: []alarms.Signal{past(1, 10, 12, nil)}}})
	n, _ := s.Unjournaled()
	require.Zero(t, n)
	require.Equal(t, alarms.Raised, apply(t, s, past(1, 10, 12, nil))[0].Changed)
	require.NoError(t, s.Close(context.Background()))
}
