package dispatch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/outbox"
)

// settleInterval bounds how much is sent again after a crash, on channels where that does no harm.
const settleInterval = 100 * time.Millisecond

// sendMessages is the last [sendStage]: it starts to send, to each recipient in a goroutine of its own.
type sendMessages struct{ w *worker }

func (s sendMessages) send(ctx context.Context, b *sendBatch) error {
	groups := make(map[string][]outbox.Delivery)
	for i := range b.list {
		groups[b.list[i].Recipient] = append(groups[b.list[i].Recipient], b.list[i])
	}
	for _, key := range s.w.order {
		if list := groups[key]; len(list) > 0 {
			s.w.startSend(ctx, key, list, b.lease)
		}
	}
	return nil
}

// startSend sends to one recipient, over several lanes if the channel allows that. No two of the messages are about the same alarm: a
// claim has only the first that is open.
func (w *worker) startSend(ctx context.Context, key string, list []outbox.Delivery, lease time.Time) {
	w.mu.Lock()
	r := w.to[key]
	r.busy = true
	slots, lanes := w.slots[min(r.failures, 1)], min(w.lanesOf, len(list))
	if r.failures > 0 {
		lanes = 1
	}
	w.mu.Unlock()
	w.sending.Go(func() {
		q := &queue{list: list}
		each := make([]lane, lanes)
		var all sync.WaitGroup
		for i := range each {
			each[i] = lane{worker: w, lease: lease, slots: slots, queue: q, interval: time.Duration(lanes) * settleInterval}
			if i > 0 {
				all.Go(func() { each[i].run(ctx) })
			}
		}
		each[0].run(ctx)
		all.Wait()
		for i := range each[1:] {
			each[0].done = append(each[0].done, each[i+1].done...)
		}
		w.settle(ctx, &each[0].results, lease)
		w.mu.Lock()
		r.busy = false
		w.mu.Unlock()
		w.wake.Set()
	})
}

// queue is what several lanes send. Safe for concurrent use.
type queue struct {
	mu   sync.Mutex
	list []outbox.Delivery
}

// next removes and returns the first delivery, nil if there is none.
func (q *queue) next() *outbox.Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		return nil
	}
	d := &q.list[0]
	q.list = q.list[1:]
	return d
}

// rest removes and returns all deliveries.
func (q *queue) rest() []outbox.Delivery {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	q.list = nil
	return list
}

// lane sends messages to one recipient, one after the other.
type lane struct {
	*worker
	results
	lease    time.Time
	slots    chan struct{}
	queue    *queue
	interval time.Duration // between settlements
}

// run sends what is queued.
func (l *lane) run(ctx context.Context) {
	for d := l.queue.next(); d != nil; d = l.queue.next() {
		end, ok := acquireSlot(ctx, l.slots)
		if !ok {
			l.release([]outbox.Delivery{*d})
			l.release(l.queue.rest())
			return
		}
		more := l.sendNext(ctx, d)
		end()
		if !more {
			return
		}
		if l.acceptsKey && len(l.done) < claimBatch && l.d.o.Now().Sub(l.since) < l.interval {
			continue
		}
		if !l.settle(ctx, &l.results, l.lease) {
			l.queue.rest()
			return // the rest is claimed again when its lease is over
		}
	}
}

// acquireSlot waits for a slot, which is released early if the send takes long. It fails when ctx ends.
func acquireSlot(ctx context.Context, slots chan struct{}) (end func(), ok bool) {
	select {
	case <-ctx.Done():
		return nil, false
	case slots <- struct{}{}:
	}
	late := time.AfterFunc(slotTimeout, func() { <-slots })
	return func() {
		if late.Stop() {
			<-slots
		}
	}, true
}

// sendNext sends a delivery, unless nothing can be sent now, and reports whether to continue.
func (l *lane) sendNext(ctx context.Context, d *outbox.Delivery) bool {
	now := l.d.o.Now()
	if ctx.Err() != nil || now.Add(l.d.o.SendTimeout).After(l.lease) || !l.d.o.isAlive() {
		l.release([]outbox.Delivery{*d})
		l.release(l.queue.rest())
		return false
	}
	if until := l.pausedUntil(d.Recipient); !until.IsZero() {
		l.postpone(d, until, l.expiry(d))
		for _, one := range l.queue.rest() {
			l.postpone(&one, until, l.expiry(&one))
		}
		return false
	}
	hard, cancel := context.WithTimeout(l.d.hard, l.d.o.SendTimeout)
	defer cancel()
	l.noteOutcome(d, sendTo(hard, l.channel, d.Notification), now)
	return true
}

// sendTo calls a channel. A panic is an ambiguous error.
func sendTo(ctx context.Context, c alerting.Channel, n alerting.Notification) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = alerting.Ambiguous(fmt.Errorf("channel %s panicked", c.Name()))
		}
	}()
	return c.Send(ctx, n)
}

// noteOutcome decides what becomes of a delivery after an attempt that began at a time.
func (l *lane) noteOutcome(d *outbox.Delivery, err error, began time.Time) {
	now := canon.Time(l.d.o.Now())
	if l.d.hard.Err() == nil { // else Close cut it off, which says nothing about the peer
		d.Attempts++
	}
	attrs := []any{"channel", l.name, "recipient", d.Recipient, "delivery", d.ID, "alarm", d.Occurrence}
	if err == nil {
		if l.succeeded(d) {
			l.d.log.Info("sending messages resumed", attrs...)
		}
		s := settlement(d, outbox.Sent)
		s.LastError = ""
		l.note(s, now)
		return
	}
	e := classify(err)
	after := min(e.RetryAfter, l.d.o.MaxRetryAfter)
	l.failed(d, e, began, now, after)
	s := settlement(d, outbox.Pending)
	s.LastError = truncate(500, e.Error())
	if e.Outcome == alerting.OutcomePermanent {
		s.State = d.FailedState()
		l.note(s, now)
		l.d.log.Error("message rejected by the receiver", append(attrs, "error", s.LastError)...)
		return
	}
	s.Uncertain = s.Uncertain || e.Outcome == alerting.OutcomeAmbiguous
	s.NextAttempt = canon.Time(now.Add(l.delay(d, e.Outcome, after)))
	if end := l.expiry(d); s.NextAttempt.After(end) {
		s.NextAttempt = end // to become a dead letter then
	}
	l.note(s, now)
	l.d.log.Warn("failed to send message; retrying", append(attrs, "attempt", d.Attempts, "next", s.NextAttempt, "error", s.LastError)...)
}

// delay returns the wait before the next attempt.
func (l *lane) delay(d *outbox.Delivery, outcome alerting.Outcome, after time.Duration) time.Duration {
	backoff := l.d.o.backoff(max(d.Attempts, 1))
	switch {
	case outcome == alerting.OutcomeRetryable:
		return max(after, backoff)
	case !l.acceptsKey: // it may have arrived, and would arrive twice
		return max(backoff, l.d.o.AmbiguousDelay)
	case d.Attempts <= 1:
		return 0
	}
	return backoff
}

// settleBatch is the [sendStage] that stores what the stages before it decided: a digest must not be lost after it was sent. Without
// that nothing is sent.
type settleBatch struct{ w *worker }

func (s settleBatch) send(ctx context.Context, b *sendBatch) error {
	if !s.w.settle(ctx, &b.results, b.lease) {
		b.list = nil // claimed again when the lease is over
	}
	return nil
}
