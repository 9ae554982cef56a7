package devices

import "time"

// path returns the way that a command takes from where the device is; nil if it does not move it.
func (j *job) path(u *unit) *Path {
	t := u.situated().Telemetry
	if j.move == nil || t == nil || t.Pose == nil {
		return nil
	}
	p := t.Pose
	speed := j.record.Decision.MaxSpeed
	if j.move.Speed != nil {
		speed = *j.move.Speed
	}
	return &Path{Map: p.Map, FromX: p.X, FromY: p.Y, ToX: j.move.X, ToY: j.move.Y, Speed: speed, ReservedAt: j.record.Decision.Time}
}

// release takes the device from a command. unsure keeps its way reserved until the device reports.
func (s *control) release(j *job, r Record, unsure bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.units[j.record.DeviceID]
	if u.running != j {
		return
	}
	u.running = nil
	now := canon(s.opts.Now())
	begun := j.cancel != nil
	switch path := j.record.Path; {
	case u.State == Decommissioned:
		u.reserve(nil, time.Time{}, false)
	case path == nil: // it moved nothing: a way that is still reserved is that of an earlier command
	case unsure:
		u.reserve(path.unclocked(), now, true)
	case j.before != nil && (!begun || !r.Result.Success): // r may be the outcome of an earlier command with the id
		u.reserve(j.before, now, true)
	case !begun:
		u.reserve(nil, time.Time{}, false)
	case r.Result.Success:
		u.arrive(path, now)
	default:
		u.reserve(path.unclocked(), now, false)
	}
}

// reserve gives a device a way; nil: none. Service.mu is held.
func (u *unit) reserve(p *Path, unsure time.Time, moves bool) {
	u.path, u.unsure, u.moves = p, unsure, moves
}

// arrive notes that a device is at the end of a way. Service.mu is held.
func (u *unit) arrive(p *Path, now time.Time) {
	u.reserve(p.end(), now, false)
	u.arrived, u.arrivedAt = &Pose{Map: p.Map, X: p.ToX, Y: p.ToY}, now
}

// situated returns the device as commands are judged by it: where it has arrived if it has not reported since, and in the state to
// which a person is changing it. Service.mu is held.
func (u *unit) situated() Device {
	d := u.Device
	if u.leaving != "" {
		d.State = u.leaving
	}
	if u.arrived != nil && d.Telemetry != nil {
		t := *d.Telemetry
		t.Pose, t.Velocity = u.arrived, nil
		d.Telemetry = &t
	}
	return d
}
