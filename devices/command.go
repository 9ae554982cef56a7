package devices

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/runes"
)

// The built-in types of command. Others are passed to the executor, which may refuse them.
const (
	MoveTo             = "MoveTo"  // parameters: [Move]
	PickUp             = "PickUp"  // parameter target, optional: what to pick up
	Release            = "Release" // parameter target, optional: where to put it
	EmergencyStop      = "EmergencyStop"
	ResetEmergencyStop = "ResetEmergencyStop"
)

// Bounds of a command.
const (
	MaxCommandID   = 128       // characters
	MaxCommandType = 64        // characters
	MaxParameters  = 64 * 1024 // bytes of JSON
)

// Command is what a device is told to do.
type Command struct {
	ID         string
	DeviceID   string
	Type       string
	Parameters map[string]any // values of JSON
	Priority   int            // of two that wait for a device, the higher one is first
	Time       time.Time      // of issue
}

// Move is where a command takes a device.
type Move struct {
	Map   string // empty: the map on which the device is
	X, Y  float64
	Z     *float64
	Theta *float64 // radians
	Speed *float64 // metres a second, above 0
}

// moveParameters are the parameters of a MoveTo. A misspelt speed must not make a device drive at full speed.
var moveParameters = []string{"x", "y", "z", "theta", "speed", "map"}

// Move returns the movement of a [MoveTo]; nil for another command. A coordinate that is missing or no finite number, and a
// parameter that it does not have, is [ErrInvalid].
func (c Command) Move() (*Move, error) {
	if c.Type != MoveTo {
		return nil, nil
	}
	var (
		m      Move
		fields []fault.Field
	)
	number := func(name string, required bool) *float64 {
		value, ok := c.Parameters[name]
		if !ok || value == nil {
			if required {
				fields = append(fields, fault.Field{Field: "parameters." + name, Message: "is required"})
			}
			return nil
		}
		n, ok := finite(value)
		if !ok {
			fields = append(fields, fault.Field{Field: "parameters." + name, Message: "must be a finite number"})
			return nil
		}
		return &n
	}
	if x := number("x", true); x != nil {
		m.X = *x
	}
	if y := number("y", true); y != nil {
		m.Y = *y
	}
	m.Z, m.Theta, m.Speed = number("z", false), number("theta", false), number("speed", false)
	if m.Speed != nil && *m.Speed <= 0 {
		fields = append(fields, fault.Field{Field: "parameters.speed", Message: "must be above 0"})
	}
	if value, ok := c.Parameters["map"]; ok && value != nil {
		if m.Map, ok = value.(string); !ok {
			fields = append(fields, fault.Field{Field: "parameters.map", Message: "must be a text"})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Parameters)) {
		if !slices.Contains(moveParameters, name) {
			fields = append(fields, fault.Field{Field: "parameters." + runes.Shorten(name, 100), Message: "is not one of " + strings.Join(moveParameters, ", ")})
		}
	}
	if len(fields) > 0 {
		return nil, ErrInvalid.Invalid(fields...)
	}
	return &m, nil
}

// finite returns a number of JSON. Coordinates beyond 1e9 metres are as meaningless as infinite ones: their squares would lose
// every metre in between.
func finite(value any) (float64, bool) {
	var f float64
	switch v := value.(type) {
	case float64:
		f = v
	case int:
		f = float64(v)
	case int64:
		f = float64(v)
	case json.Number:
		parsed, err := v.Float64()
		if err != nil {
			return 0, false
		}
		f = parsed
	default:
		return 0, false
	}
	return f, !math.IsNaN(f) && math.Abs(f) <= 1e9
}

func (c Command) check() []fault.Field {
	fields := checkText("commandId", c.ID, true, MaxCommandID)
	fields = append(fields, checkText("commandType", c.Type, true, MaxCommandType)...)
	data, err := json.Marshal(c.Parameters)
	switch {
	case err != nil:
		fields = append(fields, fault.Field{Field: "parameters", Message: "must be values of JSON"})
	case len(data) > MaxParameters:
		fields = append(fields, fault.Field{Field: "parameters", Message: fmt.Sprintf("must have at most %d bytes", MaxParameters)})
	}
	if target, ok := c.Parameters["target"]; ok && target != nil && (c.Type == PickUp || c.Type == Release) {
		if _, ok := target.(string); !ok {
			fields = append(fields, fault.Field{Field: "parameters.target", Message: "must be a text"})
		}
	}
	return fields
}

// Phase is how far a command has come.
type Phase string

// The phases.
const (
	Queued    Phase = "Queued"    // waits for the device
	Running   Phase = "Running"   // handed to the executor
	Succeeded Phase = "Succeeded" // the executor reports that it is done
	Failed    Phase = "Failed"    // the executor reports that it is not done
	Refused   Phase = "Refused"   // a policy refused it: it never reached the device
	Canceled  Phase = "Canceled"  // it was canceled
	TimedOut  Phase = "TimedOut"  // the executor did not answer in time: what the device did is not known
	Lost      Phase = "Lost"      // the process ended while it ran: what the device did is not known
)

// Ended reports whether p is final.
func (p Phase) Ended() bool { return p != Queued && p != Running }

// unsure reports whether the device may still move although the command has ended.
func (p Phase) unsure() bool { return p == TimedOut || p == Lost || p == Canceled }

// Result is what has become of a command.
type Result struct {
	CommandID   string
	Success     bool
	Message     string         // of what failed; empty on success
	Data        map[string]any // of the executor; nil when there is none
	CompletedAt time.Time      // zero until the command has ended
}

// Record is a command in the journal.
type Record struct {
	Command
	By       string // who issued it
	Phase    Phase
	Result   Result
	Decision Decision // of the safety policies
	Path     *Path    // that was reserved; nil when the command does not move the device
	IssuedAt time.Time
	BeganAt  time.Time // zero until it was handed to the executor
	Digest   string    // of what the caller sent; distinguishes a repeated command from another one with the same id
}

// ended returns the record with its outcome.
func (r Record) ended(p Phase, result Result, now time.Time) Record {
	result.CommandID, result.CompletedAt = r.ID, now
	r.Phase, r.Result = p, result
	return r
}

// refused returns the record of a command that never reached its device.
func (r Record) refused(d Decision) Record {
	r.Decision, r.BeganAt = d, time.Time{}
	return r.ended(Refused, Result{Message: d.Reason}, d.Time)
}

// refusal returns [ErrRefused] for a command that was refused.
func (r Record) refusal() error {
	if r.Phase == Refused {
		return ErrRefused.With("reason", r.Decision.Reason)
	}
	return nil
}

// maxMessage is the longest message of a result, in bytes.
const maxMessage = 2000

// clean returns a text as every store can keep it.
func clean(text string) string {
	return runes.Cut(runes.Valid(strings.ReplaceAll(text, "\x00", "")), maxMessage)
}
