package historystore

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore/internal/chunk"
)

const (
	// What one transaction of compaction reads of a shard.
	runSamples = 256_000
	runBytes   = 16 << 20

	mergeAt   = 100 // samples of a tag that pay for a chunk
	mergeTags = 128 // tags whose chunks one query looks for
	maxRowsOf = 256 // rows of a shard that wait until they are put together, since a reader reads them all
)

// Compact moves every sample that waits into chunks. One compaction runs at a time, of all engines
// that share the database; a second call waits for the first.
//
// It may be interrupted anywhere: a transaction moves samples of one shard from rows that wait, which it
// removes, to chunks.
func (h *Store) Compact(ctx context.Context) error {
	return h.set.Exclusive(ctx, "history", func(update storage.Updater) error {
		return h.compact(ctx, update, math.MaxInt64, func(shardState) bool { return true })
	})
}

// compactDue moves what pays to be moved: of the shards that have enough samples, too many rows or an old
// one, the tags that have enough samples or an old one.
func (h *Store) compactDue(ctx context.Context) error {
	age := h.opts.CompactAfter
	if age < 0 {
		age = defaultCompactAfter
	}
	aged := h.set.Now().Add(-age).UnixMicro()
	return h.set.Exclusive(ctx, "history", func(update storage.Updater) error {
		return h.compact(ctx, update, aged, func(s shardState) bool {
			return s.samples >= s.tags*enoughFor(s.shard) || s.rows >= maxRowsOf || s.added <= aged
		})
	})
}

// enoughFor returns for how many samples to a tag a shard's turn comes. It differs, so that the turns of
// shards that fill at the same pace do not come all at the same time.
func enoughFor(shard int64) int64 { return mergeAt + shard*37%64 }

// shardState is what waits of a shard.
type shardState struct {
	shard, rows, samples, tags int64
	added                      int64 // micros: of the oldest row
}

