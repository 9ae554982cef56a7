package history

import (
	"context"
	"time"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
)

// Completion is the time at which an alert was resolved.
type Completion struct {
	Key alerting.RecordKey
	At  time.Time
}

// End is the last end of an alarm that a receiver was notified of, by which senders and when. Times are kept to the microsecond.
type End struct {
	Alarm  string
	At     time.Time // by the sender's clock
	ToldAt time.Time // by the receiver's clock
	By     []string  // the senders that notified of it
}

// Changes are what becomes of records.
type Changes struct {
	Add []alerting.Record
	// Update replaces title, description, annotations, Truncated and Digest of the records with the same keys.
	Update   []alerting.Record
	Complete []Completion
	Ends     []End // replace those of the same alarms
}

// Related is what is known of some alerts.
type Related struct {
	Records []alerting.Record
	Ends    []End
}

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

// Writer stores records. It is all that a dispatcher needs of a history.
type Writer interface {
	// ApplyRecords adds, updates and completes records and keeps ends, in this order and all or nothing. It ignores a record whose key
	// exists, and the completion of a record that is complete or missing. When it returns nil, the changes are durable.
	ApplyRecords(ctx context.Context, changes Changes) error
}

// Store keeps the records of alerts. It must be safe for concurrent use. Package alertingtest has a conformance suite.
//
// A store may also implement [Statistics], [Trimmer] and [ReceiverStore]. A [Service] works without what is missing.
type Store interface {
	Writer
	// Record returns a record with its annotations, or ErrNotFound.
	Record(ctx context.Context, id string) (alerting.Record, error)
	// Records returns the records that a filter selects, in the form of [alerting.Record.Brief], and their number: descending by
	// Key.At and then by ID, limit of them after the first offset. A store must not keep more than that in memory for long.
	Records(ctx context.Context, f Filter, offset, limit int) ([]alerting.Record, int64, error)
}

// Statistics is an optional interface of a [Store]. Without it, statistics return [ErrNoStatistics].
type Statistics interface {
	// CountBySeverity counts the records with from <= Key.At < to, where the zero time does not limit. Severities without records may
	// be omitted; the order does not matter.
	CountBySeverity(ctx context.Context, from, to time.Time) ([]SeverityCount, error)
	// CountBySource counts in the same way, by the exact source. It returns at most [MaxSources], those with the most records and then
	// by name.
	CountBySource(ctx context.Context, from, to time.Time) ([]SourceCount, error)
}

// Trimmer is an optional interface of a [Store]. Without it records stay for ever.
type Trimmer interface {
	// TrimRecords removes the records that were completed, and the ends that were reported, before the given time. Records that are
	// not complete stay.
	TrimRecords(ctx context.Context, before time.Time) error
}

// ReceiverStore is what the receiver of alerts from other systems needs. Without it alerts cannot be received.
type ReceiverStore interface {
	Writer
	// RelatedRecords returns the records that have one of the keys, those that are not complete and have the alarm of one, and the
	// ends of these alarms, each once and in any order. Of a record only ID, Key, CompletedAt and Digest need be set.
	RelatedRecords(ctx context.Context, keys []alerting.RecordKey) (Related, error)
	// CountOpen returns the number of records that are not complete and whose alarm has the prefix.
	CountOpen(ctx context.Context, prefix string) (int64, error)
	// WithLock runs work while nobody else does through a store of the same records, in this process or another one. Work uses this
	// store and others. A store may continue without the lock if its holder does not answer for some seconds.
	WithLock(ctx context.Context, work func(ctx context.Context) error) error
}

// Complete is a [Store] with all optional interfaces.
type Complete interface {
	Store
	Statistics
	Trimmer
	ReceiverStore
}
