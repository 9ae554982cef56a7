package alertingtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/outbox"
)

// TestOutbox runs the suite for an outbox. newStore returns an empty outbox each time it is called, and cleans up with t.Cleanup. Tests
// of optional interfaces that the outbox does not implement are skipped.
func TestOutbox(t *testing.T, newStore func(testing.TB) outbox.Store) {
	t.Helper()
	runAll(t, func(t testing.TB) outboxStore { return outboxStore{newStore(t), t} }, []test[outboxStore]{
		{"the cursor moves with the plan", testCursor},
		{"a plan from a moved cursor changes nothing", testCursorMoved},
		{"an event is planned once for a channel", testPlanOnce},
		{"a delivery comes back as it was planned", testDeliveryRoundTrip},
		{"deliveries are claimed by channel in order of the journal", testClaimOrder},
		{"a delivery is due at its time", testClaimDue},
		{"a claimed delivery is nobody else's until its lease ends", testLease},
		{"an owner gets back what it claimed before", testSameOwner},
		{"what is claimed by who is gone is released", testReleaseClaims},
		{"deliveries of one occurrence keep their order", testOccurrenceOrder},
		{"a settled delivery has what was written down", testSettle},
		{"what was sent lately is listed", testSentSince},
		{"who has lost a lease cannot settle", testSettleLost},
		{"a digest is added with what it folds", testSettleAdds},
		{"the first deliveries of an occurrence are found", testFirstDeliveries},
		{"recipients have deliveries and an order of their own", testRecipients},
		{"times far ahead are of a clock that was set back", testClockSetBack},
		{"what is silenced waits until it is decided", testSilencedDeliveries},
		{"of many that decide what is silenced a single one succeeds", testConcurrentUnsilence},
		{"old deliveries are removed", testTrimDeliveries},
		{"what was told of an alarm that stands is kept", testTrimStanding},
		{"what was told of an alarm is kept until its end is told", testTrimEnds},
		{"a digest is unfolded", testUnfold},
		{"the messages of a digest are listed in pages", testDigestMessages},
		{"what nobody claims expires", testExpireOthers},
		{"dead letters are listed newest first, in pages", testDeadLetters},
		{"dead letters are revived", testRevive},
		{"the end of an alarm is revived with its beginning", testReviveResolved},
		{"dead letters are counted by channel and discarded", testCountDeadLetters},
		{"what is folded stands where its digest does", testDeadDigest},
		{"recipients that are busy are left alone", testBusy},
		{"a cancelled context ends a call", testOutboxCancelled},
		{"a large plan is kept as a whole", testLargePlan},
		{"of many that plan one event a single one succeeds", testConcurrentPlans},
		{"many claim at once and each delivery goes to one", testConcurrentClaims},
	})
}

func delivery(n int, channel string) outbox.Delivery {
	d := outbox.Delivery{
		ID: id(n), Seq: int64(n), EventID: id(1000 + n), Occurrence: id(2000 + n), Channel: channel, State: outbox.Pending,
		NextAttempt: base, CreatedAt: base, ExpiresAt: base.Add(24 * time.Hour),
	}
	d.Notification = alerting.Notification{
		ID: d.ID, EventID: d.EventID, AlarmID: d.Occurrence, Code: int64(n), Channel: channel, Severity: alarms.Error, Source: "Pump-1", SourceType: "Equipment",
		Message: "zu heiß", Title: "[Error] Pump-1", Body: "line one\nline 'two' \"x\"", Labels: map[string]string{"job": "ä"},
		At: base, Digest: 3,
	}
	return d
}

// plan adds deliveries and moves the cursor by one.
func plan(t *testing.T, o outboxStore, add ...outbox.Delivery) {
	t.Helper()
	at, err := o.Cursor(t.Context())
	require.NoError(t, err)
	require.NoError(t, o.Plan(t.Context(), at, at+1, add))
}

func claimOf(channel, owner string, now time.Time) outbox.Claim {
	return outbox.Claim{Channel: channel, Owner: owner, Now: now, LeaseUntil: now.Add(time.Minute), Limit: 100}
}

func claim(t *testing.T, o outboxStore, channel, owner string, now time.Time) []outbox.Delivery {
	t.Helper()
	list, err := o.Claim(t.Context(), claimOf(channel, owner, now))
	require.NoError(t, err)
	return list
}

