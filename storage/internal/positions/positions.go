// Package positions counts the rows of tables that are listed in pages.
package positions

import (
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"

	"github.com/otkit/otkit/internal/ranked"
	"github.com/otkit/otkit/storage"
)

// Place is where a row is in a list, which is in descending order of places.
type Place[K cmp.Ordered] struct {
	Micros int64 // time
	ID     K
}

func (p Place[K]) compare(other Place[K]) int {
	return cmp.Or(cmp.Compare(p.Micros, other.Micros), cmp.Compare(p.ID, other.ID))
}

// Counter counts the rows of a table by class, in blocks of neighbors, so that totals and the places of pages are found
// without reading the rows before them. Every write to the table must be passed to it, in its transaction; such
// transactions wait for one another.
type Counter[K cmp.Ordered] struct {
	Blocks string                                         // the table of the blocks
	Rows   string                                         // a query for the rows of the table, which ends in WHERE
	At, ID string                                         // the columns of a place
	Read   func(storage.Scanner) (Place[K], uint8, error) // reads a row's place and class
}

// blockRows is the number of rows of a new block, which may grow to twice as many.
const blockRows = 1500

type block[K cmp.Ordered] struct {
	low    Place[K]
	counts ranked.Counts
}

func (b *block[K]) total() int { return b.counts.Sum(ranked.All) }

// Change is a row that was inserted or deleted.
type Change[K cmp.Ordered] struct {
	At    Place[K]
	Class uint8
	n     int // 1 or -1
}

// Inserted returns the change of a row that was inserted.
func Inserted[K cmp.Ordered](at Place[K], class uint8) Change[K] { return Change[K]{at, class, 1} }

// Deleted returns the change of a row that was deleted.
func Deleted[K cmp.Ordered](at Place[K], class uint8) Change[K] { return Change[K]{at, class, -1} }

// load returns all blocks in ascending order, none where the table has not been counted.
func (p *Counter[K]) load(ctx context.Context, tx *storage.Tx) ([]block[K], error) {
	return p.some(ctx, tx, "", nil)
}

func (p *Counter[K]) some(ctx context.Context, tx *storage.Tx, where string, args []any) (list []block[K], err error) {
	err = tx.Each(ctx, "SELECT low_us, low_id, counts FROM "+p.Blocks+where+" ORDER BY low_us, low_id", args, func(row storage.Scanner) error {
		var (
			b    block[K]
			data []byte
		)
		if err := row.Scan(&b.low.Micros, &b.low.ID, &data); err != nil {
			return err
		}
		for len(data) > 0 {
			n, size := binary.Uvarint(data[1:])
			if data[0] >= ranked.Classes || size <= 0 {
				return storage.ErrCorrupt.On("table", p.Blocks)
			}
			b.counts[data[0]] = int(n)
			data = data[1+size:]
		}
		list = append(list, b)
		return nil
	})
	return list, err
}

// Apply updates the blocks after changes, which are in the table already.
func (p *Counter[K]) Apply(ctx context.Context, tx *storage.Tx, changes []Change[K]) error {
	if len(changes) == 0 {
		return nil
	}
	order := func(a, b Change[K]) int { return a.At.compare(b.At) }
	low, high := slices.MinFunc(changes, order).At, slices.MaxFunc(changes, order).At
	blocks, err := p.some(ctx, tx, " WHERE low_us <= ? AND (low_us, low_id) <= (?, ?) AND (low_us, low_id) >= (SELECT low_us, low_id FROM "+
		p.Blocks+" WHERE (low_us, low_id) <= (?, ?) ORDER BY low_us DESC, low_id DESC LIMIT 1)", []any{high.Micros, high.Micros, high.ID, low.Micros, low.ID})
	if err != nil {
		return err
	}
	if len(blocks) == 0 {
		return p.countAll(ctx, tx)
	}
	dirty := make(map[int]bool)
	for _, c := range changes {
		i, found := slices.BinarySearchFunc(blocks, c.At, func(b block[K], at Place[K]) int { return b.low.compare(at) })
		if !found {
			i--
		}
		blocks[i].counts[c.Class] += c.n
		dirty[i] = true
	}
	var changed []block[K]
	for i := range dirty {
		b := &blocks[i]
		if slices.Min(b.counts[:]) < 0 {
			return p.countAll(ctx, tx)
		}
		if b.total() < 2*blockRows {
			changed = append(changed, *b)
			continue
		}
		parts, err := p.split(ctx, tx, b.low)
		if err != nil {
			return err
		}
		changed = append(changed, parts...)
	}
	return p.put(ctx, tx, changed)
}

// countAll makes the blocks from the table.
func (p *Counter[K]) countAll(ctx context.Context, tx *storage.Tx) error {
	if _, err := tx.Exec(ctx, "DELETE FROM "+p.Blocks); err != nil {
		return err
	}
	blocks, err := p.split(ctx, tx, p.lowest())
	if err != nil {
		return err
	}
	return p.put(ctx, tx, blocks)
}

// Repair counts the table again if the blocks are wrong: a writer that does not know of them, such as an engine of an
// earlier version that still runs, has changed it. lock is the table that writers lock.
func (p *Counter[K]) Repair(ctx context.Context, set *storage.Set, lock string) error {
	exact := false
	err := set.View(ctx, p.Blocks+".check", func(ctx context.Context, tx *storage.Tx) (err error) {
		exact, err = p.exact(ctx, tx)
		return err
	})
	if err != nil || exact {
		return err
	}
	set.Logger().Warn("row counts wrong; counting again", "table", p.Blocks)
	return set.Update(ctx, p.Blocks+".count", func(ctx context.Context, tx *storage.Tx) error {
		if err := tx.Lock(ctx, lock); err != nil {
			return err
		}
		return p.countAll(ctx, tx)
	})
}

