package predictive

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
)

// Limits of records.
const (
	MaxRecordName = 256     // bytes of an id, an equipment, a component and a code
	MaxRecordNote = 4 << 10 // bytes of a note
)

// Validate returns [ErrInvalidRequest] with each member that breaks a rule, by its name in JSON: id, equipmentId, source and start are
// required; noticed and end are not before start; times are from 1970 to 9999.
func (f Failure) Validate() error {
	var v recordRules
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
func (r Replacement) Validate() error {
	var v recordRules
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
type recordRules struct{ fields []fault.Field }

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
	}
}

func (v *recordRules) oneOf(member, text string, allowed ...string) {
	if !slices.Contains(allowed, text) {
		v.add(member, "must be "+strings.Join(allowed[:len(allowed)-1], ", ")+" or "+allowed[len(allowed)-1])
	}
}
