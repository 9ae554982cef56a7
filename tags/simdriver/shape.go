package simdriver

import (
	"fmt"
	"slices"
	"strings"
)

// Shape is the course of a signal over time.
type Shape string

// The shapes. The first five are also the scenarios of generated signals.
const (
	Steady      Shape = "Steady"               // the middle of the range, with noise
	Ramp        Shape = "Ramp"                 // from Min to Max in each period, then from Min again
	Sine        Shape = "Sine"                 // one oscillation in each period
	RandomWalk  Shape = "RandomWalk"           // wanders within the range; see walk
	Degradation Shape = "DegradationToFailure" // wears out, fails and is replaced; see wear
	Counter     Shape = "Counter"              // counts up by one each period, from Min, and from Min again at Max
	Follow      Shape = "Follow"               // follows another signal with a lag
	Hold        Shape = "Hold"                 // keeps what was written
)

// Scenarios lists the shapes that generated signals can have.
func Scenarios() []Shape { return []Shape{Steady, Ramp, Sine, RandomWalk, Degradation} }

// ParseScenario reads the name of a scenario without regard to case, hyphens, underscores and blanks:
// RandomWalk is also random-walk, DegradationToFailure is also degradation-to-failure or degradation.
func ParseScenario(s string) (Shape, error) {
	word := strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(s))
	if word == "degradation" {
		return Degradation, nil
	}
	for _, shape := range Scenarios() {
		if strings.ToLower(string(shape)) == word {
			return shape, nil
		}
	}
	return "", fmt.Errorf("must be one of %s, not %q", words(Scenarios()), s)
}

func words(shapes []Shape) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(shapes), "[]"), " ", ", ")
}

func (s Shape) known() bool {
	return slices.Contains(Scenarios(), s) || s == Counter || s == Follow || s == Hold
}
