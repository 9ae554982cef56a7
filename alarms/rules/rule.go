package rules

import (
	"fmt"
	"math"
	"time"

	"github.com/otkit/otkit/alarms/internal/limits"
	"github.com/otkit/otkit/fault"

	"github.com/otkit/otkit/alarms"
)

// Kind is the condition that a rule evaluates.
type Kind string

// The kinds of rules.
const (
	HighHigh     Kind = "HighHigh"     // above Limit
	High         Kind = "High"         // above Limit
	Low          Kind = "Low"          // below Limit
	LowLow       Kind = "LowLow"       // below Limit
	Deviation    Kind = "Deviation"    // further than Limit from the setpoint
	RateOfChange Kind = "RateOfChange" // changing by more than Limit a second, on average over Window
	Discrete     Kind = "State"        // equal to one of States; its name in files and APIs is State
	BadQuality   Kind = "BadQuality"   // the tag's quality is Bad
	Stale        Kind = "Stale"        // no reading for longer than the tag allows
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{HighHigh, High, Low, LowLow, Deviation, RateOfChange, Discrete, BadQuality, Stale}
}

// Rule raises an alarm while a condition of a tag is true. The key of the alarm is "rule:" and the ID.
type Rule struct {
	ID   string // 1..128 of letters, digits and ._:-
	Name string // display name; at most 256 characters
	Tag  string
	Kind Kind

	Limit       float64  // in the tag's unit; above 0 for Deviation, and for RateOfChange, where it is per second
	Setpoint    float64  // for Deviation, if SetpointTag is empty
	SetpointTag string   // for Deviation: the tag that has the setpoint
	States      []string // for Discrete: values in the form of tags.ParseValue

	// Window is the time over which RateOfChange is averaged, 1 s to 24 h. For others it is 0.
	Window time.Duration
	// Deadband is how far a number must return from the limit to be normal, in the unit of Limit; at most Limit for
	// Deviation and RateOfChange. 0 for the kinds without a limit.
	Deadband float64

	OnDelay  time.Duration // how long the condition must be true to raise the alarm; 0..24 h
	OffDelay time.Duration // how long the condition must be false to clear the alarm; 0..24 h
	Latching bool          // the alarm stays active until it is reset

	Severity alarms.Severity // Info if it is not set
	// Message is the text of the alarm, with the placeholders {name}, {tag}, {kind}, {value}, {unit}, {limit} and
	// {setpoint}; {{ and }} are braces. Default: the name and a text for the kind.
	Message string
	// Instructions tell the operator what to do about the alarm; at most 4096 characters.
	Instructions string
	Group        string // becomes the label "group"; at most 256 characters
	Enabled      bool   // only enabled rules are evaluated

	// Unreadable reports that the stored rule cannot be read. It is not evaluated, and can be removed.
	Unreadable bool
}

// Phase is the phase of the evaluation of a rule.
type Phase string

// The phases.
const (
	PhaseNormal   Phase = "Normal"
	PhaseOnDelay  Phase = "OnDelay"  // true for less than the on-delay
	PhaseActive   Phase = "Active"   // the alarm is active
	PhaseOffDelay Phase = "OffDelay" // false for less than the off-delay
)

// State is the part of a rule's evaluation that survives a restart.
type State struct {
	RuleID string
	Phase  Phase
	Since  time.Time // when the phase began
}

const (
	maxRuleID    = 128
	maxText      = 256
	maxStates    = 100
	maxRuleDelay = 24 * time.Hour
)

// Key returns the key of the rule's alarm.
func (r *Rule) Key() string { return "rule:" + r.ID }

// numeric reports whether the rule has a limit.
func (r *Rule) numeric() bool {
	return r.Kind != Discrete && r.Kind != BadQuality && r.Kind != Stale
}

// ofQuality reports whether the rule is about quality, which falls with the connection too.
func (r *Rule) ofQuality() bool { return r.Kind == BadQuality || r.Kind == Stale }

// isDistance reports whether the rule compares a distance, which is never negative, with its limit.
func (r *Rule) isDistance() bool { return r.Kind == Deviation || r.Kind == RateOfChange }

