package alarmstest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

// testLate stores occurrences that were over before the newest one began.
func testLate(t *testing.T, s *store) {
	s.raise(t, noon.Add(-time.Hour), nil, "a")
	s.clear(t, alarms.ByKey("a"), noon.Add(-30*time.Minute))
	newest := s.raise(t, noon, nil, "a")[0]
	service, err := alarms.New(t.Context(), s, alarms.Options{Now: func() time.Time { return noon.Add(time.Hour) }})
	require.NoError(t, err)
	defer func() { require.NoError(t, service.Close(context.Background())) }()
	sig := func(id string, minutes int) alarms.Signal {
		at := noon.Add(time.Duration(minutes) * time.Minute)
		return alarms.Signal{Ended: at.Add(time.Minute), Raise: &alarms.Alarm{Key: "a", ID: id, Source: "s", Severity: alarms.Error, At: at}}
	}
	const before, during = "018de000-0000-7000-8000-00000000aaaa", "018DE000-0000-7000-8000-00000000BBBB"
	for range 2 { // the second time changes nothing
		for range 2 {
			_, err := service.Apply(t.Context(), []alarms.Signal{sig(before, -10), sig(during, 10), sig(before, -10)})
			require.NoError(t, err)
		}
		require.Len(t, s.events(t), 3+4, "an ID is stored once")
		c, err := s.Condition(t.Context(), alarms.ByKey("a"))
		require.NoError(t, err)
		require.NotNil(t, c.Last)
		same(t, newest, *c.Last, "Last is what Changes.Conditions name, whatever has a higher Seq")
		if s.reopen != nil {
			s.Store = s.reopen()
		}
	}
	list := s.all(t)
	require.Len(t, list, 4)
	late := list[0]
	require.Equal(t, "018de000-0000-7000-8000-00000000bbbb", late.ID, "listed at its own time")
	require.Equal(t, before, list[2].ID, "listed at its own time")
	require.True(t, late.ClearedAt.Equal(noon.Add(11*time.Minute)))
	require.Equal(t, "true", late.Labels[alarms.LabelLate])
	require.Len(t, s.query(t, alarms.Query{State: alarms.ListReturned, Limit: 10}).Occurrences, 3)
	s.acknowledge(t, alarms.ByID(late.ID), noon.Add(time.Hour))
	require.Len(t, s.query(t, alarms.Query{State: alarms.ListReturned, Limit: 10}).Occurrences, 2)
	require.Equal(t, []int64{newest.Seq}, seqs(s.query(t, alarms.Query{Active: true, Limit: 10}).Occurrences))
}

// testTrimLate has an occurrence that is not the newest of its condition, but ended after that.
func testTrimLate(t *testing.T, s *store) {
	trimmer := optional[alarms.Trimmer](t, s)
	last := s.raise(t, noon, nil, "a")[0]
	id := s.id()
	err := s.Write(t.Context(), []alarms.Ref{alarms.ByKey("a")}, func(next int64, f []alarms.RefResult) (alarms.Changes, error) {
		o := occurrence(id, next, f[0].Condition, noon.Add(time.Minute))
		o.Active, o.ClearedAt = false, noon.Add(time.Hour)
		return alarms.Changes{Occurrences: []*alarms.Occurrence{o}, Events: []alarms.Event{{Seq: next, ID: s.id(), At: o.RaisedAt, Kind: alarms.Raised, Occurrence: *o}}}, nil
	})
	require.NoError(t, err)
	s.clear(t, alarms.ByKey("a"), noon.Add(2*time.Minute))
	require.NoError(t, trimmer.Trim(t.Context(), noon.Add(30*time.Minute)))
	require.Equal(t, last.Code, s.stored(t, id).Code, "it was cleared later")
	_, err = s.Condition(t.Context(), alarms.ByKey("a"))
	require.NoError(t, err, "the condition of an occurrence that stays")
	require.NoError(t, trimmer.Trim(t.Context(), noon.Add(2*time.Hour)))
	require.Empty(t, s.all(t))
	_, err = s.Condition(t.Context(), alarms.ByKey("a"))
	require.ErrorIs(t, err, alarms.ErrAlarmNotFound)
}
