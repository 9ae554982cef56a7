package tags

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/otkit/otkit/fault"
)

// WriteRequest asks for one write.
type WriteRequest struct {
	Tag     string
	Value   Value  // in engineering units, of the tag's data type
	Text    string // read by the tag's data type when Value is zero; see ParseValue
	By      string // who asks, for the log of writes
	Confirm bool   // read the value back, also when the tag does not ask for it
}

// queuedWrite is a write on its way to the driver.
type queuedWrite struct {
	entry *entry
	tag   *Tag
	item  WriteItem
	write Write
}

// Write queues one write and returns at once; Get tells the outcome later. What the errors mean:
// ErrTagNotFound, ErrInvalidDriver (the tag's driver is not registered), ErrReadOnly,
// ErrInvalidValue (wrong type or outside minValue..maxValue), ErrDriverOffline, ErrQueueFull. After
// an error nothing is queued.
func (e *Engine) Write(ctx context.Context, q WriteRequest) (Write, error) {
	writes, errs, err := e.WriteMany(ctx, []WriteRequest{q})
	switch {
	case err != nil:
		return Write{}, err
	case errs[0] != nil:
		return Write{}, errs[0]
	}
	return writes[0], nil
}

// WriteMany queues writes in order. writes and errs have the length of requests: where errs[i] is
// nil, writes[i] is queued. A failure to log them is the error; then none is queued. More than
// MaxBatch requests are an ErrBatchSizeExceeded.
func (e *Engine) WriteMany(ctx context.Context, requests []WriteRequest) (writes []Write, errs []error, err error) {
	if len(requests) > MaxBatch {
		return nil, nil, ErrBatchSizeExceeded
	}
	writes, errs = make([]Write, len(requests)), make([]error, len(requests))
	accepted := make([]*queuedWrite, len(requests))
	owners := make([]*runner, len(requests))
	var log []Write
	for i, q := range requests {
		if owners[i], accepted[i], errs[i] = e.accept(q); errs[i] == nil {
			log = append(log, accepted[i].write)
		}
	}
	if len(log) > 0 {
		if err := e.writes.Put(ctx, log); err != nil {
			for i, w := range accepted {
				if w != nil {
					owners[i].release(1)
				}
			}
			return nil, nil, fmt.Errorf("log writes: %w", err)
		}
	}
	for i, w := range accepted {
		if w != nil {
			writes[i] = w.write
			owners[i].enqueue(w)
		}
	}
	return writes, errs, nil
}

// Outcome gives a write by its id, or ErrWriteNotFound.
func (e *Engine) Outcome(ctx context.Context, id string) (Write, error) { return e.writes.Get(ctx, id) }

// accept checks a request and reserves a place in its driver's queue.
func (e *Engine) accept(q WriteRequest) (*runner, *queuedWrite, error) {
	e.mu.RLock()
	closed, en := e.closed, e.byName[q.Tag]
	var r *runner
	if en != nil {
		r = e.runners[en.tag.Load().Driver]
	}
	e.mu.RUnlock()
	if closed {
		return nil, nil, ErrClosed
	}
	if en == nil {
		return nil, nil, ErrTagNotFound.On("tagName", clip(q.Tag))
	}
	tag := en.tag.Load()
	if r == nil {
		return nil, nil, ErrInvalidDriver.On("driverId", tag.Driver).With("tagName", tag.Name)
	}
	if tag.Access != ReadWrite {
		return nil, nil, ErrReadOnly.On("tagName", tag.Name)
	}
	value, raw, err := tag.check(q)
	if err != nil {
		return nil, nil, err
	}
	if err := r.reserve(); err != nil {
		return nil, nil, about(err, tag)
	}
	return r, &queuedWrite{
		entry: en,
		tag:   tag,
		item:  WriteItem{Point: tag.point(), Value: raw},
		write: Write{ID: e.newID(), Tag: tag.Name, Value: value, By: q.By, State: WriteQueued,
			Confirm: q.Confirm || tag.Confirm, QueuedAt: e.now()},
	}, nil
}

// check gives a request's value in engineering and in raw units.
func (t *Tag) check(q WriteRequest) (value, raw Value, err error) {
	if q.Value.IsZero() {
		value, err = ParseValue(t.DataType, q.Text)
	} else {
		value, err = q.Value.Convert(t.DataType)
	}
	if err != nil {
		return Value{}, Value{}, about(err, t)
	}
	if t.outside(value) {
		return Value{}, Value{}, ErrInvalidValue.Because("%s is outside %s", value, t.limits()).With("tagName", t.Name)
	}
	raw, ok := t.raw(value)
	if !ok {
		return Value{}, Value{}, ErrInvalidValue.Because("%s cannot be scaled back to a raw value", value).With("tagName", t.Name)
	}
	return value, raw, nil
}

// about adds the tag's name to what an error tells the caller.
func about(err error, t *Tag) error {
	if f, ok := fault.From(err); ok {
		return f.With("tagName", t.Name)
	}
	return err
}

func (t *Tag) limits() string {
	low, high := "", ""
	if t.Min != nil {
		low = FloatValue(*t.Min).String()
	}
	if t.Max != nil {
		high = FloatValue(*t.Max).String()
	}
	return low + ".." + high
}

// sendWrites sends what is queued, in order. worked says whether the driver took a call; the error
// is set when the connection has to be made anew.
func (r *runner) sendWrites() (worked bool, err error) {
	for {
		r.mu.Lock()
		n := min(len(r.queue), defaultDriverBatch)
		batch := r.queue[:n:n]
		r.queue = r.queue[n:]
		r.mu.Unlock()
		if n == 0 {
			return worked, nil
		}
		ok, err := r.send(batch)
		r.finish(batch)
		worked = worked || ok
		if err != nil {
			return worked, err
		}
	}
}

