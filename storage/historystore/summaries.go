package historystore

import (
	"context"
	"database/sql"
	"iter"
	"slices"
	"time"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore/internal/chunk"
	"github.com/otkit/otkit/tags/history"
)

// firstSummaries and pageSummaries are how many chunks' summaries a transaction of Summaries reads, as firstChunks and pageChunks are of Range.
const (
	firstSummaries = 16
	pageSummaries  = 1024
)

// Summaries implements history.Summarizer. It reads page by page as Range does. Chunks are unpacked that have no summary, that a late
// sample falls into, or that are not within one interval, slot by slot.
func (h *Store) Summaries(ctx context.Context, tag string, start, end time.Time, nextCut func(time.Time) time.Time) iter.Seq2[*history.Summary, error] {
	return func(yield func(*history.Summary, error) bool) {
		id, err := h.lookup(ctx, tag)
		if err != nil {
			yield(nil, err)
			return
		}
		if id == 0 {
			return
		}
		from, until := storage.CeilMicros(start), storage.CeilMicros(end)
		p := summaryPage{h: h, id: id, tag: tag, nextCut: nextCut}
		if err := p.readWaiting(ctx, from, until); err != nil {
			yield(nil, err)
			return
		}
		for limit := firstSummaries; from < until; limit = min(4*limit, pageSummaries) {
			if err := ctx.Err(); err != nil {
				yield(nil, storage.ErrCanceled.Wrap(err))
				return
			}
			next, err := p.read(ctx, from, until, limit)
			if err != nil {
				yield(nil, err)
				return
			}
			if !p.each(yield) {
				return
			}
			from = next
		}
	}
}

// summaryPage is what one transaction reads: summaries and points in order of time.
type summaryPage struct {
	h       *Store
	id      int64
	tag     string
	nextCut func(time.Time) time.Time

	waiting []chunk.Point // of all pages

	parts  []history.Summary
	chunks []pageChunk
	points []chunk.Point // of the chunks that were unpacked, and late ones
	pieces []piece
}

// pageChunk is a chunk of the page. Its summary is parts[from:until], if there is one that can be used.
type pageChunk struct {
	start       int64
	from, until int
	known       bool // it has a summary
	points      []chunk.Point
}

// piece is a part or some points.
type piece struct {
	part   *history.Summary
	points []chunk.Point
}

// summariesOf is chunksOf with summaries. It does not touch the chunks themselves.
const summariesOf = `SELECT c.start_us, s.data FROM history_chunk c LEFT JOIN history_summary s ON s.tag_id = c.tag_id AND s.start_us = c.start_us
	WHERE c.tag_id = ? AND c.start_us >= COALESCE((SELECT MAX(start_us) FROM history_chunk WHERE tag_id = ? AND start_us <= ?), ?) AND c.start_us < ?
	ORDER BY c.start_us LIMIT ?`

// readWaiting reads the samples that wait, before any chunks: what is moved into chunks meanwhile is in both.
func (p *summaryPage) readWaiting(ctx context.Context, from, until int64) error {
	return p.h.set.View(ctx, "history.waiting", func(ctx context.Context, tx *storage.Tx) error {
		runs, err := waitingPoints(ctx, tx, p.id, from, until)
		p.waiting = newest(runs)
		return err
	})
}

// read reads from a time up to next, which is until or the start of the chunk that follows so many.
func (p *summaryPage) read(ctx context.Context, from, until int64, limit int) (next int64, err error) {
	lacking := 0
	err = p.h.set.View(ctx, "history.summaries", func(ctx context.Context, tx *storage.Tx) error {
		next, lacking = until, 0
		p.parts, p.chunks, p.points, p.pieces = p.parts[:0], p.chunks[:0], p.points[:0], p.pieces[:0]
		err := tx.Each(ctx, summariesOf, []any{p.id, p.id, from, from, until, limit + 1}, func(row storage.Scanner) error {
			var (
				c    pageChunk
				data sql.RawBytes
			)
			if err := row.Scan(&c.start, &data); err != nil {
				return err
			}
			if len(p.chunks) == limit {
				next = c.start
				return nil
			}
			c.from = len(p.parts)
			if data != nil {
				p.parts, c.known = openSummary(p.parts, p.tag, c.start, data)
			}
			c.until = len(p.parts)
			p.chunks = append(p.chunks, c)
			return nil
		})
		if err != nil {
			return err
		}
		late := within(p.waiting, from, next)
		next = p.unpackable(late, from, next)
		if lacking, err = p.unpack(ctx, tx); err != nil {
			return err
		}
		p.arrange(within(late, from, next), from, next)
		return nil
	})
	if err == nil && lacking > 0 {
		p.h.wakeUp()
	}
	return next, err
}

