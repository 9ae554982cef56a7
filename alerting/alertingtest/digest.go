package alertingtest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/outbox"
)

func testUnfold(t *testing.T, o outboxStore) {
	hot, cold, over, digest := delivery(1, "sms"), delivery(2, "sms"), delivery(3, "sms"), delivery(9, "sms")
	digest.Occurrence, digest.ExpiresAt = "", base.Add(48*time.Hour)
	over.Resolved = true
	plan(t, o, hot, cold, over, delivery(4, "email"))
	require.Len(t, claim(t, o, "sms", "a", base), 3)
	var done []outbox.Settlement
	for _, d := range []outbox.Delivery{hot, cold, over} {
		s := settlement(d, outbox.InDigest)
		s.DigestID = digest.ID
		done = append(done, s)
	}
	require.NoError(t, o.Settle(t.Context(), "a", done, []outbox.Delivery{digest}))
	folded := func() []string {
		list, err := o.DigestDeliveries(t.Context(), digest.ID)
		require.NoError(t, err)
		for _, d := range list {
			require.Equal(t, "Pump-1 Equipment", d.Notification.Source+" "+d.Notification.SourceType)
			require.Equal(t, d.ID == over.ID, d.Resolved)
		}
		return ids(list)
	}
	require.ElementsMatch(t, []string{id(1), id(2), id(3)}, folded())
	none, err := o.DigestDeliveries(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, none)

	now := base.Add(time.Hour)
	require.Equal(t, []string{id(9)}, ids(claim(t, o, "sms", "a", base)))
	require.NoError(t, o.SplitDigest(t.Context(), "b", digest.ID, []string{id(2)}, now))
	require.Len(t, folded(), 3, "another has it")
	require.Len(t, claim(t, o, "sms", "a", base), 1) // again, so that it is uncertain
	require.NoError(t, o.SplitDigest(t.Context(), "a", digest.ID, []string{id(2), id(4)}, now))
	require.Empty(t, folded())
	require.Empty(t, claim(t, o, "sms", "a", now.Add(-time.Microsecond)))
	got := claim(t, o, "sms", "a", now)
	require.Equal(t, []string{id(1), id(3)}, ids(got))
	for _, d := range got {
		require.True(t, d.Uncertain)
		require.Empty(t, d.DigestID)
		sameTime(t, digest.ExpiresAt, d.ExpiresAt, "ExpiresAt")
		sameTime(t, time.Time{}, d.SettledAt, "SettledAt")
	}
	silenced, err := o.SilencedDeliveries(t.Context(), outbox.Delivery{}, 10)
	require.NoError(t, err)
	require.Equal(t, []string{id(2)}, ids(silenced))
	require.Len(t, claim(t, o, "email", "a", base), 1)
	require.NoError(t, o.TrimDeliveries(t.Context(), now.Add(time.Microsecond), time.Time{}))
	require.NoError(t, o.Settle(t.Context(), "a", nil, []outbox.Delivery{digest})) // its identity can be used again
	require.Contains(t, ids(claim(t, o, "sms", "a", now)), digest.ID)
}

func testDigestMessages(t *testing.T, o outboxStore) {
	digest, other := delivery(9, "sms"), delivery(8, "sms")
	plan(t, o, delivery(2, "sms"), delivery(1, "sms"), delivery(3, "sms"), delivery(4, "sms"))
	var done []outbox.Settlement
	for i, d := range claim(t, o, "sms", "a", base) {
		s := settlement(d, outbox.InDigest)
		if s.DigestID = digest.ID; i == 3 {
			s.DigestID = other.ID
		}
		done = append(done, s)
	}
	require.NoError(t, o.Settle(t.Context(), "a", done, []outbox.Delivery{digest, other}))
	for _, c := range []struct {
		offset, limit int
		want          []string
	}{{0, 10, []string{id(1), id(2), id(3)}}, {1, 1, []string{id(2)}}, {2, 5, []string{id(3)}}, {3, 5, nil}, {0, 0, nil}} {
		page, total, err := o.DigestMessages(t.Context(), digest.ID, c.offset, c.limit)
		require.NoError(t, err)
		require.EqualValues(t, 3, total)
		require.ElementsMatch(t, c.want, ids(page))
		for i, d := range page {
			require.Equal(t, c.want[i], d.ID)
			require.Equal(t, delivery(int(d.Seq), "sms").Notification.Message, d.Notification.Message)
		}
	}
	for _, unknown := range []string{"", id(7)} {
		page, total, err := o.DigestMessages(t.Context(), unknown, 0, 10)
		require.NoError(t, err)
		require.Zero(t, total)
		require.Empty(t, page)
	}
}

func testExpireOthers(t *testing.T, o outboxStore) {
	pending, own, sending, young, known, silenced := delivery(1, "sms"), delivery(2, "sms"), delivery(3, "fax"), delivery(4, "sms"), delivery(5, "email"), delivery(6, "sms")
	own.NoDeadLetter, silenced.State = true, outbox.Silenced
	young.ExpiresAt = base.Add(25 * time.Hour)
	plan(t, o, pending, own, sending, young, known, silenced, delivery(7, "line"))
	claim(t, o, "fax", "gone", base)
	expire := func(now, expired time.Time, channels ...string) map[string]int {
		counts, err := o.ExpireOrphaned(t.Context(), channels, now, expired, "why")
		require.NoError(t, err)
		return counts
	}
	s := settlement(claim(t, o, "line", "a", base)[0], outbox.Pending)
	s.LastError = "refused"
	require.NoError(t, o.Settle(t.Context(), "a", []outbox.Settlement{s}, nil))
	late := base.Add(24 * time.Hour)
	require.Empty(t, expire(late, late.Add(-time.Microsecond)), "nothing has expired")
	require.Empty(t, expire(late, late, "email", "sms", "fax", "line"))
	require.Equal(t, map[string]int{"sms": 2, "line": 1}, expire(base, late, "email"), "a lease holds, and what is silenced waits")
	require.Equal(t, map[string]int{"fax": 1}, expire(late, late, "email"))
	dead, total, err := o.DeadLetters(t.Context(), "", 0, 10)
	require.NoError(t, err)
	require.EqualValues(t, 3, total)
	require.Equal(t, []string{id(7), id(3), id(1)}, ids(dead), "what is about dead letters becomes none")
	require.Equal(t, "refused", dead[0].LastError)
	require.Equal(t, "why", dead[1].LastError)
	require.Empty(t, dead[1].Owner)
	sameTime(t, late, dead[1].SettledAt, "SettledAt")
	require.Equal(t, []string{id(4)}, ids(claim(t, o, "sms", "a", base)))
	require.Len(t, claim(t, o, "email", "a", base), 1)
	require.Equal(t, map[string]int{"email": 1}, expire(late, late, "sms"))
}
