package devices

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/otkit/otkit/internal/backoff"
)

// settleTime is how long a new owner of shared devices records what its predecessor has left before it begins. The rest follows: an engine that hangs may hold
// what is to be changed.
const (
	settleTime = time.Second
	settleCall = 300 * time.Millisecond // of it for one command
)

// settle records the commands of an earlier process, or of another engine, as lost: they are not repeated. Ways of those that ran are
// reserved until their devices report. Emergency stops that nobody has carried out are kept for begin.
func (s *control) settle(ctx context.Context) error {
	err := s.unfinished(ctx, func(r Record) {
		u := s.units[r.DeviceID]
		if r.Type == EmergencyStop && u != nil {
			u.latch()
			s.left = append(s.left, r)
			return
		}
		now := canon(s.opts.Now())
		if began := r.Phase == Running; began {
			r = r.ended(Lost, Result{Message: "the engine ended while the command ran: what the device did is not known"}, now)
			if u != nil && r.Path != nil && u.State != Decommissioned {
				u.reserve(r.Path.unclocked(), now, true)
			}
		} else {
			r = r.ended(Canceled, Result{Message: "the engine ended before the command was begun"}, now)
		}
		s.unsettled[r.ID] = r
	})
	if err != nil || !s.isShared() {
		return errors.Join(err, s.record(ctx, storeTimeout))
	}
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	if err := s.record(ctx, settleCall); err != nil {
		s.opts.Logger.Warn("commands that another engine has left cannot be recorded as lost yet; retrying", "error", err)
	}
	return nil
}

// record stores the outcomes that settle has found. One may take as long as limit.
func (s *control) record(ctx context.Context, limit time.Duration) (failed error) {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.unsettled))
	s.mu.Unlock()
	for _, r := range all {
		storing, cancel := context.WithTimeout(ctx, limit)
		err := s.store.UpdateCommand(storing, r)
		cancel()
		if err != nil {
			failed = err
			continue
		}
		s.mu.Lock()
		delete(s.unsettled, r.ID)
		s.mu.Unlock()
		s.opts.Logger.Warn("command of an earlier run has no known outcome", "device", r.DeviceID, "command", r.ID, "phase", string(r.Phase))
	}
	return failed
}

// recordLater is record until all is stored.
func (s *control) recordLater(ctx context.Context) {
	for failures := 1; s.record(ctx, 2*time.Second) != nil; failures++ {
		if !backoff.Wait(ctx, backoff.Delay(100*time.Millisecond, 5*time.Second, failures)) {
			return
		}
	}
}

// unfinished calls do with the commands of the journal that have not ended.
func (s *control) unfinished(ctx context.Context, do func(Record)) error {
	const limit = 500
	for q := (CommandQuery{Unfinished: true, Limit: limit}); ; {
		found, err := s.store.Commands(ctx, q)
		if err != nil {
			return err
		}
		for i := range found {
			do(found[i])
		}
		if len(found) < limit {
			return nil
		}
		q.Before, q.BeforeID = found[limit-1].IssuedAt, found[limit-1].ID
	}
}

// restore keeps the ways of commands of earlier processes reserved until their devices report where they are.
func (s *control) restore(ctx context.Context) error {
	last, err := s.store.LastMoves(ctx)
	if err != nil {
		return err
	}
	now := canon(s.opts.Now())
	for _, r := range last {
		u := s.units[r.DeviceID]
		if u == nil {
			continue
		}
		u.began = r.BeganAt
		if u.State == Decommissioned || !u.unsure.IsZero() {
			continue
		}
		t := u.Telemetry
		reported := t != nil && t.Time.After(r.Result.CompletedAt) && !t.Time.After(now)
		switch {
		case r.Phase.unsure() && !(reported && t.endsMotion()):
			u.reserve(r.Path.unclocked(), now, true)
		case r.Phase == Succeeded && !reported:
			u.arrive(r.Path, now)
		}
	}
	return nil
}
