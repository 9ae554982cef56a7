package alertingtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/outbox"
)

// testSentSince tests stores that implement [outbox.SentLister].
func testSentSince(t *testing.T, o outboxStore) {
	lister, ok := o.Store.(outbox.SentLister)
	if !ok {
		t.Skip("the store does not list what was sent")
	}
	var add []outbox.Delivery
	for n := range 7 {
		d := delivery(n+1, "sms")
		d.Recipient = []string{"anna", "bob"}[n%2]
		add = append(add, d)
	}
	add[5].Channel = "email"
	plan(t, o, add...)
	for n, d := range append(claim(t, o, "sms", "a", base), claim(t, o, "email", "a", base)...) {
		state := outbox.Sent
		if d.ID == add[6].ID {
			state = outbox.DeadLettered
		}
		s := settlement(d, state)
		s.SettledAt = base.Add(time.Duration(n) * time.Second)
		require.NoError(t, o.Settle(t.Context(), "a", []outbox.Settlement{s}, nil))
	}
	got, err := lister.SentSince(t.Context(), "sms", base, 3)
	require.NoError(t, err)
	for i := range got {
		got[i].At = got[i].At.UTC()
	}
	require.Equal(t, []outbox.SentTime{{Recipient: "anna", At: base.Add(4 * time.Second)}, {Recipient: "bob", At: base.Add(3 * time.Second)},
		{Recipient: "anna", At: base.Add(2 * time.Second)}}, got)
	got, err = lister.SentSince(t.Context(), "sms", base, 100)
	require.NoError(t, err)
	require.Len(t, got, 4, "what was sent later than that")
	got, err = lister.SentSince(t.Context(), "tts", base, 100)
	require.NoError(t, err)
	require.Empty(t, got)
}
