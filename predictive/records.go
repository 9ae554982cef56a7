package predictive

import (
	"context"
	"strings"
	"time"
)

// Source tells where a record came from.
type Source string

// The sources of records.
const (
	SourceManual Source = "manual"
	SourceAlarm  Source = "alarm"
	SourceCSV    Source = "csv"
)

// Failure is an interval in which an equipment did not do its work.
type Failure struct {
	ID          string
	EquipmentID string
	// Component is what failed, empty if that is not known.
	Component string
	// Code is the fault code, such as that of an alarm. It may be empty.
	Code   string
	Source Source
	Note   string
	// Start is when the failure began, Noticed when someone or an alarm told it, and End when the equipment worked again. Noticed and End may be
	// zero.
	Start, Noticed, End time.Time
}

// Reason is why a component was replaced.
type Reason string

// The reasons of replacements.
const (
	// ReasonFailure is the replacement of a component that failed.
	ReasonFailure Reason = "failure"
	// ReasonPreventive is the replacement of a component that still worked, or its installation: how long it would have lasted is not known.
	ReasonPreventive Reason = "preventive"
)

// Replacement is the moment from which an equipment has a new component.
type Replacement struct {
	ID          string
	EquipmentID string
	Component   string
	At          time.Time
	Reason      Reason
	Source      Source
	Note        string
}

// RecordQuery selects failures by their start, or replacements by their time.
type RecordQuery struct {
	EquipmentID string // empty: all
	Component   string // empty: all
	// From, included, and To, excluded, limit the time. Zero is no limit.
	From, To time.Time
	// Offset and Limit choose a part of the list; Limit 0 is all.
	Offset, Limit int
	// Count asks for the total.
	Count bool
}

// Page is a part of a list, and the length of the whole list if the query asked for it.
type Page[T any] struct {
	Items []T
	Total int
}

// RecordReader has the failures and replacements of equipments. It is safe for concurrent use. Lists are in the order of time, then of
// ids.
type RecordReader interface {
	Failures(ctx context.Context, query RecordQuery) (Page[Failure], error)
	Replacements(ctx context.Context, query RecordQuery) (Page[Replacement], error)
}

// RecordStore keeps the failures and replacements of equipments. What a method has returned without an error is durable. Times are
// kept to the microsecond, in UTC. Package predictivetest has a conformance suite.
type RecordStore interface {
	RecordReader
	// AddFailures adds all records or none. If an id is in use, or twice in the list, it returns [ErrRecordExists]. A record of the source
	// alarm is skipped, whatever its id, if one of that source with its equipment, component, start and code is there or earlier in the list.
	AddFailures(ctx context.Context, failures []Failure) error
	// AddReplacements is as AddFailures. A record of the source alarm is skipped if one of that source with its equipment, component, time and
	// reason is there or earlier in the list.
	AddReplacements(ctx context.Context, replacements []Replacement) error
	// DeleteFailure removes a record, or returns [ErrRecordNotFound].
	DeleteFailure(ctx context.Context, id string) error
	// DeleteReplacement removes a record, or returns [ErrRecordNotFound].
	DeleteReplacement(ctx context.Context, id string) error
}

// RoleOf returns the role of a tag whose inventory gives none: the id without the name of the equipment and the separators beside it,
// so that line1.pump2.pressure of pump2 and line1.pump3.pressure of pump3 share the role line1.pressure. An id without the
// name is the role itself.
func RoleOf(equipment, tag string) string {
	const separators = "./:_-"
	at := -1
	for from := 0; equipment != ""; {
		i := strings.Index(tag[from:], equipment)
		if i < 0 {
			break
		}
		i += from
		end := i + len(equipment)
		if (i == 0 || strings.IndexByte(separators, tag[i-1]) >= 0) && end < len(tag) && strings.IndexByte(separators, tag[end]) >= 0 {
			at = i
			break
		}
		from = i + 1
	}
	if at < 0 {
		return tag
	}
	return tag[:at] + tag[at+len(equipment)+1:]
}
