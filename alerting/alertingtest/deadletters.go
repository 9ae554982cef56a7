package alertingtest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/outbox"
)

func testReviveResolved(t *testing.T, o outboxStore) {
	first, other, told := delivery(1, "sms"), delivery(2, "sms"), delivery(3, "sms")
	first.Recipient, other.Recipient, told.Recipient = "anna", "bob", "anna"
	other.Occurrence = first.Occurrence
	plan(t, o, first, other, told)
	require.Len(t, claim(t, o, "sms", "a", base), 3)
	dead := func(d outbox.Delivery) outbox.Settlement { return settlement(d, outbox.DeadLettered) }
	require.NoError(t, o.Settle(t.Context(), "a", []outbox.Settlement{dead(first), dead(other), settlement(told, outbox.Sent)}, nil))
	plan(t, o, end(11, first), end(12, other), end(13, told))
	settle(t, o, "sms", outbox.Discarded)

	n, err := o.RequeueDeadLetters(t.Context(), first.ID, "", base, base.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{id(1)}, ids(claim(t, o, "sms", "a", base)), "the end waits for the beginning")
	require.NoError(t, o.Settle(t.Context(), "a", []outbox.Settlement{settlement(first, outbox.Sent)}, nil))
	got := claim(t, o, "sms", "a", base)
	require.Equal(t, []string{id(11)}, ids(got))
	require.Zero(t, got[0].Attempts)
	sameTime(t, base.Add(time.Hour), got[0].ExpiresAt, "ExpiresAt")

	n, err = o.RequeueDeadLetters(t.Context(), "", "sms", base, base.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	settle(t, o, "sms", outbox.Sent)
	require.Equal(t, []string{id(12)}, ids(claim(t, o, "sms", "b", base)))
}

func testCountDeadLetters(t *testing.T, o outboxStore) {
	counts, err := o.CountDeadLetters(t.Context())
	require.NoError(t, err)
	require.Empty(t, counts)
	plan(t, o, delivery(1, "sms"), delivery(2, "sms"), delivery(3, "email"), delivery(4, "fax"))
	settle(t, o, "sms", outbox.DeadLettered)
	settle(t, o, "email", outbox.DeadLettered)
	settle(t, o, "fax", outbox.Sent)
	counts, err = o.CountDeadLetters(t.Context())
	require.NoError(t, err)
	require.Len(t, counts, 2)
	require.Equal(t, 2, counts["sms"].Count)
	require.Equal(t, 1, counts["email"].Count)
	sameTime(t, base, counts["sms"].Newest, "Newest")

	later := base.Add(time.Hour)
	list, _, err := o.DeadLetters(t.Context(), "sms", 0, 1)
	require.NoError(t, err)
	require.Equal(t, []string{id(2)}, ids(list))
	drop := func(id, channel string) int {
		n, err := o.DiscardDeadLetters(t.Context(), id, channel, later)
		require.NoError(t, err)
		return n
	}
	require.Equal(t, 1, drop(id(2), ""))
	require.Zero(t, drop(id(2), ""))
	require.Zero(t, drop(id(4), ""), "it is not dead")
	require.Zero(t, drop("", "fax"))
	require.Equal(t, 1, drop("", "sms"))
	require.Equal(t, 1, drop("", ""))
	counts, err = o.CountDeadLetters(t.Context())
	require.NoError(t, err)
	require.Empty(t, counts)
	all := []outbox.Delivery{delivery(1, ""), delivery(2, ""), delivery(3, "")}
	require.NoError(t, o.TrimDeliveries(t.Context(), later, time.Time{}))
	require.Len(t, firsts(t, o, all...), 3)
	require.NoError(t, o.TrimDeliveries(t.Context(), later.Add(time.Microsecond), time.Time{}))
	require.Empty(t, firsts(t, o, all...))
}

func testDeadDigest(t *testing.T, o outboxStore) {
	folded, digest := delivery(1, "sms"), delivery(2, "sms")
	digest.Occurrence = ""
	plan(t, o, folded)
	require.Len(t, claim(t, o, "sms", "a", base), 1)
	s := settlement(folded, outbox.InDigest)
	s.DigestID = digest.ID
	require.NoError(t, o.Settle(t.Context(), "a", []outbox.Settlement{s}, []outbox.Delivery{digest}))
	state := func() outbox.DeliveryState {
		list, err := o.FirstDeliveries(t.Context(), []string{folded.Occurrence})
		require.NoError(t, err)
		require.Len(t, list, 1)
		return list[0].State
	}
	require.Equal(t, outbox.Pending, state(), "that of the digest")
	settle(t, o, "sms", outbox.DeadLettered)
	require.Equal(t, outbox.DeadLettered, state())
	plan(t, o, end(3, folded))
	settle(t, o, "sms", outbox.Discarded)
	n, err := o.RequeueDeadLetters(t.Context(), digest.ID, "", base, base.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.ElementsMatch(t, []string{id(2), id(3)}, ids(claim(t, o, "sms", "a", base)), "with the end of what it tells")
	require.NoError(t, o.Settle(t.Context(), "a", []outbox.Settlement{settlement(digest, outbox.Sent)}, nil))
	require.Equal(t, outbox.Sent, state())
}

func testBusy(t *testing.T, o outboxStore) {
	anna, bob, next := delivery(1, "sms"), delivery(2, "sms"), delivery(3, "sms")
	anna.Recipient, bob.Recipient, next.Recipient = "anna", "bob", "anna"
	plan(t, o, anna, bob)
	c := claimOf("sms", "a", base)
	busy := func(who ...string) []string {
		c.ExcludeRecipients = who
		list, err := o.Claim(t.Context(), c)
		require.NoError(t, err)
		return ids(list)
	}
	require.Empty(t, busy("anna", "bob"))
	require.Equal(t, []string{id(1)}, busy("bob", "cleo"))
	plan(t, o, next)
	require.Equal(t, []string{id(2)}, busy("anna"), "what is claimed stays claimed")
	require.Empty(t, busy("anna", "bob"))
	require.Equal(t, []string{id(1), id(3)}, busy("bob"))
}

func testDeadLetters(t *testing.T, o outboxStore) {
	for n := range 5 {
		plan(t, o, delivery(n+1, []string{"sms", "email"}[n%2]))
	}
	plan(t, o, delivery(9, "fax"))
	settle(t, o, "sms", outbox.DeadLettered)
	settle(t, o, "email", outbox.DeadLettered)
	settle(t, o, "fax", outbox.Sent)
	for _, c := range []struct {
		channel       string
		offset, limit int
		want          []string
		total         int64
	}{
		{"", 0, 10, []string{id(5), id(4), id(3), id(2), id(1)}, 5},
		{"", 1, 2, []string{id(4), id(3)}, 5},
		{"", 9, 2, []string{}, 5},
		{"sms", 0, 2, []string{id(5), id(3)}, 3},
		{"fax", 0, 2, []string{}, 0},
	} {
		list, total, err := o.DeadLetters(t.Context(), c.channel, c.offset, c.limit)
		require.NoError(t, err)
		require.Equal(t, c.total, total)
		require.Equal(t, c.want, ids(list), "%d after %d of %q", c.limit, c.offset, c.channel)
	}
	list, _, err := o.DeadLetters(t.Context(), "email", 0, 1)
	require.NoError(t, err)
	want := delivery(4, "email")
	want.State, want.SettledAt = outbox.DeadLettered, base
	sameDelivery(t, want, list[0])
}

func testRevive(t *testing.T, o outboxStore) {
	plan(t, o, delivery(1, "sms"), delivery(2, "sms"), delivery(3, "email"), delivery(4, "fax"))
	settle(t, o, "sms", outbox.DeadLettered)
	settle(t, o, "email", outbox.DeadLettered)
	letter, err := o.DeadLetter(t.Context(), id(2))
	require.NoError(t, err)
	require.Equal(t, id(2)+" sms dead", letter.ID+" "+letter.Channel+" "+string(letter.State))
	for _, unknown := range []string{id(4), id(99), ""} {
		_, err = o.DeadLetter(t.Context(), unknown)
		require.ErrorIs(t, err, outbox.ErrDeadLetterNotFound)
	}
	now, expires := base.Add(time.Hour), base.Add(48*time.Hour)
	revive := func(id, channel string) int {
		n, err := o.RequeueDeadLetters(t.Context(), id, channel, now, expires)
		require.NoError(t, err)
		return n
	}
	require.Equal(t, 1, revive(id(2), ""))
	require.Zero(t, revive(id(2), ""), "it is dead no more")
	require.Zero(t, revive(id(4), ""), "it never was")
	require.Empty(t, claim(t, o, "sms", "a", now.Add(-time.Microsecond)))
	got := claim(t, o, "sms", "a", now)
	require.Equal(t, []string{id(2)}, ids(got))
	require.Zero(t, got[0].Attempts)
	require.Empty(t, got[0].LastError)
	sameTime(t, expires, got[0].ExpiresAt, "ExpiresAt")
	sameTime(t, time.Time{}, got[0].SettledAt, "SettledAt")
	require.Equal(t, 1, revive("", "sms"))
	require.Equal(t, 1, revive("", ""))
	require.Len(t, claim(t, o, "email", "a", now), 1)
}

func testOutboxCancelled(t *testing.T, o outboxStore) {
	require.Error(t, o.Plan(cancelled(t), 0, 1, []outbox.Delivery{delivery(1, "sms")}))
	_, err := o.Claim(cancelled(t), claimOf("sms", "a", base))
	require.Error(t, err)
	require.Empty(t, claim(t, o, "sms", "a", base))
}

func testLargePlan(t *testing.T, o outboxStore) {
	const n = 1500
	var (
		add         []outbox.Delivery
		occurrences []string
		done        []outbox.Settlement
	)
	for i := range n {
		add = append(add, delivery(i, "sms"))
		occurrences = append(occurrences, add[i].Occurrence)
	}
	plan(t, o, add...)
	c := claimOf("sms", "a", base)
	c.Limit = n + 1
	list, err := o.Claim(t.Context(), c)
	require.NoError(t, err)
	require.Len(t, list, n)
	for _, d := range list {
		done = append(done, settlement(d, outbox.Sent))
	}
	require.NoError(t, o.Settle(t.Context(), "a", done, nil))
	first, err := o.FirstDeliveries(t.Context(), occurrences)
	require.NoError(t, err)
	require.Len(t, first, n)
	for _, d := range first {
		require.Equal(t, outbox.Sent, d.State)
	}
}

func testConcurrentPlans(t *testing.T, o outboxStore) {
	const events = 20
	together(func(caller int) {
		for n := range events {
			d := delivery(n, "sms")
			d.ID = freshID()
			err := o.Plan(t.Context(), int64(n), int64(n+1), []outbox.Delivery{d})
			if err != nil && !errors.Is(err, outbox.ErrCursorMoved) {
				t.Errorf("caller %d: %v", caller, err)
			}
		}
	})
	at, err := o.Cursor(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, events, at)
	require.Len(t, claim(t, o, "sms", "a", base), events)
}

func testConcurrentClaims(t *testing.T, o outboxStore) {
	const n = 200
	var add []outbox.Delivery
	for i := range n {
		add = append(add, delivery(i, "sms"))
	}
	plan(t, o, add...)
	var (
		mu    sync.Mutex
		times = make(map[string]int)
	)
	together(func(caller int) {
		owner := fmt.Sprintf("owner %d", caller)
		c := claimOf("sms", owner, base)
		c.Limit = 7
		for {
			list, err := o.Claim(t.Context(), c)
			if err != nil {
				t.Errorf("%s: %v", owner, err)
				return
			}
			var done []outbox.Settlement
			mu.Lock()
			for _, d := range list {
				times[d.ID]++
				done = append(done, settlement(d, outbox.Sent))
			}
			finished := len(times) == n
			mu.Unlock()
			if err := o.Settle(t.Context(), owner, done, nil); err != nil {
				t.Errorf("%s: %v", owner, err)
				return
			}
			if finished || len(list) == 0 {
				return
			}
		}
	})
	require.Len(t, times, n)
	for d, count := range times {
		require.Equal(t, 1, count, d)
	}
}
