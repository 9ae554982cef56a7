package devices

import (
	"cmp"
	"context"
	"slices"
)

// Changes waits until devices have changed after a position, and returns them as they are now, with the position to go on from. At
// position 0 it returns all devices at once. Of a device that changes several times between two calls the last state is returned, so
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, after, ErrClosed
	}
	for _, u := range s.units {
		if after == 0 || u.changed > after {
			found = append(found, u.Device)
		}
	}
	slices.SortFunc(found, func(a, b Device) int { return cmp.Compare(a.ID, b.ID) })
	return found, s.sequence, nil
}
