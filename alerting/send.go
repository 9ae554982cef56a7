package alerting

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// run is what one claim leads to, or the part of it that is of one recipient.
type run struct {
	*worker
	lease time.Time
	done  []Settlement
	add   []Delivery
	since time.Time // when the oldest of done was decided
}

func (b *run) note(s Settlement) {
	now := stamp(b.d.o.Now())
	if len(b.done) == 0 {
		b.since = now
	}
	if s.State.Final() {
		s.SettledAt = now
	}
	b.done = append(b.done, s)
}

func settled(d *Delivery, state DeliveryState) Settlement {
	return Settlement{
		ID: d.ID, State: state, Attempts: d.Attempts, Uncertain: d.Uncertain, NextAttempt: d.NextAttempt, LastError: d.LastError,
	}
}

// portion gives what is to be sent now to each recipient, and leaves the rest for later.
func (b *run) portion(claimed []Delivery) map[string][]Delivery {
	groups := make(map[string][]Delivery)
	for i := range claimed {
		groups[claimed[i].Recipient] = append(groups[claimed[i].Recipient], claimed[i])
	}
	for key, list := range groups {
		room, until := b.room(key, len(list))
		if !until.IsZero() {
			b.putOff(list, until)
			delete(groups, key)
			continue
		}
		send, fold, back := split(list, room)
		b.fold(fold)
		b.giveBack(back)
		groups[key] = send
	}
	return groups
}

// room gives how many of n messages a recipient can be told, or until when none.
func (w *worker) room(key string, n int) (int, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, now := w.to[key], w.d.o.Now()
	if until := w.blocked(r, now); !until.IsZero() {
		return 0, until
	}
	if !r.bucket.unlimited() {
		n = r.bucket.whole(now)
	}
	return n, time.Time{}
}

// fold puts deliveries into one digest, which is sent like any other.
func (b *run) fold(list []Delivery) {
	if len(list) == 0 {
		return
	}
	now := stamp(b.d.o.Now())
	n := digest(list)
	n.ID = b.d.o.NewID()
	n.EventID = n.ID
	row := Delivery{
		ID: n.ID, Seq: list[0].Seq, EventID: n.ID, Channel: b.name, Recipient: n.Recipient, State: Pending, NextAttempt: now,
		CreatedAt: now, ExpiresAt: now.Add(b.d.o.MaxAge), Notification: n, Own: true,
	}
	for i := range list {
		row.Own = row.Own && list[i].Own
		s := settled(&list[i], Folded)
		s.Attempts, s.DigestID = s.Attempts-1, n.ID
		row.Seq = min(row.Seq, list[i].Seq)
		b.note(s)
	}
	b.add = append(b.add, row)
}

// giveBack leaves deliveries for later, as if they had not been claimed.
func (b *run) giveBack(list []Delivery) {
	for i := range list {
		s := settled(&list[i], Pending)
		s.Attempts--
		b.note(s)
	}
}

// putOff leaves deliveries for a later time, as if they had not been claimed.
func (b *run) putOff(list []Delivery, until time.Time) {
	for i := range list {
		s := settled(&list[i], Pending)
		s.Attempts--
		if s.NextAttempt = stamp(until); s.NextAttempt.After(b.expiry(&list[i])) {
			s.NextAttempt = b.expiry(&list[i])
		}
		b.note(s)
	}
}

// settle writes down what was decided. Until that is done nothing more is claimed, since it would be
// sent twice; it gives up, with false, when the lease ends or the time does that Close waits for.
func (b *run) settle(ctx context.Context) bool {
	for n := 1; len(b.done)+len(b.add) > 0; n++ {
		// The end of the dispatcher does not keep it from writing down what it did.
		sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.d.o.Grace)
		err := b.d.deps.Outbox.Settle(sctx, b.d.o.Owner, b.done, b.add)
		cancel()
		b.store(ctx, err)
		if err == nil {
			if slices.ContainsFunc(b.done, func(s Settlement) bool { return s.State == Dead }) {
				poke(b.d.died)
			}
			b.done, b.add = nil, nil
			break
		}
		if !b.d.o.Now().Before(b.lease) || !wait(b.d.hard, nil, min(b.d.o.backoff(n), time.Second)) {
			b.done, b.add = nil, nil
			return false
		}
	}
	return true
}

// sendAll sends to one recipient.
func (b *run) sendAll(ctx context.Context, turns chan struct{}, list []Delivery) {
	for i := range list {
		end, ok := turn(ctx, turns)
		if !ok {
			b.giveBack(list[i:])
			return
		}
		more := b.sendNext(ctx, list[i:])
		end()
		if !more {
			return
		}
		if takesKey(b.channel) && len(b.done) < claimBatch && b.d.o.Now().Sub(b.since) < settleEvery {
			continue
		}
		if !b.settle(ctx) {
			return // the rest is claimed again when its lease is over
		}
	}
}

