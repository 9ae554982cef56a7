package demo

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// pumps is the number of pumps, pump1 and so on. Each is a driver, and so an equipment of predictive maintenance.
const pumps = 6

// FirstPumpID is the id of the first one.
const FirstPumpID = "pump1"

// wearPart is a part of a pump that wears out. Its lives differ, from 1-spread to 1+spread of the mean.
type wearPart struct {
	component string
	code      string        // of its failure
	channel   uint64        // of [pump.random]
	mean      time.Duration // life
	spread    float64
	repair    time.Duration
	// preventive is the share of the lives that end with a replacement before the failure.
	preventive float64
}

var (
	bearing = wearPart{component: "Bearing", code: "BRG-01", channel: 1, mean: 6 * 24 * time.Hour, spread: 0.6, repair: time.Hour}
	seal    = wearPart{component: "Seal", code: "SEAL-01", channel: 2, mean: 12 * 24 * time.Hour, spread: 0.5, repair: time.Hour, preventive: 0.2}
)

// preventiveAge is the share of its life after which a part is replaced that has not failed.
const preventiveAge = 0.7

// partEnd is when a life of a part ends, by a failure or a preventive replacement. The next one begins at repaired.
type partEnd struct {
	number       int64
	at, repaired time.Time
	failed       bool
}

// pump computes what a pump is like at any time.
type pump struct{ number uint64 } // from 1

// allPumps returns the pumps of the demo.
func allPumps() []pump {
	list := make([]pump, pumps)
	for i := range list {
		list[i].number = uint64(i + 1)
	}
	return list
}

func (p pump) id() string { return fmt.Sprintf("pump%d", p.number) }

// end returns the end of a numbered life of a part: one in each mean life, at a random place.
func (p pump) end(w wearPart, number int64) partEnd {
	r := p.random(w.channel, number)
	at := start.Add(time.Duration((float64(number) + w.spread*r.Float64()) * float64(w.mean))).Truncate(time.Minute)
	return partEnd{number: number, at: at, repaired: at.Add(w.repair), failed: r.Float64() >= w.preventive}
}

// ends returns the last end of a part before a time, and the next one.
func (p pump) ends(w wearPart, at time.Time) (last, next partEnd) {
	n := int64(math.Floor(float64(at.Sub(start)) / float64(w.mean)))
	if next = p.end(w, n); next.at.After(at) {
		return p.end(w, n-1), next
	}
	return next, p.end(w, n+1)
}

// damage returns how worn a part is, from 0 to 1, where it fails. It is down during the repair.
func (p pump) damage(w wearPart, at time.Time) (damage float64, down bool) {
	last, next := p.ends(w, at)
	if at.Before(last.repaired) {
		return 0, true
	}
	share := float64(at.Sub(last.repaired)) / float64(next.at.Sub(last.repaired))
	if !next.failed {
		share *= preventiveAge
	}
	return math.Expm1(4*share) / math.Expm1(4), false
}

// pumpState is what the signals of a pump follow.
type pumpState struct {
	load, bearing, seal float64 // 0 to 1
	down                bool
	warmth              float64 // of the day, -1 to 1
}

func (p pump) state(at time.Time) pumpState {
	day := 2 * math.Pi * float64(at.Sub(start)%(24*time.Hour)) / float64(24*time.Hour)
	s := pumpState{load: 0.7 - 0.2*math.Cos(day) + 0.1*p.noise(9, at, 3*time.Hour), warmth: -math.Cos(day - math.Pi/4)}
	var bearingDown, sealDown bool
	s.bearing, bearingDown = p.damage(bearing, at)
	s.seal, sealDown = p.damage(seal, at)
	s.down = bearingDown || sealDown
	return s
}

// pumpSignal is a tag of a pump.
type pumpSignal struct {
	name, unit, description string
	max                     float64
	noise                   float64
	idle                    float64 // value while the pump is down
	value                   func(pumpState) float64
}

var pumpSignals = []pumpSignal{
	{name: "vibration", unit: "mm/s", description: "Vibration; rises as the bearing wears out", max: 15, noise: 0.12,
		value: func(s pumpState) float64 { return 1 + 0.6*s.load + 6*s.bearing + 2.5*s.seal }},
	{name: "temperature", unit: "°C", description: "Bearing temperature", max: 120, noise: 0.5, idle: 24,
		value: func(s pumpState) float64 { return 36 + 3*s.warmth + 10*s.load + 18*s.bearing + 6*s.seal }},
	{name: "current", unit: "A", description: "Motor current", max: 30, noise: 0.12,
		value: func(s pumpState) float64 { return 9 + 4*s.load + 3*s.bearing + 3*s.seal }},
	{name: "flow", unit: "m³/h", description: "Flow; falls as the seal leaks", max: 60, noise: 0.4,
		value: func(s pumpState) float64 { return 25 + 20*s.load - 4*s.bearing - 14*s.seal }},
}

// at returns the value of a signal.
func (p pump) at(signal int, at time.Time) float64 { return p.measure(signal, p.state(at), at) }

// measure returns the value of a signal in a state. Between the times of the history its noise goes straight, so that the spread of values
// does not depend on how often they are read.
func (p pump) measure(number int, s pumpState, at time.Time) float64 {
	signal := pumpSignals[number]
	v := signal.idle
	if !s.down {
		v = signal.value(s)
	}
	if v > 0 {
		v += signal.noise * p.noise(uint64(number)+10, at, historyStep)
	}
	return math.Round(100*min(max(v, 0), signal.max)) / 100
}

// noise goes straight from one random value to the next, each a step after the other.
func (p pump) noise(channel uint64, at time.Time, step time.Duration) float64 {
	n := int64(math.Floor(float64(at.Sub(start)) / float64(step)))
	rest := at.Sub(start) - time.Duration(n)*step
	value := p.random(channel, n).NormFloat64()
	if rest > 0 {
		value += (p.random(channel, n+1).NormFloat64() - value) * float64(rest) / float64(step)
	}
	return value
}

// random returns the source of what is random about a pump in a numbered moment.
func (p pump) random(channel uint64, number int64) *rand.Rand {
	return rand.New(rand.NewPCG(seed+p.number<<32+channel, uint64(number)))
}
