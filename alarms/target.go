package alarms

import (
	"context"
	"iter"
)

// MaxBatch is the largest number of signals of one Apply.
const MaxBatch = 10_000

// Target is where sources of alarms raise and clear them. A Service is one.
type Target interface {
	// Apply carries signals out, all or none.
	Apply(ctx context.Context, signals []Signal) ([]Result, error)
	// EachActive yields every active occurrence.
	EachActive(ctx context.Context) iter.Seq2[Occurrence, error]
}
