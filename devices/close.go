package devices

import (
	"context"
	"errors"
)

// Close ends the service: commands that wait are canceled, those that run are left to their devices and recorded as Lost when they
// do not end before ctx does. A store or an executor that does not return delays it by seconds only. Calling Close again waits for
// the first call, as long as ctx lasts, and returns its error.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first {
		s.closeErr = s.close(ctx)
		close(s.ended)
	}
	select {
	case <-s.ended:
		return s.closeErr
	default:
	}
	select {
	case <-s.ended:
		return s.closeErr
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Service) close(ctx context.Context) error {
	s.mu.Lock()
	s.watches.Send()
	var waiting []*job
	for _, u := range s.units {
		waiting, u.queue = append(waiting, u.queue...), nil
	}
	s.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { s.cancel(ErrClosed) })
	defer stop()
	for _, j := range waiting {
		s.end(j, Canceled, Result{Message: stopping})
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
func (s *Service) drain(ctx context.Context) bool {
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

// stopping is the message of commands that Close cancels.
const stopping = "the engine stops"
