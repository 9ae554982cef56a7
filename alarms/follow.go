package alarms

import (
	"context"
	"errors"
	"time"
)

// followBatch is how many events are read from the journal at once.
const followBatch = 1000

var errSeen = errors.New("alarms: the end of the journal was seen")

// endOfJournal gives the number of the last event that is stored.
func endOfJournal(ctx context.Context, store Store) (int64, error) {
	var last int64
	err := store.Write(ctx, nil, func(next int64, _ []Found) (Changes, error) {
		last = next - 1
		return Changes{}, errSeen
	})
	if errors.Is(err, errSeen) {
		err = nil
	}
	return last, err
}

// follow tells what other services have stored, until ctx ends.
func (s *Service) follow(ctx context.Context) {
	failing := false
	for {
		n, err := s.catchUp(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			s.log.Error("the journal of alarms cannot be followed; subscribers wait", "error", err)
		case err == nil && failing:
			s.log.Info("the journal of alarms is followed again")
		}
		failing = err != nil
		if n == followBatch {
			continue
		}
		timer := time.NewTimer(s.followEvery)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-s.behind:
		}
		timer.Stop()
	}
}

// catchUp tells events that are stored and not told yet, and gives how many it has read.
func (s *Service) catchUp(ctx context.Context) (int, error) {
	events, err := s.store.Events(ctx, s.hub.last(), followBatch)
	if err != nil {
		return 0, err
	}
	s.hub.publish(events, true)
	return len(events), nil
}

// tellOwn tells subscribers what this service has just stored. Where another service has stored
// something before it, the journal is read first, so that the order is kept.
func (s *Service) tellOwn(events []Event) {
	if s.hub.publish(events, s.followEvery == 0) {
		return
	}
	select {
	case s.behind <- struct{}{}:
	default:
	}
}
