package alarms

import (
	"time"
)

// Occurrence is one time that a condition was active. Times are UTC, to the microsecond.
type Occurrence struct {
	Seq        int64  // sequence number of the event that raised it
	ID         string // UUIDv7
	Code       int64  // of the condition, above 0
	Key        string // of the condition
	Source     string // tag or equipment
	SourceType string // such as Sensor or Equipment
	Message    string
	Severity   Severity

	RaisedAt       time.Time
	ReturnedAt     time.Time // when the condition of a latching occurrence returned to normal; zero while it is not normal
	ClearedAt      time.Time // zero while active; never before RaisedAt
	AcknowledgedAt time.Time // zero until acknowledged; never before RaisedAt
	AcknowledgedBy string
	Comment        string // of the acknowledgement

	Active      bool
	Latching    bool        // stays active until it is reset
	Suppression Suppression // why it is omitted from lists and not annunciated; 0 if it is not suppressed

	Labels map[string]string // shared, must not be changed; nil for none
	Cause  Cause             // what raised it, or made it more severe

	// Unjournaled reports that this state is not stored yet, because the store cannot be written. Code is 0 if the
	// condition has none yet. See Service.ShowPending.
	Unjournaled bool
}

// Cause is what raised an occurrence, as far as its source knows it.
type Cause struct {
	Tag          string `json:"tag,omitempty"`          // name of the tag; at most 512 characters
	Rule         string `json:"rule,omitempty"`         // ID of the rule; at most 512 characters
	Value        string `json:"value,omitempty"`        // of the tag then; at most 4096 characters
	Limit        string `json:"limit,omitempty"`        // of the value, or of its distance from a setpoint or its change a second; at most 4096 characters
	Instructions string `json:"instructions,omitempty"` // what the operator is to do; at most 4096 characters
}

// Acknowledged reports whether the occurrence is acknowledged.
func (o *Occurrence) Acknowledged() bool { return !o.AcknowledgedAt.IsZero() }

// State returns the state of the occurrence, with the precedence of [Condition.State]. An occurrence that has ended and is
// acknowledged is StateNormal, whether or not it was suppressed.
func (o *Occurrence) State() State {
	if !o.Active && o.Acknowledged() {
		return StateNormal
	}
	return (&Condition{Suppression: o.Suppression, Last: o}).State()
}

// Suppression is a set of reasons for which the occurrences of a condition are not annunciated; 0 if there is none.
type Suppression uint8

// The reasons, after ISA-18.2.
const (
	SuppressionShelved      Suppression = 1 << iota // by an operator, for a limited time
	SuppressionByDesign                             // by the logic of the plant
	SuppressionOutOfService                         // for maintenance
)

// Condition is something that can go wrong.
type Condition struct {
	Code         int64
	Key          string
	Suppression  Suppression
	ShelvedUntil time.Time // zero if not shelved
	ShelvedBy    string

	// Who suppressed it last, when and why; empty while it is not suppressed.
	SuppressedBy       string
	SuppressedAt       time.Time
	SuppressionComment string

	Last *Occurrence // the newest occurrence, the active one if there is one; nil for none
}

// State is the state of a condition.
type State string

// The states of ISA-18.2.
const (
	StateNormal                 State = "Normal"
	StateUnacknowledged         State = "Unacknowledged"
	StateAcknowledged           State = "Acknowledged"
	StateReturnedUnacknowledged State = "ReturnedUnacknowledged"
	StateShelved                State = "Shelved"
	StateSuppressedByDesign     State = "SuppressedByDesign"
	StateOutOfService           State = "OutOfService"
)

// State returns the state of the condition. Of several reasons for suppression, out of service takes precedence over
// suppression by design, and that over shelving.
func (c *Condition) State() State {
	switch {
	case c.Suppression&SuppressionOutOfService != 0:
		return StateOutOfService
	case c.Suppression&SuppressionByDesign != 0:
		return StateSuppressedByDesign
	case c.Suppression&SuppressionShelved != 0:
		return StateShelved
	case c.Last == nil:
		return StateNormal
	case c.Last.Active && c.Last.Acknowledged():
		return StateAcknowledged
	case c.Last.Active:
		return StateUnacknowledged
	case !c.Last.Acknowledged():
		return StateReturnedUnacknowledged
	}
	return StateNormal
}

// EventKind is the kind of an [Event].
type EventKind string

// The kinds of events.
const (
	Raised       EventKind = "Raised"
	Escalated    EventKind = "Escalated" // an active occurrence got a higher severity
	Updated      EventKind = "Updated"   // the message or a label of an active occurrence changed
	Returned     EventKind = "Returned"  // the condition of a latching occurrence is normal again
	Recurred     EventKind = "Recurred"  // the condition of a latching occurrence is no longer normal
	Cleared      EventKind = "Cleared"
	Reset        EventKind = "Reset" // a latching occurrence was cleared by an operator
	Acknowledged EventKind = "Acknowledged"
	Commented    EventKind = "Commented" // Event.Comment is the comment; the occurrence is unchanged
	Shelved      EventKind = "Shelved"
	Unshelved    EventKind = "Unshelved"
	Suppressed   EventKind = "Suppressed"
	Unsuppressed EventKind = "Unsuppressed"
	OutOfService EventKind = "OutOfService"
	InService    EventKind = "InService"
)

// Ends reports whether events of this kind end an occurrence.
func (k EventKind) Ends() bool { return k == Cleared || k == Reset }

// Event is an entry of the journal.
type Event struct {
	Seq  int64  // from 1, ascending, in the order of the journal; 0 if it is not stored yet
	ID   string // UUIDv7
	At   time.Time
	Kind EventKind

	// Occurrence is its state after the event. If the condition has no occurrence, only Code, Key and Suppression
	// are set. An occurrence of Signal.Ended has ended already when it is raised.
	Occurrence Occurrence

	By      string // name of the person; empty for the system
	Comment string
	Until   time.Time // for Shelved

	// Annunciate reports whether operators are to be notified: the occurrence was raised while not suppressed, or
	// its suppression has ended while it is active and unacknowledged.
	Annunciate bool
}

// Shown reports whether operators who follow every change of alarms see the event: its occurrence is not suppressed, or
// the event suppressed it.
func (e *Event) Shown() bool {
	switch {
	case e.Occurrence.ID == "":
		return false
	case e.Kind == Shelved, e.Kind == Suppressed, e.Kind == OutOfService:
		return true
	}
	return e.Annunciate || e.Occurrence.Suppression == 0
}

// Resolution records what was done about a condition.
type Resolution struct {
	ID            int64 // from 1, assigned by the store
	Code          int64
	ResolvedBy    string // as the caller named it
	RecordedBy    string // name of the account that recorded it; empty if none is known
	ResolvedAt    time.Time
	ActionTaken   string
	WasSuccessful bool
	Notes         *string // nil for none
}
