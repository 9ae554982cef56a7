package aasstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/storage"
)

var errDamaged = storage.ErrCorrupt.Because("the chunks of a document do not make up its JSON")

// whole returns the document with its JSON.
func (r *row) whole(ctx context.Context, tx *storage.Tx) (repository.Document, error) {
	if r.size == 0 {
		return r.Document, nil
	}
	a, err := apartOf(tx, r)
	if err != nil {
		return repository.Document{}, err
	}
	d := r.Document
	d.JSON = append(make([]byte, 0, r.size), a.Head...)
	err = tx.Each(ctx, "SELECT data FROM aas_chunks WHERE kind = ? AND id = ? AND number >= 0 ORDER BY number", a.of(), func(from storage.Scanner) error {
		var data sql.RawBytes
		err := from.Scan(&data)
		if len(d.JSON) > len(a.Head) {
			d.JSON = append(d.JSON, ',')
		}
		d.JSON = append(d.JSON, data...)
		return err
	})
	if d.JSON = append(d.JSON, a.Tail...); err == nil && int64(len(d.JSON)) != r.size {
		err = errDamaged
	}
	return d, err
}

// apart is a document that is kept apart, within a transaction.
type apart struct {
	outline
	*row
	tx *storage.Tx
}

func apartOf(tx *storage.Tx, r *row) (*apart, error) {
	a := &apart{row: r, tx: tx}
	if err := json.Unmarshal(r.JSON, &a.outline); err != nil || a.Buckets < 1 {
		return nil, errDamaged.Wrap(err)
	}
	a.JSON = nil
	return a, nil
}

// of returns the arguments that name the document.
func (a *apart) of() []any { return []any{int64(a.Kind), a.key} }

// chunk reads a row of aas_chunks. If it is not there, ok is false.
func (a *apart) chunk(ctx context.Context, number int64) (c chunk, ok bool, err error) {
	c.number = number
	err = a.tx.Row(ctx, "SELECT names, data FROM aas_chunks WHERE kind = ? AND id = ? AND number = ?", append(a.of(), number), &c.names, &c.data)
	if errors.Is(err, sql.ErrNoRows) {
		return c, false, nil
	}
	return c, err == nil, err
}

// found is the place of an element, and of its idShort in the index.
type found struct {
	chunk chunk
	place place
	ok    bool
	hash  uint32
	index bucket
}

// find looks for the first element with an idShort.
func (a *apart) find(ctx context.Context, idShort string) (f found, err error) {
	f.hash = hashOf(idShort)
	index, _, err := a.chunk(ctx, a.bucketNumber(f.hash))
	if err != nil {
		return f, err
	}
	f.index = index.data
	for _, number := range f.index.chunks(f.hash) {
		if f.chunk, _, err = a.chunk(ctx, number); err != nil {
			return f, err
		}
		if f.place, f.ok = f.chunk.find(idShort); f.ok {
			return f, nil
		}
	}
	return f, nil
}

// Element implements repository.ElementStore.
func (s *Store) Element(ctx context.Context, kind repository.Kind, id, idShort string) (d repository.Document, ok bool, err error) {
	key := keyOf(id)
	r, ok, err := s.single(ctx, kind, key)
	if err != nil || !ok || r.size == 0 {
		return r.Document, ok, err
	}
	err = s.set.View(ctx, "aas.element", func(ctx context.Context, tx *storage.Tx) error {
		r, there, err := rowOf(ctx, tx, kind, key)
		if ok = there; err != nil || !ok || r.size == 0 {
			d = r.Document
			return err
		}
		a, err := apartOf(tx, &r)
		if err != nil {
			return err
		}
		f, err := a.find(ctx, idShort)
		d = r.Document
		d.Divided = &repository.Divided{Divided: aas.Divided{Head: []byte(a.Head), Tail: []byte(a.Tail)}, Count: a.Count, Entries: a.Entries}
		if f.ok {
			d.Divided.Elements = []aas.DividedElement{{IDShort: idShort, JSON: f.chunk.data[f.place.from:f.place.to]}}
		}
		return err
	})
	return d, ok, err
}

// WriteElement implements repository.ElementStore.
func (s *Store) WriteElement(ctx context.Context, c repository.ElementChange) (uint64, error) {
	err := s.set.Update(ctx, "aas.element.write", func(ctx context.Context, tx *storage.Tx) error {
		r, ok, err := rowOf(ctx, tx, c.Kind, keyOf(c.ID))
		if err != nil {
			return err
		}
		if !ok || r.size == 0 || r.Version != c.Version {
			return &repository.MismatchError{Version: r.Version}
		}
		a, err := apartOf(tx, &r)
		if err != nil {
			return err
		}
		if err := a.change(ctx, &c); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "UPDATE aas_documents SET version = ?, json = ?, size = ? WHERE kind = ? AND id = ?",
			append([]any{int64(c.Version + 1), a.text(), a.size}, a.of()...)...)
		return err
	})
	if err != nil {
		return 0, err
	}
	return c.Version + 1, nil
}

