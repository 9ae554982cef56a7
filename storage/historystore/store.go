package historystore

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore/internal/chunk"
	"github.com/otkit/otkit/tags/history"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of the history of samples.
func Schema() storage.Schema {
	return storage.Schema{Name: "history", Set: storage.History, Migrations: migrations, Upgrade: adopt, Tables: []storage.Table{
		{Name: "history_tag", Key: "id", Serial: "id"},
		{Name: "history_wal", Key: "seq", Serial: "seq"},
		{Name: "history_waiting", Key: "seq", Serial: "seq"},
		{Name: "history_chunk", Key: "tag_id, start_us"},
		{Name: "history_summary", Key: "tag_id, start_us"},
		{Name: "history_total", Key: "id", Seeded: true},
	}}
}

// Options are the settings of the history. The zero Options works.
//
// Samples wait until there are enough of a tag to be compacted, about 100, or until the oldest has waited for
// CompactAfter. The store checks for such tags after CompactSamples appended samples.
type Options struct {
	CompactSamples int           // 1000..10 million, default 500,000
	CompactAfter   time.Duration // at least 1 s, default 10 min; negative: only Compact compacts
}

const defaultCompactAfter = 10 * time.Minute

func (o Options) withDefaults() (Options, error) {
	if o.CompactSamples == 0 {
		o.CompactSamples = 500_000
	}
	if o.CompactSamples < 1000 || o.CompactSamples > 10_000_000 {
		return o, storage.ErrOption.Because("CompactSamples must be 1000 to 10000000, not %d", o.CompactSamples)
	}
	if o.CompactAfter == 0 {
		o.CompactAfter = defaultCompactAfter
	}
	if o.CompactAfter > 0 && o.CompactAfter < time.Second {
		return o, storage.ErrOption.Because("CompactAfter must be at least 1 s, not %s", o.CompactAfter)
	}
	return o, nil
}

// Store keeps the history of samples. Appended samples are first stored as they come, in rows for groups of tags
// (shards); compaction moves them into chunks of one tag each. The database alone knows what there is, so that several
// engines can share it. Safe for concurrent use.
type Store struct {
	db    *storage.DB
	set   *storage.Set
	opts  Options
	names nameCache

	mu      sync.Mutex
	waiting int // samples appended by this process since the last compaction
	lacking []summaryKey
	wake    chan struct{}
}

var (
	_ history.Store        = (*Store)(nil)
	_ history.NewestReader = (*Store)(nil)
	_ history.Summarizer   = (*Store)(nil)
	_ storage.Evictor      = (*Store)(nil)
)

// New returns a store over a database that was opened with [Schema]. It compacts in the background until the database
// is closed, unless the database leaves maintenance to another process.
func New(db *storage.DB, opts Options) (*Store, error) {
	set, err := db.SetOf(Schema())
	if err != nil {
		return nil, err
	}
	if opts, err = opts.withDefaults(); err != nil {
		return nil, err
	}
	h := &Store{db: db, set: set, opts: opts, wake: make(chan struct{}, 1)}
	db.SetEvictor(h)
	if opts.CompactAfter > 0 && db.Maintenance() {
		ctx, stop := context.WithCancel(context.Background())
		ended := make(chan struct{})
		db.OnClose(func() { stop(); <-ended })
		go func() {
			defer close(ended)
			h.compactLoop(ctx)
		}()
	}
	return h, nil
}

// Append implements history.Store. Each call is one transaction.
func (h *Store) Append(ctx context.Context, samples []history.Sample) error {
	if err := ctx.Err(); err != nil {
		return storage.ErrCanceled.Wrap(err)
	}
	if len(samples) == 0 {
		return nil
	}
	if h.db.EvictorPaused() {
		return storage.ErrFull.Because("the history is paused: disk space low")
	}
	ids, err := h.ids(ctx, samples)
	if err != nil {
		return err
	}
	batches := encodeBatches(ids, samples)
	err = h.set.Update(ctx, "history.append", func(ctx context.Context, tx *storage.Tx) error {
		return insertBatches(ctx, tx, batches, h.set.Now())
	})
	if err == nil {
		h.appended(len(samples))
	}
	return err
}

// insertBatches inserts batches that wait from now on.
func insertBatches(ctx context.Context, tx *storage.Tx, batches []batch, now time.Time) error {
	rows := make([][]any, len(batches))
	for i := range batches {
		b := &batches[i]
		rows[i] = []any{b.shard, b.min, b.max, now.UnixMicro(), b.count, b.data}
	}
	return tx.Insert(ctx, "INSERT INTO history_waiting (shard, min_us, max_us, added_us, count, data) VALUES", rows, "")
}

