package history

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"
)

// Memory stores samples in memory, for tests and small programs. It is safe for concurrent use.
type Memory struct {
	mu     sync.RWMutex
	series map[string][]Sample // by time
}

// NewMemory returns an empty store.
func NewMemory() *Memory {
	return &Memory{series: make(map[string][]Sample)}
}

func byTime(s Sample, t time.Time) int { return s.Time.Compare(t) }

// Append implements Store.
func (h *Memory) Append(ctx context.Context, samples []Sample) error {
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
func insertFresh(list []Sample, i int, s Sample) []Sample {
	if i == len(list) {
		return append(list, s)
	}
	fresh := make([]Sample, 0, len(list)+1)
	fresh = append(append(fresh, list[:i]...), s)
	return append(fresh, list[i:]...)
}

// Range implements Store.
func (h *Memory) Range(ctx context.Context, tag string, start, end time.Time) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		h.mu.RLock()
		list := h.series[tag]
		h.mu.RUnlock()
		from, _ := slices.BinarySearchFunc(list, start, byTime)
		for _, s := range list[from:] {
			if err := ctx.Err(); err != nil {
				yield(Sample{}, err)
				return
			}
			if !s.Time.Before(end) || !yield(s, nil) {
				return
			}
		}
	}
}

// Newest implements NewestReader.
func (h *Memory) Newest(ctx context.Context, tag string, start, end time.Time, n int) ([]Sample, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h.mu.RLock()
	list := h.series[tag]
	h.mu.RUnlock()
	from, _ := slices.BinarySearchFunc(list, start, byTime)
	until, _ := slices.BinarySearchFunc(list, end, byTime)
	return slices.Clone(list[max(from, until-max(n, 0)):max(from, until)]), nil
}

// sampleBytes is about what one sample takes in memory, beside the text of its value.
const sampleBytes = 120

// Trim implements Store.
func (h *Memory) Trim(ctx context.Context, before time.Time, maxBytes int64) error {
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
		tag   string
		time  time.Time
		bytes int64
	}
	var all []sized
	over := -maxBytes
	for tag, list := range h.series {
		for _, s := range list {
			bytes := int64(sampleBytes + len(s.Value.Text()))
			all = append(all, sized{tag, s.Time, bytes})
			over += bytes
		}
	}
	slices.SortFunc(all, func(a, b sized) int { return a.time.Compare(b.time) })
	stays := make(map[string]int64) // the bytes of the last sample of each tag before the limit
	for _, s := range all {
		if over <= 0 {
			break
		}
		over -= stays[s.tag]
		stays[s.tag] = s.bytes
		before = s.time.Add(1)
	}
	h.cut(before)
	return nil
}

// cut removes what is before a time, but for the last sample of each tag.
func (h *Memory) cut(before time.Time) {
	for tag, list := range h.series {
		if from, _ := slices.BinarySearchFunc(list, before, byTime); from > 1 {
			h.series[tag] = slices.Clone(list[from-1:])
		}
	}
}
