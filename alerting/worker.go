package alerting

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	claimBatch = 100  // deliveries claimed at once
	floodBatch = 2000 // for each recipient where the number of messages is limited, so that one digest takes in many
	floodMost  = 10_000
	// settleEvery bounds how much is sent again after a crash on channels where that does no harm.
	settleEvery = 100 * time.Millisecond
	// patience is the number of failures in a row after which a whole channel waits. A recipient among
	// others waits after the first: the others need not.
	patience = 3
)

// worker sends the deliveries of one channel, one after the other.
type worker struct {
	d        *Dispatcher
	channel  Channel
	name     string
	wake     chan struct{}
	patience int
	ahead    time.Duration // from now to the latest next attempt that there can be
	order    []string      // the keys of to
	to       map[string]*recipient

	mu     sync.Mutex
	status ChannelStatus
}

// recipient is how one recipient does. It is of the worker's goroutine, but for until.
type recipient struct {
	bucket   *bucket
	failures int       // in a row
	until    time.Time // it is left alone until then; under the worker's mu
}

func newWorker(d *Dispatcher, c Channel) *worker {
	flood := d.o.flood(c.Name())
	w := &worker{d: d, channel: c, name: c.Name(), wake: make(chan struct{}, 1), patience: patience, ahead: d.o.ahead(flood),
		order: recipientsOf(c), to: make(map[string]*recipient)}
	if w.order[0] != "" {
		w.patience = 1
	}
	for _, r := range w.order {
		w.to[r] = &recipient{bucket: newBucket(flood, d.o.Now())}
	}
	return w
}

func (w *worker) poke() { poke(w.wake) }

func (w *worker) report() ChannelStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.status
	s.Name = w.name
	now := w.d.o.Now()
	for i, r := range w.order {
		until := w.paused(w.to[r], now)
		if until.IsZero() {
			s.PausedUntil = until
			break
		}
		if i == 0 || until.Before(s.PausedUntil) {
			s.PausedUntil = until
		}
	}
	return s
}

// paused gives the end of a pause after failures, zero when there is none. One that ends later than any
// can was begun before the clock was set back.
func (w *worker) paused(r *recipient, now time.Time) time.Time {
	if rest := r.until.Sub(now); rest <= 0 || rest > w.ahead {
		return time.Time{}
	}
	return r.until
}

// blocked gives the time until which a recipient cannot be told anything, zero when it can.
func (w *worker) blocked(r *recipient, now time.Time) time.Time {
	until := w.paused(r, now)
	if !r.bucket.unlimited() && r.bucket.whole(now) < 1 {
		if room := now.Add(max(r.bucket.next(), time.Millisecond)); room.After(until) {
			until = room
		}
	}
	return until
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
	if rest := w.rest(now); rest > 0 {
		return rest
	}
	batch := claimBatch
	if !w.to[w.order[0]].bucket.unlimited() {
		batch = min(floodBatch*len(w.order), floodMost)
	}
	lease := stamp(now.Add(w.d.o.Lease))
	claimed, err := w.d.deps.Outbox.Claim(ctx, Claim{
		Channel: w.name, Owner: w.d.o.Owner, Now: stamp(now), LeaseUntil: lease, Limit: batch,
		// Twice the lease, since the clocks of several engines may differ.
		LatestNext: stamp(now.Add(w.ahead)), LatestLease: stamp(now.Add(2 * w.d.o.Lease)),
	})
	if err != nil {
		w.store(ctx, err)
		return w.d.o.jittered(max(w.d.o.Poll, time.Second))
	}
	w.store(ctx, nil)
	if len(claimed) == 0 {
		return w.d.o.Poll
	}
	b := &run{worker: w, lease: lease}
	if claimed, err = b.sift(ctx, claimed); err == nil {
		send := b.portion(claimed)
		if b.settle(ctx) { // before anything is sent: what is folded must stay folded
			b.sendAll(ctx, send)
		}
	} else {
		w.store(ctx, err)
		b.giveBack(claimed)
	}
	b.settle(ctx)
	return 0
}

// rest gives how long nobody can be told anything.
func (w *worker) rest(now time.Time) time.Duration {
	var least time.Duration
	for _, r := range w.order {
		until := w.blocked(w.to[r], now)
		if until.IsZero() {
			return 0
		}
		if rest := until.Sub(now); least == 0 || rest < least {
			least = rest
		}
	}
	return least
}