func ids(list []outbox.Delivery) []string {
	all := []string{}
	for _, d := range list {
		all = append(all, d.ID)
	}
	return all
}

func settlement(d outbox.Delivery, state outbox.DeliveryState) outbox.Settlement {
	s := outbox.Settlement{ID: d.ID, State: state, Attempts: d.Attempts, NextAttempt: d.NextAttempt}
	if state.Final() {
		s.SettledAt = base
	}
	return s
}

// settle claims everything that is due and sets its state.
func settle(t *testing.T, o outboxStore, channel string, state outbox.DeliveryState) {
	t.Helper()
	var done []outbox.Settlement
	for _, d := range claim(t, o, channel, "settler", base) {
		done = append(done, settlement(d, state))
	}
	require.NoError(t, o.Settle(t.Context(), "settler", done, nil))
}

func sameDelivery(t *testing.T, want, got outbox.Delivery) {
	t.Helper()
	for _, c := range []struct {
		name      string
		want, got *time.Time
	}{
		{"NextAttempt", &want.NextAttempt, &got.NextAttempt}, {"LeaseUntil", &want.LeaseUntil, &got.LeaseUntil},
		{"CreatedAt", &want.CreatedAt, &got.CreatedAt}, {"ExpiresAt", &want.ExpiresAt, &got.ExpiresAt},
		{"SettledAt", &want.SettledAt, &got.SettledAt}, {"At", &want.Notification.At, &got.Notification.At},
	} {
		sameTime(t, *c.want, *c.got, c.name)
		*c.got = *c.want
	}
	require.Equal(t, want, got)
}

func testCursor(t *testing.T, o outboxStore) {
	at, err := o.Cursor(t.Context())
	require.NoError(t, err)
	require.Zero(t, at)
	require.NoError(t, o.Plan(t.Context(), 0, 7, nil))
	require.NoError(t, o.Plan(t.Context(), 7, 1<<40, []outbox.Delivery{delivery(1, "sms")}))
	at, err = o.Cursor(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(1)<<40, at)
}

func testCursorMoved(t *testing.T, o outboxStore) {
	require.NoError(t, o.Plan(t.Context(), 0, 7, nil))
	require.ErrorIs(t, o.Plan(t.Context(), 0, 9, []outbox.Delivery{delivery(1, "sms")}), outbox.ErrCursorMoved)
	at, err := o.Cursor(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 7, at)
	require.Empty(t, claim(t, o, "sms", "a", base))
}

func testPlanOnce(t *testing.T, o outboxStore) {
	again := delivery(1, "sms")
	again.ID = id(50)
	plan(t, o, delivery(1, "sms"), again)
	plan(t, o, again)
	other := delivery(1, "email")
	other.ID = id(51)
	plan(t, o, other)
	require.Equal(t, []string{id(1)}, ids(claim(t, o, "sms", "a", base)))
	require.Equal(t, []string{id(51)}, ids(claim(t, o, "email", "a", base)))
}

func testDeliveryRoundTrip(t *testing.T, o outboxStore) {
	want := delivery(1, "sms")
	want.Resolved, want.Notification.Resolved = true, true
	bare := delivery(2, "sms")
	bare.Occurrence, bare.Notification.Labels, bare.Notification.Digest = "", nil, 0
	plan(t, o, want, bare)
	got := claim(t, o, "sms", "a", base)
	require.Len(t, got, 2)
	for i, want := range []outbox.Delivery{want, bare} {
		want.State, want.Owner, want.LeaseUntil = outbox.Sending, "a", base.Add(time.Minute)
		sameDelivery(t, want, got[i])
	}
}

func testClaimOrder(t *testing.T, o outboxStore) {
	twin := delivery(7, "sms")
	twin.Seq = 3 // as the next one: the id decides
	plan(t, o, delivery(5, "sms"), delivery(4, "email"), twin, delivery(3, "sms"))
	plan(t, o, delivery(2, "sms"))
	c := claimOf("sms", "a", base)
	c.Limit = 3
	list, err := o.Claim(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, []string{id(2), id(3), id(7)}, ids(list))
	require.Equal(t, []string{id(5)}, ids(claim(t, o, "sms", "b", base)))
	require.Empty(t, claim(t, o, "fax", "b", base))
}

