package alerting

import (
	"context"
	"sync"
	"time"
)

const (
	claimBatch = 100  // deliveries claimed at once
	floodBatch = 2000 // for each recipient where the number of messages is limited, so that one digest takes in many
	floodMost  = 10_000
	// settleEvery bounds how much is sent again after a crash on channels where that does no harm.
	settleEvery = 100 * time.Millisecond
	// sendsAtOnce bounds the sends to different recipients of a channel that do not take longer than
	// turnTime. One that does gives its turn away, so that who hangs holds nobody up.
	sendsAtOnce = 4
	turnTime    = time.Second
	// patience is the number of failures in a row after which a whole channel waits. A recipient among
	// others waits after the first: the others need not.
	patience = 3
)

// worker sends the deliveries of one channel: to each recipient one after the other, to different ones at
// the same time.
type worker struct {
	d        *Dispatcher
	channel  Channel
	name     string
	wake     chan struct{}
	patience int
	ahead    time.Duration // from now to the latest next attempt that there can be
	order    []string      // the keys of to
	to       map[string]*recipient
	lanes    sync.WaitGroup
	// turns are of those that do well, and of those that failed the last time: the first never wait for
	// the second.
	turns [2]chan struct{}

	mu     sync.Mutex
	until  time.Time // the peer wants to be left alone until then
	status ChannelStatus
}

// recipient is how one recipient does, under the worker's mu.
type recipient struct {
	bucket   *bucket
	busy     bool      // it is being told; what is claimed for it is of that goroutine
	failures int       // in a row
	until    time.Time // it is left alone until then
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
	for i := range w.turns {
		w.turns[i] = make(chan struct{}, sendsAtOnce)
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
// can was begun before the clock was set back. mu is held.
func (w *worker) paused(r *recipient, now time.Time) (end time.Time) {
	for _, until := range [...]time.Time{w.until, r.until} {
		if rest := until.Sub(now); rest > 0 && rest <= w.ahead && until.After(end) {
			end = until
		}
	}
	return end
}

// blocked gives the time until which a recipient cannot be told anything, zero when it can. mu is held.
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
	defer w.lanes.Wait()
	for ctx.Err() == nil {
		if pause := w.round(ctx); pause > 0 && !wait(ctx, w.wake, pause) {
			return
		}
	}
}

// round begins to send what is due and gives how long there is nothing to do.
func (w *worker) round(ctx context.Context) time.Duration {
	now := w.d.o.Now()
	busy, rest := w.free(now)
	if rest > 0 {
		return rest
	}
	batch := claimBatch
	if !w.to[w.order[0]].bucket.unlimited() {
		batch = min(floodBatch*len(w.order), floodMost)
	}
	b := &run{worker: w, lease: stamp(now.Add(w.d.o.Lease))}
	claimed, err := w.d.deps.Outbox.Claim(ctx, Claim{
		Channel: w.name, Owner: w.d.o.Owner, Now: stamp(now), LeaseUntil: b.lease, Limit: batch, Busy: busy,
		// Twice the lease, since the clocks of several engines may differ.
		LatestNext: stamp(now.Add(w.ahead)), LatestLease: stamp(now.Add(2 * w.d.o.Lease)),
	})
	if err == nil && len(claimed) > 0 {
		var keep []Delivery
		if keep, err = b.sift(ctx, claimed); err != nil {
			b.giveBack(claimed)
			b.settle(ctx)
		}
		claimed = keep
	}
	w.store(ctx, err)
	switch {
	case err != nil:
		return w.d.o.jittered(max(w.d.o.Poll, time.Second))
	case len(claimed)+len(b.done) == 0:
		return w.d.o.Poll
	}
	groups := b.portion(claimed)
	if b.settle(ctx) { // before anything is sent: what is folded must stay folded
		for _, key := range w.order {
			if len(groups[key]) > 0 {
				w.tell(ctx, key, groups[key], b.lease)
			}
		}
	}
	return 0
}

// free gives those that are being told right now, and how long none of the others can be told anything.
func (w *worker) free(now time.Time) (busy []string, rest time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	some := false
	for _, key := range w.order {
		r := w.to[key]
		wait := w.d.o.Poll // who has been told wakes the worker
		if r.busy {
			busy = append(busy, key)
		} else if until := w.blocked(r, now); until.IsZero() {
			some = true
		} else {
			wait = until.Sub(now)
		}
		if rest == 0 || wait < rest {
			rest = wait
		}
	}
	if some {
		rest = 0
	}
	return busy, rest
}

// tell sends to one recipient, beside what is sent to others.
func (w *worker) tell(ctx context.Context, key string, list []Delivery, lease time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.to[key]
	r.busy = true
	turns := w.turns[min(r.failures, 1)]
	w.lanes.Go(func() {
		b := &run{worker: w, lease: lease}
		b.sendAll(ctx, turns, list)
		b.settle(ctx)
		w.mu.Lock()
		r.busy = false
		w.mu.Unlock()
		w.poke()
	})
}

// store notes whether the outbox can be used.
func (w *worker) store(ctx context.Context, err error) {
	if ctx.Err() == nil && w.d.trouble("outbox of "+w.name, err) && err != nil {
		w.d.log.Error("the outbox cannot be used", "channel", w.name, "error", err)
	}
}
