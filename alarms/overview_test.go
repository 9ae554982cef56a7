package alarms_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

func alarm(key string, severity alarms.Severity) alarms.Alarm {
	return alarms.Alarm{Key: key, Source: "P-1", Message: key, Severity: severity}
}

func TestOverviewCountsEachStateOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service(t, alarms.NewMemory(), alarms.Options{})
		empty, err := s.Overview(t.Context())
		require.NoError(t, err)
		require.Nil(t, empty.Gravest)
		require.False(t, empty.Flood)
		for _, a := range []alarms.Alarm{alarm("open", alarms.Warning), alarm("seen", alarms.Critical), alarm("over", alarms.Error), alarm("gone", alarms.Error),
			alarm("shelf", alarms.Critical), alarm("out", alarms.Info), alarm("design", alarms.Info)} {
			raise(t, s, a)
		}
		ctx := t.Context()
		for _, key := range []string{"seen", "gone"} {
			_, err := s.Acknowledge(ctx, alarms.ByKey(key), "anna", "")
			require.NoError(t, err)
		}
		for _, key := range []string{"over", "gone"} {
			_, err := s.Clear(ctx, alarms.ByKey(key), "", "")
			require.NoError(t, err)
		}
		_, err = s.Shelve(ctx, alarms.ByKey("shelf"), time.Hour, "anna", "")
		require.NoError(t, err)
		_, err = s.Shelve(ctx, alarms.ByKey("out"), time.Hour, "anna", "")
		require.NoError(t, err)
		_, err = s.OutOfService(ctx, alarms.ByKey("out"), "anna", "")
		require.NoError(t, err)
		_, err = s.SuppressByDesign(ctx, alarms.ByKey("design"), "anna", "")
		require.NoError(t, err)
		_, err = s.SuppressByDesign(ctx, alarms.ByKey("never raised"), "anna", "")
		require.NoError(t, err)

		o, err := s.Overview(ctx)
		require.NoError(t, err)
		count := make(map[string]int)
		for severity, states := range o.Counts {
			for state, n := range states {
				if n != 0 {
					count[fmt.Sprint(alarms.Severity(severity), " ", state)] = n
				}
			}
		}
		require.Equal(t, map[string]int{"Warning Unacknowledged": 1, "Critical Acknowledged": 1, "Error ReturnedUnacknowledged": 1, "Critical Shelved": 1,
			"Info OutOfService": 1, "Info SuppressedByDesign": 1}, count)
		require.Equal(t, "open", o.Gravest.Key, "what nobody has seen comes before what is more severe")

		_, err = s.Acknowledge(ctx, alarms.ByKey("open"), "anna", "")
		require.NoError(t, err)
		o, err = s.Overview(ctx)
		require.NoError(t, err)
		require.Equal(t, "seen", o.Gravest.Key)
		require.False(t, o.Flood)
		for i := range 4 {
			raise(t, s, alarm(fmt.Sprint("more ", i), alarms.Info))
		}
		o, err = s.Overview(ctx)
		require.NoError(t, err)
		require.True(t, o.Flood, "eleven in ten minutes")
		time.Sleep(11 * time.Minute)
		o, err = s.Overview(ctx)
		require.NoError(t, err)
		require.False(t, o.Flood)
	})
}

func TestListByPriority(t *testing.T) {
	s := service(t, alarms.NewMemory(), alarms.Options{})
	for i, a := range []alarms.Alarm{alarm("info", alarms.Info), alarm("seen critical", alarms.Critical), alarm("old error", alarms.Error),
		alarm("critical", alarms.Critical), alarm("new error", alarms.Error), alarm("seen info", alarms.Info)} {
		a.At = time.Now().Add(time.Duration(i)*time.Minute - time.Hour)
		raise(t, s, a)
	}
	for _, key := range []string{"seen critical", "seen info"} {
		_, err := s.Acknowledge(t.Context(), alarms.ByKey(key), "anna", "")
		require.NoError(t, err)
	}
	want := []string{"critical", "new error", "old error", "info", "seen critical", "seen info"}
	for size := 1; size <= 7; size++ {
		var got []string
		for page := 1; page <= 7; page++ {
			p, err := s.List(t.Context(), alarms.ListQuery{Order: alarms.OrderPriority, Page: page, PageSize: size})
			require.NoError(t, err)
			require.Equal(t, 6, p.Total)
			require.LessOrEqual(t, len(p.Occurrences), size)
			for _, o := range p.Occurrences {
				got = append(got, o.Key)
			}
		}
		require.Equal(t, want, got, "pages of %d", size)
	}
	p, err := s.List(t.Context(), alarms.ListQuery{Order: alarms.OrderPriority, OnlyUnacknowledged: true, Severities: alarms.SetOf(alarms.Error, alarms.Info), Page: 1, PageSize: 2})
	require.NoError(t, err)
	require.Equal(t, 3, p.Total)
	require.Equal(t, "new error", p.Occurrences[0].Key)
	_, err = s.List(t.Context(), alarms.ListQuery{Order: "loudest", Page: 1, PageSize: 1})
	require.ErrorIs(t, err, alarms.ErrInvalidRequest)
}

func TestACommentAcknowledgesNothing(t *testing.T) {
	s := service(t, alarms.NewMemory(), alarms.Options{})
	o := raise(t, s, alarm("hot", alarms.Error))
	require.NoError(t, s.Comment(t.Context(), o.ID, "anna", "the fitter is on the way"))
	now, err := s.Occurrence(t.Context(), o.ID)
	require.NoError(t, err)
	require.Equal(t, o, now)
	events, total, err := s.EventsOf(t.Context(), o.ID, 1, 10)
	require.NoError(t, err)
	require.Equal(t, 2, total)
	require.Equal(t, alarms.Commented, events[1].Kind)
	require.Equal(t, "anna", events[1].By)
	require.Equal(t, "the fitter is on the way", events[1].Comment)
	require.False(t, events[1].Annunciate)
	for _, id := range []string{"", "nothing"} {
		require.ErrorIs(t, s.Comment(t.Context(), id, "anna", "x"), alarms.ErrAlarmNotFound)
	}
	require.ErrorIs(t, s.Comment(t.Context(), o.ID, "anna", " "), alarms.ErrInvalidRequest)
	require.ErrorIs(t, s.Comment(t.Context(), o.ID, "", "x"), alarms.ErrInvalidRequest)
}
