package alarms

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/google/uuid"
)

// Ref names a condition or an occurrence by exactly one of its members.
type Ref struct {
	Key    string // of a condition
	Code   int64  // of a condition
	ID     string // of an occurrence
	Create bool   // an unknown Key becomes a condition with a new code
}

// ByKey names a condition by its key.
func ByKey(key string) Ref { return Ref{Key: key} }

// ByCode names a condition by its code.
func ByCode(code int64) Ref { return Ref{Code: code} }

// ByID names an occurrence. A UUID may be in either case.
func ByID(id string) Ref { return Ref{ID: canonical(id)} }

// canonical returns the form of a UUID in which occurrences have it.
func canonical(id string) string {
	if u, err := uuid.Parse(id); err == nil && len(id) == len(u.String()) {
		return u.String()
	}
	return id
}

// Found is what a Ref names.
type RefResult struct {
	Condition  *Condition  // nil when there is none
	Occurrence *Occurrence // the one that the Ref names by ID; otherwise Condition.Last, which may be nil
}

// Changes are what one write puts into a store.
type Changes struct {
	Conditions  []*Condition  // to be replaced by code (all but Key; of Last its id)
	Occurrences []*Occurrence // to be added or replaced by ID
	Events      []Event       // to be added
}

// Query selects occurrences. The zero Query selects all.
type Query struct {
	Active         bool              // active ones only
	Unacknowledged bool              // unacknowledged ones only
	Suppressed     SuppressionFilter // default: suppressed ones too
	State          ListState         // default: any
	Severities     SeveritySet
	Code           int64     // of this condition only; 0 for any
	Start, End     time.Time // raised at Start or later and before End; zero for no bound
	Search
	Before        Position // older than this one; the zero Mark for any. For reading on where the last page ended.
	Offset, Limit int      // so many are skipped and given; Limit 0 gives none
	Count         bool     // the number of all that are selected is wanted, Before, Offset and Limit apart
	NoLabels      bool     // the labels are not wanted, so that a store need not read them
}

// Search narrows a list by what occurrences say. Letters A to Z match in either case. The zero Search
// selects all.
type Search struct {
	Source string            // part of the source
	Text   string            // part of the message
	Labels map[string]string // the occurrence has all of these
}

// Empty reports whether s selects all.
func (s *Search) Empty() bool { return s.Source == "" && s.Text == "" && len(s.Labels) == 0 }

// SuppressionFilter selects occurrences by whether they are suppressed.
type SuppressionFilter uint8

// The ways to select suppressed occurrences.
const (
	IncludeSuppressed SuppressionFilter = iota
	ExcludeSuppressed
	OnlySuppressed
)

// Mark is the place of an occurrence in a list.
type Position struct {
	RaisedAt time.Time
	Seq      int64
}

// Mark returns the place of an occurrence in a list.
func (o *Occurrence) Position() Position { return Position{RaisedAt: o.RaisedAt, Seq: o.Seq} }

// Compare returns -1, 0 or 1: the order of lists is from high to low.
func (m Position) Compare(other Position) int {
	return cmp.Or(m.RaisedAt.Compare(other.RaisedAt), cmp.Compare(m.Seq, other.Seq))
}

// Page is a part of what a Query selects.
type Page struct {
	Occurrences []Occurrence // newest first: descending by RaisedAt, then by Seq
	Total       int          // of all that are selected, where Query.Count is set
}

// Hour counts the occurrences raised in one hour of UTC.
type HourlyCount struct {
	Start  time.Time // on the hour
	Counts [4]int    // by Severity
}

// Life is what analytics need of an occurrence.
type ActiveInterval struct {
	Seq                 int64
	Code                int64
	RaisedAt, ClearedAt time.Time // ClearedAt is zero while active
}

// Store keeps conditions, occurrences and the journal. Safe for concurrent use. Times are kept to the
// microsecond. Package alarmstest has a conformance suite.
type Store interface {
	// Write changes the store in one transaction that is apart from all others. It looks up each Ref,
	// calls change with what was found (found[i] for refs[i]) and with the first free sequence number,
	// stores what change returns, and returns when that is durable. change may be called more than once,
	// with fresh values; its error ends the call, is returned, and nothing is stored, new codes
	// included. The values that change is given are its own to alter. Refs that name the same
	// condition get the same *Condition, those that name the same occurrence the same *Occurrence,
	// which is Condition.Last where it is the newest. A Key with Create that is unknown gives a
	// Condition with a new code and no Last; it is stored even if change does not mention it.
	//
	// The events of a call are numbered by change: next, next+1, ... without a gap. An event never
	// becomes visible after one with a higher number has.
	Write(ctx context.Context, refs []Ref, change func(next int64, found []RefResult) (Changes, error)) error

	// Occurrence returns an occurrence or ErrAlarmNotFound.
	Occurrence(ctx context.Context, id string) (Occurrence, error)
	// OccurrencesByID returns the occurrences with these ids, in any order, each once. Unknown ids are omitted.
	OccurrencesByID(ctx context.Context, ids []string) ([]Occurrence, error)
	// Occurrences returns what a query selects.
	Occurrences(ctx context.Context, q Query) (Page, error)
	// Condition returns a condition with its Last, by code or key, or ErrAlarmNotFound.
	Condition(ctx context.Context, ref Ref) (Condition, error)
	// Codes returns the codes of the conditions with these keys. Unknown keys are omitted.
	Codes(ctx context.Context, keys []string) (map[string]int64, error)
	// SuppressedConditions returns the conditions whose Suppression is not 0, each with its Last, by code.
	SuppressedConditions(ctx context.Context) ([]Condition, error)

	// Events returns at most limit events with a number above after, in ascending order.
	Events(ctx context.Context, after int64, limit int) ([]Event, error)
	// EventsOf returns the events of the occurrence with a Seq in ascending order: limit of them after the
	// first offset ones, and the number of all.
	EventsOf(ctx context.Context, occurrence int64, offset, limit int) ([]Event, int, error)

	// Hours counts occurrences with start <= RaisedAt < end by the hour of UTC and severity, ascending.
	// Hours without an occurrence are left out.
	HourlyCounts(ctx context.Context, start, end time.Time) ([]HourlyCount, error)
	// Lives yields the occurrences with start <= RaisedAt < end, ascending by Seq. An error ends it.
	ActiveIntervals(ctx context.Context, start, end time.Time) iter.Seq2[ActiveInterval, error]

	// Trim removes occurrences that were cleared before the given time, and events from before it that
	// were also journalled before it, as their IDs say, which are UUIDv7: an event can be from long before
	// it is heard of. A
	// condition stays with its code and its newest occurrence while it is suppressed, and while there is
	// a resolution or, with the key of a rule, the rule in the same store; otherwise it goes with its
	// newest occurrence, and gets a new code if it comes back.
	Trim(ctx context.Context, before time.Time) error
}

// ResolutionStore keeps resolutions. Safe for concurrent use.
type ResolutionStore interface {
	// AddResolution stores a resolution and returns it with its ID, which is above that of every
	// earlier one.
	AddResolution(ctx context.Context, r Resolution) (Resolution, error)
	// Resolutions returns the resolutions of a code, newest first.
	Resolutions(ctx context.Context, code int64) ([]Resolution, error)
}
