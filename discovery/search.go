package discovery

import (
	"context"
	"errors"
	"time"

	"github.com/otkit/otkit/fault"
)

// searches share the scans for bridges that have gone: many may be gone at the same time.
type searches struct {
	scanner Scanner // nil: nothing is found

	turn  chan struct{}       // has an item while one is made or read
	found map[string][]string // URLs by bridge id, of the last one
	at    time.Time           // by the monotonic clock
}

// find returns the URLs at which the network has the bridge, by a search that is not older than an interval of heartbeats.
func (s *Service) find(ctx context.Context, b Binding) []string {
	q := &s.searches
	if q.scanner == nil {
		return nil
	}
	select {
	case q.turn <- struct{}{}:
		defer func() { <-q.turn }()
	case <-ctx.Done():
		return nil
	}
	if q.at.IsZero() || time.Since(q.at) >= s.opts.Heartbeat {
		all, err := s.browse(ctx, searchTime)
		if err != nil && ctx.Err() == nil {
			s.opts.Logger.Debug("failed to search for bridges", "error", err)
		}
		if ctx.Err() != nil {
			return nil
		}
		q.found, q.at = map[string][]string{}, time.Now()
		for i := range all {
			q.found[all[i].BridgeID] = append(q.found[all[i].BridgeID], all[i].Addresses...)
		}
	}
	return addURLs([]string{b.BaseURL()}, q.found[b.BridgeID])[1:]
}

// problemOf returns what is wrong with a heartbeat, for people.
func problemOf(err error) string {
	if f, ok := fault.From(err); ok {
		return f.Message
	}
	for _, own := range []error{errOther, errBinding, errUnbound, errReleased} {
		if errors.Is(err, own) {
			return err.Error()
		}
	}
	return ErrConnection.Message
}

// messageOf returns the text of an error for callers, which has no addresses, or else other.
func messageOf(err error, other string) string {
	if f, ok := fault.From(err); ok {
		return f.Message
	}
	return other
}
