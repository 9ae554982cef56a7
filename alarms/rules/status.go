package rules

import (
	"fmt"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// EvaluationState is why a rule cannot raise its alarm, or that it can.
type EvaluationState string

// The states of evaluation. The first one that applies counts.
const (
	EvaluationDisabled    EvaluationState = "Disabled"
	EvaluationTagNotFound EvaluationState = "TagNotFound" // the tag or the setpoint's tag does not exist
	EvaluationWrongType   EvaluationState = "WrongType"   // the rule's kind does not apply to the data type of the tag
	EvaluationBadQuality  EvaluationState = "BadQuality"  // the tag has no good value to evaluate
	EvaluationSuppressed  EvaluationState = "Suppressed"  // the alarm is shelved, suppressed by design or out of service
	EvaluationRunning     EvaluationState = "Evaluating"
)

// Status is the state of the evaluation of a rule.
type Status struct {
	State  EvaluationState
	Detail string     // why State is not Evaluating; empty otherwise
	Value  tags.Value // newest value of the tag; the zero Value for none
	At     time.Time  // of Value, by the source; zero for none
}

// Status returns the state of the evaluation of a rule. It is never EvaluationSuppressed, because rules do not know the
// suppression of their alarms.
func (r *Service) Status(rule *Rule) Status {
	s := Status{State: EvaluationRunning}
	own, found := r.newest(rule.Tag)
	if found && !own.Sample.Value.IsZero() {
		s.Value, s.At = own.Sample.Value, own.Sample.SourceTime
	}
	if !rule.Enabled {
		s.State = EvaluationDisabled
		return s
	}
	s.State, s.Detail = rule.status("tag", rule.Tag, own, found)
	if s.State == EvaluationRunning && rule.Kind == Deviation && rule.SetpointTag != "" {
		setpoint, found := r.newest(rule.SetpointTag)
		s.State, s.Detail = rule.status("setpoint tag", rule.SetpointTag, setpoint, found)
	}
	return s
}

// newest returns a tag with its newest sample.
func (r *Service) newest(tag string) (tags.Snapshot, bool) {
	if r.current != nil {
		return r.current(tag)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.watches[tag]
	if w == nil || !w.known || w.reason == tags.ReasonRemoved {
		return tags.Snapshot{}, false
	}
	return tags.Snapshot{Sample: tags.Sample{Value: w.value, Quality: w.quality, Reason: w.reason, SourceTime: w.at}}, true
}

// status returns the state of the evaluation with respect to one tag.
func (r *Rule) status(what, name string, s tags.Snapshot, found bool) (EvaluationState, string) {
	if !found {
		return EvaluationTagNotFound, fmt.Sprintf("%s %s does not exist", what, name)
	}
	if msg := r.typeFault(typeOf(s)); msg != "" {
		return EvaluationWrongType, fmt.Sprintf("kind %s; %s %s is %s", msg, what, name, typeOf(s))
	}
	noValue := s.Sample.Quality == tags.Bad
	switch r.Kind {
	case BadQuality:
		noValue = s.Sample.Reason == tags.ReasonWaiting
	case Stale:
		noValue = noValue && s.Sample.Reason != tags.ReasonStale
	}
	if noValue {
		return EvaluationBadQuality, fmt.Sprintf("%s %s: %s", what, name, s.Sample.Reason)
	}
	return EvaluationRunning, ""
}

// typeOf returns the data type of a tag, or that of its value if the tag is unknown; empty if both are.
func typeOf(s tags.Snapshot) tags.DataType {
	if s.Tag != nil {
		return s.Tag.DataType
	}
	if s.Sample.Value.IsZero() {
		return ""
	}
	return s.Sample.Value.Type()
}

// typeFault returns why the kind of the rule does not apply to a data type; empty if it does.
func (r *Rule) typeFault(t tags.DataType) string {
	switch {
	case t == "":
	case r.Kind == Discrete:
		for _, text := range r.States {
			if _, err := tags.ParseValue(t, text); err == nil {
				return ""
			}
		}
		return fmt.Sprintf("%s needs states that are values of type %s", r.Kind, t)
	case r.numeric() && t != tags.Int && t != tags.Float:
		return fmt.Sprintf("%s is for tags of type Int or Float", r.Kind)
	}
	return ""
}

// fits returns an ErrInvalid that names each bad member if the known data types of its tags exclude an enabled rule.
func (r *Service) fits(rule *Rule) error {
	if !rule.Enabled || r.current == nil {
		return nil
	}
	var bad []fault.Field
	if s, ok := r.current(rule.Tag); ok {
		bad = append(bad, rule.typeFaults("kind", rule.Tag, typeOf(s))...)
	}
	if rule.Kind == Deviation && rule.SetpointTag != "" {
		if s, ok := r.current(rule.SetpointTag); ok {
			bad = append(bad, rule.typeFaults("setpointTag", rule.SetpointTag, typeOf(s))...)
		}
	}
	if len(bad) > 0 {
		return ErrInvalid.Invalid(bad...)
	}
	return nil
}

// typeFaults lists the members that the data type of a tag excludes.
func (r *Rule) typeFaults(field, tag string, t tags.DataType) (bad []fault.Field) {
	if r.Kind == Discrete && t != "" {
		for i, text := range r.States {
			if _, err := tags.ParseValue(t, text); err != nil {
				bad = append(bad, fault.Field{Field: fmt.Sprintf("states[%d]", i), Message: fmt.Sprintf("must be a value of type %s, as tag %s is", t, tag)})
			}
		}
		return bad
	}
	if msg := r.typeFault(t); msg != "" {
		return []fault.Field{{Field: field, Message: fmt.Sprintf("%s; tag %s is %s", msg, tag, t)}}
	}
	return nil
}
