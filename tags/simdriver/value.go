package simdriver

import (
	"fmt"
	"math"
	"time"

	"github.com/otkit/otkit/tags"
)

// ValueAt returns the value that a signal has at any time, also before Start: as though nothing had ever
// been written, and without faults. The error is tags.ErrNoSuchAddress.
func (d *Driver) ValueAt(address string, t time.Time) (tags.Value, error) {
	var generated signal
	s := d.find(address, &generated)
	if s == nil {
		return tags.Value{}, fmt.Errorf("%w: %q", tags.ErrNoSuchAddress, address)
	}
	at := d.moment(d.since(t))
	switch s.shape {
	case Hold:
		return s.initial, nil
	case Follow:
		return s.value(s.within(d.filtered(s, at.seconds), at.step), at.step), nil
	}
	return s.value(s.number(at), at.step), nil
}

// Failures lists the times in from <= time < to at which a signal of shape Degradation fails; what it
// measures is replaced a tenth of its life later. Signals of other shapes never fail. The error is
// tags.ErrNoSuchAddress.
func (d *Driver) Failures(address string, from, to time.Time) ([]time.Time, error) {
	var generated signal
	s := d.find(address, &generated)
	if s == nil {
		return nil, fmt.Errorf("%w: %q", tags.ErrNoSuchAddress, address)
	}
	if s.shape != Degradation {
		return nil, nil
	}
	first, last := d.since(from).Seconds(), d.since(to).Seconds()
	life := s.lifetime()
	begun := 0.5 * unit(s.group, 2) // share of the life at Start
	var out []time.Time
	for n := math.Ceil(first/life + begun - wearEnds); ; n++ {
		x := (n + wearEnds - begun) * life
		if x >= last {
			return out, nil
		}
		out = append(out, d.opts.Start.Add(time.Duration(x*float64(time.Second))))
	}
}

func (d *Driver) since(t time.Time) time.Duration { return t.Sub(d.opts.Start) }

func (d *Driver) moment(since time.Duration) moment {
	step := floorDiv(int64(since), int64(d.opts.UpdateInterval))
	return moment{step: step, seconds: (time.Duration(step) * d.opts.UpdateInterval).Seconds()}
}

// find returns the signal of an address, nil when there is none. Generated ones are put into the place
// that the caller has for them, to spare memory.
func (d *Driver) find(address string, place *signal) *signal {
	device, tag, ok := parseName(address)
	if !ok {
		return d.signals[address]
	}
	if device > d.opts.DeviceCount || tag > d.opts.TagsPerDevice {
		return nil
	}
	*place = d.generated(device, tag)
	return place
}

// live returns the value that a signal has now, with what was written.
func (d *Driver) live(name string, s *signal, at moment) tags.Value {
	switch s.shape {
	case Hold:
		if v, written := d.written[name]; written {
			return v
		}
		return s.initial
	case Follow:
		number := 0.0
		if f, ok := d.followers[s]; ok {
			number = d.followed(f, at.seconds)
		} else {
			number = d.filtered(s, at.seconds)
		}
		return s.value(s.within(number, at.step), at.step)
	}
	return s.value(s.number(at), at.step)
}

// followed returns the exact answer of a first-order lag to the last step of its leader.
func (d *Driver) followed(f *follower, x float64) float64 {
	leader := f.signal.leader
	target, _ := d.live(leader, d.signals[leader], moment{}).Float()
	return target + (f.base-target)*math.Exp(-max(x-f.from, 0)/f.signal.lag)
}

// filtered returns the answer of a first-order lag to a leader that moves by itself: the mean of the
// leader's past, weighted by exp(-age/lag), over 5 lags in 20 parts.
func (d *Driver) filtered(s *signal, x float64) float64 {
	leader := d.signals[s.leader]
	if leader.shape == Hold {
		n, _ := leader.initial.Float()
		return n
	}
	const parts, part = 20, 0.25
	sum, weights := 0.0, 0.0
	for i := range parts {
		age := (float64(i) + 0.5) * part
		weight := math.Exp(-age)
		then := d.moment(time.Duration((x - age*s.lag) * float64(time.Second)))
		sum += weight * leader.number(then)
		weights += weight
	}
	return sum / weights
}

// within adds the noise of a follower and keeps it in its range.
func (s *signal) within(number float64, step int64) float64 {
	return s.min + s.span*s.noisy((number-s.min)/s.span, step)
}
