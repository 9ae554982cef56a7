package tags

import (
	"context"
	"slices"
	"sync"
)

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
