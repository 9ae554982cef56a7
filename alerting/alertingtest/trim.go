package alertingtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/outbox"
)

func testTrimDeliveries(t *testing.T, o outboxStore) {
	plan(t, o, delivery(1, "sms"), delivery(2, "email"), delivery(3, "fax"))
	settle(t, o, "sms", outbox.Sent)
	settle(t, o, "email", outbox.DeadLettered)
	ends := []outbox.Delivery{end(11, delivery(1, "sms")), end(12, delivery(2, "email"))}
	plan(t, o, ends...)
	settle(t, o, "sms", outbox.Sent)
	settle(t, o, "email", outbox.Discarded)
	require.NoError(t, o.TrimDeliveries(t.Context(), base, time.Time{}))
	_, dead, err := o.DeadLetters(t.Context(), "", 0, 1)
	require.NoError(t, err)
	require.EqualValues(t, 1, dead, "settled at that time, not before")
	require.NoError(t, o.TrimDeliveries(t.Context(), base.Add(time.Microsecond), base))
	_, dead, err = o.DeadLetters(t.Context(), "", 0, 1)
	require.NoError(t, err)
	require.Zero(t, dead)
	first, err := o.FirstDeliveries(t.Context(), []string{delivery(1, "").Occurrence})
	require.NoError(t, err)
	require.Empty(t, first)
	plan(t, o, ends...) // their identities can be used again
	require.Len(t, claim(t, o, "sms", "a", base), 1)
	require.Len(t, claim(t, o, "fax", "a", base), 1, "what is to be sent stays")
}

// end returns the resolved message for the occurrence of another message.
func end(n int, first outbox.Delivery) outbox.Delivery {
	d := delivery(n, first.Channel)
	d.Occurrence, d.Recipient, d.Resolved = first.Occurrence, first.Recipient, true
	return d
}

func firsts(t *testing.T, o outboxStore, of ...outbox.Delivery) []string {
	t.Helper()
	var occurrences []string
	for _, d := range of {
		occurrences = append(occurrences, d.Occurrence)
	}
	list, err := o.FirstDeliveries(t.Context(), occurrences)
	require.NoError(t, err)
	return ids(list)
}

func testTrimStanding(t *testing.T, o outboxStore) {
	sent, dead, folded, dropped, digest := delivery(1, "sms"), delivery(2, "email"), delivery(3, "fax"), delivery(4, "tts"), delivery(5, "line")
	digest.Occurrence = ""
	all := []outbox.Delivery{sent, dead, folded, dropped, digest}
	plan(t, o, all...)
	for i, state := range []outbox.DeliveryState{outbox.Sent, outbox.DeadLettered, outbox.InDigest, outbox.Discarded, outbox.Sent} {
		settle(t, o, all[i].Channel, state)
	}
	late := base.Add(40 * 24 * time.Hour)
	require.NoError(t, o.TrimDeliveries(t.Context(), late, base))
	require.ElementsMatch(t, []string{id(1), id(2), id(3)}, firsts(t, o, all[:4]...), "their alarms may stand")
	plan(t, o, digest)
	require.Len(t, claim(t, o, "line", "a", base), 1, "a digest is of no alarm")

	plan(t, o, end(11, sent), end(12, dead), end(13, folded))
	require.NoError(t, o.TrimDeliveries(t.Context(), late, base))
	require.ElementsMatch(t, []string{id(1), id(2), id(3)}, firsts(t, o, all[:4]...), "their ends are to be told")
	settle(t, o, "sms", outbox.Sent)
	settle(t, o, "email", outbox.Discarded)
	settle(t, o, "fax", outbox.Sent)
	require.NoError(t, o.TrimDeliveries(t.Context(), late, base))
	require.Empty(t, firsts(t, o, all[:4]...), "they have ended")

	own := delivery(8, "sms")
	own.NoDeadLetter = true
	plan(t, o, own)
	got := claim(t, o, "sms", "b", base)
	require.True(t, got[0].NoDeadLetter)
	require.NoError(t, o.Settle(t.Context(), "b", []outbox.Settlement{settlement(own, outbox.Sent)}, nil))
	require.NoError(t, o.TrimDeliveries(t.Context(), late, base))
	require.Empty(t, firsts(t, o, own), "what is about dead letters is not kept for their sake")

	silenced := delivery(6, "apns")
	silenced.State = outbox.Silenced
	plan(t, o, delivery(7, "fcm"), silenced, delivery(14, "line"), delivery(15, "tts"), delivery(16, "telegram"))
	settle(t, o, "fcm", outbox.Sent)
	require.Len(t, claim(t, o, "line", "c", base), 1)
	young := settlement(claim(t, o, "telegram", "c", base)[0], outbox.DeadLettered)
	young.SettledAt = late
	require.NoError(t, o.Settle(t.Context(), "c", []outbox.Settlement{young}, nil))
	require.NoError(t, o.TrimDeliveries(t.Context(), late, late))
	require.Empty(t, firsts(t, o, delivery(7, "")), "what is over does not stay for ever")
	require.ElementsMatch(t, []string{id(6), id(14), id(15), id(16)}, firsts(t, o, silenced, delivery(14, ""), delivery(15, ""), delivery(16, "")),
		"what is not over, or just became a dead letter, stays however old it is")
}

// testTrimEnds has resolved messages that are pending, of another channel and of another recipient.
func testTrimEnds(t *testing.T, o outboxStore) {
	late := base.Add(40 * 24 * time.Hour)
	for n, state := range []outbox.DeliveryState{outbox.Pending, outbox.Sending, outbox.DeadLettered} {
		anna, bob, mail := delivery(10*n+1, "sms"), delivery(10*n+2, "sms"), delivery(10*n+3, "email")
		anna.Recipient, bob.Recipient = "anna", "bob"
		bob.Occurrence, mail.Occurrence = anna.Occurrence, anna.Occurrence
		plan(t, o, anna, bob, mail)
		settle(t, o, "sms", outbox.Sent)
		settle(t, o, "email", outbox.Sent)
		plan(t, o, end(10*n+4, anna), end(10*n+5, mail))
		settle(t, o, "email", outbox.Sent)
		last := end(10*n+6, bob)
		switch state {
		case outbox.Sending:
			claim(t, o, "sms", "settler", late)
		case outbox.DeadLettered:
			settle(t, o, "sms", outbox.Sent)
			plan(t, o, last)
			s := settlement(claim(t, o, "sms", "a", base)[0], outbox.DeadLettered)
			s.SettledAt = late
			require.NoError(t, o.Settle(t.Context(), "a", []outbox.Settlement{s}, nil))
		}
		require.NoError(t, o.TrimDeliveries(t.Context(), late, base))
		require.ElementsMatch(t, []string{anna.ID, bob.ID, mail.ID}, firsts(t, o, anna), "while an end is %s", state)
		settle(t, o, "sms", outbox.Sent)
		require.NoError(t, o.TrimDeliveries(t.Context(), late.Add(time.Microsecond), base))
		require.Empty(t, firsts(t, o, anna))
		plan(t, o, end(10*n+4, anna), end(10*n+5, mail), last) // the ends are gone as well
		require.Len(t, claim(t, o, "sms", "b", base), 2)
		require.Len(t, claim(t, o, "email", "b", base), 1)
		done := []outbox.Settlement{settlement(end(10*n+4, anna), outbox.Sent), settlement(end(10*n+5, mail), outbox.Sent), settlement(last, outbox.Sent)}
		require.NoError(t, o.Settle(t.Context(), "b", done, nil))
	}
}
