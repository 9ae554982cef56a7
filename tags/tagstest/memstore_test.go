package tagstest_test

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// memHistory is a history store in memory. Its defect, if any, is one that a real store could have.
type memHistory struct {
	defect  string
	mu      sync.Mutex
	samples map[string][]history.Sample // in order of time
	kept    [][]history.Sample          // for the defect of keeping what belongs to the caller
}

func (h *memHistory) key(tag string) string {
	if h.defect == "folds names" {
		return strings.ToLower(tag)
	}
	return tag
}

func (h *memHistory) Append(ctx context.Context, samples []history.Sample) error {
	if ctx.Err() != nil && h.defect != "ignores contexts" {
		return ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.samples == nil {
		h.samples = make(map[string][]history.Sample)
	}
	if h.defect == "keeps the slice" {
		h.kept = append(h.kept, samples)
		return nil
	}
	for _, s := range samples {
		h.insert(h.stored(s))
	}
	return nil
}

func (h *memHistory) stored(s history.Sample) history.Sample {
	s.Time = s.Time.UTC().Truncate(time.Microsecond)
	switch h.defect {
	case "milliseconds":
		s.Time = s.Time.Truncate(time.Millisecond)
	case "ints through float":
		s.Value = throughFloat(s.Value)
	case "empty is nothing":
		if s.Value == tags.StringValue("") {
			s.Value = tags.Value{}
		}
	case "no reason":
		s.Reason = tags.ReasonNone
	}
	return s
}

func throughFloat(v tags.Value) tags.Value {
	if f, ok := v.Float(); ok && v.Type() == tags.Int {
		return tags.IntValue(int64(f))
	}
	return v
}

func byTime(s history.Sample, at time.Time) int { return s.Time.Compare(at) }

func (h *memHistory) insert(s history.Sample) {
	list := h.samples[h.key(s.Tag)]
	i, found := slices.BinarySearchFunc(list, s.Time, byTime)
	switch {
	case h.defect == "unordered":
		list = append(list, s)
	case h.defect == "10,000 at most" && len(list) == 10_000:
	case found && h.defect == "first wins":
	case found:
		list[i] = s
	default:
		list = slices.Insert(list, i, s)
	}
	h.samples[h.key(s.Tag)] = list
}

func (h *memHistory) Range(ctx context.Context, tag string, start, end time.Time) iter.Seq2[history.Sample, error] {
	return func(yield func(history.Sample, error) bool) {
		h.mu.Lock()
		list := slices.Clone(h.samples[h.key(tag)])
		for _, kept := range h.kept {
			for _, s := range kept {
				if s.Tag == tag {
					list = append(list, s)
				}
			}
		}
		if h.defect == "locks while yields" {
			defer h.mu.Unlock()
		} else {
			h.mu.Unlock()
		}
		for _, s := range list {
			if ctx.Err() != nil && h.defect != "ignores contexts" {
				yield(history.Sample{}, ctx.Err())
				return
			}
			if h.within(s.Time, start, end) && !yield(s, nil) {
				return
			}
		}
	}
}

func (h *memHistory) within(at, start, end time.Time) bool {
	switch h.defect {
	case "end inclusive":
		return !at.Before(start) && !at.After(end)
	case "start exclusive":
		return at.After(start) && at.Before(end)
	}
	return !at.Before(start) && at.Before(end)
}

func (h *memHistory) Trim(ctx context.Context, before time.Time, maxBytes int64) error {
	if ctx.Err() != nil && h.defect != "ignores contexts" {
		return ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.defect == "trims the limit" {
		before = before.Add(time.Microsecond)
	}
	var all []history.Sample
	for tag, list := range h.samples {
		i, _ := slices.BinarySearchFunc(list, before, byTime)
		if h.defect != "trims the last before the limit" {
			i = max(0, i-1)
		}
		h.samples[tag] = slices.Clone(list[i:])
		all = append(all, h.samples[tag]...)
	}
	if maxBytes > 0 && h.defect != "ignores maxBytes" {
		h.trimSize(all, maxBytes)
	}
	return nil
}

func (h *memHistory) trimSize(all []history.Sample, maxBytes int64) {
	slices.SortFunc(all, func(a, b history.Sample) int { return b.Time.Compare(a.Time) })
	if h.defect == "trims the newest" {
		slices.Reverse(all)
	}
	clear(h.samples)
	for _, s := range all {
		maxBytes -= int64(len(s.Tag) + len(s.Value.Text()) + 32)
		if maxBytes >= 0 || len(h.samples[h.key(s.Tag)]) == 0 && h.defect != "trims the last by size" {
			h.insert(s)
		}
	}
}

// memWriteLog is a write log in memory.
type memWriteLog struct {
	defect string
	mu     sync.Mutex
	writes map[string]*tags.Write
}

func (l *memWriteLog) Put(ctx context.Context, writes []tags.Write) error {
	if ctx.Err() != nil && l.defect != "ignores contexts" {
		return ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writes == nil {
		l.writes = make(map[string]*tags.Write)
	}
	for i := range writes {
		w := writes[i]
		switch l.defect {
		case "no error text":
			w.Error = ""
		case "completed at once":
			w.CompletedAt = w.QueuedAt
		case "ints through float":
			w.Value = throughFloat(w.Value)
		case "keeps the first":
			if l.writes[w.ID] != nil {
				continue
			}
		case "keeps the slice":
			l.writes[w.ID] = &writes[i]
			continue
		}
		l.writes[w.ID] = &w
	}
	return nil
}

func (l *memWriteLog) Get(_ context.Context, id string) (tags.Write, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if w := l.writes[id]; w != nil {
		return *w, nil
	}
	if l.defect == "wrong error" {
		return tags.Write{}, errors.New("no rows")
	}
	return tags.Write{}, tags.ErrWriteNotFound.On("writeId", id)
}

// List answers from a log that is right, and adds the defect.
func (l *memWriteLog) List(ctx context.Context, q tags.WriteQuery) (tags.WritePage, error) {
	right := tags.NewMemoryWriteLog(10_000)
	l.mu.Lock()
	for _, w := range l.writes {
		_ = right.Put(ctx, []tags.Write{*w})
	}
	l.mu.Unlock()
	switch l.defect {
	case "ignores addresses":
		q.Address = ""
	case "lists the end":
		if !q.End.IsZero() {
			q.End = q.End.Add(time.Microsecond)
		}
	case "lists what is stored":
		q.Live = nil
	case "lists one state":
		q.States = q.States[:min(len(q.States), 1)]
	case "lists users in any case":
		q.By = strings.ToLower(q.By)
	}
	page, err := right.List(ctx, q)
	switch l.defect {
	case "lists the oldest first":
		slices.Reverse(page.Writes)
	case "lists by time alone":
		slices.SortStableFunc(page.Writes, func(a, b tags.Write) int {
			return cmp.Or(b.QueuedAt.Compare(a.QueuedAt), cmp.Compare(a.ID, b.ID))
		})
	case "counts the page":
		page.Total = len(page.Writes)
	}
	return page, err
}
