package alerting

import (
	"context"
	"fmt"
	"sync"
	"time"
)

const (
	claimBatch = 100  // deliveries claimed at once
	floodBatch = 2000 // where the number of messages is limited, so that one digest takes in many
	// settleEvery bounds how much is sent again after a crash on channels where that does no harm.
	settleEvery = 100 * time.Millisecond
	// patience is the number of failures in a row after which the whole channel waits.
	patience = 3
)

// worker sends the deliveries of one channel, one after the other.
type worker struct {
	d       *Dispatcher
	channel Channel
	name    string
	wake    chan struct{}
	bucket  *bucket

	failures int // in a row
	storeErr bool

	mu     sync.Mutex
	status ChannelStatus
}

func (w *worker) poke() { poke(w.wake) }

func (w *worker) report() ChannelStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.status
	s.Name = w.name
	if !s.PausedUntil.After(w.d.o.Now()) {
		s.PausedUntil = time.Time{}
	}
	return s
}

func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		if pause := w.round(ctx); pause > 0 && !wait(ctx, w.wake, pause) {
			return
		}
	}
}

// round sends what is due and gives how long there is nothing to do.
func (w *worker) round(ctx context.Context) time.Duration {
	now := w.d.o.Now()
	if rest := w.pausedUntil().Sub(now); rest > 0 {
		return rest
	}
	room, batch := claimBatch, claimBatch
	if !w.bucket.unlimited() {
		if room, batch = w.bucket.whole(now), floodBatch; room < 1 {
			return max(w.bucket.next(), time.Millisecond)
		}
	}
	lease := stamp(now.Add(w.d.o.Lease))
	claimed, err := w.d.deps.Outbox.Claim(ctx, Claim{Channel: w.name, Owner: w.d.o.Owner, Now: stamp(now), LeaseUntil: lease, Limit: batch})
	if err != nil {
		w.storeFailed(ctx, err)
		return w.d.o.jittered(max(w.d.o.Poll, time.Second))
	}
	w.storeErr = false
	if len(claimed) == 0 {
		return w.d.o.Poll
	}
	b := &run{worker: w, lease: lease}
	if claimed, err = b.sift(ctx, claimed); err == nil {
		send, fold, back := split(claimed, room)
		b.fold(fold)
		b.giveBack(back)
		if b.settle(ctx) { // before anything is sent: what is folded must stay folded
			b.sendAll(ctx, send)
		}
	} else {
		w.storeFailed(ctx, err)
		b.giveBack(claimed)
	}
	b.settle(ctx)
	return 0
}

func (w *worker) pausedUntil() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.status.PausedUntil
}

func (w *worker) storeFailed(ctx context.Context, err error) {
	if !w.storeErr && ctx.Err() == nil {
		w.d.log.Error("the outbox cannot be used", "channel", w.name, "error", err)
	}
	w.storeErr = true
}

// run is what one claim leads to.
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

// sift takes out what is not to be sent any more.
func (b *run) sift(ctx context.Context, claimed []Delivery) ([]Delivery, error) {
	var resolved []string
	for i := range claimed {
		if claimed[i].Resolved {
			resolved = append(resolved, claimed[i].Occurrence)
		}
	}
	told := make(map[string]bool)
	if len(resolved) > 0 {
		list, err := b.d.deps.Outbox.FirstDeliveries(ctx, resolved)
		if err != nil {
			return claimed, err
		}
		for _, f := range list {
			if f.Channel == b.name && (f.State == Sent || f.State == Folded) {
				told[f.Occurrence] = true
			}
		}
	}
	now := b.d.o.Now()
	keep := claimed[:0:0]
	for i := range claimed {
		d := &claimed[i]
		switch {
		case !d.ExpiresAt.After(now):
			s := settled(d, Dead)
			s.Attempts--
			if s.LastError == "" {
				s.LastError = "not sent in time"
			}
			b.note(s)
			b.d.log.Error("message was not sent in time", "channel", b.name, "delivery", d.ID, "error", s.LastError)
		case d.Resolved && !told[d.Occurrence]:
			b.note(settled(d, Dropped))
		default:
			keep = append(keep, *d)
		}
	}
	return keep, nil
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
		ID: n.ID, Seq: list[0].Seq, EventID: n.ID, Channel: b.name, State: Pending, NextAttempt: now,
		CreatedAt: now, ExpiresAt: now.Add(b.d.o.MaxAge), Notification: n,
	}
	for i := range list {
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

// settle writes down what was decided. Until that is done nothing more is claimed, since it would be
// sent twice; it gives up, with false, when the dispatcher ends or the lease does.
func (b *run) settle(ctx context.Context) bool {
	for n := 1; len(b.done)+len(b.add) > 0; n++ {
		// The end of the dispatcher does not keep it from writing down what it did.
		sctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.d.o.Grace)
		err := b.d.deps.Outbox.Settle(sctx, b.d.o.Owner, b.done, b.add)
		cancel()
		if err == nil {
			b.done, b.add = nil, nil
			break
		}
		b.storeFailed(ctx, err)
		if !b.d.o.Now().Before(b.lease) || !wait(ctx, nil, min(b.d.o.backoff(n), time.Second)) {
			b.done, b.add = nil, nil
			return false
		}
	}
	return true
}

