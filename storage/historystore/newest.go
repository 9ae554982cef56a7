package historystore

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore/internal/chunk"
	"github.com/otkit/otkit/tags/history"
)

// Newest implements history.NewestReader. It reads pages of chunks from the end, each from one state of the database.
func (h *Store) Newest(ctx context.Context, tag string, start, end time.Time, n int) ([]history.Sample, error) {
	id, err := h.lookup(ctx, tag)
	if err != nil || id == 0 {
		return nil, err
	}
	from, until := storage.CeilMicros(start), storage.CeilMicros(end)
	var pages [][]chunk.Point // the newest first
	for left := n; left > 0 && from < until; {
		if err := ctx.Err(); err != nil {
			return nil, storage.ErrCanceled.Wrap(err)
		}
		points, first, err := h.newestPage(ctx, id, from, until, left)
		if err != nil {
			return nil, err
		}
		points = points[max(0, len(points)-left):]
		pages = append(pages, points)
		left -= len(points)
		until = first
	}
	count := 0
	for _, points := range pages {
		count += len(points)
	}
	list := make([]history.Sample, 0, count)
	for _, points := range slices.Backward(pages) {
		for i := range points {
			p := &points[i]
			list = append(list, history.Sample{Tag: tag, Time: time.UnixMicro(p.Micros).UTC(), Value: p.Value, Quality: p.Quality, Reason: p.Reason})
		}
	}
	return list, nil
}

// newestChunks is chunksOf from the end.
const newestChunks = `SELECT start_us, data FROM history_chunk WHERE tag_id = ? AND start_us >= COALESCE(
	(SELECT MAX(start_us) FROM history_chunk WHERE tag_id = ? AND start_us <= ?), ?) AND start_us < ?
	ORDER BY start_us DESC LIMIT ?`

// newestPage reads the samples of a tag before a time down to first, which is from or the start of a chunk.
func (h *Store) newestPage(ctx context.Context, id, from, until int64, n int) (points []chunk.Point, first int64, err error) {
	limit := min(n/chunkSamples+1, pageChunks)
	err = h.set.View(ctx, "history.newest", func(ctx context.Context, tx *storage.Tx) error {
		first = from
		var chunks [][]chunk.Point // the newest first
		err := tx.Each(ctx, newestChunks, []any{id, id, from, from, until, limit}, func(row storage.Scanner) error {
			var (
				start int64
				data  sql.RawBytes
			)
			if err := row.Scan(&start, &data); err != nil {
				return err
			}
			list, err := openChunk(make([]chunk.Point, 0, chunkSamples), id, start, data)
			if chunks = append(chunks, list); len(chunks) == limit {
				first = max(from, start)
			}
			return err
		})
		if err != nil {
			return err
		}
		slices.Reverse(chunks)
		late, err := waitingPoints(ctx, tx, id, first, until)
		if err != nil {
			return err
		}
		points = within(overlay(slices.Concat(chunks...), late), first, until)
		return nil
	})
	return points, first, err
}
