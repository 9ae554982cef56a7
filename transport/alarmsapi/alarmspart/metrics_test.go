package alarmspart

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/transport/metrics/metricstest"
)

type service struct{ err error }

func (service) Unjournaled() (int, time.Time) { return 3, time.Time{} }

func (s service) Counts(context.Context) (map[alarms.ListState]int, error) {
	return map[alarms.ListState]int{alarms.ListActive: 5}, s.err
}

func TestMetrics(t *testing.T) {
	require.Equal(t, map[string]string{"otkit_alarms_unjournaled": "3", `otkit_alarms{state="active"}`: "5"},
		metricstest.Scrape(t, newAlarmCollector(service{})))
	require.Equal(t, map[string]string{"otkit_alarms_unjournaled": "3"},
		metricstest.Scrape(t, newAlarmCollector(service{errors.New("disk full")})), "alarms that are not journaled show while the store fails")
}
