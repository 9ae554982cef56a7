package tags

import (
	"context"
	"slices"
	"sync"
	"time"
)

// WriteState is where a queued write stands.
type WriteState string

// The states of a write. Queued is temporary, the others are final.
const (
	WriteQueued    WriteState = "Queued"
	WriteDone      WriteState = "Written"   // the device took the value
	WriteConfirmed WriteState = "Confirmed" // the device took it and gave it back when read
	// WriteUnconfirmed: the device took the value, but did not give it back, or could not be asked.
	WriteUnconfirmed WriteState = "Unconfirmed"
	WriteFailed      WriteState = "Failed"  // the device has not taken it; Error has the reason
	WriteUnknown     WriteState = "Unknown" // the device may have taken it; it is not repeated
)

// Final reports whether a state does not change any more.
func (s WriteState) Final() bool { return s != WriteQueued }

// Write is one write to one tag and its outcome.
type Write struct {
	ID          string // UUIDv7
	Tag         string
	Value       Value // in engineering units, as the caller gave it
	By          string
	State       WriteState
	Error       string // for WriteUnconfirmed, WriteFailed and WriteUnknown
	Confirm     bool   // the caller or the tag asked for reading back
	QueuedAt    time.Time
	CompletedAt time.Time // zero until the state is final
}

// WriteLog keeps writes and their outcomes: who wrote what, when, and what became of it. The engine
// puts a write in before it queues it, so that a write that was accepted can always be accounted
// for, and puts it in again with its outcome, until that succeeds. Safe for concurrent use.
type WriteLog interface {
	// Put stores writes by ID, replacing what is there. When it returns nil they are durable.
	Put(ctx context.Context, writes []Write) error
	// Get returns a write, or ErrWriteNotFound.
	Get(ctx context.Context, id string) (Write, error)
}

// MemoryWriteLog keeps the newest writes in memory. Safe for concurrent use.
type MemoryWriteLog struct {
	mu    sync.Mutex
	limit int
	byID  map[string]Write
	order []string
}

// NewMemoryWriteLog returns a log of at most limit writes; the oldest are removed first.
func NewMemoryWriteLog(limit int) *MemoryWriteLog {
	return &MemoryWriteLog{limit: max(limit, 1), byID: make(map[string]Write)}
}

// Put implements WriteLog.
func (l *MemoryWriteLog) Put(ctx context.Context, writes []Write) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range writes {
		if _, known := l.byID[w.ID]; !known {
			l.order = append(l.order, w.ID)
		}
		l.byID[w.ID] = w
	}
	if over := len(l.order) - l.limit; over > 0 {
		for _, id := range l.order[:over] {
			delete(l.byID, id)
		}
		l.order = slices.Delete(l.order, 0, over)
	}
	return nil
}

// Get implements WriteLog.
func (l *MemoryWriteLog) Get(ctx context.Context, id string) (Write, error) {
	if err := ctx.Err(); err != nil {
		return Write{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if w, ok := l.byID[id]; ok {
		return w, nil
	}
	return Write{}, ErrWriteNotFound.On("writeId", clip(id))
}
