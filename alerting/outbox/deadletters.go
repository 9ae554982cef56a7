package outbox

import (
	"context"
	"time"
)

// MaxDeadLetters is the largest page of dead letters.
const MaxDeadLetters = 100

// DeadLetterPage is one page of dead letters.
type DeadLetterPage struct {
	Deliveries []Delivery
	Total      int // of all pages
}

// DeadLetters is an optional interface of a [Store]: it lists what could not be sent, and requeues or discards it. Without it dead
// letters are stored and not listed. It must be safe for concurrent use.
type DeadLetters interface {
	// DeadLetter returns a dead letter, or ErrDeadLetterNotFound.
	DeadLetter(ctx context.Context, id string) (Delivery, error)
	// DeadLetters returns dead letters and their number, of one channel, or of all if channel is empty: descending by Seq and then by
	// ID, limit of them after the first offset.
	DeadLetters(ctx context.Context, channel string, offset, limit int) ([]Delivery, int64, error)
	// RequeueDeadLetters makes dead letters Pending again, without attempts or error, due at now and expiring at expires. It returns
	// their number: the one with the given id, or, if id is empty, those of the channel, or all if that is empty too. Deliveries that
	// are Discarded, Resolved and of the same occurrence, channel and recipient as one of them, or as one that is in a digest of
	// them, become Pending with it; they are not counted.
	RequeueDeadLetters(ctx context.Context, id, channel string, now, expires time.Time) (int, error)
	// DiscardDeadLetters makes dead letters Discarded, settled at now, and returns their number. They are selected as by
	// RequeueDeadLetters.
	DiscardDeadLetters(ctx context.Context, id, channel string, now time.Time) (int, error)
	// CountDeadLetters counts the dead letters of each channel that has any.
	CountDeadLetters(ctx context.Context) (map[string]DeadLetterCount, error)
}

// DeadLetterCount counts the dead letters of a channel.
type DeadLetterCount struct {
	Count  int
	Newest time.Time // when the last of them was given up; zero if there are none
}
