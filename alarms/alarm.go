package alarms

import (
	"time"
)

// Occurrence is one time that a condition went wrong. Times are UTC, kept to the microsecond.
type Occurrence struct {
	Seq        int64  // sequence number of the event that raised it; occurrences are ordered by it
	ID         string // UUIDv7
	Code       int64  // of the condition, above 0
	Key        string // of the condition
	Source     string // tag or equipment
	SourceType string // Sensor, Equipment or another word
	Message    string
	Severity   Severity

	RaisedAt       time.Time
	ReturnedAt     time.Time // when the condition of a latching occurrence returned to normal; zero while it lasts
	ClearedAt      time.Time // zero while active; never before RaisedAt
	AcknowledgedAt time.Time // zero until acknowledged; never before RaisedAt
	AcknowledgedBy string
	Comment        string // of the acknowledgement

	Active      bool
	Latching    bool        // stays active until it is reset
	Suppression Suppression // why it is kept from lists and subscribers; 0 for shown

	Labels map[string]string // shared: not to be changed; nil for none

	// Unjournaled reports that the store does not have it as it is here, since it could not be written. The
	// Code is 0 where the condition has none yet. See Service.ShowPending.
	Unjournaled bool
}

// Acknowledged reports whether somebody has acknowledged it.
func (o *Occurrence) Acknowledged() bool { return !o.AcknowledgedAt.IsZero() }

// Suppression is a set of reasons for which occurrences of a condition are kept from operators.
type Suppression uint8

// The reasons, after ISA-18.2.
const (
	SuppressionShelved      Suppression = 1 << iota // an operator put it aside for a time
	SuppressionByDesign                             // logic of the plant says that it means nothing now
	SuppressionOutOfService                         // taken out for maintenance
)

// Condition is something that can go wrong.
type Condition struct {
	Code         int64
	Key          string
	Suppression  Suppression
	ShelvedUntil time.Time // zero when not shelved
	ShelvedBy    string

	// Who has suppressed it the last time, when and why; nothing while it is not suppressed.
	SuppressedBy       string
	SuppressedAt       time.Time
	SuppressionComment string

	Last *Occurrence // the newest occurrence; nil when there was none
}

// State is where a condition stands.
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

// State returns the condition's state. Where several reasons suppress it, out of service comes first
// and shelved last.
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

// EventKind is what happened.
type EventKind string

// The kinds of events.
const (
	Raised       EventKind = "Raised"
	Escalated    EventKind = "Escalated" // an active occurrence got a higher severity
	Updated      EventKind = "Updated"   // the message or a label of an active occurrence changed
	Returned     EventKind = "Returned"  // the condition of a latching occurrence is normal again
	Recurred     EventKind = "Recurred"  // it came back before it was reset
	Cleared      EventKind = "Cleared"
	Reset        EventKind = "Reset" // a latching occurrence was cleared by an operator
	Acknowledged EventKind = "Acknowledged"
	Shelved      EventKind = "Shelved"
	Unshelved    EventKind = "Unshelved"
	Suppressed   EventKind = "Suppressed"
	Unsuppressed EventKind = "Unsuppressed"
	OutOfService EventKind = "OutOfService"
	InService    EventKind = "InService"
)

// Ends reports whether the event ended an occurrence.
func (k EventKind) Ends() bool { return k == Cleared || k == Reset }

// Event is one entry of the journal.
type Event struct {
	Seq  int64  // from 1, ascending, in the order in which things happened; 0 for what is not stored yet
	ID   string // UUIDv7
	At   time.Time
	Kind EventKind

	// Occurrence is as the event left it. Where the condition had none, only Code, Key, Source and
	// Suppression are set, and the ID is empty.
	Occurrence Occurrence

	By      string // who did it; empty for the system
	Comment string
	Until   time.Time // for Shelved

	// New marks an event to announce to operators: the occurrence was raised, or is suppressed no
	// longer while it is active and unacknowledged.
	Annunciate bool
}

// Shown reports whether operators who follow every change of alarms see the event: it is of an occurrence that is
// not suppressed, or it is what suppressed it.
func (e *Event) Shown() bool {
	switch {
	case e.Occurrence.ID == "":
		return false
	case e.Kind == Shelved, e.Kind == Suppressed, e.Kind == OutOfService:
		return true
	}
	return e.Annunciate || e.Occurrence.Suppression == 0
}

// Resolution is what somebody did about a condition.
type Resolution struct {
	ID            int64 // from 1, given by the store
	Code          int64
	ResolvedBy    string // as the caller named it
	RecordedBy    string // name of the account that recorded it; empty if none is known
	ResolvedAt    time.Time
	ActionTaken   string
	WasSuccessful bool
	Notes         *string // nil when not given
}
