package dispatch

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/outbox"
)

// sendStage is one step from claimed deliveries to sent messages.
type sendStage interface {
	// send removes from b.list what must not be sent now, and notes what becomes of it. After an error all that was claimed is
	// released.
	send(ctx context.Context, b *sendBatch) error
}

// sendBatch holds claimed deliveries and what becomes of them.
type sendBatch struct {
	results
	now   time.Time // of the claim
	lease time.Time // until when the deliveries are claimed
	list  []outbox.Delivery
}

// sendStages returns the chain.
func sendStages(w *worker) []sendStage {
	return []sendStage{
		expireDue{w}, checkRecipients{w}, applySilences{w.d.deps.Silences, w.d.deps.Outbox, w.d.digests, w.d.o.Owner, w.d.o.Now},
		orderResolved{w}, applyRateLimit{w}, settleBatch{w}, sendMessages{w},
	}
}

// filter keeps the deliveries for which keep reports true.
func (b *sendBatch) filter(keep func(d *outbox.Delivery) bool) {
	list := b.list[:0:0]
	for i := range b.list {
		if keep(&b.list[i]) {
			list = append(list, b.list[i])
		}
	}
	b.list = list
}

// results is what becomes of claimed deliveries.
type results struct {
	done  []outbox.Settlement
	add   []outbox.Delivery
	since time.Time // when the oldest of done was decided
}

func settlement(d *outbox.Delivery, state outbox.DeliveryState) outbox.Settlement {
	return outbox.Settlement{
		ID: d.ID, State: state, Attempts: d.Attempts, Uncertain: d.Uncertain, NextAttempt: d.NextAttempt, LastError: d.LastError,
	}
}

// note adds a settlement that was decided now.
func (r *results) note(s outbox.Settlement, now time.Time) {
	if len(r.done) == 0 {
		r.since = now
	}
	if s.State.Final() {
		s.SettledAt = now
	}
	r.done = append(r.done, s)
}

// release leaves deliveries for later, as if they had not been claimed.
func (r *results) release(list []outbox.Delivery) {
	for i := range list {
		r.done = append(r.done, settlement(&list[i], outbox.Pending))
	}
}

// postpone leaves a delivery for a later time, but not after its end.
func (r *results) postpone(d *outbox.Delivery, until, end time.Time) {
	s := settlement(d, outbox.Pending)
	if s.NextAttempt = canon.Time(until); s.NextAttempt.After(end) {
		s.NextAttempt = end
	}
	r.done = append(r.done, s)
}

// expiry returns when a delivery is given up: after the whole time for which it is to be tried.
func (w *worker) expiry(d *outbox.Delivery) time.Time {
	return w.d.clock.end(d.ExpiresAt, w.d.o.DeliveryTimeout)
}

// finish notes that a delivery is not sent, and logs why.
func (w *worker) finish(r *results, level slog.Level, text string, d *outbox.Delivery, state outbox.DeliveryState, why string) {
	s := settlement(d, state)
	s.LastError = why
	r.note(s, canon.Time(w.d.o.Now()))
	w.d.log.Log(context.Background(), level, text, "channel", w.name, "recipient", d.Recipient, "delivery", d.ID, "alarm", d.Occurrence, "error", why)
}

// settle stores results. Until that is done nothing more is claimed, because it would be sent twice. It gives up, and returns false,
// when the lease ends or the time for which Close waits.
func (w *worker) settle(ctx context.Context, r *results, lease time.Time) bool {
	for n := 1; len(r.done)+len(r.add) > 0; n++ {
		// Store what was done even if the dispatcher ends.
		sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.d.o.ShutdownTimeout)
		err := w.d.deps.Outbox.Settle(sctx, w.d.o.Owner, r.done, r.add)
		cancel()
		w.report(ctx, err)
		if err == nil {
			if slices.ContainsFunc(r.done, func(s outbox.Settlement) bool { return s.State == outbox.DeadLettered }) {
				w.d.deadLettered.Set()
			}
			*r = results{}
			break
		}
		if !w.d.o.Now().Before(lease) || !wait(w.d.hard, nil, min(w.d.o.backoff(n), time.Second)) {
			*r = results{}
			return false
		}
	}
	return true
}
