package tags

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// What becomes of a write beside the device's own answer.
const (
	textTooLate        = "the value could not be sent in time"
	textChanged        = "the tag's definition changed before the value was sent"
	textSilent         = "the device did not answer any more before the value was sent"
	textOffline        = "the driver went offline before the value was sent"
	textStopped        = "the driver was stopped before the value was sent"
	textOutcomeUnknown = "it is not known whether the device took the value: "
	textMismatch       = "the device took the write but did not give the value back when it was read"
	textSuperseded     = "a later write to the same tag was sent before the value could be read back"
	textLost           = "the connection was lost before the value could be read back"
	textNotRead        = "the driver was stopped before the value could be read back"
)

// firstConfirm is the wait between the first two readings of a value that is to be confirmed; it
// doubles from one to the next.
const firstConfirm = 20 * time.Millisecond

// A Planner is sent one write a call, so that each has its own timeout: as many as are queued, but no
// more at once than this time allows.
const longestSending = 250 * time.Millisecond

// sendWrites sends one batch of what is queued, in order, and reads back one batch of what was sent
// before: no more at once, so that a stream of writes does not keep the runner from polling. worked
// reports whether the driver took a call; the error is set when the connection has to be made again.
func (r *runner) sendWrites() (worked bool, err error) {
	if r.ctx.Err() != nil {
		return false, nil //nolint:nilerr // the runner ends: nothing more is sent
	}
	most := defaultDriverBatch
	if r.planner != nil {
		most = 1
	}
	start := time.Now()
	for left := defaultDriverBatch; left > 0 && time.Since(start) < longestSending && r.ctx.Err() == nil; left -= most {
		batch := r.unqueue(most)
		if len(batch) == 0 {
			break
		}
		if batch = r.upToDate(batch); len(batch) == 0 {
			continue
		}
		ok, err := r.send(batch)
		worked = worked || ok
		if err != nil {
			return worked, err
		}
	}
	ok, err := r.readBack()
	return worked || ok, err
}

// unqueue takes the next writes from the queue.
func (r *runner) unqueue(most int) []*queuedWrite {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := min(len(r.queue), most)
	batch := r.queue[:n:n]
	r.queue = r.queue[n:]
	return batch
}

// upToDate returns the writes that still are what their callers asked for, and fails the others.
func (r *runner) upToDate(batch []*queuedWrite) []*queuedWrite {
	var kept, gone []*queuedWrite
	for _, w := range batch {
		switch {
		case w.tooLate():
			w.end(WriteFailed, textTooLate)
			gone = append(gone, w)
		case !w.entry.takes(w.tag) || slices.ContainsFunc(w.names, func(n name) bool { return !n.holds() }):
			w.end(WriteFailed, textChanged)
			gone = append(gone, w)
		default:
			kept = append(kept, w)
		}
	}
	r.writeErrors.Add(uint64(len(gone)))
	r.finish(gone)
	return kept
}

// tooLate reports whether a write must not be sent any more. The monotonic clock stands still while a machine sleeps, so the wall clock counts too.
func (w *queuedWrite) tooLate() bool {
	now := time.Now()
	return !w.notAfter.IsZero() && (!now.Before(w.notAfter) || !now.Round(0).Before(w.notAfter.Round(0)))
}

// takes reports whether a write that was checked by a definition may still be sent.
func (e *entry) takes(by *Tag) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	now := e.tag.Load()
	return !e.removed && (now == by || now.Driver == by.Driver && now.point() == by.point() && now.Access == by.Access &&
		now.scale() == by.scale() && now.Offset == by.Offset && sameLimit(now.Min, by.Min) && sameLimit(now.Max, by.Max))
}

func sameLimit(a, b *float64) bool { return a == b || a != nil && b != nil && *a == *b }

// send writes a batch. What the device took is read back by the next readBack. What send returns is as
// for sendWrites.
func (r *runner) send(batch []*queuedWrite) (worked bool, err error) {
	items, errs := make([]WriteItem, len(batch)), make([]error, len(batch))
	for i, w := range batch {
		items[i] = w.item
	}
	ctx, cancel := context.WithTimeout(r.ctx, r.timeout)
	called := false
	err = r.call(func() error {
		called = true
		return r.driver.Write(ctx, items, errs)
	})
	cancel()
	if err != nil {
		for i, w := range batch {
			switch own := errs[i]; {
			case !called:
				w.end(WriteFailed, textMoved)
			case own == nil || errors.Is(own, ErrNotConnected):
				w.end(WriteUnknown, maybe(err))
			case uncertain(own):
				w.end(WriteUnknown, maybe(own))
			default:
				w.end(WriteFailed, own.Error())
			}
		}
		r.writeErrors.Add(uint64(len(batch)))
		r.supersede(batch)
		r.finish(batch)
		if r.ctx.Err() != nil || r.needsReconnect(err) {
			return false, err
		}
		return false, nil
	}
	r.failures = 0
	var sent, ended []*queuedWrite // sent: what has reached the device, or may have
	for i, w := range batch {
		if errs[i] == nil {
			w.end(WriteDone, "")
			r.writes.Add(1)
			sent = append(sent, w)
			continue
		}
		r.writeErrors.Add(1)
		r.noteError(errs[i])
		if uncertain(errs[i]) {
			w.end(WriteUnknown, maybe(errs[i]))
			sent = append(sent, w)
		} else {
			w.end(WriteFailed, errs[i].Error())
			ended = append(ended, w)
		}
	}
	r.supersede(sent)
	r.finish(append(ended, r.toRead(sent)...))
	return true, nil
}

