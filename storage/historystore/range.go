package historystore

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"strconv"
	"time"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore/internal/chunk"
	"github.com/otkit/otkit/tags/history"
)

// pageChunks is how many chunks one transaction of a Range reads at most: some 130,000 samples, so that
// neither memory nor the length of a transaction depends on the range or on the caller's speed. The first reads
// firstChunks and each further one twice as many: a caller that stops early costs not much more than what it has read.
const (
	firstChunks = 2
	pageChunks  = 128
)

// Range implements history.Store. It reads page by page, each from one state of the database;
// what is appended meanwhile may be in the sequence.
func (h *Store) Range(ctx context.Context, tag string, start, end time.Time) iter.Seq2[history.Sample, error] {
	return func(yield func(history.Sample, error) bool) {
		id, err := h.lookup(ctx, tag)
		if err != nil {
			yield(history.Sample{}, err)
			return
		}
		if id == 0 {
			return
		}
		from, until := storage.CeilMicros(start), storage.CeilMicros(end)
		var points []chunk.Point
		for limit := firstChunks; from < until; limit = min(2*limit, pageChunks) {
			if err := ctx.Err(); err != nil {
				yield(history.Sample{}, storage.ErrCanceled.Wrap(err))
				return
			}
			var next int64
			points, next, err = h.page(ctx, points[:0], id, from, until, limit)
			if err != nil {
				yield(history.Sample{}, err)
				return
			}
			for i := range points {
				p := &points[i]
				s := history.Sample{Tag: tag, Time: time.UnixMicro(p.Micros).UTC(), Value: p.Value, Quality: p.Quality, Reason: p.Reason}
				if !yield(s, nil) {
					return
				}
			}
			from = next
		}
	}
}

// lookup returns a tag's number, 0 for a tag that was never stored.
func (h *Store) lookup(ctx context.Context, tag string) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, storage.ErrCanceled.Wrap(err)
	}
	if id, ok := h.names.get(tag); ok {
		return id, nil
	}
	var id int64
	err := h.set.View(ctx, "history.lookup", func(ctx context.Context, tx *storage.Tx) error {
		return tx.Row(ctx, "SELECT id FROM history_tag WHERE name = ?", []any{tag}, &id)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	if err == nil {
		h.names.put([]string{tag}, []int64{id})
	}
	return id, err
}

// chunksOf finds the chunks of a tag that may hold times from a to b: the last one that starts at or
// before a, and those that start between. Its arguments are tag, tag, a, a, b, and how many.
const chunksOf = `SELECT start_us, data FROM history_chunk WHERE tag_id = ? AND start_us >= COALESCE(
	(SELECT MAX(start_us) FROM history_chunk WHERE tag_id = ? AND start_us <= ?), ?) AND start_us < ?
	ORDER BY start_us LIMIT ?`

// page reads the samples of a tag from a time up to next, which is until or the end of the last of so many chunks.
func (h *Store) page(ctx context.Context, points []chunk.Point, id, from, until int64, limit int) (_ []chunk.Point, next int64, err error) {
	err = h.set.View(ctx, "history.range", func(ctx context.Context, tx *storage.Tx) error {
		points, next = points[:0], until
		n := 0
		err := tx.Each(ctx, chunksOf, []any{id, id, from, from, until, limit}, func(row storage.Scanner) error {
			var (
				start int64
				data  sql.RawBytes
			)
			if err := row.Scan(&start, &data); err != nil {
				return err
			}
			if points, err = openChunk(points, id, start, data); err != nil {
				return err
			}
			if n++; n == limit {
				next = min(points[len(points)-1].Micros+1, until)
			}
			return nil
		})
		if err != nil {
			return err
		}
		late, err := waitingPoints(ctx, tx, id, from, next)
		if err != nil {
			return err
		}
		points = within(overlay(points, late), from, next)
		return nil
	})
	return points, next, err
}

// waitingPoints reads the samples of a tag from rows that wait for compaction, oldest row first.
func waitingPoints(ctx context.Context, tx *storage.Tx, id, from, until int64) ([][]chunk.Point, error) {
	var out [][]chunk.Point
	err := tx.Each(ctx, "SELECT seq, data FROM history_waiting WHERE shard = ? AND max_us >= ? AND min_us < ? ORDER BY seq",
		[]any{shardOf(id), from, until}, func(row storage.Scanner) error {
			var (
				seq  int64
				data sql.RawBytes
			)
			if err := row.Scan(&seq, &data); err != nil {
				return err
			}
			var failed error
			whole := eachBlock(data, func(tag, base int64, block []byte) bool {
				if tag == id {
					var points []chunk.Point
					if points, failed = chunk.Decode(nil, base, block); failed == nil {
						out = append(out, points)
					}
				}
				return tag <= id && failed == nil
			})
			if !whole || failed != nil {
				return storage.ErrCorrupt.On("historyBatch", strconv.FormatInt(seq, 10)).Wrap(failed)
			}
			return nil
		})
	return out, err
}

// sealChunk packs points for a row of history_chunk.
func sealChunk(points []chunk.Point) []byte {
	return seal(chunk.Append(make([]byte, 4, 16+10*len(points)), points[0].Micros, points))
}

// openChunk unpacks the data of a row of history_chunk.
func openChunk(dst []chunk.Point, id, start int64, data []byte) ([]chunk.Point, error) {
	block, ok := unseal(data)
	if !ok {
		return dst, storage.ErrCorrupt.On("historyChunk", strconv.FormatInt(id, 10)+"/"+strconv.FormatInt(start, 10))
	}
	dst, err := chunk.Decode(dst, start, block)
	if err != nil {
		return dst, storage.ErrCorrupt.On("historyChunk", strconv.FormatInt(id, 10)+"/"+strconv.FormatInt(start, 10)).Wrap(err)
	}
	return dst, nil
}

// within cuts sorted points to from <= time < until.
func within(points []chunk.Point, from, until int64) []chunk.Point {
	return points[firstAt(points, from):firstAt(points, until)]
}
