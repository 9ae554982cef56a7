package dispatch

import (
	"context"
	"sync"
	"time"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/internal/wake"
)

const (
	claimBatch = 100 // deliveries in a claim
	// limitedBatch is claimed for each recipient where the rate is limited, so that one digest combines many; maxLimitedBatch for all.
	limitedBatch    = 2000
	maxLimitedBatch = 10_000
	// maxRestored bounds the messages that are read to restore rate limits.
	maxRestored = 100_000
	// sendSlots bounds the sends to different recipients of a channel that take less than slotTimeout. A longer one gives up its slot,
	// so that a peer that hangs does not delay the others.
	sendSlots   = 4
	slotTimeout = time.Second
)

// worker sends the deliveries of one channel: to each recipient in order, to different ones at the same time.
type worker struct {
	d          *Dispatcher
	channel    alerting.Channel
	name       string
	wake       wake.Signal
	stages     []sendStage
	acceptsKey bool
	lanesOf    int           // messages to one recipient that may be sent at the same time
	ahead      time.Duration // from now to the latest next attempt that there can be
	order      []string      // the keys of to
	to         map[string]*recipient
	sending    sync.WaitGroup
	// slots are for recipients that do well, and for those whose last attempt failed: the first never wait for the second.
	slots [2]chan struct{}

	mu     sync.Mutex
	until  time.Time // no sends before this time (Retry-After)
	status alerting.ChannelStatus
}

func newWorker(d *Dispatcher, c alerting.Channel) *worker {
	limit := d.o.rateLimit(c.Name())
	w := &worker{d: d, channel: c, name: c.Name(), wake: wake.NewSignal(), acceptsKey: acceptsKey(c), lanesOf: concurrency(c),
		ahead: d.o.ahead(limit), order: recipientsOf(c), to: make(map[string]*recipient)}
	maxFailures := channelFailures
	if w.order[0] != "" {
		maxFailures = 1
	}
	for _, r := range w.order {
		w.to[r] = &recipient{bucket: newBucket(limit, d.o.Now()), maxFailures: maxFailures}
	}
	for i := range w.slots {
		w.slots[i] = make(chan struct{}, max(sendSlots, w.lanesOf))
	}
	w.stages = sendStages(w)
	return w
}

// run sends until ctx ends.
func (w *worker) run(ctx context.Context) {
	defer w.sending.Wait()
	for !w.restoreLimits(ctx) {
		if !wait(ctx, nil, w.retryDelay()) {
			return
		}
	}
	for ctx.Err() == nil {
		if pause := w.processDue(ctx); pause > 0 && !wait(ctx, w.wake.C(), pause) {
			return
		}
	}
}

// retryDelay is the wait after the outbox failed.
func (w *worker) retryDelay() time.Duration {
	return w.d.o.jittered(max(w.d.o.PollInterval, time.Second))
}

// processDue starts to send what is due and returns how long there is nothing to do.
func (w *worker) processDue(ctx context.Context) time.Duration {
	if !w.d.o.isAlive() {
		return w.d.o.PollInterval // the others may send what this one had claimed
	}
	now := w.d.o.Now()
	busy, pause := w.availableRecipients(now)
	if pause > 0 {
		return pause
	}
	b := &sendBatch{now: canon.Time(now), lease: canon.Time(now.Add(w.d.o.Lease))}
	limit := claimBatch
	if !w.to[w.order[0]].bucket.unlimited() {
		limit = min(limitedBatch*len(w.order), maxLimitedBatch)
	}
	claimed, err := w.d.deps.Outbox.Claim(ctx, outbox.Claim{
		Channel: w.name, Owner: w.d.o.Owner, Now: b.now, LeaseUntil: b.lease, Limit: limit, ExcludeRecipients: busy,
		// Twice the lease, because the clocks of several engines may differ.
		LatestNext: canon.Time(now.Add(w.ahead)), LatestLease: canon.Time(now.Add(2 * w.d.o.Lease)),
	})
	if err == nil && len(claimed) > 0 {
		b.list = claimed
		err = w.runStages(ctx, b)
	}
	w.report(ctx, err)
	switch {
	case err != nil:
		return w.retryDelay()
	case len(claimed) == 0:
		return w.d.o.PollInterval
	}
	return 0
}

// runStages releases all that was claimed if a stage fails.
func (w *worker) runStages(ctx context.Context, b *sendBatch) error {
	claimed := b.list
	for _, s := range w.stages {
		if err := s.send(ctx, b); err != nil {
			b.results = results{}
			b.release(claimed)
			w.settle(ctx, &b.results, b.lease)
			return err
		}
	}
	return nil
}

// report keeps whether the outbox can be used, and logs changes.
func (w *worker) report(ctx context.Context, err error) {
	switch {
	case ctx.Err() != nil || !w.d.setError("outbox of "+w.name, err):
	case err != nil:
		w.d.log.Error("failed to access the outbox", "channel", w.name, "error", err)
	default:
		w.d.log.Info("outbox access resumed", "channel", w.name)
	}
}
