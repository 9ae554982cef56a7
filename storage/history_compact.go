package storage

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/otkit/otkit/storage/internal/chunk"
)

// What one run of compaction takes from the waiting batches, and what one of its transactions does.
const (
	runSamples = 500_000
	runBytes   = 16 << 20
	runTags    = 128
)

// Compact moves every sample that waits into chunks. One compaction runs at a time, of all engines
// that share the database; a second call waits for the first.
//
// It may be interrupted anywhere: batches are removed when all of their samples are in chunks, and
// until then readers find a sample in both places and take it once.
func (h *History) Compact(ctx context.Context) error {
	return h.set.exclusive(ctx, "history", func(update updater) error { return h.compact(ctx, update) })
}

func (h *History) compact(ctx context.Context, update updater) error {
	h.mu.Lock()
	h.waiting = 0
	h.mu.Unlock()
	after := int64(0)
	for {
		run, err := h.readRun(ctx, after)
		if err != nil || len(run.seqs) == 0 {
			return err
		}
		after = run.seqs[len(run.seqs)-1]
		for refs := run.refs; len(refs) > 0; {
			var some []blockRef
			some, refs = cutTags(refs, runTags)
			err := update(ctx, "history.compact", func(ctx context.Context, tx *Tx) error { return h.mergeTags(ctx, tx, some) })
			if err != nil {
				return err
			}
		}
		err = update(ctx, "history.compact", func(ctx context.Context, tx *Tx) error { return deleteBatches(ctx, tx, run.seqs) })
		if err != nil || !run.more {
			return err
		}
	}
}

// blockRef is one tag's block in a waiting batch.
type blockRef struct {
	tag   int64
	at    int // order of appending
	block []byte
}

// compaction is what one round moves.
type compaction struct {
	seqs []int64
	refs []blockRef // by tag, then in order of appending
	more bool
}

var errEnough = errors.New("enough for one run")

// readRun reads the oldest waiting batches. A damaged one stays where it is: a range that needs it
// reports it, and Trim removes it when it is old.
func (h *History) readRun(ctx context.Context, after int64) (compaction, error) {
	var (
		r       compaction
		samples int64
		size    int
	)
	err := h.set.view(ctx, "history.compact", func(ctx context.Context, tx *Tx) error {
		r, samples, size = compaction{}, 0, 0
		return tx.Each(ctx, "SELECT seq, count, data FROM history_wal WHERE seq > ? ORDER BY seq", []any{after}, func(row Scanner) error {
			var (
				seq, count int64
				data       []byte
			)
			if err := row.Scan(&seq, &count, &data); err != nil {
				return err
			}
			if samples >= runSamples || size >= runBytes {
				r.more = true
				return errEnough
			}
			before := len(r.refs)
			whole := eachBlock(data, func(tag int64, block []byte) bool {
				r.refs = append(r.refs, blockRef{tag, len(r.refs), block})
				return true
			})
			if !whole {
				r.refs = r.refs[:before]
				h.opts.Logger.Error("a batch of history is damaged", "seq", seq)
				return nil
			}
			samples += count
			size += len(data)
			r.seqs = append(r.seqs, seq)
			return nil
		})
	})
	if err != nil && !errors.Is(err, errEnough) {
		return compaction{}, err
	}
	slices.SortFunc(r.refs, func(a, b blockRef) int { return cmp.Or(cmp.Compare(a.tag, b.tag), cmp.Compare(a.at, b.at)) })
	return r, nil
}

// cutTags divides refs after so many tags.
func cutTags(refs []blockRef, most int) (some, rest []blockRef) {
	n := 0
	for i := range refs {
		if i == 0 || refs[i].tag != refs[i-1].tag {
			if n++; n > most {
				return refs[:i], refs[i:]
			}
		}
	}
	return refs, nil
}

// deleteBatches removes batches whose samples are in chunks.
func deleteBatches(ctx context.Context, tx *Tx, seqs []int64) error {
	for part := range slices.Chunk(seqs, 500) {
		args := make([]any, len(part))
		for i, seq := range part {
			args[i] = seq
		}
		query := "DELETE FROM history_wal WHERE seq IN (?" + strings.Repeat(",?", len(part)-1) + ")"
		if _, err := tx.Exec(ctx, query, args...); err != nil {
			return err
		}
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
	size              int
	data              []byte
}

// mergeTags puts the blocks of some tags into chunks.
func (h *History) mergeTags(ctx context.Context, tx *Tx, refs []blockRef) error {
	var merges []tagMerge
	for len(refs) > 0 {
		one, rest := cutTags(refs, 1)
		refs = rest
		runs := make([][]chunk.Point, 0, len(one))
		for _, ref := range one {
			points, err := chunk.Decode(nil, 0, ref.block)
			if err != nil { // the batch's check sum was right: it was written so
				return ErrCorrupt.Wrap(err)
			}
			runs = append(runs, points)
		}
		merges = append(merges, tagMerge{tag: one[0].tag, late: newest(runs)})
	}
	if err := readTouched(ctx, tx, merges); err != nil {
		return err
	}
	var c chunkChange
	for i := range merges {
		h.mergeTag(&c, &merges[i])
	}
	return c.apply(ctx, tx)
}

// readTouched reads for each tag the last chunk that starts before what comes in, and those that
// start within it.
func readTouched(ctx context.Context, tx *Tx, merges []tagMerge) error {
	const one = "(CAST(? AS BIGINT), CAST(? AS BIGINT), CAST(? AS BIGINT))"
	args := make([]any, 0, 3*len(merges))
	for i := range merges {
		m := &merges[i]
		args = append(args, m.tag, m.late[0].Micros, m.late[len(m.late)-1].Micros)
	}
	query := `WITH w (tag_id, min_us, max_us) AS (VALUES ` + one + strings.Repeat(","+one, len(merges)-1) + `)
		SELECT c.tag_id, c.start_us, c.end_us, c.count, c.data FROM w CROSS JOIN history_chunk c
		WHERE c.tag_id = w.tag_id AND c.start_us <= w.max_us AND c.start_us >= COALESCE(
			(SELECT MAX(p.start_us) FROM history_chunk p WHERE p.tag_id = w.tag_id AND p.start_us <= w.min_us), w.min_us)
		ORDER BY c.tag_id, c.start_us`
	at := 0
	return tx.Each(ctx, query, args, func(row Scanner) error {
		var (
			tag int64
			o   oldChunk
		)
		if err := row.Scan(&tag, &o.start, &o.end, &o.count, &o.data); err != nil {
			return err
		}
		for merges[at].tag != tag {
			at++
		}
		o.size = chunkSize(o.data)
		merges[at].old = append(merges[at].old, o)
		return nil
	})
}

// mergeTag adds to a change what becomes of one tag's chunks.
func (h *History) mergeTag(c *chunkChange, m *tagMerge) {
	var points []chunk.Point
	for _, o := range m.old {
		if o.end < m.late[0].Micros && (o.count >= chunkSamples || len(o.data) >= chunkBytes) {
			continue // it is full, and what comes in follows it
		}
		with, err := openChunk(points, m.tag, o.start, o.data)
		if err != nil { // it stays where it is: a range that needs it reports it
			h.opts.Logger.Error("a chunk of history is damaged", "tagId", m.tag, "error", err)
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
