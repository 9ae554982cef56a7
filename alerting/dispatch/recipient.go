package dispatch

import (
	"context"
	"slices"
	"time"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/outbox"
)

// channelFailures is the number of failures in a row after which a whole channel pauses. One recipient of several pauses after the
// first: the others need not.
const channelFailures = 3

// recipient is the state of one recipient, guarded by the worker's mu.
type recipient struct {
	bucket      *bucket
	maxFailures int       // in a row, before a pause
	busy        bool      // a goroutine sends what was claimed for it
	failing     bool      // the last attempt failed, other than by a refusal, which makes a dead letter
	failures    int       // in a row
	failedAt    time.Time // when the last attempt failed
	until       time.Time // no sends before this time
}

// channelStatus returns the state of the channel.
func (w *worker) channelStatus() alerting.ChannelStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.status
	s.Name, s.Recipients = w.name, len(w.order)
	now, open := w.d.o.Now(), false
	for i, key := range w.order {
		r := w.to[key]
		if r.failing {
			s.Failing++
		}
		until := w.paused(r, now)
		open = open || until.IsZero()
		if i == 0 || until.Before(s.PausedUntil) {
			s.PausedUntil = until
		}
	}
	if open {
		s.PausedUntil = time.Time{}
	}
	return s
}

// paused returns the end of a pause after failures, zero if there is none. One that ends later than any can began before the clock was
// set back. mu is held.
func (w *worker) paused(r *recipient, now time.Time) (end time.Time) {
	for _, until := range [...]time.Time{w.until, r.until} {
		if rest := until.Sub(now); rest > 0 && rest <= w.ahead && until.After(end) {
			end = until
		}
	}
	return end
}

// pausedUntil is paused for a recipient by name.
func (w *worker) pausedUntil(key string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.paused(w.to[key], w.d.o.Now())
}

// blocked returns the time until which nothing can be sent to r, zero if something can. mu is held.
func (w *worker) blocked(r *recipient, now time.Time) time.Time {
	until := w.paused(r, now)
	if !r.bucket.unlimited() && r.bucket.available(now) < 1 {
		if next := now.Add(max(r.bucket.next(), time.Millisecond)); next.After(until) {
			until = next
		}
	}
	return until
}

// capacity returns how many of n messages can be sent to a recipient, or until when none.
func (w *worker) capacity(key string, n int) (int, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, now := w.to[key], w.d.o.Now()
	if until := w.blocked(r, now); !until.IsZero() {
		return 0, until
	}
	if !r.bucket.unlimited() {
		n = r.bucket.available(now)
	}
	return n, time.Time{}
}

// availableRecipients returns the recipients that are busy, and how long nothing can be sent to any of the others.
func (w *worker) availableRecipients(now time.Time) (busy []string, pause time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	some := false
	for _, key := range w.order {
		r := w.to[key]
		wait := w.d.o.PollInterval // the end of a send wakes the worker
		if r.busy {
			busy = append(busy, key)
		} else if until := w.blocked(r, now); until.IsZero() {
			some = true
		} else {
			wait = until.Sub(now)
		}
		if pause == 0 || wait < pause {
			pause = wait
		}
	}
	if some {
		pause = 0
	}
	return busy, pause
}

// restoreLimits takes the messages into account that were sent before the dispatcher started.
func (w *worker) restoreLimits(ctx context.Context) bool {
	one := w.to[w.order[0]].bucket
	if w.d.sent == nil || one.unlimited() {
		return true
	}
	now := canon.Time(w.d.o.Now())
	list, err := w.d.sent.SentSince(ctx, w.name, now.Add(-one.window()), min(2*one.limit.Burst*len(w.order), maxRestored))
	w.report(ctx, err)
	if err != nil {
		return false
	}
	times := make(map[string][]time.Time)
	for _, s := range slices.Backward(list) {
		times[s.Recipient] = append(times[s.Recipient], s.At)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, r := range w.to {
		r.bucket.restore(times[key], now)
	}
	return true
}

// succeeded updates the state after a message was sent, and reports whether the attempt before had failed.
func (w *worker) succeeded(d *outbox.Delivery) (recovered bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.to[d.Recipient]
	r.bucket.take()
	recovered = r.failing
	r.failures, r.failing, r.until = 0, false, time.Time{}
	w.status.Sent++
	w.status.LastError = ""
	return recovered
}

// failed updates the state after an attempt that began at a time. If after is not 0, nothing is sent for that time.
func (w *worker) failed(d *outbox.Delivery, e *alerting.SendError, began, now time.Time, after time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.to[d.Recipient]
	r.until = time.Time{}
	if !began.Before(r.failedAt) { // attempts at the same time count once
		r.failures++
	}
	r.failedAt = now
	r.failing = e.Outcome != alerting.OutcomePermanent
	switch {
	case e.Outcome == alerting.OutcomePermanent:
		r.failures = 0
	case after > 0 && e.RecipientOnly:
		r.until = now.Add(after)
	case after > 0:
		w.until = now.Add(after)
	case r.failures >= r.maxFailures:
		r.until = now.Add(w.d.o.backoff(r.failures - r.maxFailures + 1))
	}
	if e.Outcome == alerting.OutcomeAmbiguous {
		r.bucket.take()
	}
	w.status.Failed++
	text := e.Error()
	if d.Recipient != "" {
		text = "recipient " + d.Recipient + ": " + text
	}
	w.status.LastError = truncate(500, text)
}
