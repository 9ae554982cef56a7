package storage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/storage/internal/chunk"
	"github.com/otkit/otkit/tags"
)

// History is tags.HistoryStore over the database. What is appended is first stored batch by batch;
// compaction moves it into chunks of one tag each. The database alone knows what there is, so that
// several engines can share it. Safe for concurrent use.
type History struct {
	set   *set
	opts  Options
	names nameCache

	mu      sync.Mutex
	waiting int // samples appended by this process since the last compaction
	wake    chan struct{}
	stop    context.CancelFunc
	ended   chan struct{}
}

var _ tags.HistoryStore = (*History)(nil)

func newHistory(s *set, opts Options) *History {
	ctx, stop := context.WithCancel(context.Background())
	h := &History{set: s, opts: opts, wake: make(chan struct{}, 1), stop: stop, ended: make(chan struct{})}
	if opts.CompactAfter < 0 {
		close(h.ended)
	} else {
		go h.compactLoop(ctx)
	}
	return h
}

func (h *History) close() {
	h.stop()
	<-h.ended
}

// Append implements tags.HistoryStore. Each call is one transaction.
func (h *History) Append(ctx context.Context, samples []tags.HistorySample) error {
	if err := ctx.Err(); err != nil {
		return errCanceled.Wrap(err)
	}
	if len(samples) == 0 {
		return nil
	}
	ids, err := h.ids(ctx, samples)
	if err != nil {
		return err
	}
	batches := encodeBatches(ids, samples)
	err = h.set.update(ctx, "history.append", func(ctx context.Context, tx *Tx) error {
		for i := range batches {
			b := &batches[i]
			_, err := tx.Exec(ctx, "INSERT INTO history_wal (min_us, max_us, count, data) VALUES (?, ?, ?, ?)",
				b.min, b.max, b.count, b.data)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		h.appended(len(samples))
	}
	return err
}

// appended counts what waits for compaction. The count is only a hint when to compact; at the
// latest the clock does.
func (h *History) appended(n int) {
	h.mu.Lock()
	h.waiting += n
	full := h.waiting >= h.opts.CompactSamples
	h.mu.Unlock()
	if full {
		select {
		case h.wake <- struct{}{}:
		default: // it is awake already
		}
	}
}

// encodeBatches sorts samples by tag and time, drops all but the last of each, and packs them. One
// call's samples are one batch unless they are very many.
func encodeBatches(ids []int64, samples []tags.HistorySample) []batch {
	type key struct {
		id, micros int64
		at         int
	}
	keys := make([]key, len(samples))
	sorted := true
	for i := range samples {
		keys[i] = key{ids[i], samples[i].Time.UnixMicro(), i}
		if i > 0 && (keys[i-1].id > keys[i].id || keys[i-1].id == keys[i].id && keys[i-1].micros >= keys[i].micros) {
			sorted = false
		}
	}
	if !sorted {
		slices.SortFunc(keys, func(a, b key) int {
			return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.micros, b.micros), cmp.Compare(a.at, b.at))
		})
	}
	var (
		out    []batch
		w      batchWriter
		points []chunk.Point
	)
	for i := 0; i < len(keys); {
		id := keys[i].id
		points = points[:0]
		for ; i < len(keys) && keys[i].id == id && len(points) < chunk.MaxPoints; i++ {
			s := &samples[keys[i].at]
			p := chunk.Point{Micros: keys[i].micros, Value: s.Value, Quality: s.Quality, Reason: s.Reason}
			if n := len(points); n > 0 && points[n-1].Micros == p.Micros {
				points[n-1] = p
			} else {
				points = append(points, p)
			}
		}
		w.add(id, points)
		if w.full() || i == len(keys) {
			out = append(out, w.finish())
		}
	}
	return out
}

// nameCache remembers the numbers of tags. A number never changes, so that what it remembers is
// always right, in several engines too.
type nameCache struct {
	mu  sync.RWMutex
	ids map[string]int64
}

// maxNames bounds the cache: some 30 MB.
const maxNames = 300_000

func (c *nameCache) get(name string) (int64, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	id, ok := c.ids[name]
	return id, ok
}

func (c *nameCache) put(names []string, ids []int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ids == nil || len(c.ids)+len(names) > maxNames {
		c.ids = make(map[string]int64, len(names))
	}
	for i, name := range names {
		c.ids[name] = ids[i]
	}
}

func (c *nameCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids = nil
}

// ids gives the number of each sample's tag and numbers new tags.
func (h *History) ids(ctx context.Context, samples []tags.HistorySample) ([]int64, error) {
	out := make([]int64, len(samples))
	var missing []string
	h.names.mu.RLock()
	for i := range samples {
		id, ok := h.names.ids[samples[i].Tag]
		if out[i] = id; !ok {
			missing = append(missing, samples[i].Tag)
		}
	}
	h.names.mu.RUnlock()
	if len(missing) == 0 {
		return out, nil
	}
	slices.Sort(missing)
	missing = slices.Compact(missing)
	numbers, err := h.number(ctx, missing)
	if err != nil {
		return nil, err
	}
	h.names.put(missing, numbers)
	for i := range samples {
		if out[i] == 0 {
			at, _ := slices.BinarySearch(missing, samples[i].Tag)
			out[i] = numbers[at]
		}
	}
	return out, nil
}

// number gives the numbers of tags, with new ones for those that have none. Numbers begin at 1.
func (h *History) number(ctx context.Context, names []string) ([]int64, error) {
	out := make([]int64, len(names))
	rows := make([][]any, len(names))
	for i, name := range names {
		rows[i] = []any{name}
	}
	err := h.set.update(ctx, "history.number", func(ctx context.Context, tx *Tx) error {
		err := tx.Insert(ctx, "INSERT INTO history_tag (name) VALUES", rows, "ON CONFLICT (name) DO NOTHING")
		if err != nil {
			return err
		}
		for i, name := range names {
			if err := tx.Row(ctx, "SELECT id FROM history_tag WHERE name = ?", []any{name}, &out[i]); err != nil {
				return err
			}
		}
		return nil
	})
	return out, err
}

// compactLoop compacts until the context ends.
func (h *History) compactLoop(ctx context.Context) {
	defer close(h.ended)
	tick := time.NewTicker(h.opts.CompactAfter)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		case <-tick.C:
		}
		if err := h.Compact(ctx); err != nil && !errors.Is(err, context.Canceled) {
			h.opts.Logger.Error("history was not compacted", "error", err)
		}
	}
}