// Validate returns an ErrInvalid that names each bad member as in the JSON form, or nil.
func (r *Rule) Validate() error {
	var bad []fault.Field
	add := func(field, format string, args ...any) {
		bad = append(bad, fault.Field{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if !validID(r.ID) {
		add("id", "must be 1 to %d of letters, digits and ._:-", maxRuleID)
	}
	for _, s := range []struct {
		name, text  string
		least, most int
	}{
		{"name", r.Name, 0, maxText}, {"tagName", r.Tag, 1, maxText}, {"setpointTag", r.SetpointTag, 0, maxText},
		{"group", r.Group, 0, maxText}, {"message", r.Message, 0, limits.MaxMessage},
		{"instructions", r.Instructions, 0, limits.MaxMessage},
	} {
		if msg := limits.Violation(s.text, s.least, s.most); msg != "" {
			add(s.name, "%s", msg)
		}
	}
	if r.Severity == severityMissing {
		add("severity", "is required")
	} else if !r.Severity.Valid() {
		add("severity", "must be Info, Warning, Error or Critical")
	}
	for _, d := range []struct {
		name string
		d    time.Duration
	}{{"onDelayMs", r.OnDelay}, {"offDelayMs", r.OffDelay}} {
		if d.d < 0 || d.d > maxRuleDelay {
			add(d.name, "must be 0 to 24 hours")
		} else if d.d%time.Millisecond != 0 {
			add(d.name, "must be whole milliseconds")
		}
	}
	if _, err := compileMessage(r.Message); err != nil {
		add("message", "%s", err)
	}
	r.checkKind(add)
	if len(bad) > 0 {
		return ErrInvalid.Invalid(bad...)
	}
	return nil
}

// checkKind checks the members that depend on the kind.
func (r *Rule) checkKind(add func(field, format string, args ...any)) {
	switch r.Kind {
	case HighHigh, High, Low, LowLow, Deviation, RateOfChange, Discrete, BadQuality, Stale:
	default:
		add("kind", "must be one of %v", Kinds())
		return
	}
	finite := true
	for _, n := range []struct {
		name  string
		value float64
	}{{"limit", r.Limit}, {"setpoint", r.Setpoint}, {"deadband", r.Deadband}} {
		switch {
		case n.name == "setpoint" && r.Kind == Deviation && math.IsNaN(n.value):
			add(n.name, "either setpoint or setpointTag is required")
		case math.IsNaN(n.value), math.IsInf(n.value, 0):
			add(n.name, "must be a finite number")
			finite = false
		}
	}
	if finite {
		switch {
		case r.Deadband < 0:
			add("deadband", "must not be negative")
		case !r.numeric() && r.Deadband != 0:
			add("deadband", "is for kinds with a limit")
		case r.isDistance() && r.Limit <= 0:
			add("limit", "must be above 0")
		case r.isDistance() && r.Deadband > r.Limit:
			add("deadband", "must not be above limit")
		}
	}
	if r.Kind == RateOfChange {
		if r.Window < time.Second || r.Window > maxRuleDelay || r.Window%time.Millisecond != 0 {
			add("windowMs", "must be 1 second to 24 hours, in whole milliseconds")
		}
	} else if r.Window != 0 {
		add("windowMs", "is for RateOfChange")
	}
	if r.Kind != Deviation && r.SetpointTag != "" {
		add("setpointTag", "is for Deviation")
	}
	if r.Kind != Deviation && r.Setpoint != 0 {
		add("setpoint", "is for Deviation")
	}
	r.checkStates(add)
}

func (r *Rule) checkStates(add func(field, format string, args ...any)) {
	if r.Kind != Discrete {
		if len(r.States) > 0 {
			add("states", "is for State")
		}
		return
	}
	if len(r.States) == 0 || len(r.States) > maxStates {
		add("states", "must have 1 to %d values", maxStates)
		return
	}
	for i, s := range r.States {
		if msg := limits.Violation(s, 0, limits.MaxMessage); msg != "" {
			add(fmt.Sprintf("states[%d]", i), "%s", msg)
		}
	}
}

func validID(s string) bool {
	if s == "" || len(s) > maxRuleID || s == "." || s == ".." {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == ':', c == '-':
		default:
			return false
		}
	}
	return true
}
