package dispatch

import (
	"context"

	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/outbox"
)

// applyRateLimit is the [sendStage] that keeps what each recipient can get now, the last of it a digest of all the others.
type applyRateLimit struct{ w *worker }

func (s applyRateLimit) send(_ context.Context, b *sendBatch) error {
	groups := make(map[string][]outbox.Delivery)
	for i := range b.list {
		groups[b.list[i].Recipient] = append(groups[b.list[i].Recipient], b.list[i])
	}
	b.list = nil
	for _, key := range s.w.order {
		list := groups[key]
		if len(list) == 0 {
			continue
		}
		n, until := s.w.capacity(key, len(list))
		if !until.IsZero() {
			for i := range list {
				b.postpone(&list[i], until, s.w.expiry(&list[i]))
			}
			continue
		}
		send, combine, release := split(list, n)
		if s.w.d.digests == nil && len(combine) > 0 { // the place of the digest is for a message
			send, combine, release = append(send, combine[0]), nil, append(combine[1:], release...)
		}
		s.buildDigest(b, combine)
		b.release(release)
		b.list = append(b.list, send...)
	}
	return nil
}

// buildDigest replaces deliveries by a digest, which is claimed and sent like any other delivery.
func (s applyRateLimit) buildDigest(b *sendBatch, list []outbox.Delivery) {
	if len(list) == 0 {
		return
	}
	o := &s.w.d.o
	now := canon.Time(o.Now())
	n := digest(o.NewID(), list, o.DigestLink)
	row := outbox.Delivery{
		ID: n.ID, Seq: list[0].Seq, EventID: n.ID, Channel: s.w.name, Recipient: n.Recipient, State: outbox.Pending, NextAttempt: now,
		CreatedAt: now, ExpiresAt: now.Add(o.DeliveryTimeout), Notification: n, NoDeadLetter: true,
	}
	for i := range list {
		row.NoDeadLetter = row.NoDeadLetter && list[i].NoDeadLetter
		row.Seq = min(row.Seq, list[i].Seq)
		one := settlement(&list[i], outbox.InDigest)
		one.DigestID = n.ID
		b.note(one, now)
	}
	b.add = append(b.add, row)
}
