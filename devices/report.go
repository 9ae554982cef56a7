package devices

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/otkit/otkit/fault"
)

func (s *control) connection(id string, e Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.unit(id)
	if err != nil {
		return err
	}
	if e == Connected {
		u.LastSeen = canon(s.opts.Now())
	}
	s.advance(u, e)
	return nil
}

// Report is [Service.Report].
func (s *control) Report(id string, t Telemetry) error {
	now := canon(s.opts.Now())
	if t.Time.IsZero() || t.Time.After(now) {
		t.Time = now
	}
	t.Time, t.Received = canon(t.Time), now
	if fields := t.check(); len(fields) > 0 {
		return ErrInvalid.Invalid(fields...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	u, err := s.unit(id)
	if err != nil {
		return err
	}
	// A stop is latched when it begins or becomes another one, also by a report that is late: a device that still reports it after a
	// reset is refused by its report.
	stops := t.Stop != NoStop && (u.Telemetry == nil || u.Telemetry.Stop != t.Stop)
	if stops {
		u.latch()
		s.wakeStorer()
		notReset := func(j *job) bool { return j.record.Type != ResetEmergencyStop } // that fails by itself if it has begun
		for _, j := range s.cancelJobs(u, "the device reports an emergency stop", notReset) {
			go s.end(j, j.why.phase, j.why.result) // Close waits for it
		}
	}
	// After our clock was set back, the last report is of the future; it counts no longer.
	if u.Telemetry != nil && t.Time.Before(u.Telemetry.Time) && !u.Telemetry.Time.After(now) {
		if stops {
			s.notify(u)
		}
		return nil
	}
	u.LastSeen, u.Telemetry = now, &t
	if u.arrived != nil && !t.Time.Before(u.arrivedAt) {
		u.arrived = nil
	}
	if !u.unsure.IsZero() && (!u.moves || t.endsMotion()) && !t.Time.Before(u.unsure) {
		u.reserve(nil, time.Time{}, false)
	}
	event, ok := t.event()
	if !ok {
		event = Connected
	}
	if !s.advance(u, event) {
		s.touch(&u.entry)
	}
	return nil
}

// endsMotion reports whether the device has ended whatever it did.
func (t *Telemetry) endsMotion() bool { return t.State != Working && t.State != "" }

// event returns the event that a report is.
func (t *Telemetry) event() (Event, bool) {
	if t.Stop != NoStop {
		return ReportsError, true
	}
	switch t.State {
	case Idle:
		return ReportsIdle, true
	case Working:
		return ReportsWorking, true
	case Error:
		return ReportsError, true
	case Maintenance:
		return ReportsManual, true
	case Unknown:
		return ReportsUnknown, true
	}
	return "", false
}

// working are the states between which a device goes back and forth.
var working = map[State]bool{Idle: true, Working: true}

// advance moves the device to its next state and reports whether that is another one. s.mu is held.
func (s *control) advance(u *unit, e Event) bool {
	next, ok := u.State.Next(e, u.Held)
	if !ok || next == u.State {
		return false
	}
	level := slog.LevelInfo
	if working[u.State] && working[next] { // as with each command
		level = slog.LevelDebug
	}
	s.opts.Logger.Log(context.Background(), level, "device changed its state", "device", u.ID, "from", string(u.State), "to", string(next), "event", string(e))
	u.State = next
	s.notify(u)
	return true
}

func (t *Telemetry) check() []fault.Field {
	var fields []fault.Field
	number := func(name string, v, lowest, highest float64) {
		if math.IsNaN(v) || v < lowest || v > highest {
			fields = append(fields, fault.Field{Field: name, Message: fmt.Sprintf("must be %g to %g", lowest, highest)})
		}
	}
	if p := t.Pose; p != nil {
		fields = append(fields, checkText("position.map", p.Map, false, MaxName)...)
		number("position.x", p.X, -1e6, 1e6)
		number("position.y", p.Y, -1e6, 1e6)
		number("position.theta", p.Theta, -1e3, 1e3)
	}
	if v := t.Velocity; v != nil {
		number("velocity.x", v.X, -100, 100)
		number("velocity.y", v.Y, -100, 100)
		number("velocity.omega", v.Omega, -1e3, 1e3)
	}
	if t.Battery != nil {
		number("battery", *t.Battery, 0, 100)
	}
	switch t.State {
	case "", Idle, Working, Error, Maintenance, Unknown:
	default:
		fields = append(fields, fault.Field{Field: "state", Message: fmt.Sprintf("must be Idle, Working, Error, Maintenance or Unknown, not %q", t.State)})
	}
	switch t.Stop {
	case NoStop, LocalStop, RemoteStop:
	default:
		fields = append(fields, fault.Field{Field: "emergencyStop", Message: fmt.Sprintf("must be Local, Remote or empty, not %q", t.Stop)})
	}
	for name, texts := range map[string][]string{"faults": t.Faults, "loads": t.Loads} {
		if len(texts) > MaxFaults {
			fields = append(fields, fault.Field{Field: name, Message: fmt.Sprintf("must have at most %d items", MaxFaults)})
			continue
		}
		for i, text := range texts {
			fields = append(fields, checkText(fmt.Sprintf("%s[%d]", name, i), text, false, MaxFaultText)...)
		}
	}
	if t.Time.Before(time.Unix(0, 0)) {
		fields = append(fields, fault.Field{Field: "timestamp", Message: "must be after 1970"})
	}
	return fields
}
