package tags

import (
	"context"
	"errors"
	"time"
)

// reserve promises a place in the queue. The place is taken until the outcome of the write is logged,
// so that a log that takes none bounds what waits for it.
func (r *runner) reserve(tag string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.onStandby() || r.moving():
		return &elsewhere{r.id, tag}
	case r.quit.Err() != nil || r.currentState() != DriverOnline:
		return ErrDriverOffline.On("driverId", r.id).With("tagName", tag)
	case r.reserved >= r.opts.MaxWrites:
		return ErrQueueFull.On("driverId", r.id).With("tagName", tag)
	}
	r.reserved++
	r.open++
	return nil
}

// cancelWrite takes back the promise of a place for a write that is not to be sent.
func (r *runner) cancelWrite() {
	r.mu.Lock()
	r.reserved--
	r.open--
	r.mu.Unlock()
	r.wakeUp()
}

// enqueue puts a write for which a place is reserved into the queue, or fails it when the driver has
// gone offline meanwhile.
func (r *runner) enqueue(w *queuedWrite) {
	r.mu.Lock()
	online := r.state == DriverOnline
	if online {
		r.queue = append(r.queue, w)
	}
	r.mu.Unlock()
	if !online {
		w.end(WriteFailed, textOffline)
		r.writeErrors.Add(1)
		r.finish([]*queuedWrite{w})
		return
	}
	r.wakeUp()
}

// failQueue fails what is queued and was never sent.
func (r *runner) failQueue(why string) {
	r.mu.Lock()
	batch := r.queue
	r.queue = nil
	r.mu.Unlock()
	for _, w := range batch {
		w.end(WriteFailed, why)
	}
	r.writeErrors.Add(uint64(len(batch)))
	r.finish(batch)
}

// finish hands outcomes over to be logged.
func (r *runner) finish(batch []*queuedWrite) {
	if len(batch) == 0 {
		return
	}
	now := r.engine.now().UTC().Truncate(time.Microsecond) // as stores keep it
	for _, w := range batch {
		w.write.CompletedAt = now
		r.engine.outcomes.add(w.write, r.logged)
	}
	r.mu.Lock()
	r.open -= len(batch)
	r.mu.Unlock()
}

// logged releases the place of a write whose outcome is logged.
func (r *runner) logged() {
	r.mu.Lock()
	r.reserved--
	r.mu.Unlock()
}

// hasInFlightWrites reports whether a write has a place in the queue and is not finished. Such a write may have
// been acknowledged to its caller, so the runner does not leave before it is sent.
func (r *runner) hasInFlightWrites() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.open > 0
}

// claimID keeps others from using the id of a request with New, until releaseIDs is called after the write is in the log. It returns ErrWriteExists if there is a write
// of the id.
func (e *Engine) claimID(ctx context.Context, q *WriteRequest) error {
	if !q.New || q.ID == "" {
		return nil
	}
	if !e.takeID(q.ID) {
		return ErrWriteExists.On("writeId", q.ID)
	}
	_, err := e.GetWrite(ctx, q.ID)
	if errors.Is(err, ErrWriteNotFound) {
		return nil
	}
	e.claimedMu.Lock()
	defer e.claimedMu.Unlock()
	delete(e.claimed, q.ID)
	if err == nil {
		return ErrWriteExists.On("writeId", q.ID)
	}
	return err
}

func (e *Engine) takeID(id string) bool {
	e.claimedMu.Lock()
	defer e.claimedMu.Unlock()
	if _, taken := e.claimed[id]; taken {
		return false
	}
	if e.claimed == nil {
		e.claimed = map[string]struct{}{}
	}
	e.claimed[id] = struct{}{}
	return true
}

func (e *Engine) releaseIDs(writes []*queuedWrite) {
	e.claimedMu.Lock()
	defer e.claimedMu.Unlock()
	for _, w := range writes {
		if w != nil {
			delete(e.claimed, w.write.ID)
		}
	}
}