// send writes a batch and sets the outcome of each write in it. What it gives is as for sendWrites.
func (r *runner) send(batch []*queuedWrite) (worked bool, err error) {
	items, errs := make([]WriteItem, len(batch)), make([]error, len(batch))
	for i, w := range batch {
		items[i] = w.item
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.opts.Timeout)
	err = r.call(func() error { return r.driver.Write(ctx, items, errs) })
	cancel()
	if err != nil {
		for _, w := range batch {
			w.write.State = WriteUnknown
			w.write.Error = "the call failed while the value was being written; the device may have taken it: " + err.Error()
		}
		r.writeErrors.Add(uint64(len(batch)))
		if r.ctx.Err() != nil || r.lost(err) {
			return false, err
		}
		return false, nil
	}
	r.failures = 0
	for i, w := range batch {
		if errs[i] != nil {
			w.write.State, w.write.Error = WriteFailed, errs[i].Error()
			r.writeErrors.Add(1)
			r.noteError(errs[i])
			continue
		}
		w.write.State = WriteDone
		r.writes.Add(1)
	}
	return true, r.readBack(batch)
}

// readBack reads what was written, so that the cache shows it without waiting for the next poll, and
// confirms the writes that ask for it: until the device gives the value back or the time is over.
func (r *runner) readBack(batch []*queuedWrite) error {
	var todo []*queuedWrite
	newest := make(map[*entry]*queuedWrite, len(batch)) // an earlier write to the same tag cannot be read back
	for _, w := range batch {
		if w.write.State == WriteDone {
			newest[w.entry] = w
		}
	}
	for _, w := range batch {
		if newest[w.entry] == w {
			todo = append(todo, w)
		}
	}
	deadline := time.Now().Add(r.opts.ConfirmFor)
	for wait := 20 * time.Millisecond; len(todo) > 0; wait *= 2 {
		out, err := r.readWritten(todo)
		if err != nil {
			r.unconfirmed(todo, "the connection was lost before the value could be read back")
			return err
		}
		left := todo[:0]
		for i, w := range todo {
			switch {
			case !w.write.Confirm:
			case out[i].Err == nil && sameRaw(out[i].Value, w.item.Value):
				w.write.State = WriteConfirmed
			default:
				left = append(left, w)
			}
		}
		todo = left
		remaining := time.Until(deadline)
		if remaining <= 0 || r.quit.Err() != nil {
			break
		}
		if len(todo) > 0 {
			r.pause(min(wait, remaining))
		}
	}
	r.unconfirmed(todo, "the device took the write but did not give the value back when it was read")
	return nil //nolint:nilerr // that a write is not confirmed is its outcome, not a failure of the connection
}

// readWritten reads the points of writes, in batches as the driver wants them.
func (r *runner) readWritten(writes []*queuedWrite) ([]Reading, error) {
	var t targets
	for _, w := range writes {
		t.add(w.entry, w.tag)
	}
	out := make([]Reading, len(writes))
	for from := 0; from < len(out); from += r.batch {
		to := min(from+r.batch, len(out))
		if _, err := r.read(t.slice(from, to), out[from:to]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *runner) unconfirmed(batch []*queuedWrite, why string) {
	for _, w := range batch {
		if w.write.Confirm {
			w.write.State, w.write.Error = WriteFailed, why
			r.writeErrors.Add(1)
		}
	}
}

// sameRaw compares a value that was read back with the one written; a Float may have lost the digits
// that a 32-bit register does not hold.
func sameRaw(read, written Value) bool {
	if read == written {
		return true
	}
	a, ok1 := read.Float()
	b, ok2 := written.Float()
	if !ok1 || !ok2 || read.kind == kindBool || written.kind == kindBool {
		return false
	}
	return math.Abs(a-b) <= 1e-6*max(math.Abs(a), math.Abs(b))
}

// reserve promises a place in the queue.
func (r *runner) reserve() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.quit.Err() != nil || r.state != DriverOnline:
		return ErrDriverOffline.On("driverId", r.id)
	case r.reserved >= r.opts.MaxWrites:
		return ErrQueueFull.On("driverId", r.id)
	}
	r.reserved++
	return nil
}

func (r *runner) release(n int) {
	r.mu.Lock()
	r.reserved -= n
	r.mu.Unlock()
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
		w.write.State, w.write.Error = WriteFailed, "the driver went offline before the value was sent"
		r.finish([]*queuedWrite{w})
		return
	}
	r.nudge()
}

// failQueue fails what is queued and was never sent.
func (r *runner) failQueue(why string) {
	r.mu.Lock()
	batch := r.queue
	r.queue = nil
	r.mu.Unlock()
	for _, w := range batch {
		w.write.State, w.write.Error = WriteFailed, why
	}
	r.writeErrors.Add(uint64(len(batch)))
	r.finish(batch)
}

// finish logs outcomes and gives the places in the queue back.
func (r *runner) finish(batch []*queuedWrite) {
	if len(batch) == 0 {
		return
	}
	now := r.engine.now()
	log := make([]Write, len(batch))
	for i, w := range batch {
		w.write.CompletedAt = now
		log[i] = w.write
	}
	// The outcome is worth logging also while the engine stops.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), 5*time.Second)
	defer cancel()
	if err := r.engine.writes.Put(ctx, log); err != nil {
		r.log.Error("the outcome of writes could not be logged", "writes", len(log), "first", log[0].ID, "error", err)
	}
	r.release(len(batch))
}
