package historystore

import (
	"context"
	"strings"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore/internal/chunk"
)

// A chunk is full with so many samples or bytes. One that has enough is left alone by what follows it:
// packing it again would cost more than the larger chunk saves.
const (
	chunkSamples = 1024
	chunkEnough  = 448
	chunkBytes   = 64 << 10
)

// rowBytes is what a chunk takes beside its data and its summary, about.
const rowBytes = 64

// summarySize is the size of the summary of a chunk c.
const summarySize = "COALESCE((SELECT LENGTH(s.data) FROM history_summary s WHERE s.tag_id = c.tag_id AND s.start_us = c.start_us), 0)"

// cutChunk returns how many points go into a chunk of at most so many.
func cutChunk(points []chunk.Point, most int) int {
	size := 0
	for i := range points {
		if i == most || size >= chunkBytes {
			return i
		}
		size += 8 + len(points[i].Value.Text())
	}
	return len(points)
}

// chunkChange gathers what a transaction does to chunks.
type chunkChange struct {
	gone           [][]any // tag and start
	rows           [][]any
	summaries      [][]any
	without        [][]any // tag and start of chunks without a summary
	bytes, samples int64
}

func (c *chunkChange) remove(tag int64, o oldChunk) {
	c.gone = append(c.gone, []any{tag, o.start})
	c.bytes -= o.size + o.summary
	c.samples -= o.count
}

func (c *chunkChange) add(tag int64, points []chunk.Point) {
	data := sealChunk(points)
	start := points[0].Micros
	c.rows = append(c.rows, []any{tag, start, points[len(points)-1].Micros, int64(len(points)), data})
	if hasSummary(len(points)) {
		summary := sealSummary(start, summarize(points))
		c.summaries = append(c.summaries, []any{tag, start, summary})
		c.bytes += int64(len(summary))
	} else {
		c.without = append(c.without, []any{tag, start})
	}
	c.bytes += int64(len(data)) + rowBytes
	c.samples += int64(len(points))
}

// removeSummary removes only the summary of a chunk.
func (c *chunkChange) removeSummary(tag int64, o oldChunk) {
	c.without = append(c.without, []any{tag, o.start})
	c.bytes -= o.summary
}

// apply writes the change and keeps the total.
func (c *chunkChange) apply(ctx context.Context, tx *storage.Tx) error {
	if err := c.delete(ctx, tx); err != nil {
		return err
	}
	err := tx.Insert(ctx, "INSERT INTO history_chunk (tag_id, start_us, end_us, count, data) VALUES", c.rows,
		`ON CONFLICT (tag_id, start_us) DO UPDATE SET end_us = excluded.end_us, count = excluded.count, data = excluded.data`)
	if err == nil {
		err = tx.Insert(ctx, insertSummary, c.summaries, replaceSummary)
	}
	if err != nil || c.bytes == 0 && c.samples == 0 {
		return err
	}
	_, err = tx.Exec(ctx, "UPDATE history_total SET bytes = bytes + ?, samples = samples + ? WHERE id = 1", c.bytes, c.samples)
	return err
}

// delete removes the chunks that are gone, also those that are written again: SQLite packs rows that are
// put in at the end, and leaves room beside those that grow where they are. Their summaries go with them.
func (c *chunkChange) delete(ctx context.Context, tx *storage.Tx) error {
	if err := deleteKeys(ctx, tx, "history_chunk", c.gone); err != nil {
		return err
	}
	return deleteKeys(ctx, tx, "history_summary", c.without)
}

func deleteKeys(ctx context.Context, tx *storage.Tx, table string, keys [][]any) error {
	var args []any
	for _, k := range keys {
		args = append(args, k...)
	}
	const one = "(CAST(? AS BIGINT), CAST(? AS BIGINT))"
	for len(args) > 0 {
		n := min(len(args)/2, storage.MaxRows)
		query := "DELETE FROM " + table + " WHERE (tag_id, start_us) IN (VALUES " + one + strings.Repeat(","+one, n-1) + ")"
		if _, err := tx.Exec(ctx, query, args[:2*n]...); err != nil {
			return err
		}
		args = args[2*n:]
	}
	return nil
}