func testClaimDue(t *testing.T, o outboxStore) {
	plan(t, o, delivery(1, "sms"))
	require.Empty(t, claim(t, o, "sms", "a", base.Add(-time.Microsecond)))
	require.Len(t, claim(t, o, "sms", "a", base), 1)
}

func testLease(t *testing.T, o outboxStore) {
	plan(t, o, delivery(1, "sms"))
	first := claim(t, o, "sms", "a", base)
	require.Len(t, first, 1)
	require.False(t, first[0].Uncertain)
	require.Empty(t, claim(t, o, "sms", "b", base.Add(time.Minute-time.Microsecond)))
	second := claim(t, o, "sms", "b", base.Add(time.Minute))
	require.Equal(t, []string{id(1)}, ids(second))
	require.True(t, second[0].Uncertain, "the first owner may have sent it")
	require.Zero(t, second[0].Attempts, "a claim is no attempt")
	require.Equal(t, "b", second[0].Owner)
	sameTime(t, base.Add(2*time.Minute), second[0].LeaseUntil, "LeaseUntil")
}

func testSameOwner(t *testing.T, o outboxStore) {
	plan(t, o, delivery(1, "sms"))
	require.Len(t, claim(t, o, "sms", "a", base), 1)
	again := claim(t, o, "sms", "a", base.Add(time.Second))
	require.Len(t, again, 1)
	require.True(t, again[0].Uncertain)
	require.Zero(t, again[0].Attempts)
}

