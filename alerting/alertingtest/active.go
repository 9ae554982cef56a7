package alertingtest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/outbox"
)

func testRecipients(t *testing.T, o outboxStore) {
	anna, bob := delivery(1, "sms"), delivery(2, "sms")
	anna.Recipient, bob.Recipient = "anna", "bob"
	bob.EventID, bob.Occurrence = anna.EventID, anna.Occurrence
	bob.Seq = anna.Seq
	again := anna
	again.ID = id(9)
	plan(t, o, anna, bob, again, end(3, anna), end(4, bob))
	got := claim(t, o, "sms", "a", base)
	require.Equal(t, []string{id(1), id(2)}, ids(got), "once each")
	require.Equal(t, "anna", got[0].Recipient)
	require.Equal(t, "bob", got[1].Recipient)
	require.NoError(t, o.Settle(t.Context(), "a", []outbox.Settlement{settlement(bob, outbox.Sent)}, nil))
	got = claim(t, o, "sms", "b", base)
	require.Equal(t, []string{id(4)}, ids(got), "one recipient does not wait for another")
	require.Equal(t, "bob", got[0].Recipient)
	list, err := o.FirstDeliveries(t.Context(), []string{anna.Occurrence})
	require.NoError(t, err)
	states := make(map[string]outbox.DeliveryState)
	for _, d := range list {
		states[d.ID+d.Recipient] = d.State
	}
	require.Equal(t, map[string]outbox.DeliveryState{id(1) + "anna": outbox.Sending, id(2) + "bob": outbox.Sent}, states)
}

func testClockSetBack(t *testing.T, o outboxStore) {
	late := delivery(2, "sms")
	late.NextAttempt = base.Add(time.Minute)
	plan(t, o, delivery(1, "sms"), late)
	require.Len(t, claim(t, o, "sms", "a", base), 1)
	before := base.Add(-time.Hour) // the lease is until a minute after base
	c := claimOf("sms", "b", before)
	for _, limit := range []time.Duration{time.Hour + time.Minute, -1} {
		if c.LatestNext, c.LatestLease = before.Add(limit), before.Add(limit); limit < 0 {
			c.LatestNext, c.LatestLease = time.Time{}, time.Time{}
		}
		list, err := o.Claim(t.Context(), c)
		require.NoError(t, err)
		require.Empty(t, list)
	}
	c.LatestNext, c.LatestLease = base, base.Add(time.Hour)
	list, err := o.Claim(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, []string{id(2)}, ids(list))
	c.LatestLease = base
	list, err = o.Claim(t.Context(), c)
	require.NoError(t, err)
	require.Equal(t, []string{id(1)}, ids(list)[:1])
	require.True(t, list[0].Uncertain)
}

func testSilencedDeliveries(t *testing.T, o outboxStore) {
	var all []outbox.Delivery
	for n := range 5 {
		d := delivery(n+1, "sms")
		d.Occurrence, d.State = id(2000+n/2), outbox.Silenced
		all = append(all, d)
	}
	all[4].State = outbox.Pending
	plan(t, o, all...)
	require.Equal(t, []string{id(5)}, ids(claim(t, o, "sms", "a", base)))
	var (
		got  []string
		last outbox.Delivery
	)
	for {
		list, err := o.SilencedDeliveries(t.Context(), last, 3)
		require.NoError(t, err)
		if got = append(got, ids(list)...); len(list) == 0 {
			break
		}
		last = list[len(list)-1]
		want := all[len(got)-1]
		require.Equal(t, want.Occurrence+want.Channel+want.Recipient, last.Occurrence+last.Channel+last.Recipient)
		require.Equal(t, want.Seq, last.Seq)
		require.Equal(t, outbox.Silenced, last.State)
		require.Equal(t, "Pump-1 Equipment", last.Notification.Source+" "+last.Notification.SourceType)
	}
	require.Equal(t, []string{id(1), id(2), id(3), id(4)}, got)

	now, expires := base.Add(time.Hour), base.Add(48*time.Hour)
	n, err := o.ReleaseSilenced(t.Context(), []string{id(1), id(2), id(5), id(77)}, outbox.Pending, now, expires)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	n, err = o.ReleaseSilenced(t.Context(), []string{id(2), id(3)}, outbox.Discarded, now, time.Time{})
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = o.ReleaseSilenced(t.Context(), nil, outbox.Discarded, now, time.Time{})
	require.NoError(t, err)
	require.Zero(t, n)
	require.Empty(t, claim(t, o, "sms", "b", now.Add(-time.Microsecond))[1:], "but for the lease that has ended")
	list := claim(t, o, "sms", "c", now)
	require.Equal(t, []string{id(1)}, ids(list), "the second one of an occurrence waits")
	sameTime(t, expires, list[0].ExpiresAt, "ExpiresAt")
	require.NoError(t, o.Settle(t.Context(), "c", []outbox.Settlement{settlement(list[0], outbox.Sent)}, nil))
	require.Equal(t, []string{id(2)}, ids(claim(t, o, "sms", "c", now)))
	require.NoError(t, o.TrimDeliveries(t.Context(), now.Add(time.Microsecond), time.Time{}))
	require.ElementsMatch(t, []string{id(1), id(2), id(4), id(5)}, firsts(t, o, all...), "what was dropped is settled")
}

func testConcurrentUnsilence(t *testing.T, o outboxStore) {
	d := delivery(1, "sms")
	d.State = outbox.Silenced
	plan(t, o, d)
	var won atomic.Int64
	together(func(caller int) {
		to := []outbox.DeliveryState{outbox.Pending, outbox.Discarded}[caller%2]
		n, err := o.ReleaseSilenced(t.Context(), []string{d.ID}, to, base, base.Add(time.Hour))
		if err != nil {
			t.Errorf("caller %d: %v", caller, err)
		}
		won.Add(int64(n))
	})
	require.EqualValues(t, 1, won.Load())
}
