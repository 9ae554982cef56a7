package tags

import (
	"context"
	"iter"
	"time"
)

// HistorySample is one stored sample of one tag. Times are kept to the microsecond.
type HistorySample struct {
	Tag     string
	Time    time.Time // the sample's source time
	Value   Value     // zero when the quality is Bad and nothing was known
	Quality Quality
	Reason  Reason
}

// HistoryStore keeps samples. Safe for concurrent use. Package tagstest has a conformance suite.
type HistoryStore interface {
	// Append stores samples of any tags in any order. When it returns nil they survive the end of
	// the process. Two samples of one tag with the same time are one; the later call wins.
	Append(ctx context.Context, samples []HistorySample) error
	// Range yields a tag's samples with start <= time < end in ascending order of time. A tag that
	// was never stored yields nothing. An error ends the sequence.
	Range(ctx context.Context, tag string, start, end time.Time) iter.Seq2[HistorySample, error]
	// Trim removes what is older than before, and the oldest beyond maxBytes where maxBytes > 0.
	Trim(ctx context.Context, before time.Time, maxBytes int64) error
}