// unpackable clears the parts of chunks that cannot be used as they are, and leaves chunks to the next page when too many must be unpacked. It
// returns where the page ends.
func (p *summaryPage) unpackable(late []chunk.Point, from, until int64) int64 {
	n := 0
	for i := range p.chunks {
		c := &p.chunks[i]
		if c.from < c.until && p.fits(c, late, from, until) {
			continue
		}
		if n == pageChunks {
			p.chunks = p.chunks[:i]
			return c.start
		}
		c.until = c.from
		n++
	}
	return until
}

// fits reports whether the parts of a chunk can be used instead of its points.
func (p *summaryPage) fits(c *pageChunk, late []chunk.Point, from, until int64) bool {
	parts := p.parts[c.from:c.until]
	end := parts[len(parts)-1].Last.Time.UnixMicro()
	if c.start < from || end >= until || firstAt(late, c.start) != firstAt(late, end+1) {
		return false
	}
	for i := range parts {
		if !parts[i].Last.Time.Before(p.nextCut(parts[i].First.Time)) {
			return false
		}
	}
	return true
}

// unpack reads the points of the chunks without parts. It returns how many of them should have a summary.
func (p *summaryPage) unpack(ctx context.Context, tx *storage.Tx) (lacking int, err error) {
	keys := []any{}
	for i := range p.chunks {
		if p.chunks[i].from == p.chunks[i].until {
			keys = append(keys, p.chunks[i].start)
		}
	}
	var missing []summaryKey
	for marks, part := range storage.InLists(keys) {
		err := tx.Each(ctx, "SELECT start_us, data FROM history_chunk WHERE start_us IN "+marks+" AND tag_id = ?", append(part, p.id),
			func(row storage.Scanner) error {
				var (
					start int64
					data  sql.RawBytes
				)
				if err := row.Scan(&start, &data); err != nil {
					return err
				}
				at, _ := slices.BinarySearchFunc(p.chunks, start, func(c pageChunk, start int64) int { return int(min(1, max(-1, c.start-start))) })
				c, before := &p.chunks[at], len(p.points)
				if p.points, err = openChunk(p.points, p.id, start, data); err != nil {
					return err
				}
				c.points = p.points[before:]
				if !c.known && hasSummary(len(c.points)) {
					missing = append(missing, summaryKey{p.id, start})
				}
				return nil
			})
		if err != nil {
			return 0, err
		}
	}
	p.h.lack(missing)
	return len(missing), nil
}

// arrange puts the page in order.
func (p *summaryPage) arrange(late []chunk.Point, from, until int64) {
	for i := range p.chunks {
		c := &p.chunks[i]
		before := firstAt(late, c.start)
		p.pieces = append(p.pieces, piece{points: late[:before]})
		late = late[before:]
		if c.points == nil {
			for j := c.from; j < c.until; j++ {
				p.pieces = append(p.pieces, piece{part: &p.parts[j]})
			}
			continue
		}
		n := firstAt(late, c.points[len(c.points)-1].Micros+1)
		p.pieces = append(p.pieces, piece{points: within(overlay(slices.Clip(c.points), [][]chunk.Point{late[:n]}), from, until)})
		late = late[n:]
	}
	p.pieces = append(p.pieces, piece{points: late})
}

// each yields the page. It is false if the caller has enough.
func (p *summaryPage) each(yield func(*history.Summary, error) bool) bool {
	var (
		run history.Summary
		cut time.Time
	)
	flush := func() bool {
		if run.Samples == 0 {
			return true
		}
		goesOn := yield(&run, nil)
		run = history.Summary{}
		return goesOn
	}
	for i := range p.pieces {
		for j := range p.pieces[i].points {
			s := sampleOf(p.tag, &p.pieces[i].points[j])
			if run.Samples > 0 && !s.Time.Before(cut) && !flush() {
				return false
			}
			if run.Samples == 0 {
				cut = p.nextCut(s.Time)
			}
			run.Add(s)
		}
		if part := p.pieces[i].part; part != nil && (!flush() || !yield(part, nil)) {
			return false
		}
	}
	return flush()
}
