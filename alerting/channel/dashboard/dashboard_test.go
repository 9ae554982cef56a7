package dashboard_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/dashboard"
	"github.com/otkit/otkit/alerting/channel/internal/channeltest"
)

type printer struct{}

func (printer) ReceiveAlarm(message, severity, timestamp string) error {
	fmt.Println(message, severity, timestamp)
	return nil
}

func Example() {
	c, err := dashboard.New(printer{})
	if err != nil {
		fmt.Println(err)
		return
	}
	n := alerting.Notification{Message: "too hot", Severity: alarms.Warning}
	fmt.Println(c.Send(context.Background(), n))
	// Output:
	// too hot Warning 0001-01-01T00:00:00Z
	// <nil>
}

type hub struct {
	got [][3]string
	err error
}

func (h *hub) ReceiveAlarm(message, severity, timestamp string) error {
	h.got = append(h.got, [3]string{message, severity, timestamp})
	return h.err
}

func TestSend(t *testing.T) {
	h := &hub{}
	c, err := dashboard.New(h)
	require.NoError(t, err)
	n := channeltest.Message()
	require.NoError(t, c.Send(t.Context(), n))
	n.Resolved = true
	require.NoError(t, c.Send(t.Context(), n))
	require.Equal(t, [][3]string{
		{"too hot: <5 & @all>", "Critical", "2026-03-29T01:02:03.000004Z"},
		{"Resolved: too hot: <5 & @all>", "Critical", "2026-03-29T01:02:03.000004Z"},
	}, h.got)

	h.err = errors.New("closed")
	outcome, _ := channeltest.Outcome(t, c.Send(t.Context(), n))
	require.Equal(t, alerting.OutcomeRetryable, outcome)
	_, err = dashboard.New(nil)
	require.Error(t, err)
}
