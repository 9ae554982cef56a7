package devices

import (
	"context"
	"slices"
)

// Changes waits until devices have changed after a position, and returns them as they are now, in the order of their last changes,
// with the position to go on from. At position 0, or at one of an earlier process, it returns all devices at once, at 0 by id. Of a
// device that changes several times between two calls the last state is returned, so that a slow reader costs nothing. It returns the
// cause of ctx when ctx ends, and [ErrClosed] after Close.
func (s *Service) Changes(ctx context.Context, after uint64) ([]Device, uint64, error) {
	for {
		changed := s.watches.C()
		found, next, err := s.changedSince(after)
		if after == 0 {
			slices.SortFunc(found, byID)
		}
		if err != nil || len(found) > 0 || after == 0 {
			return found, next, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, after, context.Cause(ctx)
		}
	}
}

func (s *Service) changedSince(after uint64) (found []Device, next uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, after, ErrClosed
	}
	if after > s.sequence {
		after = 0 // of an earlier process, before our clock was set back
	}
	count, e := 0, s.order.Front()
	for ; e != nil && e.Value.(*unit).changed > after; e = e.Next() {
		count++
	}
	found = make([]Device, count) // at its size: the devices of a fleet change between any two calls
	for i, e := count-1, s.order.Front(); i >= 0; i, e = i-1, e.Next() {
		found[i] = e.Value.(*unit).Device
	}
	return found, s.sequence, nil
}
