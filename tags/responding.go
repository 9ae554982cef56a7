package tags

import (
	"errors"
	"fmt"
	"time"
)

// standing returns the driver's state. The lock is held.
func (r *runner) currentState() DriverState {
	if r.state == DriverOnline && r.mute.Load() {
		return DriverNotResponding
	}
	return r.state
}

// call calls the driver from the runner's goroutine, and lets the sweeper see how long it takes.
func (r *runner) call(f func() error) error {
	if !r.mayCall() {
		return errNotRun
	}
	return r.watched(f)
}

func (r *runner) watched(f func() error) error {
	r.busy.Store(int64(time.Since(r.born)) + 1)
	defer r.busy.Store(0)
	return r.guarded(f)
}

// stuck reports whether a call of the driver has been running for more than twice its timeout.
func (r *runner) stuck() bool {
	since := r.busy.Load()
	return since > 0 && time.Since(r.born)-time.Duration(since) > 2*r.timeout
}

// markNotResponding makes an online driver NotResponding. err is noted unless it is nil.
func (r *runner) markNotResponding(err error) {
	r.mu.Lock()
	first := r.state == DriverOnline && r.mute.CompareAndSwap(false, true)
	r.mu.Unlock()
	if !first {
		return
	}
	if err != nil {
		r.noteError(err)
	}
	// A value that arrives long after it was asked for can do harm.
	r.failQueue(textSilent)
	r.log.Warn("the device does not answer", "error", r.status().LastError)
}

func (r *runner) checkStuck() {
	if r.stuck() {
		r.markNotResponding(fmt.Errorf("a call of the driver has not come back for more than %s", 2*r.timeout))
	}
}

// respond ends what markNotResponding began. Changes that a device sends do not free a call that is stuck.
func (r *runner) respond() {
	if r.mute.Load() && !r.stuck() && r.mute.CompareAndSwap(true, false) {
		r.log.Info("the device answers again")
	}
}

// tally counts the results of the points of a poll.
type tally struct{ answered, unanswered bool }

// add stops at the first answer, which is all that there is to know.
func (t *tally) add(readings []Reading, which []int) {
	for _, i := range which {
		if t.answered {
			return
		}
		err := readings[i].Err
		timeout := errors.Is(err, ErrTimeout)
		t.unanswered = t.unanswered || timeout
		t.answered = !timeout && !errors.Is(err, ErrAddress) // of ErrAddress the device knows nothing
	}
}

// evaluatePoll draws the conclusion from a whole poll of g; samples is how many there were before it. The
// error is set when the connection has to be made again.
func (r *runner) evaluatePoll(g *group, groups []*group, t tally, samples uint64) error {
	if t.answered {
		r.respond()
		return nil
	}
	if !t.unanswered || r.mute.Load() || r.samples.Load() != samples { // the device has sent changes meanwhile
		return nil
	}
	// All tags of this interval may be of one dead unit behind a gateway.
	if other, ok := goodTag(groups, g); ok {
		var out [1]Reading
		if _, err := r.read(other, out[:]); err != nil {
			return err
		}
		if t.add(out[:], first); t.answered {
			return nil
		}
	}
	r.markNotResponding(nil)
	return nil
}

// goodTag finds a tag of another group that was readable when it was last read.
func goodTag(groups []*group, than *group) (targets, bool) {
	for _, g := range groups {
		if g == than {
			continue
		}
		for i, en := range g.entries {
			if en.snapshot().Sample.Quality != Bad {
				return g.slice(i, i+1), true
			}
		}
	}
	return targets{}, false
}