// store notes whether the outbox can be used.
func (w *worker) store(ctx context.Context, err error) {
	if ctx.Err() == nil && w.d.trouble("outbox of "+w.name, err) && err != nil {
		w.d.log.Error("the outbox cannot be used", "channel", w.name, "error", err)
	}
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

// portion gives what is to be sent now, the recipients taking turns, and leaves the rest for later.
func (b *run) portion(claimed []Delivery) []Delivery {
	groups := make(map[string][]Delivery)
	for i := range claimed {
		groups[claimed[i].Recipient] = append(groups[claimed[i].Recipient], claimed[i])
	}
	now := b.d.o.Now()
	most := 0
	for key, list := range groups {
		r := b.to[key]
		if until := b.blocked(r, now); !until.IsZero() {
			b.putOff(list, until)
			delete(groups, key)
			continue
		}
		room := len(list)
		if !r.bucket.unlimited() {
			room = r.bucket.whole(now)
		}
		send, fold, back := split(list, room)
		b.fold(fold)
		b.giveBack(back)
		groups[key], most = send, max(most, len(send))
	}
	var send []Delivery
	for turn := range most {
		for _, key := range b.order {
			if turn < len(groups[key]) {
				send = append(send, groups[key][turn])
			}
		}
	}
	return send
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

// putOff leaves deliveries for a later time, as if they had not been claimed.
func (b *run) putOff(list []Delivery, until time.Time) {
	for i := range list {
		s := settled(&list[i], Pending)
		s.Attempts--
		if s.NextAttempt = stamp(until); s.NextAttempt.After(list[i].ExpiresAt) {
			s.NextAttempt = list[i].ExpiresAt
		}
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
		b.store(ctx, err)
		if err == nil {
			if slices.ContainsFunc(b.done, func(s Settlement) bool { return s.State == Dead }) {
				poke(b.d.died)
			}
			b.done, b.add = nil, nil
			break
		}
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
		if ctx.Err() != nil || now.Add(b.d.o.SendTimeout).After(b.lease) {
			b.giveBack(list[i:])
			return
		}
		if until := b.paused(b.to[list[i].Recipient], now); !until.IsZero() {
			b.putOff(list[i:i+1], until)
			continue
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
	now, to := stamp(b.d.o.Now()), b.to[d.Recipient]
	if err == nil {
		to.bucket.take()
		to.failures = 0
		b.attempted(d, nil, time.Time{})
		s := settled(d, Sent)
		s.LastError = ""
		b.note(s)
		return
	}
	e := classify(err)
	after := min(e.After, b.d.o.MaxRetryAfter)
	s := settled(d, Pending)
	s.LastError = truncate(500, e.Error())
	switch e.Outcome {
	case OutcomePermanent:
		to.failures = 0
		b.attempted(d, err, time.Time{})
		s.State = Dead
		b.note(s)
		b.d.log.Error("message was refused", "channel", b.name, "recipient", d.Recipient, "delivery", d.ID, "error", s.LastError)
		return
	case OutcomeRetryable:
		s.NextAttempt = now.Add(max(after, b.d.o.backoff(d.Attempts)))
	default:
		to.bucket.take()
		s.Uncertain = true
		s.NextAttempt = now.Add(b.d.o.backoff(d.Attempts))
		if takesKey(b.channel) && d.Attempts == 1 {
			s.NextAttempt = now
		} else if least := now.Add(b.d.o.AmbiguousWait); !takesKey(b.channel) && s.NextAttempt.Before(least) {
			s.NextAttempt = least
		}
	}
	to.failures++
	if s.NextAttempt = stamp(s.NextAttempt); s.NextAttempt.After(d.ExpiresAt) {
		s.NextAttempt = d.ExpiresAt // to become a dead letter then
	}
	var pause time.Time
	if after > 0 {
		pause = now.Add(after)
	} else if to.failures >= b.patience {
		pause = now.Add(b.d.o.backoff(to.failures - b.patience + 1))
	}
	b.attempted(d, err, pause)
	b.note(s)
	b.d.log.Warn("message was not sent", "channel", b.name, "recipient", d.Recipient, "delivery", d.ID, "attempt", d.Attempts, "next", s.NextAttempt, "error", s.LastError)
}

// attempted keeps the status of the channel.
func (w *worker) attempted(d *Delivery, err error, pause time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.to[d.Recipient].until = pause
	if err == nil {
		w.status.Sent++
		w.status.LastError = ""
		return
	}
	w.status.Failed++
	text := err.Error()
	if d.Recipient != "" {
		text = "recipient " + d.Recipient + ": " + text
	}
	w.status.LastError = truncate(500, text)
}
