package monitor

import (
	"cmp"
	"time"

	"github.com/otkit/otkit/predictive"
)

// Kind is what is predicted of a target.
type Kind string

// The kinds of targets.
const (
	// Failure predicts from a tag whether its equipment fails.
	Failure Kind = "failure"
	// RUL predicts the remaining useful life of a component.
	RUL Kind = "rul"
	// Anomaly judges the newest sample of a tag.
	Anomaly Kind = "anomaly"
)

// Target is what is monitored.
type Target struct {
	Kind      Kind
	Equipment string
	Name      string // of the tag, or of the component for [RUL]
}

// Compare orders targets by kind, equipment and name.
func (t Target) Compare(other Target) int {
	return cmp.Or(cmp.Compare(t.Kind, other.Kind), cmp.Compare(t.Equipment, other.Equipment), cmp.Compare(t.Name, other.Name))
}

// State sums up the last results of a target.
type State string

// The states of a target.
const (
	Unknown State = "" // too few results since the start
	Normal  State = "normal"
	Failing State = "failing"
)

// Result is the newest prediction for a target.
type Result struct {
	Target
	At time.Time
	// Err is why there is no prediction. It may be any error of the methods of predictive.Service.
	Err error
	// The one of the target's kind is set unless Err is. They must not be changed.
	Failure *predictive.FailurePrediction
	RUL     *predictive.RUL
	Anomaly *predictive.Anomaly
	// State counts this result too. A result with Err changes nothing.
	State State
}

// Sink takes results. Its methods are called from one goroutine and must not block.
type Sink interface {
	// Put takes the result of a prediction.
	Put(Result)
	// Remove takes targets that are no longer monitored.
	Remove([]Target)
}
