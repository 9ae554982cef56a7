package history

import (
	"context"
	"iter"
	"time"

	"github.com/otkit/otkit/tags"
)

// Sample is a stored sample of a tag. Times have microsecond precision.
type Sample struct {
	Tag     string
	Time    time.Time  // the sample's source time
	Value   tags.Value // zero when the quality is Bad and nothing was known
	Quality tags.Quality
	Reason  tags.Reason
}

// Store stores samples. Implementations are safe for concurrent use. Package tagstest has a conformance suite.
type Store interface {
	// Append stores samples of any tags in any order. When it returns nil, they survive a crash of the
	// machine: bridges delete what is appended. Of two samples of a tag with the same time, the later one replaces the other.
	Append(ctx context.Context, samples []Sample) error
	// Range yields a tag's samples with start <= time < end in ascending order of time. A tag that
	// was never stored yields nothing. An error ends the sequence.
	Range(ctx context.Context, tag string, start, end time.Time) iter.Seq2[Sample, error]
	// Trim removes samples older than before and, if maxBytes > 0, the oldest beyond that size. Of what is older, the last sample of each tag
	// stays, since its value holds until the next one; it may go if the last samples of all tags alone take more than maxBytes.
	Trim(ctx context.Context, before time.Time, maxBytes int64) error
}

// NewestReader is an optional part of a Store that reads the end of a long history cheaply.
type NewestReader interface {
	// Newest returns the newest samples, at most n, that Range yields, in ascending order of time. It should not read much more than those.
	Newest(ctx context.Context, tag string, start, end time.Time, n int) ([]Sample, error)
}

// StoreChanges returns a function for tags.Options.Store that appends changes to store.
func StoreChanges(store Store) func(ctx context.Context, changes []tags.Change) error {
	return func(ctx context.Context, changes []tags.Change) error {
		samples := make([]Sample, len(changes))
		for i := range changes {
			samples[i] = sampleOf(&changes[i])
		}
		return store.Append(ctx, samples)
	}
}

func sampleOf(c *tags.Change) Sample {
	return Sample{Tag: c.Tag.Name, Time: c.HistoryTime(), Value: c.Value, Quality: c.Quality, Reason: c.Reason}
}
