package tags

import (
	"context"
	"errors"
	"time"
)

// errRedefined is what a Forwarder gets for readings of tags whose definition has changed since.
var errRedefined = errors.New("tags were defined anew; the readings have to be forwarded again")

// forwarding takes what a Forwarder forwards between two changes of the tags.
type forwarding struct {
	runner *runner
	ctx    context.Context // of the call of Forward
	targets
	changes []Change  // of store, to be used again
	given   time.Time // the last time that stamp gave
}

// store stores readings, and then takes them over. First the history: a reading that could not be stored is
// forwarded again, so nobody must have been notified of it. What is stored and not taken over, because
// the process ends in between, is in history, and the device has the current values.
func (f *forwarding) store(ctx context.Context, readings []Forwarded) error {
	if f.ctx.Err() != nil { // also of a driver that did not stop in time
		return context.Cause(f.ctx)
	}
	if f.redefined(readings) {
		// The runner has been told and begins again. Until then there is nothing that could be stored.
		select {
		case <-f.ctx.Done():
		case <-ctx.Done():
		}
		return errRedefined
	}
	r := f.runner
	if !r.mayCall() {
		return errNotRun
	}
	now, at := r.engine.now(), time.Now()
	f.convert(readings, now)
	if len(f.changes) == 0 {
		return nil
	}
	if store := r.engine.store; store != nil {
		if err := store(ctx, f.changes); err != nil {
			return err
		}
	}
	f.take(readings, at)
	return nil
}

// redefined reports whether a tag of the readings has another definition now, or none.
func (f *forwarding) redefined(readings []Forwarded) bool {
	for i := range readings {
		if p := readings[i].Point; f.has(p) && (f.entries[p].tag.Load() != f.tags[p] || f.entries[p].gone.Load()) {
			return true
		}
	}
	return false
}

func (f *forwarding) has(point int) bool { return point >= 0 && point < len(f.points) }

// convert makes changes of readings, without a look at what the tags have now.
func (f *forwarding) convert(readings []Forwarded, now time.Time) {
	f.changes = f.changes[:0]
	recorded := f.runner.records()
	for i := range readings {
		if p := readings[i].Point; f.has(p) {
			r := &readings[i].Reading
			s := sampleOf(f.tags[p], r, now)
			if !s.SourceTime.Equal(r.Time) {
				s.SourceTime = f.stamp(now)
			}
			f.changes = append(f.changes, Change{Tag: f.tags[p], Sample: s, Late: r.Late, Recorded: recorded})
		}
	}
}

// stamp returns a time for a reading whose own is not usable. No two are the same in history, where one would
// replace the other.
func (f *forwarding) stamp(now time.Time) time.Time {
	if earliest := f.given.Add(time.Microsecond); now.Before(earliest) {
		now = earliest
	}
	f.given = now
	return now
}

// take takes over readings that are stored, and notifies of those that are to be reported.
func (f *forwarding) take(readings []Forwarded, at time.Time) {
	r := f.runner
	told := f.changes[:0] // never ahead of next
	next, failed := 0, 0
	var firstErr error
	for i := range readings {
		p, reading := readings[i].Point, &readings[i].Reading
		if !f.has(p) {
			continue
		}
		if reading.Err != nil {
			if failed++; failed == 1 {
				firstErr = reading.Err
			}
		}
		c := &f.changes[next]
		next++
		c.Late = false
		if f.entries[p].accept(c, reading, arrival{at: at, forwarded: true}) {
			told = append(told, *c)
		}
	}
	r.count(next, failed, len(told), firstErr)
	r.engine.notify(told)
}
