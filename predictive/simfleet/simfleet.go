package simfleet

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Unit is a unit from its first cycle.
type Unit struct {
	// Settings and Sensors have a list of values for each cycle.
	Settings, Sensors [][]float64
	// After is how many cycles the unit goes on after the last one until it fails, 0 for a unit that was run to failure.
	After int
}

// Stop ends the record of a unit after so many cycles.
func (u *Unit) Stop(cycles int) {
	cycles = min(max(cycles, 0), len(u.Sensors))
	u.After += len(u.Sensors) - cycles
	u.Settings, u.Sensors = u.Settings[:cycles], u.Sensors[:cycles]
}

// Options changes a fleet.
type Options struct {
	// Units is the number of units. Default: 100.
	Units int
	// Settings and Sensors are the numbers of columns. Defaults: 3 and 21.
	Settings, Sensors int
	// Seed chooses everything that is random.
	Seed uint64
}

// sensor is how a sensor answers to damage.
type sensor struct{ base, gain, power, noise, offset float64 }

// New returns units that ran to failure, under one operating condition. Lives are 130 to 350 cycles.
func New(o Options) ([]Unit, error) {
	for _, option := range []struct {
		name     string
		value    *int
		fallback int
	}{{"Units", &o.Units, 100}, {"Settings", &o.Settings, 3}, {"Sensors", &o.Sensors, 21}} {
		if *option.value < 0 {
			return nil, fmt.Errorf("simfleet: option %s is %d", option.name, *option.value)
		}
		if *option.value == 0 {
			*option.value = option.fallback
		}
	}
	random := rand.New(rand.NewPCG(o.Seed, 1))
	sensors := make([]sensor, o.Sensors)
	for j := range sensors {
		s := sensor{base: math.Exp(random.Float64() * 7), power: 0.7 + 0.6*random.Float64()}
		span := s.base * (0.005 + 0.02*random.Float64())
		switch j % 7 {
		case 0:
		case 4:
			s.noise = span
		default:
			s.gain, s.noise, s.offset = span*float64(1-2*random.IntN(2)), span*(0.08+0.12*random.Float64()), 0.05*span
		}
		sensors[j] = s
	}
	units := make([]Unit, o.Units)
	for i := range units {
		units[i] = run(sensors, o.Settings, random)
	}
	return units, nil
}

// run returns a unit's life.
func run(sensors []sensor, settings int, random *rand.Rand) Unit {
	life := 130 + int(220*math.Pow(random.Float64(), 1.7))
	steepness, first := 4+2*random.Float64(), 0.06*random.Float64()
	offsets := make([]float64, len(sensors))
	for j, s := range sensors {
		offsets[j] = s.offset * random.NormFloat64()
	}
	var u Unit
	for cycle := range life {
		damage := first + (1-first)*math.Expm1(steepness*float64(cycle+1)/float64(life))/math.Expm1(steepness)
		values, control := make([]float64, len(sensors)), make([]float64, settings)
		for j, s := range sensors {
			values[j] = s.base + offsets[j] + s.gain*math.Pow(damage, s.power) + s.noise*random.NormFloat64()
		}
		for j := range control {
			control[j] = 0.002 * random.NormFloat64()
		}
		u.Settings, u.Sensors = append(u.Settings, control), append(u.Sensors, values)
	}
	return u
}

// Operate runs units under so many operating conditions, at most 100: each cycle has one of them at random. A condition
// adds to the settings, and moves and stretches each sensor. The values that units share are changed in place.
func Operate(units []Unit, conditions int, seed uint64) error {
	if conditions < 1 || conditions > 100 {
		return fmt.Errorf("simfleet: %d operating conditions, want 1 to 100", conditions)
	}
	centres, spreads := levels(units)
	if centres == nil {
		return nil
	}
	random := rand.New(rand.NewPCG(seed, 2))
	settings := make([][]float64, conditions)
	moves, stretches := make([][]float64, conditions), make([][]float64, conditions)
	for c := range conditions {
		for j := range units[0].Settings[0] {
			settings[c] = append(settings[c], float64(10*(1+j)*((c*(2*j+3)+j)%conditions)))
		}
		for j := range centres {
			moves[c] = append(moves[c], (30*spreads[j]+0.02*math.Abs(centres[j]))*random.NormFloat64())
			stretches[c] = append(stretches[c], math.Exp(0.5*random.NormFloat64()))
		}
	}
	for _, u := range units {
		for i := range u.Sensors {
			c := random.IntN(conditions)
			for j := range u.Settings[i] {
				u.Settings[i][j] += settings[c][j]
			}
			for j, v := range u.Sensors[i] {
				u.Sensors[i][j] = centres[j] + moves[c][j] + (v-centres[j])*stretches[c][j]
			}
		}
	}
	return nil
}

// levels returns the mean and deviation of each sensor, nil without cycles.
func levels(units []Unit) (means, deviations []float64) {
	n := 0.0
	for _, u := range units {
		for _, values := range u.Sensors {
			if means == nil {
				means, deviations = make([]float64, len(values)), make([]float64, len(values))
			}
			n++
			for j, v := range values {
				d := v - means[j]
				means[j] += d / n
				deviations[j] += d * (v - means[j])
			}
		}
	}
	for j := range deviations {
		deviations[j] = math.Sqrt(deviations[j] / n)
	}
	return means, deviations
}
