package predictive

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/otkit/otkit/predictive/features"
)

// input is a tag that is read as a signal.
type input struct {
	signal  int
	tag     string
	setting bool
}

// pageSize is how many samples of a tag are held while several tags are read.
const pageSize = 1024

// read calls use with the samples of tags from a time, included, to another, excluded, in the order of time, settings first. It holds one
// page of each tag and one query open.
func read(ctx context.Context, history History, inputs []input, from, to time.Time, use func(signal int, at time.Time, value float64) error) error {
	q := make(queue, 0, len(inputs))
	for _, in := range inputs {
		c := &cursor{input: in, next: from}
		if err := c.fill(ctx, history, to); err != nil {
			return err
		}
		if len(c.page) > 0 {
			q = append(q, c)
		}
	}
	heap.Init(&q)
	for len(q) > 0 {
		c := q[0]
		sample := c.page[c.place]
		if err := use(c.signal, sample.Time, sample.Value); err != nil {
			return err
		}
		if c.place++; c.place == len(c.page) {
			if err := c.fill(ctx, history, to); err != nil {
				return err
			}
			if len(c.page) == 0 {
				heap.Pop(&q)
				continue
			}
		}
		heap.Fix(&q, 0)
	}
	return nil
}

// cursor reads a tag by pages.
type cursor struct {
	input
	page  []Sample
	place int
	next  time.Time
	done  bool
}

// fill reads the next page that has usable samples. Without one the page is empty.
func (c *cursor) fill(ctx context.Context, history History, to time.Time) error {
	c.page, c.place = c.page[:0], 0
	for !c.done && len(c.page) == 0 && c.next.Before(to) {
		read := 0
		for sample, err := range history.Samples(ctx, c.tag, c.next, to) {
			if err != nil {
				return fmt.Errorf("predictive: reading the history of %s: %w", c.tag, err)
			}
			if sample.Time.Before(c.next) || !sample.Time.Before(to) {
				continue
			}
			c.next = sample.Time.Add(1)
			if !sample.Bad && finite(sample.Value) {
				c.page = append(c.page, sample)
			}
			if read++; read == pageSize {
				break
			}
		}
		c.done = read < pageSize
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// queue has the cursor with the oldest sample first.
type queue []*cursor

func (q queue) Len() int      { return len(q) }
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
	if c := a.page[a.place].Time.Compare(b.page[b.place].Time); c != 0 {
		return c < 0
	}
	if a.setting != b.setting {
		return a.setting
	}
	return cmp.Less(a.signal, b.signal)
}
func (q *queue) Push(x any) { *q = append(*q, x.(*cursor)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// tooLarge reports whether a value is a number that features and detectors cannot be computed with, such as what some sensors send when they fail.
func tooLarge(v float64) bool { return finite(v) && math.Abs(v) > features.MaxValue }

// leftOut tells of samples that are too large, empty for none.
func leftOut(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("; %d more are left out, because their values are beyond %g", n, float64(features.MaxValue))
}

// largeCounter is a history that counts the samples that are too large.
type largeCounter struct {
	History
	n int
}

// Samples implements [History].
func (c *largeCounter) Samples(ctx context.Context, tag string, from, to time.Time) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		for sample, err := range c.History.Samples(ctx, tag, from, to) {
			if err == nil && !sample.Bad && tooLarge(sample.Value) {
				c.n++
			}
			if !yield(sample, err) {
				return
			}
		}
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// inputsOf returns the tags of an equipment that are the signals of an extractor. A role that several tags have is that of the first.
func inputsOf(signals []features.Signal, tags []Tag) (list []input) {
	for i, signal := range signals {
		for _, t := range tags {
			if t.Role == signal.Name {
				list = append(list, input{i, t.ID, signal.Setting})
				break
			}
		}
	}
	return list
}

// newest returns the newest usable samples, at most n, of a tag from a time to another, oldest first.
func (s *Service) newest(ctx context.Context, tag string, from, to time.Time, n int) ([]Sample, error) {
	if reader, ok := s.deps.History.(NewestReader); ok {
		list, err := reader.Newest(ctx, tag, from, to, n)
		if unusable := func(s Sample) bool { return s.Bad || !finite(s.Value) }; slices.ContainsFunc(list, unusable) {
			list = slices.DeleteFunc(slices.Clone(list), unusable)
		}
		return list, err
	}
	// The history begins with the oldest. Longer spans are tried until one has enough.
	for span := min(time.Hour, to.Sub(from)); ; span *= 4 {
		start := laterOf(to.Add(-span), from)
		ring := make([]Sample, 0, min(n, 1024))
		count := 0
		err := read(ctx, s.deps.History, []input{{tag: tag}}, start, to, func(_ int, at time.Time, value float64) error {
			if sample := (Sample{Time: at, Value: value}); len(ring) < n {
				ring = append(ring, sample)
			} else {
				ring[count%n] = sample
			}
			count++
			return nil
		})
		if err != nil {
			return nil, err
		}
		if count >= n || !start.After(from) {
			if count > n {
				ring = append(slices.Clone(ring[count%n:]), ring[:count%n]...)
			}
			return ring, nil
		}
	}
}
