package recipients_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/channeltest"
	"github.com/otkit/otkit/alerting/channel/internal/recipients"
)

func Example() {
	var l recipients.List
	l.Add("anna@example.com")
	l.AddSecret("device token")
	for _, key := range l.Recipients() {
		address, err := l.Find(alerting.Notification{Recipient: key})
		fmt.Println(key, "is", address, err)
	}
	// Output:
	// anna@example.com is anna@example.com <nil>
	// 89d5aee676dd is device token <nil>
}

func TestFind(t *testing.T) {
	var l recipients.List
	l.Add("anna", "bob", "anna")
	l.AddSecret("s3cret", "s3cret")
	require.Len(t, l.Recipients(), 3, "each once")
	for _, unknown := range []string{"", "carl", "s3cret"} {
		_, err := l.Find(alerting.Notification{Recipient: unknown})
		outcome, _ := channeltest.Outcome(t, err)
		require.Equal(t, alerting.OutcomePermanent, outcome)
		require.ErrorContains(t, err, "is not configured")
	}
}