func testReleaseClaims(t *testing.T, o outboxStore) {
	plan(t, o, delivery(1, "email"), delivery(2, "sms"), delivery(3, "email"), delivery(4, "webhook"))
	gone := append(claim(t, o, "email", "gone", base), claim(t, o, "sms", "here", base)...)
	require.Len(t, gone, 3)
	require.NoError(t, o.Settle(t.Context(), "gone", []outbox.Settlement{settlement(gone[1], outbox.Sent)}, nil))
	n, err := o.ReleaseClaims(t.Context(), []string{"gone", "here"})
	require.NoError(t, err)
	require.Zero(t, n)
	n, err = o.ReleaseClaims(t.Context(), []string{"here", "other"})
	require.NoError(t, err)
	require.Equal(t, 1, n, "neither what is sent nor what is pending")
	n, err = o.ReleaseClaims(t.Context(), []string{"here"})
	require.NoError(t, err)
	require.Zero(t, n)
	require.Empty(t, claim(t, o, "sms", "other", base))
	list := claim(t, o, "email", "other", base.Add(-time.Hour)) // whatever the clock says
	require.Len(t, list, 1)
	require.Equal(t, gone[0].ID, list[0].ID)
	require.True(t, list[0].Uncertain)
	require.NoError(t, o.Settle(t.Context(), "gone", []outbox.Settlement{settlement(gone[0], outbox.DeadLettered)}, nil))
	require.Empty(t, claim(t, o, "email", "third", base.Add(-time.Hour)), "who is gone does not hold it any more")
	n, err = o.ReleaseClaims(t.Context(), nil)
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

func testOccurrenceOrder(t *testing.T, o outboxStore) {
	first, second, other := delivery(1, "sms"), delivery(2, "sms"), delivery(3, "email")
	second.Occurrence, second.Resolved, other.Occurrence = first.Occurrence, true, first.Occurrence
	loose, looser := delivery(4, "sms"), delivery(5, "sms") // no occurrence, no order to keep
	loose.Occurrence, looser.Occurrence = "", ""
	plan(t, o, first, second, other, loose, looser)
	require.Equal(t, []string{id(1), id(4), id(5)}, ids(claim(t, o, "sms", "a", base)), "the second waits for the first")
	require.Equal(t, []string{id(3)}, ids(claim(t, o, "email", "a", base)), "another channel does not wait")

	later := settlement(first, outbox.Pending)
	later.NextAttempt = base.Add(time.Hour)
	require.NoError(t, o.Settle(t.Context(), "a", []outbox.Settlement{later}, nil))
	require.Empty(t, claim(t, o, "sms", "b", base), "nor does it overtake one that waits for its next attempt")

	require.Len(t, claim(t, o, "sms", "b", base.Add(2*time.Hour)), 3)
	require.NoError(t, o.Settle(t.Context(), "b", []outbox.Settlement{settlement(first, outbox.DeadLettered)}, nil))
	require.Equal(t, []string{id(2)}, ids(claim(t, o, "sms", "c", base.Add(2*time.Hour))))
}

func testSettle(t *testing.T, o outboxStore) {
	plan(t, o, delivery(1, "sms"))
	require.Len(t, claim(t, o, "sms", "a", base), 1)
	require.NoError(t, o.Settle(t.Context(), "a", []outbox.Settlement{{
		ID: id(1), State: outbox.Pending, Attempts: 5, Uncertain: true, NextAttempt: base.Add(time.Hour), LastError: "busy 'ä'",
	}}, nil))
	require.Empty(t, claim(t, o, "sms", "a", base.Add(time.Minute)))
	got := claim(t, o, "sms", "b", base.Add(time.Hour))
	require.Len(t, got, 1)
	want := delivery(1, "sms")
	want.State, want.Owner, want.LeaseUntil = outbox.Sending, "b", base.Add(61*time.Minute)
	want.Attempts, want.Uncertain, want.LastError, want.NextAttempt = 5, true, "busy 'ä'", base.Add(time.Hour)
	sameDelivery(t, want, got[0])
	for _, state := range []outbox.DeliveryState{outbox.Sent, outbox.Pending} { // the second call no longer holds it
		require.NoError(t, o.Settle(t.Context(), "b", []outbox.Settlement{settlement(got[0], state)}, nil))
		require.Empty(t, claim(t, o, "sms", "c", base.Add(48*time.Hour)))
	}
}

func testSettleLost(t *testing.T, o outboxStore) {
	plan(t, o, delivery(1, "sms"))
	first := claim(t, o, "sms", "a", base)
	require.NoError(t, o.Settle(t.Context(), "b", []outbox.Settlement{settlement(first[0], outbox.Sent)}, nil))
	require.Len(t, claim(t, o, "sms", "b", base.Add(time.Hour)), 1)
	require.NoError(t, o.Settle(t.Context(), "a", []outbox.Settlement{settlement(first[0], outbox.Sent)}, nil))
	require.Len(t, claim(t, o, "sms", "c", base.Add(2*time.Hour)), 1, "it is still to be sent")
}

func testSettleAdds(t *testing.T, o outboxStore) {
	plan(t, o, delivery(1, "sms"), delivery(2, "sms"))
	list := claim(t, o, "sms", "a", base)
	var done []outbox.Settlement
	for _, d := range list {
		s := settlement(d, outbox.InDigest)
		s.DigestID = id(9)
		done = append(done, s)
	}
	digest := delivery(9, "sms")
	digest.Occurrence, digest.EventID = "", id(9)
	require.NoError(t, o.Settle(t.Context(), "a", done, []outbox.Delivery{digest}))
	require.NoError(t, o.Settle(t.Context(), "a", nil, []outbox.Delivery{digest}))
	require.Equal(t, []string{id(9)}, ids(claim(t, o, "sms", "b", base.Add(time.Hour))))
}

func testFirstDeliveries(t *testing.T, o outboxStore) {
	first, resolved, other := delivery(1, "sms"), delivery(2, "sms"), delivery(3, "email")
	resolved.Occurrence, resolved.Resolved, other.Occurrence = first.Occurrence, true, first.Occurrence
	plan(t, o, first, resolved, other, delivery(4, "sms"))
	settle(t, o, "email", outbox.Sent)
	states := func(occurrences ...string) map[string]int {
		list, err := o.FirstDeliveries(t.Context(), occurrences)
		require.NoError(t, err)
		found := make(map[string]int)
		for _, d := range list {
			found[d.Occurrence+" "+d.Channel+" "+string(d.State)]++
		}
		return found
	}
	require.Equal(t, map[string]int{first.Occurrence + " sms pending": 1, first.Occurrence + " email sent": 1}, states(first.Occurrence))
	require.Len(t, states(first.Occurrence, delivery(4, "").Occurrence, id(1)), 3)
	require.Empty(t, states(id(1)))
	require.Empty(t, states())
}
