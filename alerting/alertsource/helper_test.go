package alertsource_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/silences"
)

var noon = time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)

// clock is a time that tests set.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func newSilences(t testing.TB, store silences.Store, now func() time.Time) *silences.Service {
	t.Helper()
	s, err := silences.New(store, silences.Options{Now: now})
	require.NoError(t, err)
	return s
}