// uncertain reports whether a write that gave the error may have reached the device.
func uncertain(err error) bool {
	return errors.Is(err, ErrUncertain) || errors.Is(err, ErrTimeout) || errors.Is(err, context.DeadlineExceeded)
}

// maybe returns the text of an error after which a write may have reached the device.
func maybe(err error) string {
	if errors.Is(err, ErrUncertain) {
		return err.Error()
	}
	return textOutcomeUnknown + err.Error()
}

func (w *queuedWrite) end(s WriteState, why string) { w.write.State, w.write.Error = s, why }

// toRead puts the newest write to each tag up for reading back, so that the cache shows it without
// waiting for the next poll. It returns the others, which are final now.
func (r *runner) toRead(sent []*queuedWrite) (rest []*queuedWrite) {
	newest := make(map[*entry]*queuedWrite, len(sent))
	for _, w := range sent {
		newest[w.entry] = w
	}
	now := time.Now()
	for _, w := range sent {
		switch {
		case w.write.State != WriteDone:
		case newest[w.entry] == w:
			w.due, w.wait, w.deadline = now, firstConfirm, now.Add(r.opts.ConfirmTimeout)
			r.confirming = append(r.confirming, w)
			continue
		default:
			r.unconfirmed(w, textSuperseded)
		}
		rest = append(rest, w)
	}
	return rest
}

// supersede ends the reading back of earlier writes to the tags of writes that have been sent since.
func (r *runner) supersede(sent []*queuedWrite) {
	if len(r.confirming) == 0 {
		return
	}
	again := make(map[*entry]bool, len(sent))
	for _, w := range sent {
		again[w.entry] = true
	}
	r.endConfirming(textSuperseded, func(w *queuedWrite) bool { return again[w.entry] })
}

// endConfirming ends the reading back of the writes that which selects.
func (r *runner) endConfirming(why string, which func(*queuedWrite) bool) {
	var ended, kept []*queuedWrite
	for _, w := range r.confirming {
		if !which(w) {
			kept = append(kept, w)
			continue
		}
		r.unconfirmed(w, why)
		ended = append(ended, w)
	}
	r.confirming = kept
	r.finish(ended)
}

// endReadBack ends all reading back when the runner cannot continue with it.
func (r *runner) endReadBack() {
	why := textLost
	if r.ctx.Err() != nil {
		why = textNotRead
	}
	r.endConfirming(why, func(*queuedWrite) bool { return true })
}

// unconfirmed ends a write that was to be confirmed and is not.
func (r *runner) unconfirmed(w *queuedWrite, why string) {
	if w.write.Confirm {
		w.end(WriteUnconfirmed, why)
		r.writeErrors.Add(1)
	}
}

// readBack reads one batch of the writes that are due to be read back. Those that ask for it are
// confirmed when the device returns the value, and read again later when it does not, until their
// time is over. It returns the same as sendWrites.
func (r *runner) readBack() (worked bool, err error) {
	now := time.Now()
	var todo, later []*queuedWrite
	var t targets
	for _, w := range r.confirming {
		if len(todo) < r.batch && !now.Before(w.due) {
			todo = append(todo, w)
			t.add(w.entry, w.tag)
		} else {
			later = append(later, w)
		}
	}
	if len(todo) == 0 {
		return false, nil
	}
	out := make([]Reading, len(todo))
	if r.unpolled {
		t.cached(out)
	} else if worked, err = r.read(t, out); err != nil {
		return worked, err
	}
	now = time.Now()
	var ended []*queuedWrite
	for i, w := range todo {
		switch {
		case !w.write.Confirm:
		case out[i].Err == nil && sameRaw(out[i].Value, w.item.Value):
			w.end(WriteConfirmed, "")
		case now.Before(w.deadline):
			w.due = now.Add(min(w.wait, w.deadline.Sub(now)))
			w.wait *= 2
			later = append(later, w)
			continue
		default:
			r.unconfirmed(w, textMismatch)
		}
		ended = append(ended, w)
	}
	r.confirming = later
	r.finish(ended)
	return worked, nil
}

// cached sets out to the raw values that the device has reported by itself.
func (t *targets) cached(out []Reading) {
	for i, en := range t.entries {
		s := en.snapshot().Sample
		if v, ok := t.tags[i].raw(s.Value); ok && s.Quality != Bad {
			out[i] = Reading{Value: v, Quality: s.Quality}
		} else {
			out[i].Err = ErrDevice
		}
	}
}

// nextWrite returns when sendWrites has something to do, at the latest the given time.
func (r *runner) nextWrite(before time.Time) time.Time {
	r.mu.Lock()
	queued := len(r.queue) > 0
	r.mu.Unlock()
	if queued {
		return time.Time{}
	}
	for _, w := range r.confirming {
		if w.due.Before(before) {
			before = w.due
		}
	}
	return before
}

// sameRaw compares a value that was read back with the one written. A Float may have lost the digits
// that a 32-bit register does not hold; a whole number is compared exactly.
func sameRaw(read, written Value) bool {
	v, err := read.Convert(written.Type())
	if err != nil {
		return false
	}
	if v == written || v.kind != kindFloat {
		return v == written
	}
	a, _ := v.Float()
	b, _ := written.Float()
	return sameFloat32(a, b)
}

// sameFloat32 reports whether two numbers are the same in a 32-bit register.
func sameFloat32(a, b float64) bool {
	f := float32(a)
	return f == float32(b) && !math.IsInf(float64(f), 0)
}
