package alarmstest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

// testTrimBackdated has an event that was a year old when it was journalled.
func testTrimBackdated(t *testing.T, s *store) {
	trimmer := optional[alarms.Trimmer](t, s)
	const late = "018de400-0000-7000-8000-000000000001" // some hours after those of id
	s.raise(t, noon.AddDate(0, 0, -7), nil, "old")
	err := s.Write(t.Context(), []alarms.Ref{{Key: "late", Create: true}}, func(next int64, f []alarms.RefResult) (alarms.Changes, error) {
		o := occurrence(s.id(), next, f[0].Condition, noon.AddDate(-1, 0, 0))
		f[0].Condition.Last = o
		return alarms.Changes{
			Conditions: []*alarms.Condition{f[0].Condition}, Occurrences: []*alarms.Occurrence{o},
			Events: []alarms.Event{{Seq: next, ID: late, At: o.RaisedAt, Kind: alarms.Raised, Occurrence: *o, Annunciate: true}},
		}, nil
	})
	require.NoError(t, err)
	journalled := time.UnixMilli(0x018de4000000)
	require.NoError(t, trimmer.Trim(t.Context(), journalled))
	require.Empty(t, numbers(s.events(t)[1:]))
	require.Equal(t, late, s.events(t)[0].ID, "it may not have been read yet")
	require.NoError(t, trimmer.Trim(t.Context(), journalled.Add(time.Millisecond)))
	require.Empty(t, numbers(s.events(t)))
}
