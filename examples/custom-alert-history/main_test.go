package main

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/alertingtest"
	"github.com/otkit/otkit/alerting/history"
)

func open(t testing.TB, path string) *fileStore {
	t.Helper()
	s, err := openStore(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.close() })
	return s
}

func TestItIsAStore(t *testing.T) {
	alertingtest.TestHistoryStore(t, func(t testing.TB) history.Store { return open(t, filepath.Join(t.TempDir(), "alerts.jsonl")) })
}

func TestRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alerts.jsonl")
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, path))
	require.Contains(t, out.String(), "boiler-1")
	require.Contains(t, out.String(), "the store of this server has no statistics\n")

	list, total, err := open(t, path).Records(t.Context(), history.Filter{}, 0, 10) // it survives
	require.NoError(t, err)
	require.EqualValues(t, 1, total)
	require.Equal(t, "boiler-1", list[0].Source)
}

func TestOptionalHalvesAreOff(t *testing.T) {
	alerts, err := history.New(open(t, filepath.Join(t.TempDir(), "alerts.jsonl")))
	require.NoError(t, err)
	_, err = alerts.CountBySource(t.Context(), time.Time{}, time.Time{})
	require.ErrorIs(t, err, history.ErrNoStatistics)
	require.NoError(t, alerts.Trim(t.Context(), time.Now())) // records stay for ever
}
