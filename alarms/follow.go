package alarms

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Follow calls handle with the events of a subscription until ctx ends or the service is closed, and returns why. A slow
// handler misses nothing: events that do not fit into SubscribeOptions.Buffer are read from the journal. Calls of handle
// do not overlap.
func (s *Service) Follow(ctx context.Context, o SubscribeOptions, handle func([]Event)) error {
	o.repeats = true // the follower filters them itself
	f := follower{service: s, options: &o, handle: handle, after: -1}
	var slow *Subscription // the last one, which ended
	for {
		sub, err := s.Subscribe(o)
		if err != nil {
			return err
		}
		if slow != nil && f.after < 0 { // only now, because the first event may have come in between
			f.after = slow.started()
		}
		if f.after >= 0 {
			err = f.catchUp(ctx, sub.started())
		}
		for err == nil {
			var events []Event
			if events, err = sub.Next(ctx, journalBatch); err == nil {
				f.deliver(events)
			}
		}
		sub.Close()
		if !errors.Is(err, ErrSlowSubscriber) {
			return err
		}
		slow = sub
	}
}

// follower is the state of one call of Follow.
type follower struct {
	service *Service
	options *SubscribeOptions
	handle  func([]Event)
	after   int64     // sequence number of the last event delivered; -1 for none
	early   recentIDs // occurrences delivered before they were stored
}

// journalRetry is the time between attempts to read the journal.
const journalRetry = time.Second

// catchUp delivers the stored events up to a sequence number that were not delivered yet.
func (f *follower) catchUp(ctx context.Context, until int64) error {
	failing := false
	for f.after < until {
		events, err := f.service.store.Events(ctx, f.after, journalBatch)
		if err != nil {
			if ctx.Err() == nil && !failing {
				f.service.log.Error("failed to read the alarm journal; retrying", "error", err)
			}
			failing = true
			select {
			case <-time.After(journalRetry):
				continue
			case <-f.service.closed:
				return ErrClosed
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if len(events) == 0 {
			return nil // the events were trimmed
		}
		last := events[len(events)-1].Seq
		f.deliver(slices.DeleteFunc(events, func(e Event) bool { return !f.options.selects(&e) }))
		f.after = last
	}
	return nil
}

// deliver passes on the events that were not delivered before.
func (f *follower) deliver(events []Event) {
	fresh := events[:0]
	for _, e := range events {
		switch {
		case e.Seq == 0:
			f.early.add(e.Occurrence.ID)
		case e.Seq <= f.after:
			continue
		default:
			f.after = e.Seq
			if !f.options.All && e.Kind == Raised && f.early.remove(e.Occurrence.ID) {
				continue
			}
		}
		fresh = append(fresh, e)
	}
	if len(fresh) > 0 {
		f.handle(fresh)
	}
}

// journalBatch is how many events are read from the journal in one call.
const journalBatch = 1000

var errSeen = errors.New("alarms: end of the journal")

// endOfJournal returns the sequence number of the last stored event.
func endOfJournal(ctx context.Context, store Store) (int64, error) {
	var last int64
	err := store.Write(ctx, nil, func(next int64, _ []RefResult) (Changes, error) {
		last = next - 1
		return Changes{}, errSeen
	})
	if errors.Is(err, errSeen) {
		err = nil
	}
	return last, err
}

// End returns the sequence number of the last event that was published, which is behind those of other services by up to
// Options.PollInterval, or that of the last stored one if none was published yet; 0 for none.
func (s *Service) End(ctx context.Context) (int64, error) {
	if seq := s.hub.last(); seq > 0 {
		return seq, nil
	}
	return endOfJournal(ctx, s.store)
}

// follow publishes the events of other services until ctx ends.
func (s *Service) follow(ctx context.Context) {
	failing := false
	for {
		n, err := s.catchUp(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil && !failing:
			s.log.Error("failed to follow the alarm journal; retrying", "error", err)
		case err == nil && failing:
			s.log.Info("following the alarm journal resumed")
		}
		failing = err != nil
		if n == journalBatch {
			continue
		}
		timer := time.NewTimer(s.pollInterval)
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-s.behind:
		}
		timer.Stop()
	}
}

// catchUp publishes stored events that are not published yet, and returns how many it has read.
func (s *Service) catchUp(ctx context.Context) (int, error) {
	events, err := s.store.Events(ctx, s.hub.last(), journalBatch)
	if err != nil {
		return 0, err
	}
	s.hub.publish(events, true)
	return len(events), nil
}

// publishOwn publishes events that this service has just stored. If another service has stored events before them, the
// journal is read first to preserve the order.
func (s *Service) publishOwn(events []Event) {
	if s.hub.publish(events, s.pollInterval == 0) {
		return
	}
	select {
	case s.behind <- struct{}{}:
	default:
	}
}