// appended counts the samples since the last check for compaction. The count only makes a check earlier; the clock
// triggers one too.
func (h *Store) appended(n int) {
	h.mu.Lock()
	h.waiting += n
	full := h.waiting >= h.opts.CompactSamples
	h.mu.Unlock()
	if full {
		h.wakeUp()
	}
}

func (h *Store) wakeUp() {
	select {
	case h.wake <- struct{}{}:
	default: // it is awake already
	}
}

// sampleKey is what samples are sorted by.
type sampleKey struct {
	id, micros int64
	at         int
}

func (k sampleKey) compare(other sampleKey) int {
	return cmp.Or(cmp.Compare(k.id, other.id), cmp.Compare(k.micros, other.micros), cmp.Compare(k.at, other.at))
}

// encodeBatches sorts samples by tag and time, drops all but the last of each, and packs them: a batch
// for each shard unless its samples are very many.
func encodeBatches(ids []int64, samples []history.Sample) []batch {
	keys := make([]sampleKey, len(samples))
	for i := range samples {
		keys[i] = sampleKey{ids[i], samples[i].Time.UnixMicro(), i}
	}
	if !slices.IsSortedFunc(keys, sampleKey.compare) {
		slices.SortFunc(keys, sampleKey.compare)
	}
	var (
		out    []batch
		w      batchWriter
		points []chunk.Point
	)
	for i := 0; i < len(keys); {
		id := keys[i].id
		if w.tags == 0 {
			w.base = keys[i].micros
		}
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
		if w.full() || i == len(keys) || shardOf(keys[i].id) != w.shard {
			out = append(out, w.finish())
		}
	}
	return out
}

// nameCache caches the numbers of tags. A number never changes, so the cache is always right, also with several
// engines.
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

// ids returns the number of each sample's tag and numbers new tags.
func (h *Store) ids(ctx context.Context, samples []history.Sample) ([]int64, error) {
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

// number returns the numbers of tags, with new ones for those that have none. Numbers begin at 1.
func (h *Store) number(ctx context.Context, names []string) ([]int64, error) {
	known := make(map[string]int64, len(names))
	err := h.set.View(ctx, "history.lookup", func(ctx context.Context, tx *storage.Tx) error { return readNumbers(ctx, tx, names, known) })
	if err != nil {
		return nil, err
	}
	var fresh [][]any
	for _, name := range names {
		if known[name] == 0 {
			fresh = append(fresh, []any{name})
		}
	}
	if len(fresh) > 0 {
		err = h.set.Update(ctx, "history.number", func(ctx context.Context, tx *storage.Tx) error {
			if err := tx.Insert(ctx, "INSERT INTO history_tag (name) VALUES", fresh, "ON CONFLICT (name) DO NOTHING"); err != nil {
				return err
			}
			return readNumbers(ctx, tx, names, known)
		})
	}
	out := make([]int64, len(names))
	for i, name := range names {
		out[i] = known[name]
	}
	return out, err
}

// readNumbers reads the numbers of those tags that have one.
func readNumbers(ctx context.Context, tx *storage.Tx, names []string, into map[string]int64) error {
	keys := make([]any, len(names))
	for i, name := range names {
		keys[i] = name
	}
	for marks, part := range storage.InLists(keys) {
		err := tx.Each(ctx, "SELECT id, name FROM history_tag WHERE name IN "+marks, part, func(row storage.Scanner) error {
			var (
				id   int64
				name string
			)
			err := row.Scan(&id, &name)
			into[name] = id
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// looksPerAge is how many checks for compaction the clock triggers in CompactAfter.
const looksPerAge = 4

// compactLoop compacts what is due until ctx ends.
func (h *Store) compactLoop(ctx context.Context) {
	tick := time.NewTicker(h.opts.CompactAfter / looksPerAge)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		case <-tick.C:
		}
		if h.db.EvictorPaused() { // what it packs is removed only after the packed form is stored
			continue
		}
		if err := h.compactDue(ctx); err != nil && !errors.Is(err, context.Canceled) {
			h.set.Logger().Error("failed to compact history", "error", err)
		}
	}
}

// Stats are numbers of the history.
type Stats struct {
	ChunkBytes, ChunkSamples    int64 // in compacted form
	WaitingBatches, WaitingRows int64 // that wait for compaction
}

// Stats returns numbers of the history.
func (h *Store) Stats(ctx context.Context) (Stats, error) {
	var out Stats
	err := h.set.View(ctx, "stats", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Row(ctx, "SELECT bytes, samples FROM history_total WHERE id = 1", nil, &out.ChunkBytes, &out.ChunkSamples); err != nil {
			return err
		}
		return tx.Row(ctx, "SELECT COUNT(*), COALESCE(CAST(SUM(count) AS BIGINT), 0) FROM history_waiting", nil, &out.WaitingBatches, &out.WaitingRows)
	})
	return out, err
}
