package audit

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// request is an entry on its way to the store.
type request struct {
	entry Entry
	done  chan struct{} // of an intent or a flush: closed when it is settled; nil for others
	flush bool          // not an entry: done is closed when what came before is stored or has failed

	settled atomic.Bool // set by whoever is first: the writer, or a caller that does not wait any longer
	seq     int64
	err     error
}

func (l *Log) enqueue(r *request) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.queue = append(l.queue, r)
	l.wakeUp.Set()
	return true
}

// take removes the next requests from the queue.
func (l *Log) take(room int) (batch []*request, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(len(l.queue), room)
	batch = append(batch, l.queue[:n]...)
	clear(l.queue[:n])
	if l.queue = l.queue[n:]; len(l.queue) == 0 {
		l.queue = nil
	}
	return batch, l.closed
}

const retryInterval = time.Second

// write stores what is queued until the log is closed and nothing is left, or ctx ends.
func (l *Log) write(ctx context.Context) {
	var late []*request // outcomes and events that could not be stored, oldest first
	defer func() { l.abandon(late) }()
	retry := time.NewTimer(0)
	retry.Stop()
	defer retry.Stop()
	for ctx.Err() == nil {
		batch, closed := l.take(maxBatch)
		if len(batch) == 0 && closed && len(late) == 0 {
			return
		}
		if len(batch) == 0 {
			select {
			case <-l.wakeUp.C():
				continue
			case <-retry.C:
			case <-ctx.Done():
				return
			}
		}
		late = l.append(ctx, append(late, batch...))
		if len(late) > 0 {
			retry.Reset(retryInterval)
		}
	}
}

// append stores requests in parts and returns those to be tried again.
func (l *Log) append(ctx context.Context, all []*request) (late []*request) {
	var err error // once the store has failed, what follows is not tried
	for len(all) > 0 {
		n := min(len(all), maxBatch)
		part := all[:n]
		all = all[n:]
		entries := make([]Entry, 0, len(part))
		for _, r := range part {
			if !r.flush {
				entries = append(entries, r.entry)
			}
		}
		var first int64
		if len(entries) > 0 && err == nil {
			first, err = l.appendEntries(ctx, entries)
		}
		for _, r := range part {
			seq := first
			if !r.flush {
				first++
			}
			if l.settle(r, seq, err) {
				late = append(late, r)
			}
		}
	}
	return late
}

func (l *Log) appendEntries(ctx context.Context, entries []Entry) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, l.opts.AppendTimeout)
	defer cancel()
	first, err := l.store.Append(ctx, entries)
	if err == nil {
		l.stored.Add(uint64(len(entries)))
		if l.failedAt.Swap(0) != 0 {
			l.opts.Logger.Info("audit log resumed")
		}
		return first, nil
	}
	l.failed.Add(1)
	if l.failedAt.Swap(l.opts.Now().UnixNano()) == 0 {
		l.opts.Logger.Error("failed to write the audit log; changes are refused", "error", err)
	}
	return 0, err
}

// settle ends a request and reports whether it must be tried again.
func (l *Log) settle(r *request, seq int64, err error) (again bool) {
	switch {
	case r.done == nil && err != nil:
		return true
	case r.done == nil:
		<-l.slots
		return false
	}
	r.seq, r.err = seq, err
	waiting := r.settled.CompareAndSwap(false, true)
	close(r.done)
	switch {
	case r.flush || waiting: // a caller that waits has the slot
	case err != nil:
		<-l.slots
	default: // stored, but nobody waited for it and so nobody acted
		l.finish(seq, Result{Outcome: Refused, Code: ErrUnavailable.Code, Detail: "the caller did not wait for the intent"})
	}
	return false
}

var errGivenUp = errors.New("log was closed before the entry was stored")

// abandon settles what is left when the writer ends.
func (l *Log) abandon(late []*request) {
	l.mu.Lock()
	l.closed = true
	rest := append(late, l.queue...)
	l.queue = nil
	l.mu.Unlock()
	for _, r := range rest {
		if r.done == nil {
			<-l.slots
			l.lost.Add(1)
			l.opts.Logger.Error("audit entry lost", "reason", "log is closed", "action", r.entry.Action, "intent", r.entry.Intent)
			continue
		}
		l.settle(r, 0, errGivenUp)
	}
}

// flush waits until what was queued before is stored or has failed once.
func (l *Log) flush(ctx context.Context) {
	r := &request{flush: true, done: make(chan struct{})}
	if !l.enqueue(r) {
		return
	}
	select {
	case <-r.done:
	case <-ctx.Done():
	}
}
