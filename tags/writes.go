package tags

import (
	"cmp"
	"context"
	"slices"
	"strings"
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
	WriteFailed      WriteState = "Failed" // the device has not taken it; Error has the reason
	// WriteUnknown: the device may have taken it; it is not repeated. It is final but for one case: if the engine that had the write was taken
	// for lost and turns out to live, what it knows of the device takes its place.
	WriteUnknown WriteState = "Unknown"
)

// WriteStates returns all states.
func WriteStates() []WriteState {
	return []WriteState{WriteQueued, WriteDone, WriteConfirmed, WriteUnconfirmed, WriteFailed, WriteUnknown}
}

// Final reports whether a state does not change any more.
func (s WriteState) Final() bool { return s != WriteQueued }

// Write is one write to one tag and its outcome.
type Write struct {
	ID          string // UUIDv7
	Tag         string
	Driver      string // of the tag when the write was queued
	Address     string // of the tag when the write was queued; empty if it was stored before otkit recorded it
	Value       Value  // in engineering units, as the caller gave it
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
	// List returns what a query selects. If ctx has ended, List returns an error.
	List(ctx context.Context, q WriteQuery) (WritePage, error)
}

// WriteFilter selects writes that have all of its members. The zero WriteFilter selects all.
type WriteFilter struct {
	Driver     string       // exact id; empty for all
	Tag        string       // exact name; empty for all
	Address    string       // A to Z in either case; empty for all
	By         string       // exact; empty for all
	States     []WriteState // one of these; empty for all
	Start, End time.Time    // queued at Start or later and before End; zero for no bound
}

// Selects reports whether f selects w.
func (f *WriteFilter) Selects(w Write) bool {
	return f.selectsAside(w) && (len(f.States) == 0 || slices.Contains(f.States, w.State))
}

// selectsAside is Selects without regard to the state.
func (f *WriteFilter) selectsAside(w Write) bool {
	return (f.Driver == "" || f.Driver == w.Driver) && (f.Tag == "" || f.Tag == w.Tag) && (f.By == "" || f.By == w.By) &&
		(f.Address == "" || FoldAddress(f.Address) == FoldAddress(w.Address)) &&
		(f.Start.IsZero() || !w.QueuedAt.Before(f.Start)) && (f.End.IsZero() || w.QueuedAt.Before(f.End))
}

// FoldAddress returns an address with a to z for A to Z. Filters compare addresses in this form.
func FoldAddress(address string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, address)
}

// WriteQuery asks a log for a part of its writes.
type WriteQuery struct {
	WriteFilter
	// Live has writes with outcomes that the log may not have stored yet. Those that are in the log are selected by this state and
	// returned as they are here. Nothing but the outcome differs from what is stored.
	Live          []Write
	Offset, Limit int  // writes to skip and to return; with Limit 0 none are returned
	Count         bool // set WritePage.Total
}

// WritePage is a part of what a WriteQuery selects.
type WritePage struct {
	Writes []Write // newest first: descending by QueuedAt, then by ID
	Total  int     // with WriteQuery.Count: the number of all that are selected, ignoring Offset and Limit
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

// MarkUnfinishedOf sets the writes to a driver that were queued before the given time, or at any time if that is zero, and have no outcome to
// WriteUnknown, and returns their number. Where engines share the driver, the one that takes it over calls it with the zero time before it accepts writes.
func (l *MemoryWriteLog) MarkUnfinishedOf(ctx context.Context, driver string, before time.Time) (n int64, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, w := range l.byID {
		if w.State == WriteQueued && w.Driver == driver && (before.IsZero() || w.QueuedAt.Before(before)) {
			w.State, w.Error, w.CompletedAt = WriteUnknown, "the engine that had the write was lost before the outcome was known", time.Now().UTC()
			l.byID[id] = w
			n++
		}
	}
	return n, nil
}

// UnfinishedDrivers returns the drivers to which writes were queued before the given time that have no outcome, by id.
func (l *MemoryWriteLog) UnfinishedDrivers(ctx context.Context, before time.Time) (drivers []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.byID {
		if w.State == WriteQueued && w.QueuedAt.Before(before) && !slices.Contains(drivers, w.Driver) {
			drivers = append(drivers, w.Driver)
		}
	}
	slices.Sort(drivers)
	return drivers, nil
}

// List implements WriteLog.
func (l *MemoryWriteLog) List(ctx context.Context, q WriteQuery) (WritePage, error) {
	if err := ctx.Err(); err != nil {
		return WritePage{}, err
	}
	live := make(map[string]Write, len(q.Live))
	for _, w := range q.Live {
		live[w.ID] = w
	}
	var found []Write
	l.mu.Lock()
	for id, w := range l.byID {
		if known, ok := live[id]; ok {
			w = known
		}
		if q.Selects(w) {
			found = append(found, w)
		}
	}
	l.mu.Unlock()
	slices.SortFunc(found, func(a, b Write) int { return cmp.Or(b.QueuedAt.Compare(a.QueuedAt), cmp.Compare(b.ID, a.ID)) })
	var page WritePage
	if q.Count {
		page.Total = len(found)
	}
	from := min(max(q.Offset, 0), len(found))
	page.Writes = slices.Clone(found[from : from+min(max(q.Limit, 0), len(found)-from)])
	return page, nil
}
