package alarms

import (
	"context"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
)

// ListState selects the occurrences of a list by their state.
type ListState string

// The states of lists.
const (
	ListActive   ListState = "active"                  // active and not suppressed
	ListReturned ListState = "returned-unacknowledged" // ended, unacknowledged and not suppressed

	// The newest occurrence of each condition that is shelved, suppressed by design or out of service, if the
	// occurrence is active or unacknowledged. A condition with several reasons is in each of these lists.
	ListShelved      ListState = "shelved"
	ListSuppressed   ListState = "suppressed"
	ListOutOfService ListState = "out-of-service"

	ListAll ListState = "all" // all that are active or unacknowledged, suppressed ones too
)

// ParseListState returns the state with a name, or no state for an empty name. For any other name it returns an
// ErrInvalidRequest.
func ParseListState(name string) (ListState, error) {
	switch s := ListState(name); s {
	case "", ListActive, ListReturned, ListShelved, ListSuppressed, ListOutOfService, ListAll:
		return s, nil
	}
	return "", ErrInvalidRequest.Invalid(fault.Field{Field: "state",
		Message: "must be active, returned-unacknowledged, shelved, suppressed, out-of-service or all"})
}

// Reason returns the suppression whose conditions s selects; 0 for the other states.
func (s ListState) Reason() Suppression {
	switch s {
	case ListShelved:
		return SuppressionShelved
	case ListSuppressed:
		return SuppressionByDesign
	case ListOutOfService:
		return SuppressionOutOfService
	}
	return 0
}

// Counts returns the number of occurrences in each state except ListAll, including those that are not stored yet.
func (s *Service) Counts(ctx context.Context) (map[ListState]int, error) {
	counts := make(map[ListState]int)
	for _, state := range []ListState{ListActive, ListReturned, ListShelved, ListSuppressed, ListOutOfService} {
		p, err := s.occurrences(ctx, Query{State: state, Count: true}, false)
		if err != nil {
			return nil, err
		}
		counts[state] = p.Total
	}
	return counts, nil
}

// Classes is the number of values of Occurrence.Class.
const Classes = 32

// Bits of a class, beside the severity.
const (
	classActive         = 1 << (iota + 2)
	classUnacknowledged // not acknowledged
	classSuppressed
)

// Class returns a number below Classes that stands for everything in o that Query.SelectsClass tests. A store that
// counts occurrences by class finds totals and pages without reading what is before the page.
func (o *Occurrence) Class() uint8 {
	class := uint8(o.Severity) & 3
	if o.Active {
		class |= classActive
	}
	if !o.Acknowledged() {
		class |= classUnacknowledged
	}
	if o.Suppression != 0 {
		class |= classSuppressed
	}
	return class
}

// SelectsClass reports whether q selects occurrences of a class by Active, Unacknowledged, Acknowledged, Suppressed, State and
// Severities. A class does not include the reason of a suppression; see ListState.Reason.
func (q *Query) SelectsClass(class uint8) bool {
	active, open, suppressed := class&classActive != 0, class&classUnacknowledged != 0, class&classSuppressed != 0
	if q.Active && !active || q.Unacknowledged && !open || q.Acknowledged && open || !q.Severities.Has(Severity(class&3)) ||
		q.Suppressed != IncludeSuppressed && (q.Suppressed == OnlySuppressed) != suppressed {
		return false
	}
	switch q.State {
	case "":
		return true
	case ListActive:
		return active && !suppressed
	case ListReturned:
		return !active && open && !suppressed
	}
	return active || open
}

// Counted reports whether counts by class and time are enough to tell how many occurrences q selects.
func (q *Query) Counted() bool { return q.Code == 0 && q.State.Reason() == 0 && q.Search.Empty() }

// selects reports whether q selects o, which is the newest occurrence of its condition, ignoring Before, Offset and
// Limit.
func (q *Query) selects(o *Occurrence) bool {
	reason := q.State.Reason()
	return q.SelectsClass(o.Class()) && (reason == 0 || o.Suppression&reason != 0) && (q.Code == 0 || q.Code == o.Code) &&
		within(o.RaisedAt, q.Start, q.End) && q.matches(o)
}

// within reports whether start <= t < end. A zero bound is no bound.
func within(t, start, end time.Time) bool {
	return (start.IsZero() || !t.Before(start)) && (end.IsZero() || t.Before(end))
}

// matches reports whether s selects an occurrence.
func (s *Search) matches(o *Occurrence) bool {
	if !contains(o.Source, s.Source) || !contains(o.Message, s.Text) {
		return false
	}
	for name, value := range s.Labels {
		if got, ok := o.Labels[name]; !ok || got != value {
			return false
		}
	}
	return true
}

func contains(text, part string) bool {
	return part == "" || strings.Contains(FoldCase(text), FoldCase(part))
}

// FoldCase returns text with the letters A to Z in lower case. Search compares texts in this form.
func FoldCase(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}
