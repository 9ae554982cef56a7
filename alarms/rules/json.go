package rules

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"

	"github.com/otkit/otkit/alarms"
)

// ruleJSON is the JSON form of a Rule. Times are in milliseconds.
type ruleJSON struct {
	ID           string           `json:"id"`
	Name         string           `json:"name"`
	Tag          string           `json:"tagName"`
	Kind         Kind             `json:"kind"`
	Limit        *float64         `json:"limit,omitempty"`
	Setpoint     *float64         `json:"setpoint,omitempty"`
	SetpointTag  string           `json:"setpointTag,omitempty"`
	States       []string         `json:"states,omitempty"`
	WindowMs     int64            `json:"windowMs,omitempty"`
	Deadband     float64          `json:"deadband,omitempty"`
	OnDelayMs    int64            `json:"onDelayMs,omitempty"`
	OffDelayMs   int64            `json:"offDelayMs,omitempty"`
	Latching     bool             `json:"latching,omitempty"`
	Severity     *alarms.Severity `json:"severity"`
	Message      string           `json:"message,omitempty"`
	Instructions string           `json:"instructions,omitempty"`
	Group        string           `json:"group,omitempty"`
	Enabled      *bool            `json:"enabled"`
}

// MarshalJSON returns the JSON form. Times are whole milliseconds: windowMs, onDelayMs and offDelayMs.
func (r Rule) MarshalJSON() ([]byte, error) {
	return json.Marshal(ruleJSON{
		ID: r.ID, Name: r.Name, Tag: r.Tag, Kind: r.Kind, Limit: limitJSON(&r), Setpoint: setpointJSON(&r), SetpointTag: r.SetpointTag,
		States: r.States, WindowMs: r.Window.Milliseconds(), Deadband: r.Deadband, OnDelayMs: r.OnDelay.Milliseconds(),
		OffDelayMs: r.OffDelay.Milliseconds(), Latching: r.Latching, Severity: &r.Severity, Message: r.Message,
		Instructions: r.Instructions, Group: r.Group, Enabled: &r.Enabled,
	})
}

// limitJSON returns nil for a rule without a limit.
func limitJSON(r *Rule) *float64 {
	if !r.numeric() {
		return nil
	}
	return &r.Limit
}

// setpointJSON returns nil for a rule without a setpoint, or with a tag for it.
func setpointJSON(r *Rule) *float64 {
	if r.Setpoint == 0 && (r.Kind != Deviation || r.SetpointTag != "") {
		return nil
	}
	return &r.Setpoint
}

// UnmarshalJSON reads the JSON form. A rule without the member "enabled" is enabled. UnmarshalJSON does not validate.
func (r *Rule) UnmarshalJSON(data []byte) error {
	_, err := r.read(data)
	return err
}

// Request is a rule as a client sends it: required members have no default. Its JSON form is that of [Rule]. Validate
// returns an error for a missing severity, and unless exactly one of setpoint and setpointTag is there for a Deviation.
type Request struct{ Rule }

// severityMissing marks a missing severity.
const severityMissing alarms.Severity = math.MaxUint8

// UnmarshalJSON reads the JSON form. It does not validate.
func (r *Request) UnmarshalJSON(data []byte) error {
	j, err := r.read(data)
	if err != nil {
		return err
	}
	if j.Severity == nil {
		r.Severity = severityMissing
	}
	if r.Kind == Deviation && (j.Setpoint == nil) == (r.SetpointTag == "") {
		r.Setpoint = math.NaN()
	}
	return nil
}

// WithCode is a rule with the code of its alarm and the state of its evaluation. Its JSON form is that of [Rule] with
// the members "code", "state", "stateDetail", "lastValue" and "lastValueAt"; all but the first are omitted if they are
// empty.
type WithCode struct {
	Rule
	Code   int64
	Status Status
}

// codedJSON has the members of a WithCode that a Rule does not have.
type codedJSON struct {
	Code   int64           `json:"code"`
	State  EvaluationState `json:"state,omitempty"`
	Detail string          `json:"stateDetail,omitempty"`
	Value  tags.Value      `json:"lastValue,omitzero"`
	At     time.Time       `json:"lastValueAt,omitzero"`
}

// MarshalJSON returns the JSON form.
func (r WithCode) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(r.Rule)
	if err != nil {
		return nil, err
	}
	more, err := json.Marshal(codedJSON{r.Code, r.Status.State, r.Status.Detail, r.Status.Value, r.Status.At.UTC()})
	if err != nil {
		return nil, err
	}
	more[0] = ','
	return append(text[:len(text)-1], more...), nil
}

// UnmarshalJSON reads the JSON form. It does not validate.
func (r *WithCode) UnmarshalJSON(data []byte) error {
	var j codedJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return ErrInvalid.Because("it is not the JSON of a rule").Wrap(err)
	}
	r.Code, r.Status = j.Code, Status{State: j.State, Detail: j.Detail, Value: j.Value, At: j.At}
	return json.Unmarshal(data, &r.Rule)
}

func (r *Rule) read(data []byte) (ruleJSON, error) {
	var j ruleJSON
	if err := json.Unmarshal(data, &j); err != nil {
		var wrong *json.UnmarshalTypeError
		switch {
		case errors.As(err, &wrong):
			return j, ErrInvalid.Invalid(fault.Field{Field: wrong.Field, Message: "cannot be of type " + wrong.Value}).Wrap(err)
		case errors.Is(err, alarms.ErrInvalidRequest): // of severity, which decodes itself
			return j, ErrInvalid.Invalid(fault.Field{Field: "severity", Message: "must be Info, Warning, Error or Critical"}).Wrap(err)
		}
		return j, ErrInvalid.Because("it is not the JSON of a rule").Wrap(err)
	}
	got := Rule{
		ID: j.ID, Name: j.Name, Tag: j.Tag, Kind: j.Kind, SetpointTag: j.SetpointTag,
		States: j.States, Deadband: j.Deadband, Latching: j.Latching, Message: j.Message,
		Instructions: j.Instructions, Group: j.Group, Enabled: j.Enabled == nil || *j.Enabled,
	}
	if j.Setpoint != nil {
		got.Setpoint = *j.Setpoint
	}
	if j.Severity != nil {
		got.Severity = *j.Severity
	}
	switch {
	case j.Limit != nil:
		got.Limit = *j.Limit
	case got.numeric():
		got.Limit = math.NaN() // Validate refuses it: a missing limit is not 0
	}
	for _, d := range []struct {
		name string
		ms   int64
		into *time.Duration
	}{{"windowMs", j.WindowMs, &got.Window}, {"onDelayMs", j.OnDelayMs, &got.OnDelay}, {"offDelayMs", j.OffDelayMs, &got.OffDelay}} {
		if d.ms < 0 || d.ms > math.MaxInt64/int64(time.Millisecond) {
			return j, ErrInvalid.Invalid(fault.Field{Field: d.name, Message: "must be 0 to 24 hours"})
		}
		*d.into = time.Duration(d.ms) * time.Millisecond
	}
	*r = got
	return j, nil
}
