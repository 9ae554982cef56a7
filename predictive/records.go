package predictive

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
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

// Limits of records.
const (
	MaxRecordName = 256     // bytes of an id, an equipment, a component and a code
	MaxRecordNote = 4 << 10 // bytes of a note
)

// MaxRecordSkew is how far the clock of who reports a record may be ahead.
const MaxRecordSkew = 5 * time.Minute

// Validate returns [ErrInvalidRequest] with each member that breaks a rule, by its name in JSON: id, equipmentId, source and start are
// required; noticed and end are not before start; times are from 1970 to 9999.
func (f Failure) Validate() error { return f.ValidateAt(time.Time{}) }

// ValidateAt is Validate that also refuses times more than [MaxRecordSkew] after now, unless now is zero: nobody knows yet when an equipment
// fails, or works again.
func (f Failure) ValidateAt(now time.Time) error {
	v := recordRules{now: now}
	v.name("id", f.ID, true)
	v.name("equipmentId", f.EquipmentID, true)
	v.name("component", f.Component, false)
	v.name("code", f.Code, false)
	v.oneOf("source", string(f.Source), string(SourceManual), string(SourceAlarm), string(SourceCSV))
	v.time("start", f.Start, true)
	for _, t := range []struct {
		member string
		at     time.Time
	}{{"noticed", f.Noticed}, {"end", f.End}} {
		v.time(t.member, t.at, false)
		if !t.at.IsZero() && t.at.Before(f.Start) {
			v.add(t.member, "must not be before start")
		}
	}
	v.note(f.Note)
	return v.err()
}

// Validate returns [ErrInvalidRequest] with each member that breaks a rule, by its name in JSON: all but note are required, and the time is
// from 1970 to 9999.
func (r Replacement) Validate() error { return r.ValidateAt(time.Time{}) }

// ValidateAt is Validate that also refuses a time more than [MaxRecordSkew] after now, unless now is zero.
func (r Replacement) ValidateAt(now time.Time) error {
	v := recordRules{now: now}
	v.name("id", r.ID, true)
	v.name("equipmentId", r.EquipmentID, true)
	v.name("component", r.Component, true)
	v.time("at", r.At, true)
	v.oneOf("reason", string(r.Reason), string(ReasonFailure), string(ReasonPreventive))
	v.oneOf("source", string(r.Source), string(SourceManual), string(SourceAlarm), string(SourceCSV))
	v.note(r.Note)
	return v.err()
}

// recordRules collects the rules that a record breaks.
type recordRules struct {
	now    time.Time // zero: times of the future are allowed
	fields []fault.Field
}

func (v *recordRules) add(member, rule string) {
	v.fields = append(v.fields, fault.Field{Field: member, Message: rule})
}

func (v *recordRules) err() error {
	if len(v.fields) == 0 {
		return nil
	}
	return ErrInvalidRequest.Invalid(v.fields...)
}

func (v *recordRules) name(member, text string, required bool) {
	switch {
	case text == "" && required:
		v.add(member, "is required")
	case len(text) > MaxRecordName:
		v.add(member, fmt.Sprintf("must have at most %d bytes", MaxRecordName))
	case !utf8.ValidString(text) || strings.ContainsFunc(text, unicode.IsControl):
		v.add(member, "must be UTF-8 without control characters")
	case strings.TrimSpace(text) != text:
		v.add(member, "must not begin or end with a blank")
	}
}

func (v *recordRules) note(text string) {
	switch {
	case len(text) > MaxRecordNote:
		v.add("note", fmt.Sprintf("must have at most %d bytes", MaxRecordNote))
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		v.add("note", "must be UTF-8 without zero bytes")
	}
}

func (v *recordRules) time(member string, t time.Time, required bool) {
	switch {
	case t.IsZero() && required:
		v.add(member, "is required")
	case !t.IsZero() && (t.UTC().Year() < 1970 || t.UTC().Year() > 9999):
		v.add(member, "must be from 1970 to 9999")
	case !v.now.IsZero() && t.After(v.now.Add(MaxRecordSkew)):
		v.add(member, "must not be in the future; it is now "+v.now.UTC().Format(time.RFC3339))
	}
}

func (v *recordRules) oneOf(member, text string, allowed ...string) {
	if !slices.Contains(allowed, text) {
		v.add(member, "must be "+strings.Join(allowed[:len(allowed)-1], ", ")+" or "+allowed[len(allowed)-1])
	}
}
