package alarms

import (
	"context"
	"time"

	"github.com/otkit/otkit/alarms/internal/limits"
)

// Shelve suppresses a condition for a time of at most Options.MaxTimeShelved. Shelving again sets a new time limit. A
// key that does not exist yet may be shelved. The error is an ErrAlarmNotFound for an unknown code or ID, and an
// ErrInvalidRequest for a bad duration.
func (s *Service) Shelve(ctx context.Context, ref Ref, d time.Duration, by, comment string) (Condition, error) {
	if d <= 0 || d > s.maxTimeShelved {
		return Condition{}, ErrInvalidRequest.Because("the time must be above 0 and at most %v", s.maxTimeShelved)
	}
	c, err := s.suppress(ctx, ref, by, comment, func(dr *draft, c *Condition) (Event, bool) {
		c.Suppression |= SuppressionShelved
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

// Unshelve ends shelving. It changes nothing if the condition is not shelved.
func (s *Service) Unshelve(ctx context.Context, ref Ref, by, comment string) (Condition, error) {
	return s.suppress(ctx, ref, by, comment, func(_ *draft, c *Condition) (Event, bool) { return unshelve(c) })
}

func unshelve(c *Condition) (Event, bool) {
	if c.Suppression&SuppressionShelved == 0 {
		return Event{}, false
	}
	c.Suppression &^= SuppressionShelved
	c.ShelvedUntil, c.ShelvedBy = time.Time{}, ""
	return Event{Kind: Unshelved}, true
}

// SuppressByDesign suppresses a condition because it is meaningless in the current state of the plant. A key that does
// not exist yet may be suppressed.
func (s *Service) SuppressByDesign(ctx context.Context, ref Ref, by, comment string) (Condition, error) {
	return s.suppress(ctx, ref, by, comment, set(SuppressionByDesign, Suppressed))
}

// UnsuppressByDesign ends suppression by design.
func (s *Service) UnsuppressByDesign(ctx context.Context, ref Ref, by, comment string) (Condition, error) {
	return s.suppress(ctx, ref, by, comment, unset(SuppressionByDesign, Unsuppressed))
}

// OutOfService takes a condition out of service, for maintenance. A key that does not exist yet may be taken out of
// service.
func (s *Service) OutOfService(ctx context.Context, ref Ref, by, comment string) (Condition, error) {
	return s.suppress(ctx, ref, by, comment, set(SuppressionOutOfService, OutOfService))
}

// InService puts a condition back in service.
func (s *Service) InService(ctx context.Context, ref Ref, by, comment string) (Condition, error) {
	return s.suppress(ctx, ref, by, comment, unset(SuppressionOutOfService, InService))
}

func set(why Suppression, kind EventKind) func(*draft, *Condition) (Event, bool) {
	return func(_ *draft, c *Condition) (Event, bool) {
		was := c.Suppression
		c.Suppression |= why
		return Event{Kind: kind}, c.Suppression != was
	}
}

func unset(why Suppression, kind EventKind) func(*draft, *Condition) (Event, bool) {
	return func(_ *draft, c *Condition) (Event, bool) {
		was := c.Suppression
		c.Suppression &^= why
		return Event{Kind: kind}, c.Suppression != was
	}
}

// suppress changes the suppression of a condition, journals it and returns the condition afterwards.
func (s *Service) suppress(ctx context.Context, ref Ref, by, comment string, change func(*draft, *Condition) (Event, bool)) (Condition, error) {
	if err := requireBy(by, comment); err != nil {
		return Condition{}, err
	}
	if ref.Key != "" {
		if msg := limits.Violation(ref.Key, 1, maxKey); msg != "" {
			return Condition{}, ErrInvalidRequest.Because("the key %s", msg)
		}
		ref.Create = true
	}
	var out Condition
	err := s.do(ctx, []Ref{ref}, func(d *draft, found []RefResult) error {
		c := found[0].Condition
		if c == nil {
			return ErrAlarmNotFound
		}
		if e, changed := change(d, c); changed {
			e.By, e.Comment = by, comment
			d.suppressed(e, c)
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

// suppressed journals a change of Condition.Suppression and copies it to the newest occurrence if that is active or
// unacknowledged. When suppression ends, an active and unacknowledged occurrence is annunciated.
func (d *draft) suppressed(e Event, c *Condition) {
	d.condition(c)
	switch {
	case c.Suppression == 0:
		c.SuppressedBy, c.SuppressedAt, c.SuppressionComment = "", time.Time{}, ""
	case e.Kind == Shelved, e.Kind == Suppressed, e.Kind == OutOfService:
		c.SuppressedBy, c.SuppressedAt, c.SuppressionComment = e.By, d.now, e.Comment
	}
	if o := c.Last; o != nil && (o.Active || !o.Acknowledged()) {
		e.Annunciate = o.Active && o.Suppression != 0 && c.Suppression == 0 && !o.Acknowledged()
		o.Suppression = c.Suppression
	}
	d.event(e, c, c.Last)
}

// shelveCheckInterval is how often time limits are checked for changes by other processes and of the clock.
const shelveCheckInterval = time.Minute

// shelf is the time limit of a shelved condition.
type shelf struct {
	until time.Time // as stored
	end   time.Time // the same moment, with a monotonic reading
}

// unshelveExpired ends shelving at its time limits until ctx ends.
func (s *Service) unshelveExpired(ctx context.Context, next time.Time) {
	for {
		wait := shelveCheckInterval
		if !next.IsZero() {
			wait = min(wait, max(time.Until(next), time.Millisecond))
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
			s.log.Error("failed to end shelving; retrying", "error", err)
			next = time.Now().Add(time.Second)
		}
	}
}

// unshelveDue ends shelving whose time limit has passed and returns the next one, with a monotonic reading; zero for
// none.
func (s *Service) unshelveDue(ctx context.Context) (next time.Time, err error) {
	list, err := s.store.SuppressedConditions(ctx)
	if err != nil {
		return next, err
	}
	var due []Ref
	var limits []time.Time // of due
	now, mono := s.clock(), time.Now()
	before := s.shelves
	s.shelves = make(map[int64]shelf)
	for i := range list {
		c := &list[i]
		if c.Suppression&SuppressionShelved == 0 {
			continue
		}
		one, known := before[c.Code]
		if !known || !one.until.Equal(c.ShelvedUntil) {
			one = shelf{until: c.ShelvedUntil, end: mono.Add(c.shelvedFor(now))}
		}
		s.shelves[c.Code] = one
		switch {
		case !one.end.After(mono) || !c.ShelvedUntil.After(now):
			due, limits = append(due, ByCode(c.Code)), append(limits, c.ShelvedUntil)
		case next.IsZero() || one.end.Before(next):
			next = one.end
		}
	}
	if len(due) == 0 {
		return next, nil
	}
	return next, s.do(ctx, due, func(d *draft, found []RefResult) error {
		for i, f := range found {
			c := f.Condition
			if c == nil || !c.ShelvedUntil.Equal(limits[i]) { // shelved again
				continue
			}
			if e, changed := unshelve(c); changed {
				e.Comment = "shelving time has ended"
				d.suppressed(e, c)
			}
		}
		return nil
	})
}

// shelvedFor returns how long a condition stays shelved, when it is first read. If the clock was set back since it was
// shelved, that is not longer than intended.
func (c *Condition) shelvedFor(now time.Time) time.Duration {
	left := c.ShelvedUntil.Sub(now)
	if c.SuppressedAt.After(now) {
		left = min(left, c.ShelvedUntil.Sub(c.SuppressedAt))
	}
	return left
}
