package devices

import (
	"context"
	"errors"
)

// parting is why control ends.
type parting struct{ waiting, ran string }

var (
	stopping = parting{"the engine stops", "the engine stopped while the command ran"}
	moving   = parting{"the devices move to another engine", "the devices moved to another engine while the command ran"}
)

// close ends control, once: commands that wait are canceled, those that run are left to their devices and recorded as Lost when they
// do not end before ctx does. A store or an executor that does not return delays it by seconds only.
func (s *control) close(ctx context.Context, why parting) error {
	s.mu.Lock()
	s.closed, s.parting = true, why
	var waiting []*job
	for _, u := range s.units {
		waiting, u.queue = append(waiting, u.queue...), nil
	}
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { s.cancel(ErrClosed) })
	defer stop()
	for _, j := range waiting {
		s.end(j, Canceled, Result{Message: why.waiting})
	}
	s.drain(ctx)
	s.storeDevices(func(u *unit) bool { return u.changed != u.stored || u.StopLatched != u.latched })
	s.cancel(ErrClosed)
	s.wg.Wait()
	limited, cancel := context.WithTimeout(context.Background(), 2*grace)
	defer cancel()
	if !s.drain(limited) {
		return errors.New("devices: an executor does not return")
	}
	return nil
}

// drain waits until no job is left and reports whether it was before ctx ended.
func (s *control) drain(ctx context.Context) bool {
	for {
		ended := s.ends.C()
		s.mu.Lock()
		left := s.active
		s.mu.Unlock()
		if left == 0 {
			return true
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return false
		}
	}
}
