package historystore

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore/internal/chunk"
)

// trimChunks bounds the chunks that one transaction of Trim removes.
const trimChunks = 256

// Trim implements history.Store. maxBytes counts what the samples take as they are packed, with their summaries; the files
// also hold indexes and free pages. The last samples of all tags go, too, if they alone take more.
func (h *Store) Trim(ctx context.Context, before time.Time, maxBytes int64) error {
	from := storage.CeilMicros(before)
	err := h.set.Exclusive(ctx, "history", func(update storage.Updater) error {
		// First without compaction, so that on a full disk there is room for it.
		if err := h.trimWhole(ctx, update, from, maxBytes); err != nil {
			return err
		}
		old, err := h.compactOld(ctx, update, from, maxBytes)
		if err != nil {
			return err
		}
		if maxBytes > 0 {
			maxBytes = max(maxBytes-old, 1)
		}
		if err := h.trimWhole(ctx, update, from, maxBytes); err != nil {
			return err
		}
		return h.trimRest(ctx, update, from)
	})
	if err != nil {
		return err
	}
	return h.set.ReclaimSpace(ctx)
}

// compactOld moves the samples of those shards into chunks that have some from before a time, and of all
// shards when what waits is more than half of what may be kept. It returns the bytes that wait after that.
func (h *Store) compactOld(ctx context.Context, update storage.Updater, before, maxBytes int64) (bytes int64, err error) {
	old := make(map[int64]bool)
	err = h.set.View(ctx, "history.waiting", func(ctx context.Context, tx *storage.Tx) error {
		clear(old)
		bytes = 0
		return tx.Each(ctx, "SELECT shard, MIN(min_us), CAST(SUM(LENGTH(data)) AS BIGINT) FROM history_waiting GROUP BY shard", nil, func(row storage.Scanner) error {
			var shard, first, size int64
			err := row.Scan(&shard, &first, &size)
			bytes += size
			old[shard] = first < before
			return err
		})
	})
	if err != nil {
		return 0, err
	}
	all := maxBytes > 0 && bytes > maxBytes/2
	if all {
		bytes = 0
	}
	return bytes, h.compact(ctx, update, math.MaxInt64, func(s shardState) bool { return all || old[s.shard] })
}

