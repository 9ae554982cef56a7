package recordcsv

import (
	"time"

	"github.com/otkit/otkit/internal/timestamp"
	"github.com/otkit/otkit/predictive"
)

// column is a member of a record in a file.
type column[R any] struct {
	name     string
	required bool // the column, and a text in it
	text     func(*R) *string
	time     func(*R) *time.Time // instead of text
}

func text[R any](name string, required bool, member func(*R) *string) column[R] {
	return column[R]{name: name, required: required, text: member}
}

func moment[R any](name string, required bool, member func(*R) *time.Time) column[R] {
	return column[R]{name: name, required: required, time: member}
}

var failureColumns = []column[predictive.Failure]{
	text("id", false, func(f *predictive.Failure) *string { return &f.ID }),
	text("equipmentId", true, func(f *predictive.Failure) *string { return &f.EquipmentID }),
	text("component", false, func(f *predictive.Failure) *string { return &f.Component }),
	text("code", false, func(f *predictive.Failure) *string { return &f.Code }),
	text("source", false, func(f *predictive.Failure) *string { return (*string)(&f.Source) }),
	moment("start", true, func(f *predictive.Failure) *time.Time { return &f.Start }),
	moment("noticed", false, func(f *predictive.Failure) *time.Time { return &f.Noticed }),
	moment("end", false, func(f *predictive.Failure) *time.Time { return &f.End }),
	text("note", false, func(f *predictive.Failure) *string { return &f.Note }),
}

var replacementColumns = []column[predictive.Replacement]{
	text("id", false, func(r *predictive.Replacement) *string { return &r.ID }),
	text("equipmentId", true, func(r *predictive.Replacement) *string { return &r.EquipmentID }),
	text("component", true, func(r *predictive.Replacement) *string { return &r.Component }),
	moment("at", true, func(r *predictive.Replacement) *time.Time { return &r.At }),
	text("reason", true, func(r *predictive.Replacement) *string { return (*string)(&r.Reason) }),
	text("source", false, func(r *predictive.Replacement) *string { return (*string)(&r.Source) }),
	text("note", false, func(r *predictive.Replacement) *string { return &r.Note }),
}

// layouts are the forms of a time without an offset.
var layouts = []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"}

// parseTime reads a time, to the microsecond.
func parseTime(text string, in *time.Location) (time.Time, bool) {
	t, err := timestamp.Parse(text)
	for i := 0; err != nil && i < len(layouts); i++ {
		t, err = time.ParseInLocation(layouts[i], text, in)
	}
	if err != nil {
		return time.Time{}, false
	}
	return t.UTC().Truncate(time.Microsecond), true
}

func formatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Truncate(time.Microsecond).Format(time.RFC3339Nano)
}
