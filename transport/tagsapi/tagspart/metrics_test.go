package tagspart

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/transport/metrics/metricstest"
)

func statuses() []tags.DriverStatus {
	return []tags.DriverStatus{
		{ID: "plc1", Type: "Modbus", State: tags.DriverOnline, Tags: 7, Reads: 100, ReadErrors: 3, Samples: 700, Changes: 20, Writes: 5,
			WriteErrors: 1, Connects: 2, RoundTrip: 15 * time.Millisecond, ConnectedSince: time.Unix(1700000000, 0), QueuedWrites: 4,
			RoundTripMean: 20 * time.Millisecond, RoundTripMax: 30 * time.Millisecond,
			Cycles:   []tags.Cycle{{Wanted: time.Second, Reached: 10 * time.Second, Tags: 100, Requests: 99}},
			Breakers: []tags.Breaker{{Unit: "1", State: tags.BreakerClosed}, {Unit: "2", State: tags.BreakerOpen, Failures: 4}}},
		{ID: "bad\xffid", Type: "Simulation", State: tags.DriverBackoff, LastErrorAt: time.Unix(1700000001, 500e6)},
	}
}

func TestDriverMetrics(t *testing.T) {
	got := metricstest.Scrape(t, newDriverCollector(statuses))
	for series, want := range map[string]string{
		`otkit_driver_state{driver="plc1",state="Online",type="Modbus"}`:                    "1",
		`otkit_driver_state{driver="plc1",state="Backoff",type="Modbus"}`:                   "0",
		`otkit_driver_state{driver="plc1",state="NotResponding",type="Modbus"}`:             "0",
		`otkit_driver_state{driver="bad?id",state="Backoff",type="Simulation"}`:             "1",
		`otkit_driver_tags{driver="plc1",type="Modbus"}`:                                    "7",
		`otkit_driver_reads_total{driver="plc1",type="Modbus"}`:                             "100",
		`otkit_driver_read_errors_total{driver="plc1",type="Modbus"}`:                       "3",
		`otkit_driver_samples_total{driver="plc1",type="Modbus"}`:                           "700",
		`otkit_driver_changes_total{driver="plc1",type="Modbus"}`:                           "20",
		`otkit_driver_writes_total{driver="plc1",type="Modbus"}`:                            "5",
		`otkit_driver_write_errors_total{driver="plc1",type="Modbus"}`:                      "1",
		`otkit_driver_connects_total{driver="plc1",type="Modbus"}`:                          "2",
		`otkit_driver_queued_writes{driver="plc1",type="Modbus"}`:                           "4",
		`otkit_driver_round_trip_seconds{driver="plc1",type="Modbus"}`:                      "0.015",
		`otkit_driver_round_trip_mean_seconds{driver="plc1",type="Modbus"}`:                 "0.02",
		`otkit_driver_round_trip_max_seconds{driver="plc1",type="Modbus"}`:                  "0.03",
		`otkit_driver_cycle_seconds{driver="plc1",interval="1s",type="Modbus"}`:             "10",
		`otkit_driver_cycle_wanted_seconds{driver="plc1",interval="1s",type="Modbus"}`:      "1",
		`otkit_driver_cycle_requests{driver="plc1",interval="1s",type="Modbus"}`:            "99",
		`otkit_driver_unit_left_out{driver="plc1",type="Modbus",unit="1"}`:                  "0",
		`otkit_driver_unit_left_out{driver="plc1",type="Modbus",unit="2"}`:                  "1",
		`otkit_driver_connected_since_timestamp_seconds{driver="plc1",type="Modbus"}`:       "1.7e+09",
		`otkit_driver_connected_since_timestamp_seconds{driver="bad?id",type="Simulation"}`: "",
		`otkit_driver_last_error_timestamp_seconds{driver="bad?id",type="Simulation"}`:      "1.7000000015e+09",
		`otkit_driver_last_error_timestamp_seconds{driver="plc1",type="Modbus"}`:            "",
	} {
		require.Equal(t, want, got[series], series)
	}
}

func TestHistoryMetrics(t *testing.T) {
	got := metricstest.Scrape(t, newHistoryCollector(func() history.RecorderStats {
		return history.RecorderStats{Stored: 9, Pending: 2, DroppedBy: map[history.DropReason]uint64{history.DropReasons()[0]: 4}}
	}))
	require.Equal(t, "9", got["otkit_history_samples_stored_total"])
	require.Equal(t, "2", got["otkit_history_samples_waiting"])
	require.Equal(t, "4", got[`otkit_history_samples_dropped_total{reason="`+string(history.DropReasons()[0])+`"}`])
}