// exact reports whether the blocks are what the table is, or are not there yet.
func (p *Counter[K]) exact(ctx context.Context, tx *storage.Tx) (bool, error) {
	blocks, err := p.load(ctx, tx)
	if err != nil || len(blocks) == 0 {
		return true, err
	}
	i := 0
	err = tx.Each(ctx, p.Rows+" 1 = 1 ORDER BY "+p.At+", "+p.ID, nil, func(row storage.Scanner) error {
		at, class, err := p.Read(row)
		for i+1 < len(blocks) && blocks[i+1].low.compare(at) <= 0 {
			i++
		}
		blocks[i].counts[class]--
		return err
	})
	return !slices.ContainsFunc(blocks, func(b block[K]) bool { return b.counts != ranked.Counts{} }), err
}

// lowest returns the place of the first block, which is there also when it is empty.
func (p *Counter[K]) lowest() Place[K] { return Place[K]{Micros: math.MinInt64} }

// split counts the rows from a place up to the next block into new blocks.
func (p *Counter[K]) split(ctx context.Context, tx *storage.Tx, low Place[K]) ([]block[K], error) {
	next := Place[K]{Micros: math.MaxInt64}
	err := tx.Each(ctx, "SELECT low_us, low_id FROM "+p.Blocks+" WHERE (low_us, low_id) > (?, ?) ORDER BY low_us, low_id LIMIT 1",
		[]any{low.Micros, low.ID}, func(row storage.Scanner) error { return row.Scan(&next.Micros, &next.ID) })
	if err != nil {
		return nil, err
	}
	blocks := []block[K]{{low: low}}
	rows := 0
	// SQLite uses an index for one comparison of pairs only: the times bound what it reads.
	err = tx.Each(ctx, p.Rows+" "+p.At+" >= ? AND "+p.At+" <= ? AND ("+p.At+", "+p.ID+") >= (?, ?) AND ("+p.At+", "+p.ID+") < (?, ?) ORDER BY "+p.At+", "+p.ID,
		[]any{low.Micros, next.Micros, low.Micros, low.ID, next.Micros, next.ID}, func(row storage.Scanner) error {
			at, class, err := p.Read(row)
			if err != nil {
				return err
			}
			if rows == blockRows {
				blocks, rows = append(blocks, block[K]{low: at}), 0
			}
			rows++
			blocks[len(blocks)-1].counts[class]++
			return nil
		})
	return blocks, err
}

// put stores blocks. Empty ones are removed, but for the first of all.
func (p *Counter[K]) put(ctx context.Context, tx *storage.Tx, blocks []block[K]) error {
	rows := make([][]any, 0, len(blocks))
	for _, b := range blocks {
		if b.total() == 0 && b.low != p.lowest() {
			if _, err := tx.Exec(ctx, "DELETE FROM "+p.Blocks+" WHERE low_us = ? AND low_id = ?", b.low.Micros, b.low.ID); err != nil {
				return err
			}
			continue
		}
		data := []byte{}
		for class, n := range b.counts {
			if n > 0 {
				data = binary.AppendUvarint(append(data, byte(class)), uint64(n))
			}
		}
		rows = append(rows, []any{b.low.Micros, b.low.ID, data})
	}
	return tx.Insert(ctx, "INSERT INTO "+p.Blocks+" (low_us, low_id, counts) VALUES", rows,
		"ON CONFLICT (low_us, low_id) DO UPDATE SET counts = excluded.counts")
}

// Selection is what a list selects by class and time.
type Selection struct {
	Set      ranked.Set
	From, To int64 // time, half-open
}

// Page is where a page of a list is.
type Page[K cmp.Ordered] struct {
	Counted bool     // whether the table has been counted; otherwise nothing else is set
	Total   int      // of all that are selected
	Rows    int      // of the page
	Before  Place[K] // the page is among the rows below this place,
	Skip    int      // after so many of them
}

// Find returns where a page is and the number of all. count counts the selected rows of which the time is at
// least from and the place below before: those of a part of one block.
func (p *Counter[K]) Find(ctx context.Context, tx *storage.Tx, sel Selection, offset, limit int,
	count func(from int64, before Place[K]) (int, error)) (at Page[K], err error) {
	blocks, err := p.load(ctx, tx)
	if err != nil || len(blocks) == 0 {
		return at, err
	}
	above, err := p.above(blocks, sel.Set, sel.To, count)
	if err != nil {
		return at, err
	}
	all, err := p.above(blocks, sel.Set, sel.From, count)
	if err != nil {
		return at, err
	}
	at.Counted, at.Total = true, max(all-above, 0)
	at.Rows = max(min(limit, at.Total-offset), 0)
	at.Before = Place[K]{Micros: math.MaxInt64}
	at.Skip = above + offset
	for _, b := range slices.Backward(blocks) {
		n := b.counts.Sum(sel.Set)
		if at.Skip < n || at.Rows == 0 {
			break
		}
		at.Skip -= n
		at.Before = b.low
	}
	return at, nil
}

// above returns the number of rows whose time is not below us.
func (p *Counter[K]) above(blocks []block[K], set ranked.Set, us int64, count func(int64, Place[K]) (int, error)) (n int, err error) {
	switch us {
	case math.MinInt64:
		for i := range blocks {
			n += blocks[i].counts.Sum(set)
		}
		return n, nil
	case math.MaxInt64:
		return 0, nil
	}
	before := Place[K]{Micros: math.MaxInt64}
	for _, b := range slices.Backward(blocks) {
		in := b.counts.Sum(set)
		if b.low.Micros >= us {
			n += in
			before = b.low
			continue
		}
		if in > 0 && before.Micros >= us {
			in, err = count(us, before)
			n += in
		}
		break
	}
	return n, err
}
