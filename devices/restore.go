package devices

import "context"

// settle records the commands of an earlier process as lost.
func (s *Service) settle(ctx context.Context) error {
	for {
		left, err := s.store.Commands(ctx, CommandQuery{Unfinished: true, Limit: 500})
		if err != nil || len(left) == 0 {
			return err
		}
		for _, r := range left {
			began := r.Phase == Running
			r.Phase = Canceled
			r.Result = Result{CommandID: r.ID, Message: "the engine ended before the command was begun", CompletedAt: s.opts.Now()}
			if began {
				r.Phase, r.Result.Message = Lost, "the engine ended while the command ran: what the device did is not known"
			}
			if err := s.store.UpdateCommand(ctx, r); err != nil {
				return err
			}
			s.opts.Logger.Warn("command of an earlier run has no known outcome", "device", r.DeviceID, "command", r.ID, "phase", string(r.Phase))
		}
	}
}

// restore keeps the ways of commands of earlier processes reserved until their devices report where they are.
func (s *Service) restore(ctx context.Context) error {
	last, err := s.store.LastMoves(ctx)
	if err != nil {
		return err
	}
	now := canon(s.opts.Now())
	for _, r := range last {
		u := s.units[r.DeviceID]
		if u == nil || u.State == Decommissioned {
			continue
		}
		t := u.Telemetry
		reported := t != nil && t.Time.After(r.Result.CompletedAt)
		switch {
		case r.Phase.unsure() && !(reported && t.endsMotion()):
			u.reserve(r.Path.unclocked(), now, true)
		case r.Phase == Succeeded && !reported:
			u.arrive(r.Path, now)
		}
	}
	return nil
}
