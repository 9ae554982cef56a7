package tags

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"
)

// MemoryWriteLog keeps the newest writes in memory. Safe for concurrent use.
type MemoryWriteLog struct {
	mu    sync.Mutex
	limit int
	byID  map[string]Write
	order []string
}

// NewMemoryWriteLog makes a log of at most limit writes; the oldest are forgotten first.
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

// MemoryHistory keeps samples in memory, for tests and for programs that need no more. Safe for
// concurrent use.
type MemoryHistory struct {
	mu     sync.RWMutex
	series map[string][]HistorySample // by time
}

// NewMemoryHistory makes an empty history.
func NewMemoryHistory() *MemoryHistory {
	return &MemoryHistory{series: make(map[string][]HistorySample)}
}

func byTime(s HistorySample, t time.Time) int { return s.Time.Compare(t) }

// Append implements HistoryStore.
func (h *MemoryHistory) Append(ctx context.Context, samples []HistorySample) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range samples {
		s.Time = s.Time.UTC().Truncate(time.Microsecond)
		list := h.series[s.Tag]
		i, found := len(list), false
		if i > 0 && !list[i-1].Time.Before(s.Time) {
			i, found = slices.BinarySearchFunc(list, s.Time, byTime)
		}
		if found {
			// Readers may hold the old slice, so it is replaced and not written into.
			list = slices.Clone(list)
			list[i] = s
		} else {
			list = insertFresh(list, i, s)
		}
		h.series[s.Tag] = list
	}
	return nil
}

// insertFresh inserts without moving elements that a reader may be looking at.
func insertFresh(list []HistorySample, i int, s HistorySample) []HistorySample {
	if i == len(list) {
		return append(list, s)
	}
	fresh := make([]HistorySample, 0, len(list)+1)
	fresh = append(append(fresh, list[:i]...), s)
	return append(fresh, list[i:]...)
}

// Range implements HistoryStore.
func (h *MemoryHistory) Range(ctx context.Context, tag string, start, end time.Time) iter.Seq2[HistorySample, error] {
	return func(yield func(HistorySample, error) bool) {
		h.mu.RLock()
		list := h.series[tag]
		h.mu.RUnlock()
		from, _ := slices.BinarySearchFunc(list, start, byTime)
		for _, s := range list[from:] {
			if err := ctx.Err(); err != nil {
				yield(HistorySample{}, err)
				return
			}
			if !s.Time.Before(end) || !yield(s, nil) {
				return
			}
		}
	}
}

// sampleBytes is about what one sample takes in memory, beside the text of its value.
const sampleBytes = 120

// Trim implements HistoryStore.
func (h *MemoryHistory) Trim(ctx context.Context, before time.Time, maxBytes int64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cut(before)
	if maxBytes <= 0 {
		return nil
	}
	type sized struct {
		time  time.Time
		bytes int64
	}
	var all []sized
	over := -maxBytes
	for _, list := range h.series {
		for _, s := range list {
			bytes := int64(sampleBytes + len(s.Value.text))
			all = append(all, sized{s.Time, bytes})
			over += bytes
		}
	}
	if over <= 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b sized) int { return a.time.Compare(b.time) })
	last := 0
	for over -= all[0].bytes; over > 0; over -= all[last].bytes {
		last++
	}
	h.cut(all[last].time.Add(1)) // with it goes what was taken at the same time
	return nil
}

func (h *MemoryHistory) cut(before time.Time) {
	for tag, list := range h.series {
		from, _ := slices.BinarySearchFunc(list, before, byTime)
		if from == len(list) {
			delete(h.series, tag)
		} else if from > 0 {
			h.series[tag] = slices.Clone(list[from:])
		}
	}
}
