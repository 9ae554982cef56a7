package historystore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore/internal/chunk"
)

// hasSummary reports whether a chunk of so many samples has a summary. One of fewer is packed again soon, or has long texts: its summary
// could be as large as the chunk.
func hasSummary(count int) bool { return count >= chunkEnough }

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
			var (
				rows  [][]any
				added int64
			)
			for _, k := range part {
				var (
					points []chunk.Point
					had    int64
				)
				err := tx.Each(ctx, summarized, []any{k.tag, k.start}, func(row storage.Scanner) error {
					var data sql.RawBytes
					if err := row.Scan(&data, &had); err != nil {
						return err
					}
					if whole, err := openChunk(nil, k.tag, k.start, data); err == nil && hasSummary(len(whole)) { // a range reports a damaged one
						points = whole
					}
					return nil
				})
				if err != nil {
					return err
				}
				if len(points) > 0 {
					summary := sealSummary(k.start, summarize(points))
					rows = append(rows, []any{k.tag, k.start, summary})
					added += int64(len(summary)) - had
				}
			}
			if err := tx.Insert(ctx, insertSummary, rows, replaceSummary); err != nil || added == 0 {
				return err
			}
			_, err := tx.Exec(ctx, "UPDATE history_total SET bytes = bytes + ? WHERE id = 1", added)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

const (
	summarized     = "SELECT c.data, " + summarySize + " FROM history_chunk c WHERE c.tag_id = ? AND c.start_us = ?"
	insertSummary  = "INSERT INTO history_summary (tag_id, start_us, data) VALUES"
	replaceSummary = "ON CONFLICT (tag_id, start_us) DO UPDATE SET data = excluded.data"
)