func (h *Store) compact(ctx context.Context, update storage.Updater, aged int64, due func(shardState) bool) error {
	h.mu.Lock()
	h.waiting = 0
	h.mu.Unlock()
	if err := adopt(ctx, h.set, update); err != nil {
		return err
	}
	shards, err := h.shards(ctx)
	if err != nil {
		return err
	}
	for _, s := range shards {
		for more := due(s); more; {
			err := update(ctx, "history.compact", func(ctx context.Context, tx *storage.Tx) (err error) {
				more, err = h.compactShard(ctx, tx, s.shard, aged)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return h.makeSummaries(ctx, update)
}

// shards returns the samples that wait, by shard. The number of a shard's tags counts those that have ended, too.
func (h *Store) shards(ctx context.Context) (all []shardState, err error) {
	err = h.set.View(ctx, "history.waiting", func(ctx context.Context, tx *storage.Tx) error {
		all = nil
		var last int64
		if err := tx.Row(ctx, "SELECT COALESCE(MAX(id), 0) FROM history_tag", nil, &last); err != nil {
			return err
		}
		return tx.Each(ctx, `SELECT shard, COUNT(*), CAST(SUM(count) AS BIGINT), MIN(added_us) FROM history_waiting
			GROUP BY shard ORDER BY shard`, nil, func(row storage.Scanner) error {
			var s shardState
			err := row.Scan(&s.shard, &s.rows, &s.samples, &s.added)
			s.tags = min(shardTags, last-s.shard*shardTags+1)
			all = append(all, s)
			return err
		})
	})
	return all, err
}

// blockRef is one tag's block in a row that waits.
type blockRef struct {
	base, added int64
	block       []byte
}

// shardRun is what a transaction takes from a shard.
type shardRun struct {
	seqs    []int64
	samples int64
	tags    [shardTags][]blockRef // in order of appending
	more    bool                  // there are further rows
}

var errEnough = errors.New("enough for one transaction")

// readShard reads the oldest rows of a shard. A damaged one stays where it is: a range that needs it
// reports it, and Trim removes it when it is old.
func (h *Store) readShard(ctx context.Context, tx *storage.Tx, shard int64) (*shardRun, error) {
	r, size := &shardRun{}, 0
	err := tx.Each(ctx, "SELECT seq, added_us, count, data FROM history_waiting WHERE shard = ? ORDER BY seq", []any{shard}, func(row storage.Scanner) error {
		if r.samples >= runSamples || size >= runBytes {
			r.more = true
			return errEnough
		}
		var (
			seq, added, count int64
			data              []byte
		)
		if err := row.Scan(&seq, &added, &count, &data); err != nil {
			return err
		}
		if !eachBlock(data, func(tag, _ int64, _ []byte) bool { return shardOf(tag) == shard }) {
			h.set.Logger().Error("history batch damaged", "seq", seq)
			return nil
		}
		eachBlock(data, func(tag, base int64, block []byte) bool {
			of := &r.tags[tag%shardTags]
			*of = append(*of, blockRef{base, added, block})
			return true
		})
		r.samples += count
		size += len(data)
		r.seqs = append(r.seqs, seq)
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return r, err
}

// compactShard moves the samples of those tags into chunks that have enough or that have waited since
// before aged, and puts the others together in one row. It reports whether there is more to do.
func (h *Store) compactShard(ctx context.Context, tx *storage.Tx, shard, aged int64) (more bool, err error) {
	r, err := h.readShard(ctx, tx, shard)
	if err != nil || len(r.seqs) == 0 {
		return false, err
	}
	if r.more {
		aged = math.MaxInt64 // what is put together would be read again, and no room would be made
	}
	var (
		merges []tagMerge
		left   batchWriter
		added  int64 = math.MaxInt64
		points       = make([]chunk.Point, 0, r.samples)
	)
	for i, refs := range r.tags {
		if len(refs) == 0 {
			continue
		}
		start, oldest := len(points), int64(math.MaxInt64)
		if points, err = decodeAll(points, refs); err != nil { // the row's check sum was right: it was written so
			return false, storage.ErrCorrupt.Wrap(err)
		}
		for _, ref := range refs {
			oldest = min(oldest, ref.added)
		}
		tag, own := shard*shardTags+int64(i), points[start:]
		if len(own) >= mergeAt || oldest <= aged {
			merges = append(merges, tagMerge{tag: tag, late: own})
			continue
		}
		if left.tags == 0 {
			left.base = own[0].Micros
		}
		left.add(tag, own)
		added = min(added, oldest)
	}
	for part := range slices.Chunk(merges, mergeTags) {
		if err := h.mergeTags(ctx, tx, part); err != nil {
			return false, err
		}
	}
	return r.more, r.replace(ctx, tx, left, added)
}

// decodeAll adds to points those of one tag's blocks, in ascending order of time and each once.
func decodeAll(points []chunk.Point, refs []blockRef) ([]chunk.Point, error) {
	var (
		start   = len(points)
		ends    = make([]int, len(refs))
		ordered = true
		err     error
	)
	for i, ref := range refs {
		end := len(points)
		if points, err = chunk.Decode(points, ref.base, ref.block); err != nil {
			return points, err
		}
		ends[i] = len(points)
		ordered = ordered && (i == 0 || points[end-1].Micros < points[end].Micros)
	}
	if ordered {
		return points, nil
	}
	runs, from := make([][]chunk.Point, len(ends)), start
	for i, end := range ends {
		runs[i], from = points[from:end], end
	}
	return append(points[:start], newest(runs)...), nil
}

// replace puts what is left of the rows in the place of the last of them, so that it keeps its place in
// the order of appending, and removes the others.
func (r *shardRun) replace(ctx context.Context, tx *storage.Tx, left batchWriter, added int64) error {
	gone := r.seqs
	if left.tags > 0 {
		var last int64
		gone, last = gone[:len(gone)-1], gone[len(gone)-1]
		b := left.finish()
		_, err := tx.Exec(ctx, "UPDATE history_waiting SET min_us = ?, max_us = ?, added_us = ?, count = ?, data = ? WHERE seq = ?",
			b.min, b.max, added, b.count, b.data, last)
		if err != nil {
			return err
		}
	}
	for part := range slices.Chunk(gone, 500) {
		args := make([]any, len(part))
		for i, seq := range part {
			args[i] = seq
		}
		query := "DELETE FROM history_waiting WHERE seq IN (?" + strings.Repeat(",?", len(part)-1) + ")"
		if _, err := tx.Exec(ctx, query, args...); err != nil {
			return err
		}
	}
	return nil
}

// adopt converts the waiting samples of earlier versions of the program.
func adopt(ctx context.Context, set *storage.Set, update storage.Updater) error {
	for after, more := int64(0), true; more; {
		next := after // apart from it, since the transaction may be tried again
		err := update(ctx, "history.adopt", func(ctx context.Context, tx *storage.Tx) error {
			var data []byte
			err := tx.Row(ctx, "SELECT seq, data FROM history_wal WHERE seq > ? ORDER BY seq LIMIT 1", []any{after}, &next, &data)
			if errors.Is(err, sql.ErrNoRows) {
				more = false
				return nil
			}
			if err != nil {
				return err
			}
			batches, ok := adoptBatch(data)
			if !ok {
				set.Logger().Error("history batch damaged", "seq", next)
				return nil
			}
			if err := insertBatches(ctx, tx, batches, set.Now()); err != nil {
				return err
			}
			_, err = tx.Exec(ctx, "DELETE FROM history_wal WHERE seq = ?", next)
			return err
		})
		if err != nil {
			return err
		}
		after = next
	}
	return nil
}

// tagMerge is the work on one tag: what comes in and the chunks that it touches.
type tagMerge struct {
	tag  int64
	late []chunk.Point
	old  []oldChunk
}

type oldChunk struct {
	start, end, count int64
	size, summary     int64 // bytes, the size with rowBytes
	data              []byte
}

// mergeTags puts samples of some tags, in ascending order of their numbers, into chunks.
func (h *Store) mergeTags(ctx context.Context, tx *storage.Tx, merges []tagMerge) error {
	if err := readTouched(ctx, tx, merges); err != nil {
		return err
	}
	var c chunkChange
	for i := range merges {
		h.mergeTag(&c, &merges[i])
	}
	return c.apply(ctx, tx)
}

// readTouched reads for each tag the last chunk that starts before what comes in, unless it has enough
// and ends before, and the chunks that start within what comes in.
func readTouched(ctx context.Context, tx *storage.Tx, merges []tagMerge) error {
	const one = "(CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))"
	args := make([]any, 0, 3*len(merges))
	for i := range merges {
		m := &merges[i]
		args = append(args, m.tag, m.late[0].Micros, m.late[len(m.late)-1].Micros)
	}
	query := `WITH w (tag_id, min_us, max_us) AS (VALUES ` + one + strings.Repeat(","+one, len(merges)-1) + `)
		SELECT c.tag_id, c.start_us, c.end_us, c.count, c.data, ` + summarySize + ` FROM w CROSS JOIN history_chunk c
		WHERE c.tag_id = w.tag_id AND c.start_us <= w.max_us AND c.start_us >= COALESCE(
			(SELECT MAX(p.start_us) FROM history_chunk p WHERE p.tag_id = w.tag_id AND p.start_us <= w.min_us), w.min_us)
			AND (c.end_us >= w.min_us OR c.count < ` + strconv.Itoa(chunkEnough) + ` AND LENGTH(c.data) < ` + strconv.Itoa(chunkBytes) + `)
		ORDER BY c.tag_id, c.start_us`
	at := 0
	return tx.Each(ctx, query, args, func(row storage.Scanner) error {
		var (
			tag int64
			o   oldChunk
		)
		if err := row.Scan(&tag, &o.start, &o.end, &o.count, &o.data, &o.summary); err != nil {
			return err
		}
		for merges[at].tag != tag {
			at++
		}
		o.size = int64(len(o.data)) + rowBytes
		merges[at].old = append(merges[at].old, o)
		return nil
	})
}

// mergeTag adds to a change what becomes of one tag's chunks.
func (h *Store) mergeTag(c *chunkChange, m *tagMerge) {
	var points []chunk.Point
	for _, o := range m.old {
		with, err := openChunk(points, m.tag, o.start, o.data)
		if err != nil { // it stays where it is: a range that needs it reports it, and an aggregate must, too
			c.removeSummary(m.tag, o)
			h.set.Logger().Error("history chunk damaged", "tagId", m.tag, "error", err)
			continue
		}
		points = with
		c.remove(m.tag, o)
	}
	most := chunkSamples
	follows := len(points) == 0 || points[len(points)-1].Micros < m.late[0].Micros
	points = overlay(points, [][]chunk.Point{m.late})
	if pieces := (len(points) + most - 1) / most; !follows {
		most = (len(points) + pieces - 1) / pieces // room in each for more of the same
	}
	for len(points) > 0 {
		n := cutChunk(points, most)
		c.add(m.tag, points[:n])
		points = points[n:]
	}
}
