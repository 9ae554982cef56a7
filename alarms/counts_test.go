package alarms_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

// TestCountsHaveWhatIsPending counts an alarm before and after it is stored.
func TestCountsHaveWhatIsPending(t *testing.T) {
	s := service(t, newStore(), alarms.Options{})
	raise(t, s, pump("stored"))
	counts := func() map[alarms.ListState]int {
		got, err := s.Counts(t.Context())
		require.NoError(t, err)
		return got
	}
	require.Equal(t, 1, counts()[alarms.ListActive])
	waits := pump("waits")
	waits.ID = "01a20440-3a48-77fa-a566-e3a68db203d1"
	signals := []alarms.Signal{{Raise: &waits}}
	s.ShowPending(t.Context(), []alarms.PendingSignals{{Key: "waits", Signals: signals}})
	require.Equal(t, 2, counts()[alarms.ListActive])
	require.Zero(t, counts()[alarms.ListShelved])
	s.ShowPending(t.Context(), []alarms.PendingSignals{{Key: "stored", Signals: []alarms.Signal{{Key: "stored"}}}})
	require.Equal(t, 1, counts()[alarms.ListActive])
	require.Equal(t, 1, counts()[alarms.ListReturned])
	_, err := s.Apply(t.Context(), signals)
	require.NoError(t, err)
	s.ShowPending(t.Context(), []alarms.PendingSignals{{Key: "waits"}, {Key: "stored"}})
	require.Equal(t, 2, counts()[alarms.ListActive])
}
