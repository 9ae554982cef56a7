package alarms

import (
	"context"
	"time"
)

// Shelve puts a condition aside for a time of at most Options.MaxShelve. Shelving a shelved one sets
// its time limit anew. A key that was never heard of may be shelved too; an unknown code or ID is an
// ErrAlarmNotFound, a bad time an ErrInvalidRequest.
func (s *Service) Shelve(ctx context.Context, ref Ref, d time.Duration, by, comment string) (Condition, error) {
	if d <= 0 || d > s.maxShelve {
		return Condition{}, ErrInvalidRequest.Because("an alarm is shelved for more than 0 and at most %v", s.maxShelve)
	}
	c, err := s.withhold(ctx, ref, by, comment, func(dr *draft, c *Condition) (Event, bool) {
		c.Withheld |= WithheldShelved
		c.ShelvedUntil, c.ShelvedBy = stamp(dr.now.Add(d)), by
		return Event{Kind: Shelved, Until: c.ShelvedUntil}, true
	})
	if err == nil {
		select {
		case s.shelf <- struct{}{}:
		default:
		}
	}
	return c, err
}

// Unshelve ends shelving. What is not shelved stays as it is.
func (s *Service) Unshelve(ctx context.Context, ref Ref, by, comment string) (Condition, error) {
	return s.withhold(ctx, ref, by, comment, func(_ *draft, c *Condition) (Event, bool) { return unshelve(c) })
}

func unshelve(c *Condition) (Event, bool) {
	if c.Withheld&WithheldShelved == 0 {
		return Event{}, false
	}
	c.Withheld &^= WithheldShelved
	c.ShelvedUntil, c.ShelvedBy = time.Time{}, ""
	return Event{Kind: Unshelved}, true
}

// Suppress withholds a condition by design, because the plant's logic says that it means nothing now.
// A key that was never heard of may be suppressed too.
func (s *Service) Suppress(ctx context.Context, ref Ref, by, comment string) (Condition, error) {
	return s.withhold(ctx, ref, by, comment, set(WithheldByDesign, Suppressed))
}

// Unsuppress ends suppression by design.
func (s *Service) Unsuppress(ctx context.Context, ref Ref, by, comment string) (Condition, error) {
	return s.withhold(ctx, ref, by, comment, unset(WithheldByDesign, Unsuppressed))
}

// OutOfService takes a condition out of service, for maintenance. A key that was never heard of may be
// taken out too.
func (s *Service) OutOfService(ctx context.Context, ref Ref, by, comment string) (Condition, error) {
	return s.withhold(ctx, ref, by, comment, set(WithheldOutOfService, OutOfService))
}

// InService puts a condition back in service.
func (s *Service) InService(ctx context.Context, ref Ref, by, comment string) (Condition, error) {
	return s.withhold(ctx, ref, by, comment, unset(WithheldOutOfService, InService))
}

func set(why Withheld, kind EventKind) func(*draft, *Condition) (Event, bool) {
	return func(_ *draft, c *Condition) (Event, bool) {
		was := c.Withheld
		c.Withheld |= why
		return Event{Kind: kind}, c.Withheld != was
	}
}

func unset(why Withheld, kind EventKind) func(*draft, *Condition) (Event, bool) {
	return func(_ *draft, c *Condition) (Event, bool) {
		was := c.Withheld
		c.Withheld &^= why
		return Event{Kind: kind}, c.Withheld != was
	}
}

// withhold changes why a condition is withheld, journals it and gives the condition as it is then.
func (s *Service) withhold(ctx context.Context, ref Ref, by, comment string, change func(*draft, *Condition) (Event, bool)) (Condition, error) {
	if err := requireBy(by, comment); err != nil {
		return Condition{}, err
	}
	if ref.Key != "" {
		if msg := textFault(ref.Key, 1, maxKey); msg != "" {
			return Condition{}, ErrInvalidRequest.Because("the key %s", msg)
		}
		ref.Create = true
	}
	var out Condition
	err := s.do(ctx, []Ref{ref}, func(d *draft, found []Found) error {
		c := found[0].Condition
		if c == nil {
			return ErrAlarmNotFound
		}
		if e, changed := change(d, c); changed {
			e.By, e.Comment = by, comment
			d.withheld(e, c)
		}
		out = *c
		if c.Last != nil {
			last := *c.Last
			out.Last = &last
		}
		return nil
	})
	if err != nil {
		return Condition{}, err
	}
	return out, nil
}

// withheld journals a change of Condition.Withheld and carries it over to the newest occurrence while
// that is active. What is shown again is told as new, unless somebody has acknowledged it.
func (d *draft) withheld(e Event, c *Condition) {
	d.condition(c)
	switch {
	case c.Withheld == 0:
		c.WithheldBy, c.WithheldAt, c.WithheldComment = "", time.Time{}, ""
	case e.Kind == Shelved, e.Kind == Suppressed, e.Kind == OutOfService:
		c.WithheldBy, c.WithheldAt, c.WithheldComment = e.By, d.now, e.Comment
	}
	if o := c.Last; o != nil && o.Active {
		e.New = o.Withheld != 0 && c.Withheld == 0 && !o.Acknowledged()
		o.Withheld = c.Withheld
	}
	d.event(e, c, c.Last)
}

// shelfCheck is how often time limits are looked up, for those that another process has set and for a
// clock that was set.
const shelfCheck = time.Minute

// watchShelf ends shelving at its time limits.
func (s *Service) watchShelf(ctx context.Context, next time.Time) {
	for {
		wait := shelfCheck
		if !next.IsZero() {
			wait = min(wait, max(next.Sub(s.now()), time.Millisecond))
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-s.shelf:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
		var err error
		if next, err = s.unshelveDue(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("shelved alarms cannot be put back", "error", err)
			next = s.now().Add(time.Second)
		}
	}
}

// unshelveDue ends shelving whose time limit has come and gives the next one, zero for none.
func (s *Service) unshelveDue(ctx context.Context) (next time.Time, err error) {
	list, err := s.store.WithheldConditions(ctx)
	if err != nil {
		return next, err
	}
	var due []Ref
	now := s.clock()
	for _, c := range list {
		switch {
		case c.Withheld&WithheldShelved == 0:
		case !c.ShelvedUntil.After(now):
			due = append(due, ByCode(c.Code))
		case next.IsZero() || c.ShelvedUntil.Before(next):
			next = c.ShelvedUntil
		}
	}
	if len(due) == 0 {
		return next, nil
	}
	return next, s.do(ctx, due, func(d *draft, found []Found) error {
		for _, f := range found {
			c := f.Condition
			if c == nil || c.ShelvedUntil.After(d.now) { // it was shelved anew
				continue
			}
			if e, changed := unshelve(c); changed {
				e.Comment = "the time limit has come"
				d.withheld(e, c)
			}
		}
		return nil
	})
}
