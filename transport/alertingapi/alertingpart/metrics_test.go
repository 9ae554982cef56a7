package alertingpart

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/transport/metrics/metricstest"
)

// dispatcher is a dispatcher as the metrics see it.
type dispatcher struct{ err error }

func (d dispatcher) Err() error { return d.err }

func (d dispatcher) Channels() []alerting.ChannelStatus {
	return []alerting.ChannelStatus{{Name: "email", Sent: 7, Failed: 2, Recipients: 3, Failing: 1, PausedUntil: time.Now()}}
}

func TestAlertingTellsWhetherItWorks(t *testing.T) {
	for want, err := range map[string]error{"1": nil, "0": errors.New("disk full")} {
		got := metricstest.Scrape(t, newChannelCollector(dispatcher{err}))
		require.Equal(t, want, got["otkit_alerting_dispatching"])
		require.Equal(t, "7", got[`otkit_alerting_messages_sent_total{channel="email"}`])
		require.Equal(t, "2", got[`otkit_alerting_attempts_failed_total{channel="email"}`])
		require.Equal(t, "1", got[`otkit_alerting_recipients_failing{channel="email"}`])
		require.Equal(t, "1", got[`otkit_alerting_channel_paused{channel="email"}`])
	}
}