// change makes a change of one element in aas_chunks, and in the outline and the size.
func (a *apart) change(ctx context.Context, c *repository.ElementChange) error {
	f, err := a.find(ctx, c.IDShort)
	if err != nil {
		return err
	}
	a.Count, a.Entries = c.Count, c.Entries
	switch {
	case f.ok && c.JSON != nil:
		a.size += int64(len(c.JSON) - (f.place.to - f.place.from))
		f.chunk.replace(f.place, c.IDShort, c.JSON)
	case f.ok && a.size == int64(len(a.Head)+f.place.to-f.place.from+len(a.Tail)): // the only one
		return &repository.MismatchError{Version: a.Version}
	case f.ok:
		a.size -= int64(f.place.to - f.place.from + 1)
		f.chunk.remove(f.place)
		if err := a.put(ctx, &chunk{number: a.bucketNumber(f.hash), data: f.index.without(entryOf(f.hash, f.chunk.number))}); err != nil {
			return err
		}
	case c.JSON == nil:
		return &repository.MismatchError{Version: a.Version}
	default:
		a.size += int64(len(c.JSON) + 1)
		if f.chunk, _, err = a.chunk(ctx, a.Last); err != nil {
			return err
		}
		if !f.chunk.hasRoom(c.JSON) {
			a.Last++
			f.chunk = chunk{number: a.Last}
		}
		f.chunk.add(c.IDShort, c.JSON)
		f.index = append(f.index, entryOf(f.hash, f.chunk.number)...)
		if err := a.put(ctx, &chunk{number: a.bucketNumber(f.hash), data: f.index}); err != nil {
			return err
		}
	}
	if err := a.put(ctx, &f.chunk); err != nil {
		return err
	}
	if len(f.index) > maxBucket*bucketEntry || len(f.chunk.data) > max(maxChunkBytes, len(c.JSON)) {
		return a.rebuild(ctx)
	}
	return nil
}

// put writes a row of aas_chunks; one without content is not kept.
func (a *apart) put(ctx context.Context, c *chunk) error {
	if len(c.data) == 0 {
		_, err := a.tx.Exec(ctx, "DELETE FROM aas_chunks WHERE kind = ? AND id = ? AND number = ?", append(a.of(), c.number)...)
		return err
	}
	if c.names == nil {
		c.names = []byte{}
	}
	_, err := a.tx.Exec(ctx, insertChunk+" (?,?,?,?,?) ON CONFLICT (kind, id, number) DO UPDATE SET names = excluded.names, data = excluded.data",
		append(a.of(), c.number, c.names, c.data)...)
	return err
}

const insertChunk = "INSERT INTO aas_chunks (kind, id, number, names, data) VALUES"

// rebuild divides the elements into chunks again, because one or a bucket of the index has grown too large.
func (a *apart) rebuild(ctx context.Context) error {
	var elements []aas.DividedElement
	err := a.tx.Each(ctx, "SELECT names, data FROM aas_chunks WHERE kind = ? AND id = ? AND number >= 0 ORDER BY number", a.of(), func(from storage.Scanner) error {
		var c chunk
		err := from.Scan(&c.names, &c.data)
		elements = append(elements, c.elements()...)
		return err
	})
	if err != nil {
		return err
	}
	d := repository.Document{Kind: a.Kind, ID: a.ID, Divided: &repository.Divided{
		Divided: aas.Divided{Head: []byte(a.Head), Tail: []byte(a.Tail), Elements: elements}, Count: a.Count, Entries: a.Entries}}
	a.outline, _, a.size = outlineOf(d.Divided)
	return writeChunks(ctx, a.tx, &d, a.size)
}

// writeChunks writes the chunks of a document in place of those of a document of a size.
func writeChunks(ctx context.Context, tx *storage.Tx, d *repository.Document, before int64) error {
	key := keyOf(d.ID)
	if before > 0 {
		if _, err := tx.Exec(ctx, "DELETE FROM aas_chunks WHERE kind = ? AND id = ?", int64(d.Kind), key); err != nil {
			return err
		}
	}
	if d.Divided == nil {
		return nil
	}
	o, chunks, _ := outlineOf(d.Divided)
	index := make([]bucket, o.Buckets)
	rows := make([][]any, 0, len(chunks)+len(index))
	for i := range chunks {
		c := &chunks[i]
		rows = append(rows, []any{int64(d.Kind), key, c.number, c.names, c.data})
		c.each(func(name []byte, _ place) bool {
			hash := hashOf(string(name))
			at := -1 - o.bucketNumber(hash)
			index[at] = append(index[at], entryOf(hash, c.number)...)
			return true
		})
	}
	for i, b := range index {
		if len(b) > 0 {
			rows = append(rows, []any{int64(d.Kind), key, int64(-1 - i), []byte{}, []byte(b)})
		}
	}
	return tx.Insert(ctx, insertChunk, rows, "")
}
