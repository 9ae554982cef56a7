package tags

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/internal/backoff"
	"github.com/otkit/otkit/internal/runes"
	"github.com/otkit/otkit/internal/wake"
)

// outcomes stores the outcomes of writes in the log of writes, in one goroutine of its own, so that a
// slow or broken log delays no driver. An outcome that cannot be logged is kept and tried again. The
// pending outcomes are bounded by the places in the queues of the drivers: a place is free again when
// the outcome is logged.
type outcomes struct {
	log  *slog.Logger
	into WriteLog

	ctx    context.Context // ends calls of the log
	cancel context.CancelFunc
	done   chan struct{}
	wake   wake.Signal
	last   chan struct{} // closed when no more outcomes are to come

	mu    sync.Mutex
	byID  map[string]Write // not logged yet
	await map[string][]chan struct{}
	queue []outcome
	ended bool
}

type outcome struct {
	write  Write
	logged func()
}

const (
	logTimeout  = 5 * time.Second // of one call of the log
	logRetryMin = 100 * time.Millisecond
	logRetryMax = 5 * time.Second
)

func newOutcomes(into WriteLog, log *slog.Logger) *outcomes {
	o := &outcomes{log: log, into: into, done: make(chan struct{}), wake: wake.NewSignal(),
		last: make(chan struct{}), byID: make(map[string]Write), await: make(map[string][]chan struct{})}
	o.ctx, o.cancel = context.WithCancel(context.Background())
	go o.run()
	return o
}

// add takes an outcome over. logged is called once it is in the log.
func (o *outcomes) add(w Write, logged func()) {
	o.mu.Lock()
	o.byID[w.ID] = w
	o.queue = append(o.queue, outcome{w, logged})
	for _, c := range o.await[w.ID] {
		close(c)
	}
	delete(o.await, w.ID)
	ended := o.ended
	o.mu.Unlock()
	o.report(w)
	if ended { // of a driver that did not stop in time
		o.log.Error("the outcome of a write came too late to be logged", "write", w.ID, "state", w.State)
		return
	}
	o.wake.Set()
}

// maxLoggedValue bounds a value in a log line, in bytes.
const maxLoggedValue = 200

// report logs the outcome of a write.
func (o *outcomes) report(w Write) {
	level, value := slog.LevelInfo, runes.Shorten(w.Value.String(), maxLoggedValue)
	if w.Error != "" {
		level = slog.LevelWarn
	}
	o.log.LogAttrs(o.ctx, level, "tag write", slog.String("write", w.ID), slog.String("tag", w.Tag), slog.String("value", value),
		slog.String("by", w.By), slog.String("state", string(w.State)), slog.String("error", w.Error))
}

// get returns an outcome that is not logged yet.
func (o *outcomes) get(id string) (Write, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	w, ok := o.byID[id]
	return w, ok
}

// pending returns the outcomes that are not logged yet.
func (o *outcomes) pending() []Write {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Values(o.byID))
}

// awaiting returns a channel that is closed when a write has an outcome. forget must be called.
func (o *outcomes) awaiting(id string) (come <-chan struct{}, forget func()) {
	c := make(chan struct{})
	o.mu.Lock()
	defer o.mu.Unlock()
	o.await[id] = append(o.await[id], c)
	return c, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		rest := slices.DeleteFunc(o.await[id], func(x chan struct{}) bool { return x == c })
		if o.await[id] = rest; len(rest) == 0 {
			delete(o.await, id)
		}
	}
}

// close logs pending outcomes until ctx ends, or for a second where the drivers have used up its time.
// The error has the number of outcomes that could not be logged.
func (o *outcomes) close(ctx context.Context) error {
	if ctx.Err() != nil {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		ctx = late
	}
	close(o.last)
	select {
	case <-o.done:
	case <-ctx.Done():
		o.cancel()
		select {
		case <-o.done:
		case <-time.After(time.Second): // a log that ignores its context cannot be waited for
		}
	}
	o.cancel()
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	if n := len(o.queue); n > 0 {
		return errors.Join(fmt.Errorf("the outcomes of %d writes could not be logged", n), ctx.Err())
	}
	return nil
}

// run logs outcomes until the last one is in the log, or ctx ends.
func (o *outcomes) run() {
	defer close(o.done)
	last, failures := o.last, 0
	for o.ctx.Err() == nil {
		batch := o.first(MaxBatch)
		if len(batch) == 0 {
			select {
			case <-o.wake.C():
				continue
			case <-o.last:
			}
			if batch = o.first(MaxBatch); len(batch) == 0 {
				return
			}
		}
		err := o.put(batch)
		if err == nil {
			failures = 0
			continue
		}
		failures++
		wait := backoff.Delay(logRetryMin, logRetryMax, failures)
		o.log.Error("failed to log outcomes of writes; retrying", "writes", len(batch), "first", batch[0].ID, "retryIn", wait, "error", err)
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-last:
			last, failures = nil, 0 // time is short now: try again immediately
		case <-o.ctx.Done():
		}
		timer.Stop()
	}
}

// first returns the outcomes that have waited longest.
func (o *outcomes) first(n int) []Write {
	o.mu.Lock()
	defer o.mu.Unlock()
	batch := make([]Write, min(n, len(o.queue)))
	for i := range batch {
		batch[i] = o.queue[i].write
	}
	return batch
}

// put logs the batch that first gave.
func (o *outcomes) put(batch []Write) error {
	ctx, cancel := context.WithTimeout(o.ctx, logTimeout)
	defer cancel()
	if err := o.into.Put(ctx, batch); err != nil {
		return err
	}
	o.mu.Lock()
	done := o.queue[:len(batch):len(batch)]
	if o.queue = o.queue[len(batch):]; len(o.queue) == 0 {
		o.queue = nil
	}
	for _, w := range batch {
		delete(o.byID, w.ID)
	}
	o.mu.Unlock()
	for _, d := range done {
		d.logged()
	}
	return nil
}
