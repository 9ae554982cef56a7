package alarms

import (
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/otkit/otkit/fault"
)

// ruleJSON is the JSON form of a Rule. Times are in milliseconds.
type ruleJSON struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Tag         string   `json:"tagName"`
	Kind        RuleKind `json:"kind"`
	Limit       *float64 `json:"limit,omitempty"`
	Setpoint    float64  `json:"setpoint,omitempty"`
	SetpointTag string   `json:"setpointTag,omitempty"`
	States      []string `json:"states,omitempty"`
	WindowMs    int64    `json:"windowMs,omitempty"`
	Deadband    float64  `json:"deadband,omitempty"`
	OnDelayMs   int64    `json:"onDelayMs,omitempty"`
	OffDelayMs  int64    `json:"offDelayMs,omitempty"`
	Latching    bool     `json:"latching,omitempty"`
	Severity    Severity `json:"severity"`
	Message     string   `json:"message,omitempty"`
	Group       string   `json:"group,omitempty"`
	Enabled     *bool    `json:"enabled"`
}

// MarshalJSON gives the JSON form. Times are whole milliseconds: windowMs, onDelayMs and offDelayMs.
func (r Rule) MarshalJSON() ([]byte, error) {
	return json.Marshal(ruleJSON{
		ID: r.ID, Name: r.Name, Tag: r.Tag, Kind: r.Kind, Limit: limitJSON(&r), Setpoint: r.Setpoint, SetpointTag: r.SetpointTag,
		States: r.States, WindowMs: r.Window.Milliseconds(), Deadband: r.Deadband, OnDelayMs: r.OnDelay.Milliseconds(),
		OffDelayMs: r.OffDelay.Milliseconds(), Latching: r.Latching, Severity: r.Severity, Message: r.Message,
		Group: r.Group, Enabled: &r.Enabled,
	})
}

// limitJSON leaves the limit out where a rule has none.
func limitJSON(r *Rule) *float64 {
	if !r.numeric() {
		return nil
	}
	return &r.Limit
}

// UnmarshalJSON reads the JSON form. A rule is enabled when "enabled" is absent. It does not validate.
func (r *Rule) UnmarshalJSON(data []byte) error {
	var j ruleJSON
	if err := json.Unmarshal(data, &j); err != nil {
		var wrong *json.UnmarshalTypeError
		switch {
		case errors.As(err, &wrong):
			return ErrInvalidRule.Invalid(fault.Field{Field: wrong.Field, Message: "cannot be of type " + wrong.Value}).Wrap(err)
		case errors.Is(err, ErrInvalidRequest): // the one member that reads itself
			return ErrInvalidRule.Invalid(fault.Field{Field: "severity", Message: "must be Info, Warning, Error or Critical"}).Wrap(err)
		}
		return ErrInvalidRule.Because("it is not the JSON of a rule").Wrap(err)
	}
	got := Rule{
		ID: j.ID, Name: j.Name, Tag: j.Tag, Kind: j.Kind, Setpoint: j.Setpoint, SetpointTag: j.SetpointTag,
		States: j.States, Deadband: j.Deadband, Latching: j.Latching, Severity: j.Severity, Message: j.Message,
		Group: j.Group, Enabled: j.Enabled == nil || *j.Enabled,
	}
	switch {
	case j.Limit != nil:
		got.Limit = *j.Limit
	case got.numeric():
		got.Limit = math.NaN() // which Validate refuses: a limit that was forgotten is not 0
	}
	for _, d := range []struct {
		name string
		ms   int64
		into *time.Duration
	}{{"windowMs", j.WindowMs, &got.Window}, {"onDelayMs", j.OnDelayMs, &got.OnDelay}, {"offDelayMs", j.OffDelayMs, &got.OffDelay}} {
		if d.ms < 0 || d.ms > math.MaxInt64/int64(time.Millisecond) {
			return ErrInvalidRule.Invalid(fault.Field{Field: d.name, Message: "must be 0 to 24 hours"})
		}
		*d.into = time.Duration(d.ms) * time.Millisecond
	}
	*r = got
	return nil
}
