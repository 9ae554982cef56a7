package alerting

import (
	"context"
	"strings"
	"time"

	"github.com/otkit/otkit/alarms"
)

// RecordKey tells the occurrences of alerts apart: one thing that can go wrong, and when it did.
type RecordKey struct {
	Alarm string    // key of the alarm, such as webhook:<fingerprint> or rule:<id>
	At    time.Time // when it was raised, UTC, whole microseconds
}

// Record is one alert in the history. Times are kept to the microsecond.
type Record struct {
	ID          string // UUIDv7
	Key         RecordKey
	Severity    alarms.Severity
	Source      string
	SourceType  string
	Title       string
	Description string
	Labels      map[string]string // has [LabelSilencedBy] when the alert was silenced
	Annotations map[string]string
	CompletedAt time.Time // when the alert was resolved; zero while it is firing
}

// LabelSilencedBy is the label of a silenced alert; its value is the id of the silence.
const LabelSilencedBy = "silencedBy"

// Completion says when an alert was resolved.
type Completion struct {
	Key RecordKey
	At  time.Time
}

// RecordFilter chooses records. The zero value chooses all.
type RecordFilter struct {
	Severities alarms.SeveritySet // the zero set for every severity
	Source     string             // part of the source; compared by [FoldSource]
	From, To   time.Time          // From <= Key.At < To; the zero time does not limit
}

// FoldSource is the form in which a part of a source is looked for, so that case does not matter.
func FoldSource(source string) string { return strings.ToLower(source) }

// SeverityCount is a number of records.
type SeverityCount struct {
	Severity alarms.Severity
	Count    int64
}

// SourceCount is a number of records.
type SourceCount struct {
	Source string
	Count  int64
}

// HistoryStore keeps the records of alerts. Safe for concurrent use. Package alertingtest has a
// conformance suite.
type HistoryStore interface {
	// ApplyRecords adds records and completes records, in this order and all or nothing. A record
	// whose key is there already is left out, and so is the completion of a record that is complete
	// or not there: what is stored is never changed by a repeat. When it returns nil the records are
	// durable.
	ApplyRecords(ctx context.Context, add []Record, complete []Completion) error
	// Exclusive runs work while nobody else does through a store of the same records, in this process or
	// another one. Work uses this store and others. A store may go on without the lock when whoever holds
	// it does not answer for some seconds.
	Exclusive(ctx context.Context, work func(ctx context.Context) error) error
	// RelatedRecords gives the records that have one of the keys, and those that are not complete
	// and have the alarm of one, each once and in any order. Only ID, Key and CompletedAt need be set.
	RelatedRecords(ctx context.Context, keys []RecordKey) ([]Record, error)
	// Record gives a record with its annotations, or ErrRecordNotFound.
	Record(ctx context.Context, id string) (Record, error)
	// Records gives the records that a filter chooses and their number: the newest first by Key.At
	// and then by ID, limit of them after the first offset ones, without annotations.
	Records(ctx context.Context, f RecordFilter, offset, limit int) ([]Record, int64, error)
	// CountBySeverity counts the records with from <= Key.At < to, where the zero time does not
	// limit. Severities without records may be left out; the order does not matter.
	CountBySeverity(ctx context.Context, from, to time.Time) ([]SeverityCount, error)
	// CountBySource counts as CountBySeverity does, by the exact source.
	CountBySource(ctx context.Context, from, to time.Time) ([]SourceCount, error)
	// TrimRecords removes the records that were completed before the given time. Those that are not
	// complete stay, however old.
	TrimRecords(ctx context.Context, before time.Time) error
}