func (b *run) sendAll(ctx context.Context, list []Delivery) {
	for i := range list {
		now := b.d.o.Now()
		if ctx.Err() != nil || b.pausedUntil().After(now) || now.Add(b.d.o.SendTimeout).After(b.lease) {
			b.giveBack(list[i:])
			return
		}
		b.sendOne(&list[i])
		if takesKey(b.channel) && len(b.done) < claimBatch && b.d.o.Now().Sub(b.since) < settleEvery {
			continue
		}
		if !b.settle(ctx) {
			return // the rest is claimed again when its lease is over
		}
	}
}

func (b *run) sendOne(d *Delivery) {
	ctx, cancel := context.WithTimeout(b.d.hard, b.d.o.SendTimeout)
	defer cancel()
	b.outcome(d, send(ctx, b.channel, d.Notification))
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
		b.bucket.take()
		b.failures = 0
		b.attempted(nil, time.Time{})
		s := settled(d, Sent)
		s.LastError = ""
		b.note(s)
		return
	}
	e := classify(err)
	s := settled(d, Pending)
	s.LastError = truncate(500, e.Error())
	switch e.Outcome {
	case OutcomePermanent:
		b.failures = 0
		b.attempted(err, time.Time{})
		s.State = Dead
		b.note(s)
		b.d.log.Error("message was refused", "channel", b.name, "delivery", d.ID, "error", s.LastError)
		return
	case OutcomeRetryable:
		s.NextAttempt = now.Add(max(e.After, b.d.o.backoff(d.Attempts)))
	default:
		b.bucket.take()
		s.Uncertain = true
		s.NextAttempt = now.Add(b.d.o.backoff(d.Attempts))
		if takesKey(b.channel) && d.Attempts == 1 {
			s.NextAttempt = now
		} else if least := now.Add(b.d.o.AmbiguousWait); !takesKey(b.channel) && s.NextAttempt.Before(least) {
			s.NextAttempt = least
		}
	}
	b.failures++
	if s.NextAttempt = stamp(s.NextAttempt); s.NextAttempt.After(d.ExpiresAt) {
		s.NextAttempt = d.ExpiresAt // to become a dead letter then
	}
	var pause time.Time
	if e.After > 0 {
		pause = now.Add(min(e.After, b.d.o.MaxAge))
	} else if b.failures >= patience {
		pause = now.Add(b.d.o.backoff(b.failures - patience + 1))
	}
	b.attempted(err, pause)
	b.note(s)
	b.d.log.Warn("message was not sent", "channel", b.name, "delivery", d.ID, "attempt", d.Attempts, "next", s.NextAttempt, "error", s.LastError)
}

// attempted keeps the status of the channel.
func (w *worker) attempted(err error, pause time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.status.PausedUntil = pause
	if err == nil {
		w.status.Sent++
		w.status.LastError = ""
		return
	}
	w.status.Failed++
	w.status.LastError = truncate(500, err.Error())
}
