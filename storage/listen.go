package storage

import (
	"context"
	"errors"
)

// Listen calls notified with the payloads of notifications of a channel, one after the other, which must return immediately. It calls ready when it has begun to listen: what
// was sent before is missed. It returns when ctx ends or the connection does. The error is errors.ErrUnsupported where there are no notifications: with SQLite, and behind a
// pooler.
func (s *Set) Listen(ctx context.Context, channel string, ready func(), notified func(payload string)) error {
	n, ok := s.dialect.(Notifier)
	switch {
	case s.closed.Load():
		return ErrClosed
	case !ok || s.pools.Listen == nil:
		return errors.ErrUnsupported
	}
	return explain(s.dialect, n.Listen(ctx, s.pools.Listen, channel, ready, notified))
}
