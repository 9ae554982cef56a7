package storage

import (
	"context"
	"math"
	"time"
)

// trimChunks bounds the chunks that one transaction of Trim removes.
const trimChunks = 256

// Trim implements tags.HistoryStore. maxBytes counts what the samples take in their compacted form;
// the files also hold indexes and free pages.
func (h *History) Trim(ctx context.Context, before time.Time, maxBytes int64) error {
	err := h.set.exclusive(ctx, "history", func(update updater) error {
		// First without compaction, so that on a full disk there is room for it.
		if err := h.trimWhole(ctx, update, ceilMicros(before), maxBytes); err != nil {
			return err
		}
		if err := h.compact(ctx, update); err != nil {
			return err
		}
		if err := h.trimWhole(ctx, update, ceilMicros(before), maxBytes); err != nil {
			return err
		}
		return h.trimRest(ctx, update, ceilMicros(before))
	})
	if err != nil {
		return err
	}
	return explain(h.set.dialect, h.set.dialect.Reclaim(ctx, h.set.pools.Write))
}

// trimWhole removes the chunks that end before a time, then the oldest until what is left fits.
func (h *History) trimWhole(ctx context.Context, update updater, before, maxBytes int64) error {
	for more := true; more; {
		err := update(ctx, "history.trim", func(ctx context.Context, tx *Tx) error {
			n, err := removeOldest(ctx, tx, before, math.MaxInt64)
			more = n == trimChunks
			return err
		})
		if err != nil {
			return err
		}
	}
	if maxBytes <= 0 {
		return nil
	}
	return h.trimBytes(ctx, update, maxBytes)
}

// trimRest removes the first part of the one chunk of each tag that a time divides, and damaged
// batches from before it.
func (h *History) trimRest(ctx context.Context, update updater, before int64) error {
	for after := int64(0); after >= 0; {
		err := update(ctx, "history.trim", func(ctx context.Context, tx *Tx) (err error) {
			after, err = h.trimDivided(ctx, tx, after, before)
			return err
		})
		if err != nil {
			return err
		}
	}
	return update(ctx, "history.trim", func(ctx context.Context, tx *Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM history_wal WHERE max_us < ?", before)
		return err
	})
}

// removeOldest removes the chunks that ended first, if they ended before a time, until so many bytes
// are gone. It gives the number of chunks.
func removeOldest(ctx context.Context, tx *Tx, before, bytes int64) (int, error) {
	var c chunkChange
	err := tx.Each(ctx, `SELECT tag_id, start_us, count, LENGTH(data) FROM history_chunk WHERE end_us < ?
		ORDER BY end_us LIMIT ?`, []any{before, trimChunks}, func(row Scanner) error {
		var (
			tag int64
			o   oldChunk
		)
		if err := row.Scan(&tag, &o.start, &o.count, &o.size); err != nil {
			return err
		}
		o.size += rowBytes
		if -c.bytes < bytes {
			c.remove(tag, o)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(c.gone), c.apply(ctx, tx)
}

// trimDivided shortens the divided chunks of the next tags after one. It gives the last of those
// tags, -1 when there was none.
func (h *History) trimDivided(ctx context.Context, tx *Tx, after, before int64) (int64, error) {
	var (
		c    chunkChange
		last int64 = -1
	)
	err := tx.Each(ctx, `SELECT c.tag_id, c.start_us, c.count, c.data FROM history_tag t CROSS JOIN history_chunk c
		WHERE t.id > ? AND c.tag_id = t.id AND c.end_us >= ? AND c.start_us =
			(SELECT MAX(p.start_us) FROM history_chunk p WHERE p.tag_id = t.id AND p.start_us < ?)
		ORDER BY t.id LIMIT ?`, []any{after, before, before, trimChunks}, func(row Scanner) error {
		var (
			tag int64
			o   oldChunk
		)
		if err := row.Scan(&tag, &o.start, &o.count, &o.data); err != nil {
			return err
		}
		last = tag
		points, err := openChunk(nil, tag, o.start, o.data)
		if err != nil { // it goes as a whole when its end is old enough
			h.opts.Logger.Error("a chunk of history is damaged", "tagId", tag, "error", err)
			return nil
		}
		o.size = chunkSize(o.data)
		c.remove(tag, o)
		if keep := points[firstAt(points, before):]; len(keep) > 0 {
			c.add(tag, keep)
		}
		return nil
	})
	if err != nil {
		return -1, err
	}
	return last, c.apply(ctx, tx)
}

// trimBytes removes the oldest chunks until what is left fits.
func (h *History) trimBytes(ctx context.Context, update updater, maxBytes int64) error {
	for {
		var over int64
		removed := 0
		err := update(ctx, "history.trim", func(ctx context.Context, tx *Tx) error {
			var bytes int64
			if err := tx.Row(ctx, "SELECT bytes FROM history_total WHERE id = 1", nil, &bytes); err != nil {
				return err
			}
			if over = bytes - maxBytes; over <= 0 {
				return nil
			}
			var err error
			removed, err = removeOldest(ctx, tx, math.MaxInt64, over)
			return err
		})
		if err != nil || over <= 0 || removed == 0 {
			return err
		}
	}
}
