package bridge

import (
	"context"
	"time"

	"github.com/otkit/otkit/discovery/link"
)

// Buffer keeps blocks of entries until an engine has them. Packages storage/bufferstore and [NewMemoryBuffer] implement it; package
// bridgetest has a conformance suite. Safe for concurrent use.
//
// A buffer has an epoch: a random id for one sequence of numbers. No number is used twice in an epoch, also when the process ends and
// everything was removed. When a buffer finds that it is damaged, it saves what it can, begins a new epoch and numbers what is left
// from 1. That can happen at any call, so Append, Peek and Ack name the epoch that the caller's numbers are of: with another one they do
// nothing and return [ErrEpoch].
type Buffer interface {
	// Append adds blocks, whose numbers are above [BufferStats].Last and ascend. Numbers may be left out: their entries are lost. When Append
	// returns nil, the blocks survive a crash; otherwise none is added. If the buffer is full, the oldest blocks give way.
	Append(ctx context.Context, epoch string, blocks []link.Block) error
	// Peek returns the oldest blocks that have entries after a number, in order: at most maxBytes of data, but at least one block if there is one.
	// The first may begin before the number.
	Peek(ctx context.Context, epoch string, after uint64, maxBytes int) ([]link.Block, error)
	// Ack removes the blocks whose entries all have a number up to through.
	Ack(ctx context.Context, epoch string, through uint64) error
	// Renew begins a new epoch. Blocks with entries up to after are removed; the entry after+1 gets the number 1, and so on. Names stay.
	Renew(ctx context.Context, after uint64) error

	// Names returns the dictionary: the name of each index that entries use.
	Names(ctx context.Context) ([]string, error)
	// AddNames appends to the dictionary. When it returns nil, the names survive a crash.
	AddNames(ctx context.Context, names []string) error

	// Epoch returns the id of the current epoch.
	Epoch() string
	// Stats returns what the buffer holds and what it has dropped.
	Stats(ctx context.Context) (BufferStats, error)
	// Close ends the buffer's work. It may be called again.
	Close(ctx context.Context) error
}

// BufferStats describes what a [Buffer] holds. The counters run from the begin of the epoch, also across restarts where the buffer survives them.
type BufferStats struct {
	Epoch    string
	First    uint64    // number of the oldest entry; 0 if there is none
	Last     uint64    // the highest number that was used in the epoch; 0 before the first
	Entries  uint64    // that wait
	Oldest   time.Time // when the oldest block was appended; zero if there is none
	Bytes    int64     // on disk, all files; in memory, of data
	MaxBytes int64     // the limit of Bytes; 0 if there is none

	Dropped uint64 // entries that gave way to newer ones, because the buffer was full
	Expired uint64 // entries that were removed because of their age

	// Damage says how the buffer was found damaged when the epoch began, for people; empty if it was not. DamagedAt is when.
	Damage    string
	DamagedAt time.Time
}

// ValidateBlocks checks blocks that are to be appended after the entry last, for implementations of [Buffer]. The error is an ErrBlocks.
func ValidateBlocks(last uint64, blocks []link.Block) error {
	for i := range blocks {
		b := &blocks[i]
		if b.Count < 1 || b.First <= last || b.Last() < b.First {
			return ErrBlocks.Because("%d entries from number %d after number %d", b.Count, b.First, last)
		}
		last = b.Last()
	}
	return nil
}
