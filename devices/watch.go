package devices

import (
	"context"
	"slices"
)

// Changes waits until devices have changed after a position, and returns them as they are now, with the position to go on from. At
// position 0 it returns all devices at once, as it does at a position of an earlier process. Of a device that changes several times between two calls the last state is returned, so
// that a slow reader costs nothing. It returns the cause of ctx when ctx ends, and [ErrClosed] after Close.
func (s *Service) Changes(ctx context.Context, after uint64) ([]Device, uint64, error) {
	for {
		changed := s.watches.C()
		found, next, err := s.changedSince(after)
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
	defer func() { slices.SortFunc(found, byID) }() // without s.mu
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, after, ErrClosed
	}
	if after > s.sequence {
		after = 0 // of an earlier process, before our clock was set back
	}
	for e := s.order.Front(); e != nil; e = e.Next() {
		u := e.Value.(*unit)
		if u.changed <= after {
			break
		}
		found = append(found, u.Device)
	}
	return found, s.sequence, nil
}
