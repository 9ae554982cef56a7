package predictive

import (
	"context"
	"iter"
	"time"
)

// Sample is a value of a tag.
type Sample struct {
	Time  time.Time
	Value float64
	// Bad is set when the source says that the value cannot be used.
	Bad bool
}

// History has the samples of tags. It is safe for concurrent use.
type History interface {
	// Samples returns the samples of a tag from a time, included, to another, excluded, oldest first. A caller that stops early must not
	// cost more than what it has read. An unknown tag has no samples. After an error the sequence ends.
	Samples(ctx context.Context, tag string, from, to time.Time) iter.Seq2[Sample, error]
}

// NewestReader is an optional part of a [History] that makes anomaly calls cheaper.
type NewestReader interface {
	// Newest returns the newest samples, at most n, of a tag from a time, included, to another, excluded, oldest first.
	Newest(ctx context.Context, tag string, from, to time.Time, n int) ([]Sample, error)
}

// Tag is a signal of an equipment.
type Tag struct {
	ID string
	// Role is the name that tags of the same meaning share among equipments, such as vibration. Empty means the id without the name of
	// the equipment; see [RoleOf].
	Role string
	Unit string
	// Setting is set for a tag that says how the equipment is run, such as load, speed or product.
	Setting bool
}

// Inventory knows the equipments and their tags. It is safe for concurrent use. Nobody changes the lists that it returns.
type Inventory interface {
	// Equipments returns the ids of all equipments.
	Equipments(ctx context.Context) ([]string, error)
	// Tags returns the tags of an equipment, none for an unknown one.
	Tags(ctx context.Context, equipment string) ([]Tag, error)
}

// TagFinder is an optional part of an [Inventory] that makes anomaly calls cheaper.
type TagFinder interface {
	// HasTag reports whether a tag exists.
	HasTag(ctx context.Context, tag string) (bool, error)
}

// Interval is a span of time from Start, included, to End, excluded.
type Interval struct{ Start, End time.Time }

// Downtime tells when an equipment was stopped on purpose. Its samples are then used neither for trainings nor for predictions.
type Downtime interface {
	// Downtimes returns the planned stops of an equipment that overlap a span of time, in any order.
	Downtimes(ctx context.Context, equipment string, from, to time.Time) ([]Interval, error)
}
