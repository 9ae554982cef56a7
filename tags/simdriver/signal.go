package simdriver

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/tags"
)

// signal is a Signal made ready for computing.
type signal struct {
	kind      tags.DataType
	shape     Shape
	writable  bool
	min, span float64
	period    float64 // seconds
	noise     float64
	key       uint64 // what makes it differ from other signals
	group     uint64 // what makes it wear out differently from others
	initial   tags.Value
	leader    string // name of the signal that it follows
	lag       float64
}

var kinds = [...]tags.DataType{
	tags.Float, tags.Float, tags.Int, tags.Float, tags.Bool, tags.Float, tags.Int, tags.String, tags.Float, tags.Bytes,
}

const writableKind = 8 // index in kinds of the one that can be written

// generatedNoise keeps generated numbers in motion, whatever the scenario.
const generatedNoise = 0.01

func (d *Driver) generated(device, tag int) signal {
	i := (tag - 1) % len(kinds)
	group := mix(d.opts.Seed ^ uint64(device)<<32)
	s := signal{
		kind: kinds[i], shape: d.opts.Scenario, span: 100, noise: generatedNoise,
		key: mix(group ^ uint64(tag)), group: group, period: d.period,
	}
	if i == writableKind {
		s.shape, s.writable, s.initial = Hold, true, tags.FloatValue(50)
	}
	return s
}

func generatedName(device, tag int) string {
	return "device" + strconv.Itoa(device) + ".tag" + strconv.Itoa(tag)
}

// parseName reads what generatedName writes.
func parseName(name string) (device, tag int, ok bool) {
	rest, ok := strings.CutPrefix(name, "device")
	if !ok {
		return 0, 0, false
	}
	first, second, ok := strings.Cut(rest, ".tag")
	if !ok {
		return 0, 0, false
	}
	device, ok = parseCount(first)
	if !ok {
		return 0, 0, false
	}
	tag, ok = parseCount(second)
	return device, tag, ok
}

// parseCount reads a whole number from 1 in the one form that it has: no sign, no leading zero.
func parseCount(s string) (int, bool) {
	if s == "" || len(s) > 7 || s[0] == '0' {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = 10*n + int(c-'0')
	}
	return n, true
}

func (d *Driver) named(s Signal) signal {
	out := signal{
		kind: s.Type, shape: s.Shape, writable: s.Access == tags.ReadWrite, min: s.Min, span: s.Max - s.Min, noise: s.Noise,
		key: d.keyOf(s.Name), group: d.keyOf(s.Group), initial: s.Initial, leader: s.Follows, lag: s.Lag.Seconds(),
		period: periodOf(s.Shape, s.Period, d.opts.UpdateInterval),
	}
	if s.Group == "" {
		out.group = out.key
	}
	if out.span == 0 && s.Shape != Counter {
		out.span = 100
	}
	if s.Lag == 0 {
		out.lag = 10
	}
	return out
}

func (d *Driver) keyOf(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return mix(d.opts.Seed ^ h.Sum64())
}

func periodOf(shape Shape, given, step time.Duration) float64 {
	switch {
	case given > 0:
		return given.Seconds()
	case shape == Degradation:
		return time.Hour.Seconds()
	case shape == Counter:
		return step.Seconds()
	}
	return time.Minute.Seconds()
}

// level returns where in its range a signal is, 0..1, at a number of seconds. It is for the shapes that
// depend on the time alone.
func (s *signal) level(x float64) float64 {
	switch s.shape {
	case Ramp:
		_, share := cycles(x, s.period)
		return share
	case Sine:
		return 0.5 + 0.5*math.Sin(2*math.Pi*(x/s.period+unit(s.key, 0)))
	case RandomWalk:
		return walk(s.key, x/s.period)
	case Degradation:
		level, _ := wear(s.life(x))
		return level
	}
	return 0.5
}

// life returns the share of its life that what the signal measures has behind it. Groups live for 0.8 to
// 1.2 periods and begin anywhere in the first half of their life.
func (s *signal) life(x float64) float64 {
	_, share := cycles(x, s.lifetime())
	_, share = cycles(share+0.5*unit(s.group, 2), 1)
	return share
}

func (s *signal) lifetime() float64 { return s.period * (0.8 + 0.4*unit(s.group, 1)) }

// number returns the value of a signal as a number of its range.
func (s *signal) number(at moment) float64 {
	if s.shape == Counter {
		whole, _ := cycles(at.seconds, s.period)
		if s.span > 0 {
			_, share := cycles(whole, s.span+1)
			whole = math.Round(share * (s.span + 1))
		}
		return s.min + whole
	}
	return s.min + s.span*s.noisy(s.level(at.seconds), at.step)
}

// noisy adds the noise of a step. What has failed is silent.
func (s *signal) noisy(level float64, step int64) float64 {
	if s.noise > 0 && !(s.shape == Degradation && level == 0) {
		level += s.noise * (2*unit(s.key+1, step) - 1)
	}
	return min(max(level, 0), 1)
}

// states are the words that a String goes through from the bottom to the top of its range.
var states = [...]string{"Stopped", "Running", "Loaded", "Overloaded"}

// value makes a number of the range a value of the signal's type. Bytes are a frame of 32 bytes in
// big-endian order: the step, the number as a float64, and 16 bytes of noise.
func (s *signal) value(number float64, step int64) tags.Value {
	switch s.kind {
	case tags.Int:
		return tags.IntValue(int64(math.Round(number)))
	case tags.Bool:
		half := 0.5
		if s.shape == Degradation {
			half = 0.05 // true until the failure
		}
		return tags.BoolValue(number-s.min >= half*s.span)
	case tags.String:
		i := int((number - s.min) / max(s.span, 1) * float64(len(states)))
		return tags.StringValue(states[min(max(i, 0), len(states)-1)])
	case tags.Bytes:
		var frame [32]byte
		binary.BigEndian.PutUint64(frame[:], uint64(step))
		binary.BigEndian.PutUint64(frame[8:], math.Float64bits(number))
		binary.BigEndian.PutUint64(frame[16:], mix(s.key^uint64(step)))
		binary.BigEndian.PutUint64(frame[24:], mix(s.key+1^uint64(step)))
		return tags.BytesValue(frame[:])
	}
	return tags.FloatValue(number)
}
