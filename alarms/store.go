package alarms

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"
)

// Ref names a condition or an occurrence by exactly one of its members.
type Ref struct {
	Key    string // of a condition
	Code   int64  // of a condition
	ID     string // of an occurrence
	Create bool   // if Key is unknown, create a condition with a new code
}

// ByKey names a condition by its key.
func ByKey(key string) Ref { return Ref{Key: key} }

// ByCode names a condition by its code.
func ByCode(code int64) Ref { return Ref{Code: code} }

// ByID names an occurrence. The UUID is not case-sensitive.
func ByID(id string) Ref { return Ref{ID: canonical(id)} }

// canonical returns a UUID in the form that occurrences have.
func canonical(id string) string {
	if u, err := uuid.Parse(id); err == nil && len(id) == len(u.String()) {
		return u.String()
	}
	return id
}

// RefResult is what a [Ref] names.
type RefResult struct {
	Condition  *Condition  // nil for none
	Occurrence *Occurrence // the one that a Ref by ID names; otherwise Condition.Last, which may be nil
}

// Changes are what one write changes in a store.
type Changes struct {
	// Conditions are to replace by code. Store every member except Key, and of Last only which one it is: the newest
	// occurrence may have a lower number than one that was reported late.
	Conditions  []*Condition
	Occurrences []*Occurrence // to add, or replace by ID
	Events      []Event       // to add
}

// Query selects occurrences. The zero Query matches all and returns none: set Limit.
type Query struct {
	Active         bool              // active ones only
	Unacknowledged bool              // unacknowledged ones only
	Acknowledged   bool              // acknowledged ones only
	Suppressed     SuppressionFilter // default: IncludeSuppressed
	State          ListState         // default: any
	Severities     SeveritySet
	Code           int64     // of the condition; 0 for any
	Start, End     time.Time // raised at Start or later and before End; zero for no bound
	Search
	Before        Position // only after this position in the list, to continue where a page ended; zero for any
	Offset, Limit int      // occurrences to skip and to return; with Limit 0 none are returned
	Count         bool     // set Page.Total
	NoLabels      bool     // labels are not needed, so a store need not read them
}

// Search selects occurrences by their texts and labels. Source and Text match A to Z in either case; labels match exactly.
// The zero Search selects all.
type Search struct {
	Source string            // part of the source
	Text   string            // part of the message
	Labels map[string]string // the occurrence has all of these, each name with this value
}

// Empty reports whether s selects all.
func (s *Search) Empty() bool { return s.Source == "" && s.Text == "" && len(s.Labels) == 0 }

// SuppressionFilter selects occurrences by whether they are suppressed.
type SuppressionFilter uint8

// The values of a SuppressionFilter.
const (
	IncludeSuppressed SuppressionFilter = iota
	ExcludeSuppressed
	OnlySuppressed
)

// Position is the position of an occurrence in lists.
type Position struct {
	RaisedAt time.Time
	Seq      int64
}

// Position returns the position of an occurrence in lists.
func (o *Occurrence) Position() Position { return Position{RaisedAt: o.RaisedAt, Seq: o.Seq} }

// Compare returns -1, 0 or +1 if m is lower than, equal to or higher than other. Lists are in descending order.
func (m Position) Compare(other Position) int {
	return cmp.Or(m.RaisedAt.Compare(other.RaisedAt), cmp.Compare(m.Seq, other.Seq))
}

// Page is a part of what a Query selects.
type Page struct {
	Occurrences []Occurrence // newest first: descending by RaisedAt, then by Seq
	Total       int          // with Query.Count: the number of all that are selected, ignoring Before, Offset and Limit
}

// Store stores conditions, occurrences and the journal. It must be safe for concurrent use. Times in Changes have whole
// microseconds, so a store need not round; their zone has no meaning. Sequence numbers and codes begin at 1 and are never used
// again. A method whose context has ended returns an error. A store does not share its values: callers may change what they
// passed or received, except for Labels. Package alarmstest has a conformance suite.
//
// A store may also implement [CodeLister], [EventLister], [Statistics], [Trimmer] and [ResolutionStore]. [New] checks
// once, and the service works without what is missing.
type Store interface {
	// Write changes the store in one transaction that is isolated from all others. It looks up each Ref,
	// calls change with what was found (found[i] for refs[i]) and with the first free sequence number,
	// stores what change returns, and returns when that is durable. change may be called more than once,
	// with fresh values. If it returns an error, Write returns that error and stores nothing, no new codes
	// either. change may alter the values that it gets. Refs that name the same condition get the same
	// *Condition, those that name the same occurrence the same *Occurrence, which is Condition.Last if it
	// is the newest. So the Occurrence of a Ref by Key or Code is Condition.Last; that of a Ref by ID is the
	// occurrence with the ID, and its Condition has a Last. What is unknown has neither a Condition nor an
	// Occurrence, except that an unknown Key with Create results in a Condition with a new code and no Last;
	// it is stored even if change does not return it.
	//
	// change numbers the events of a call: next, next+1, ... without a gap. An event never becomes visible
	// after one with a higher number has.
	Write(ctx context.Context, refs []Ref, change func(next int64, found []RefResult) (Changes, error)) error

	// Occurrences returns what a query selects.
	Occurrences(ctx context.Context, q Query) (Page, error)
	// OccurrencesByID returns the occurrences with these ids, in any order, each once. Unknown ids are omitted.
	OccurrencesByID(ctx context.Context, ids []string) ([]Occurrence, error)
	// Condition returns a condition with its Last, by code or key, or ErrAlarmNotFound.
	Condition(ctx context.Context, ref Ref) (Condition, error)
	// SuppressedConditions returns the conditions whose Suppression is not 0, each with its Last, by code. It is
	// required because shelving would not end without it.
	SuppressedConditions(ctx context.Context) ([]Condition, error)
	// Events returns at most limit events with a number above after, in ascending order.
	Events(ctx context.Context, after int64, limit int) ([]Event, error)
}
