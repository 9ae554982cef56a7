package alarms

import (
	"context"
	"iter"
)

// MaxBatch is the largest number of signals of one Apply.
const MaxBatch = 10_000

// Target is what sources raise and clear alarms in. A Service is a Target. It must be safe for concurrent use.
type Target interface {
	// Apply applies signals, all or none. It returns ErrSignalLapsed if one is not valid any more when it is to be stored.
	Apply(ctx context.Context, signals []Signal) ([]Result, error)
	// EachActive yields all active occurrences. An error ends the sequence.
	EachActive(ctx context.Context) iter.Seq2[Occurrence, error]
}
