package devices

import (
	"context"
	"fmt"
	"time"
)

// policyTimeout is how long policies may take. An emergency stop waits as long at most.
const policyTimeout = time.Second

// judge asks the policies about a command and, when they allow it, gives it the device and its way. s.mu is held.
func (s *control) judge(u *unit, j *job) {
	d := s.decide(u, j)
	if !d.Allowed {
		j.record = j.record.refused(d)
		return
	}
	j.record.Phase, j.record.BeganAt, j.record.Decision = Running, u.begin(d.Time), d
	u.running = j
	if j.record.Path = j.path(u); j.record.Path != nil {
		if !u.unsure.IsZero() && u.moves {
			j.before = u.path
		}
		u.reserve(j.record.Path, time.Time{}, false)
	}
}

// confirm asks the policies again when a command is journaled and its device is about to get it: the device may have been taken out
// of operation, moved or stopped meanwhile. It reports whether the command begins; if not, it returns its outcome.
func (s *control) confirm(j *job, cancel context.CancelCauseFunc) (outcome Record, begins bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.why == nil && s.closed {
		j.why = &ending{Canceled, Result{Message: s.parting.waiting}}
	}
	if j.why != nil {
		return j.record.ended(j.why.phase, j.why.result, canon(s.opts.Now())), false
	}
	u := s.units[j.record.DeviceID]
	d := s.decide(u, j)
	if !d.Allowed {
		return j.record.refused(d), false
	}
	j.cancel, j.stops, j.record.Decision = cancel, u.stops, d
	if d.Time.After(j.record.BeganAt) {
		j.record.BeganAt = u.begin(d.Time)
	}
	if j.record.Path = j.path(u); j.record.Path != nil {
		u.path = j.record.Path
	}
	return j.record, true
}

// begin returns the time at which a command begins. It is after that of the one before, also if that was by the clock of another engine:
// the store finds the last way of a device by it. Service.mu is held.
func (u *unit) begin(now time.Time) time.Time {
	if !now.After(u.began) {
		now = u.began.Add(time.Microsecond)
	}
	u.began = now
	return now
}

// decide asks the policies about a command. s.mu is held.
func (s *control) decide(u *unit, j *job) (d Decision) {
	now := canon(s.opts.Now())
	situation := Situation{Now: now, Command: j.record.Command, Move: j.move, Device: u.situated(), Others: make([]Other, 0, len(s.units))}
	for _, o := range s.units {
		if o != u && (o.State != Decommissioned || o.running != nil) {
			situation.Others = append(situation.Others, Other{Device: o.situated(), Path: o.path})
		}
	}
	if d = s.ask(situation); d.Allowed {
		d = situation.taken(d)
	}
	d.Time = now
	d.clean()
	return d
}

// taken returns the decision d of the policies, or a refusal if a person has stopped the device or taken it out of operation, which holds
// whatever the policies are.
func (s Situation) taken(d Decision) Decision {
	policy, reason := "", ""
	switch reset := s.Command.Type == ResetEmergencyStop; {
	case s.Device.StopLatched && !reset:
		policy, reason = "emergency stop", "the emergency stop of the device is latched until it is reset"
	case s.Device.State == Decommissioned, (s.Device.State == Maintenance || s.Device.Held) && !reset:
		policy, reason = "operating mode", "the device is in state "+string(s.Device.State)
	default:
		return d
	}
	d.Allowed, d.Policy, d.Reason = false, policy, policy+": "+reason
	return d
}

// ask asks the policies. Policies that panic or do not answer refuse, and are not asked again until they have answered. s.mu is held.
func (s *control) ask(situation Situation) Decision {
	refuse := func(format string, args ...any) Decision {
		return Decision{Policy: "safety", Reason: "safety: " + fmt.Sprintf(format, args...)}
	}
	if s.asked != nil {
		select {
		case <-s.asked:
		default:
			return refuse("the policies have not answered for an earlier command")
		}
	}
	answer := make(chan Decision, 1)
	s.asked = answer
	go func() {
		d := refuse("the policies have not answered")
		defer func() {
			if r := recover(); r != nil {
				d = refuse("the policies failed: %v", r)
			}
			answer <- d
		}()
		d = s.opts.Safety.Check(situation)
	}()
	limit := time.NewTimer(policyTimeout)
	defer limit.Stop()
	select {
	case d := <-answer:
		s.asked = nil
		return d
	case <-limit.C:
		s.opts.Logger.Error("safety policies do not answer: commands are refused until they do", "device", situation.Device.ID, "command", situation.Command.ID)
		return refuse("the policies did not answer within %s", policyTimeout)
	}
}