// trimWhole removes the chunks that end before a time, then the oldest until what is left fits.
func (h *Store) trimWhole(ctx context.Context, update storage.Updater, before, maxBytes int64) error {
	for more := true; more; {
		err := update(ctx, "history.trim", func(ctx context.Context, tx *storage.Tx) error {
			n, err := h.removeOldest(ctx, tx, before, math.MaxInt64)
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
func (h *Store) trimRest(ctx context.Context, update storage.Updater, before int64) error {
	for after := int64(0); after >= 0; {
		err := update(ctx, "history.trim", func(ctx context.Context, tx *storage.Tx) (err error) {
			after, err = h.trimDivided(ctx, tx, after, before)
			return err
		})
		if err != nil {
			return err
		}
	}
	return update(ctx, "history.trim", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM history_waiting WHERE max_us < ?", before)
		if err == nil {
			_, err = tx.Exec(ctx, "DELETE FROM history_wal WHERE max_us < ?", before)
		}
		return err
	})
}

// keptEnd is the end of a chunk of one sample that tells what holds at the limit of Trim: so it does not count as old, and no Trim looks for it
// again until there is a newer sample before the limit.
const keptEnd = 1 << 62

// trimRun is what a transaction removes, and the samples of it that stay.
type trimRun struct {
	chunkChange
	kept []any // tag and time of the samples that stay, and of those that need none before them to stay
}

// keep lets a sample of a chunk that is removed stay, as a chunk of its own.
func (r *trimRun) keep(tag int64, p chunk.Point) {
	r.add(tag, []chunk.Point{p})
	r.rows[len(r.rows)-1][2] = int64(keptEnd)
	r.kept = append(r.kept, tag, p.Micros)
}

// apply also removes the samples that stayed until now.
func (r *trimRun) apply(ctx context.Context, tx *storage.Tx) error {
	const one = "(CAST(? AS BIGINT), CAST(? AS BIGINT))"
	if n := len(r.kept) / 2; n > 0 {
		query := "WITH w (tag_id, at_us) AS (VALUES " + one + strings.Repeat(","+one, n-1) + `)
			SELECT DISTINCT c.tag_id, c.start_us, c.count, LENGTH(c.data), ` + summarySize + ` FROM w CROSS JOIN history_chunk c
			WHERE c.tag_id = w.tag_id AND c.start_us < w.at_us AND c.end_us = ` + strconv.FormatInt(keptEnd, 10)
		if err := tx.Each(ctx, query, r.kept, func(row storage.Scanner) error {
			tag, o, err := scanOld(row)
			r.remove(tag, o)
			return err
		}); err != nil {
			return err
		}
	}
	return r.chunkChange.apply(ctx, tx)
}

// scanOld reads a chunk without its data.
func scanOld(row storage.Scanner) (tag int64, o oldChunk, err error) {
	err = row.Scan(&tag, &o.start, &o.count, &o.size, &o.summary)
	o.size += rowBytes
	return tag, o, err
}

// oldest is a chunk that is removed.
type oldest struct {
	tag, end, next int64 // next is the start of the tag's following chunk
	oldChunk
}

// oldestChunks finds the chunks that ended first. Its arguments are a time before which they ended, and how many.
const oldestChunks = "SELECT c.tag_id, c.start_us, c.count, LENGTH(c.data), " + summarySize + `, c.end_us, COALESCE((SELECT MIN(n.start_us)
	FROM history_chunk n WHERE n.tag_id = c.tag_id AND n.start_us > c.start_us), 9223372036854775807)
	FROM history_chunk c WHERE c.end_us < ? ORDER BY c.end_us LIMIT ?`

// removeOldest removes the chunks that ended first, if they ended before a time, until so many bytes are gone. Of each tag the last sample before
// what remains stays. It returns the number of chunks that it has removed or shortened.
func (h *Store) removeOldest(ctx context.Context, tx *storage.Tx, before, bytes int64) (int, error) {
	var (
		r    trimRun
		list []oldest
	)
	err := tx.Each(ctx, oldestChunks, []any{before, trimChunks}, func(row storage.Scanner) error {
		var o oldest
		if err := row.Scan(&o.tag, &o.start, &o.count, &o.size, &o.summary, &o.end, &o.next); err != nil {
			return err
		}
		o.size += rowBytes
		if -r.bytes < bytes {
			r.remove(o.tag, o.oldChunk)
			list = append(list, o)
		}
		return nil
	})
	if err != nil || len(list) == 0 {
		return 0, err
	}
	if before >= keptEnd { // by size: the limit is where the last of them ended
		before = list[len(list)-1].end + 1
	}
	for _, o := range list {
		switch {
		case o.end == keptEnd:
			continue
		case o.next < before: // the next one tells what holds at the limit
			r.kept = append(r.kept, o.tag, o.start)
			continue
		}
		var data []byte
		if err := tx.Row(ctx, "SELECT data FROM history_chunk WHERE tag_id = ? AND start_us = ?", []any{o.tag, o.start}, &data); err != nil {
			return 0, err
		}
		points, err := openChunk(nil, o.tag, o.start, data)
		if err != nil {
			h.set.Logger().Error("history chunk damaged", "tagId", o.tag, "error", err)
			continue
		}
		r.keep(o.tag, points[len(points)-1])
	}
	return len(list), r.apply(ctx, tx)
}

// trimDivided shortens the divided chunks of the next tags after one. It returns the last of those
// tags, -1 when there was none.
func (h *Store) trimDivided(ctx context.Context, tx *storage.Tx, after, before int64) (int64, error) {
	var (
		r    trimRun
		last int64 = -1
	)
	err := tx.Each(ctx, "SELECT c.tag_id, c.start_us, c.count, c.data, "+summarySize+` FROM history_tag t CROSS JOIN history_chunk c
		WHERE t.id > ? AND c.tag_id = t.id AND c.count > 1 AND c.end_us >= ? AND c.start_us =
			(SELECT MAX(p.start_us) FROM history_chunk p WHERE p.tag_id = t.id AND p.start_us < ?)
		ORDER BY t.id LIMIT ?`, []any{after, before, before, trimChunks}, func(row storage.Scanner) error {
		var (
			tag int64
			o   oldChunk
		)
		if err := row.Scan(&tag, &o.start, &o.count, &o.data, &o.summary); err != nil {
			return err
		}
		last = tag
		points, err := openChunk(nil, tag, o.start, o.data)
		if err != nil { // it goes as a whole when its end is old enough
			h.set.Logger().Error("history chunk damaged", "tagId", tag, "error", err)
			return nil
		}
		if at := firstAt(points, before); at > 0 && at < len(points) {
			o.size = int64(len(o.data)) + rowBytes
			r.remove(tag, o)
			r.keep(tag, points[at-1])
			r.add(tag, points[at:])
		}
		return nil
	})
	if err != nil {
		return -1, err
	}
	return last, r.apply(ctx, tx)
}

// trimBytes removes the oldest chunks until what is left fits. What stays of each tag goes only when there is nothing else.
func (h *Store) trimBytes(ctx context.Context, update storage.Updater, maxBytes int64) error {
	for before := int64(keptEnd); ; {
		var over int64
		removed := 0
		err := update(ctx, "history.trim", func(ctx context.Context, tx *storage.Tx) error {
			var bytes int64
			if err := tx.Row(ctx, "SELECT bytes FROM history_total WHERE id = 1", nil, &bytes); err != nil {
				return err
			}
			if over = bytes - maxBytes; over <= 0 {
				return nil
			}
			var err error
			removed, err = h.removeOldest(ctx, tx, before, over)
			return err
		})
		if err != nil || over <= 0 || removed == 0 && before > keptEnd {
			return err
		}
		if removed == 0 {
			before++
		}
	}
}

// minFreed is the share of the room that is missing below which history is not removed: it would be
// lost for nothing.
const minFreed = 8

// Evict implements [storage.Evictor]: it removes the oldest samples and returns their space to the disk.
func (h *Store) Evict(ctx context.Context, bytes int64) (freed int64, err error) {
	err = h.set.Exclusive(ctx, "history", func(update storage.Updater) error {
		var chunks, waiting int64
		err := h.set.View(ctx, "history.room", func(ctx context.Context, tx *storage.Tx) error {
			err := tx.Row(ctx, "SELECT bytes FROM history_total WHERE id = 1", nil, &chunks)
			if err == nil {
				err = tx.Row(ctx, "SELECT CAST(COALESCE(SUM(LENGTH(data)), 0) AS BIGINT) FROM history_waiting", nil, &waiting)
			}
			return err
		})
		if err != nil || chunks+waiting < bytes/minFreed {
			return err
		}
		if chunks > 0 {
			if err := h.trimBytes(ctx, update, max(chunks-bytes, 1)); err != nil {
				return err
			}
			freed = min(chunks, bytes)
		}
		for more := true; more && freed < bytes; {
			err := update(ctx, "history.trim", func(ctx context.Context, tx *storage.Tx) error {
				n, err := removeWaiting(ctx, tx)
				freed += n
				more = n > 0
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && freed > 0 {
		err = h.set.ReclaimSpace(ctx)
	}
	return freed, err
}

// removeWaiting removes the oldest rows that wait for compaction, and returns the bytes that they took.
func removeWaiting(ctx context.Context, tx *storage.Tx) (bytes int64, err error) {
	var r shardRun
	err = tx.Each(ctx, "SELECT seq, LENGTH(data) FROM history_waiting ORDER BY seq LIMIT ?", []any{trimChunks}, func(row storage.Scanner) error {
		var seq, size int64
		err := row.Scan(&seq, &size)
		r.seqs = append(r.seqs, seq)
		bytes += size + rowBytes
		return err
	})
	if err != nil {
		return 0, err
	}
	return bytes, r.replace(ctx, tx, batchWriter{}, 0)
}