// turn waits for a turn, which ends by itself when it takes long. It fails when ctx ends.
func turn(ctx context.Context, turns chan struct{}) (end func(), ok bool) {
	select {
	case <-ctx.Done():
		return nil, false
	case turns <- struct{}{}:
	}
	late := time.AfterFunc(turnTime, func() { <-turns })
	return func() {
		if late.Stop() {
			<-turns
		}
	}, true
}

// sendNext sends the first of a list, unless nothing can be sent now, and says whether to go on.
func (b *run) sendNext(ctx context.Context, list []Delivery) bool {
	now := b.d.o.Now()
	b.mu.Lock()
	until := b.paused(b.to[list[0].Recipient], now)
	b.mu.Unlock()
	switch {
	case ctx.Err() != nil || now.Add(b.d.o.SendTimeout).After(b.lease):
		b.giveBack(list)
		return false
	case !until.IsZero():
		b.putOff(list, until)
		return false
	}
	hard, cancel := context.WithTimeout(b.d.hard, b.d.o.SendTimeout)
	defer cancel()
	b.outcome(&list[0], send(hard, b.channel, list[0].Notification))
	return true
}

// send calls a channel. One that panics has failed like one that says so.
func send(ctx context.Context, c Channel, n Notification) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Ambiguous(fmt.Errorf("channel %s panicked", c.Name()))
		}
	}()
	return c.Send(ctx, n)
}

// outcome decides what becomes of a delivery after an attempt.
func (b *run) outcome(d *Delivery, err error) {
	now := stamp(b.d.o.Now())
	if err == nil {
		b.succeeded(d)
		s := settled(d, Sent)
		s.LastError = ""
		b.note(s)
		return
	}
	e := classify(err)
	after := min(e.After, b.d.o.MaxRetryAfter)
	b.failed(d, e, now, after)
	s := settled(d, Pending)
	s.LastError = truncate(500, e.Error())
	switch e.Outcome {
	case OutcomePermanent:
		s.State = lost(d)
		b.note(s)
		b.d.log.Error("message was refused", "channel", b.name, "recipient", d.Recipient, "delivery", d.ID, "error", s.LastError)
		return
	case OutcomeRetryable:
		s.NextAttempt = now.Add(max(after, b.d.o.backoff(d.Attempts)))
	default:
		s.Uncertain = true
		s.NextAttempt = now.Add(b.d.o.backoff(d.Attempts))
		if takesKey(b.channel) && d.Attempts == 1 {
			s.NextAttempt = now
		} else if least := now.Add(b.d.o.AmbiguousWait); !takesKey(b.channel) && s.NextAttempt.Before(least) {
			s.NextAttempt = least
		}
	}
	if s.NextAttempt = stamp(s.NextAttempt); s.NextAttempt.After(b.expiry(d)) {
		s.NextAttempt = b.expiry(d) // to become a dead letter then
	}
	b.note(s)
	b.d.log.Warn("message was not sent", "channel", b.name, "recipient", d.Recipient, "delivery", d.ID, "attempt", d.Attempts, "next", s.NextAttempt, "error", s.LastError)
}

// lost is the state of what is given up. A message about dead letters becomes none itself: two channels
// that refuse everything would keep each other's alarm for ever.
func lost(d *Delivery) DeliveryState {
	if d.Own {
		return Dropped
	}
	return Dead
}

// succeeded keeps the status of the channel and of the recipient.
func (w *worker) succeeded(d *Delivery) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.to[d.Recipient]
	r.bucket.take()
	r.failures, r.until = 0, time.Time{}
	w.status.Sent++
	w.status.LastError = ""
}

// failed is succeeded after a failure. The peer wants to be left alone for after, unless it is 0.
func (w *worker) failed(d *Delivery, e *SendError, now time.Time, after time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.to[d.Recipient]
	r.until = time.Time{}
	r.failures++
	switch {
	case e.Outcome == OutcomePermanent:
		r.failures = 0
	case after > 0 && e.OfRecipient:
		r.until = now.Add(after)
	case after > 0:
		w.until = now.Add(after)
	case r.failures >= w.patience:
		r.until = now.Add(w.d.o.backoff(r.failures - w.patience + 1))
	}
	if e.Outcome == OutcomeAmbiguous {
		r.bucket.take()
	}
	w.status.Failed++
	text := e.Error()
	if d.Recipient != "" {
		text = "recipient " + d.Recipient + ": " + text
	}
	w.status.LastError = truncate(500, text)
}
