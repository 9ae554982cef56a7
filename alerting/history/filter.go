package history

import (
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/fault"
)

// check returns what is wrong with a filter.
func (f *Filter) check() error {
	if f.State != "" && f.State != Firing && f.State != Resolved {
		return alerting.ErrInvalidRequest.Invalid(fault.Field{Field: "state", Message: "must be firing or resolved"})
	}
	if err := (&alarms.Search{Source: f.Source, Text: f.Text, Labels: f.Labels}).Check(); err != nil {
		return err
	}
	return checkRange(f.From, f.To)
}

// hasClass reports whether f selects records of a class, by severity and state alone.
func (f *Filter) hasClass(class uint8) bool {
	return f.Severities.Has(alarms.Severity(class&3)) && (f.State == "" || (f.State == Firing) == (class&4 != 0))
}

// Filter selects records. The zero value selects all.
type Filter struct {
	Severities alarms.SeveritySet // the zero set for every severity
	Source     string             // part of the source; compared by [FoldSource]
	Text       string             // part of the title or of the description; the letters A to Z match in either case
	State      State              // empty for any
	Labels     map[string]string  // the record has all of these
	From, To   time.Time          // From <= Key.At < To; the zero time does not limit
}

// State is whether an alert is over.
type State string

// The states of records.
const (
	Firing   State = "firing"
	Resolved State = "resolved"
)

// selects reports whether f selects a record, apart from severity, state and time.
func (f *Filter) selects(r *alerting.Record, source, text string) bool {
	if source != "" && !strings.Contains(FoldSource(r.Source), source) ||
		text != "" && !strings.Contains(alarms.FoldCase(r.Title), text) && !strings.Contains(alarms.FoldCase(r.Description), text) {
		return false
	}
	for name, value := range f.Labels {
		if got, ok := r.Labels[name]; !ok || got != value {
			return false
		}
	}
	return true
}

// FoldSource returns the form in which sources are compared with a part of one, regardless of case.
func FoldSource(source string) string { return strings.ToLower(source) }
