package historystore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore/internal/chunk"
)

// hasSummary reports whether a chunk has a summary: one that is packed again soon has none.
func hasSummary(count, bytes int) bool { return count >= chunkEnough || bytes >= chunkBytes }

// summaryKey is the key of a chunk and its summary.
type summaryKey struct{ tag, start int64 }

// maxLacking bounds the chunks of earlier versions whose summaries are made after a read. Later reads name the rest.
const maxLacking = 100_000

// lack notes chunks without the summary that they should have.
func (h *Store) lack(keys []summaryKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lacking = append(h.lacking, keys[:min(len(keys), maxLacking-len(h.lacking))]...)
}

// makeSummaries makes the summaries that reads have missed.
func (h *Store) makeSummaries(ctx context.Context, update storage.Updater) error {
	h.mu.Lock()
	keys := h.lacking
	h.lacking = nil
	h.mu.Unlock()
	slices.SortFunc(keys, func(a, b summaryKey) int { return slices.Compare([]int64{a.tag, a.start}, []int64{b.tag, b.start}) })
	for part := range slices.Chunk(slices.Compact(keys), pageChunks) {
		err := update(ctx, "history.summarize", func(ctx context.Context, tx *storage.Tx) error {
			var rows [][]any
			for _, k := range part {
				var points []chunk.Point
				err := tx.Each(ctx, "SELECT data FROM history_chunk WHERE tag_id = ? AND start_us = ?", []any{k.tag, k.start}, func(row storage.Scanner) error {
					var data sql.RawBytes
					err := row.Scan(&data)
					if err == nil {
						points, _ = openChunk(nil, k.tag, k.start, data) // a range reports a damaged one
					}
					return err
				})
				if err != nil {
					return err
				}
				if len(points) > 0 {
					rows = append(rows, []any{k.tag, k.start, sealSummary(k.start, summarize(points))})
				}
			}
			return tx.Insert(ctx, insertSummary, rows, replaceSummary)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	insertSummary  = "INSERT INTO history_summary (tag_id, start_us, data) VALUES"
	replaceSummary = "ON CONFLICT (tag_id, start_us) DO UPDATE SET data = excluded.data"
)
