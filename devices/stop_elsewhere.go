package devices

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/otkit/otkit/internal/backoff"
)

const (
	// maxStopsElsewhere is how many emergency stops wait for the store at a time.
	maxStopsElsewhere = 256
	// stopStoreAfter is how long the owner may take to carry out an emergency stop before it is stored for the next owner.
	stopStoreAfter = 300 * time.Millisecond
	// stopAloneAfter is how long the owner may take, and be silent, before the device is told directly.
	stopAloneAfter = 1500 * time.Millisecond
	stopRetry      = 200 * time.Millisecond
)

// stopElsewhere has a device stopped that another engine has, or none: the owner is asked to. If it does not answer soon, the stop is
// stored for the next owner, which carries it out; if it is not heard at all, the device is told directly.
func (s *Service) stopElsewhere(ctx context.Context, c Command, by string) (Record, error) {
	j, err := newJob(c, by)
	if err != nil {
		return Record{}, err
	}
	j.issue(s.opts.Now())
	_, known := s.role.Load().view().get(c.DeviceID)
	e := &stopElsewhere{s: s, command: c, record: j.record, known: known,
		asked: make(chan answer, 1), failed: make(chan struct{}, 1), stored: make(chan error, 1), told: make(chan error, 1)}
	ended := make(chan answer, 1)
	if !s.spawn(func() { ended <- e.run() }) {
		return Record{}, ErrClosed
	}
	select {
	case a := <-ended:
		return a.record, a.err
	case <-ctx.Done():
		return j.record, nil
	}
}

// answer is what has become of an emergency stop.
type answer struct {
	record Record
	err    error
}

// stopElsewhere is an emergency stop of a device that this engine does not have.
type stopElsewhere struct {
	s       *Service
	command Command // as it was given
	record  Record
	known   bool // there is such a device

	asked  chan answer   // of the owner
	failed chan struct{} // has an item when no owner could be asked
	stored chan error    // nil when the stop is in the journal
	told   chan error    // nil when the device was told directly
}

// run returns what the owner answers, or what is known when it has not answered in time.
func (e *stopElsewhere) run() answer {
	ctx, cancel := context.WithTimeout(e.s.ctx, stopTimeout+stopRecordWait)
	defer cancel()
	e.s.spawn(func() { e.ask(ctx) })
	store := sync.OnceFunc(func() { e.s.spawn(func() { e.store(ctx) }) })
	tell := sync.OnceFunc(func() { e.s.spawn(func() { e.told <- e.tell(ctx) }) })
	late, began := time.After(stopStoreAfter), time.Now()
	look := time.NewTicker(stopRetry)
	defer look.Stop()
	stored, told := errPending, errNotTold
	for {
		select {
		case a := <-e.asked:
			return a
		case <-e.failed:
			if !e.known {
				return answer{err: ErrNotFound.On("deviceId", e.command.DeviceID)}
			}
			store()
			tell()
		case <-late:
			store()
		case stored = <-e.stored:
			if errors.Is(stored, ErrCommandReused) {
				return answer{err: stored}
			}
		case told = <-e.told:
		case <-look.C:
			if m := e.s.role.Load().mirror; m != nil && min(time.Since(began), m.silent()) >= stopAloneAfter {
				tell()
			}
			if r, ok := e.find(ctx); ok {
				return answer{record: r}
			}
		case <-ctx.Done():
			if !e.known {
				return answer{err: ErrUnanswered.On("commandId", e.command.ID)}
			}
			r := e.record // it may still be stored
			r.Result.Message = message(stored, told)
			return answer{record: r}
		}
	}
}

var (
	errPending = errors.New("the store has not answered")
	errNotTold = errors.New("it has no connection of its own")
)

// message tells what is known of an emergency stop that no owner has answered.
func message(stored, told error) string {
	text := "no engine that has the device has answered: "
	if told == nil {
		text += "this engine told the device to stop, and does not know whether it did"
	} else {
		text += "the device may still move; this engine could not tell it to stop: " + told.Error()
	}
	if stored == nil {
		return clean(text + ". The stop is stored, and carried out by the next engine that has the device")
	}
	return clean(text + ". The stop is not stored yet: " + stored.Error())
}

// ask asks the owner, again and again as long as there is none.
func (e *stopElsewhere) ask(ctx context.Context) {
	for {
		owner := e.s.opts.Shared.Owner
		if e.s.Owns() { // it does meanwhile
			owner = e.s.Owner()
		}
		r, err := owner.Submit(ctx, e.command, e.record.By)
		if !errors.Is(err, ErrNotOwner) && !errors.Is(err, ErrUnanswered) {
			e.asked <- answer{r, err}
			return
		}
		select {
		case e.failed <- struct{}{}:
		default:
		}
		if !backoff.Wait(ctx, stopRetry) {
			return
		}
	}
}

// store stores the stop. It tries until it has, also after the caller was answered, or the service ends.
func (e *stopElsewhere) store(ctx context.Context) {
	if !e.known {
		return
	}
	select {
	case e.s.stops <- struct{}{}:
		defer func() { <-e.s.stops }()
	case <-ctx.Done():
		return
	}
	for failures := 1; ; failures++ {
		found, added, err := e.add()
		switch {
		case err == nil && !added && found.Digest != e.record.Digest:
			e.stored <- ErrCommandReused.On("commandId", e.record.ID)
			return
		case err == nil:
			e.stored <- nil
			return
		}
		e.s.opts.Logger.Error("failed to store an emergency stop; retrying", "device", e.record.DeviceID, "command", e.record.ID, "error", err)
		if !backoff.Wait(e.s.ctx, backoff.Delay(stopRetry, 5*time.Second, failures)) {
			return
		}
	}
}

func (e *stopElsewhere) add() (Record, bool, error) {
	ctx, cancel := context.WithTimeout(e.s.ctx, storeTimeout)
	defer cancel()
	return e.s.store.AddCommand(ctx, e.record)
}

// find returns the outcome that an owner has stored.
func (e *stopElsewhere) find(ctx context.Context) (Record, bool) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	found, err := e.s.store.Commands(ctx, CommandQuery{ID: e.record.ID, Limit: 1})
	if err != nil || len(found) == 0 || found[0].Digest != e.record.Digest || !found[0].Phase.Ended() {
		return Record{}, false
	}
	return found[0], true
}

// tell tells the device to stop.
func (e *stopElsewhere) tell(ctx context.Context) (err error) {
	stop := e.s.opts.Shared.Stop
	if stop == nil {
		return errNotTold
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it failed: %v", r)
		}
	}()
	e.s.opts.Logger.Warn("no engine that has the device answers an emergency stop: it is told directly", "device", e.record.DeviceID, "command", e.record.ID)
	return stop(ctx, e.record.DeviceID)
}
