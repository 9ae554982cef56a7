package aasstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/storage"
)

// Write implements repository.Store.
func (s *Store) Write(ctx context.Context, b repository.Batch) ([]uint64, error) {
	facts := make([][]byte, len(b.Changes))
	for i := range b.Changes {
		if !b.Changes[i].Delete {
			facts[i] = factsOf(&b.Changes[i].Document)
		}
	}
	var made []madeChange
	s.changes.begin()
	defer func() { s.changes.end(made) }()
	if direct, ok := s.set.Direct(); ok && len(b.Changes) == 1 && len(b.Files) == 0 && len(b.Remove) == 0 {
		version, done, err := writeSingle(ctx, direct, &b.Changes[0], facts[0])
		if err != nil {
			return nil, err
		}
		if done {
			if fastPathOf(&b.Changes[0]) == fastCreate {
				made = []madeChange{changeOf(&b.Changes[0].Document)}
			}
			return []uint64{version}, nil
		}
	}
	var w writer
	err := s.set.Update(ctx, "aas.write", func(ctx context.Context, tx *storage.Tx) error {
		w = writer{tx: tx, changes: b.Changes, versions: make([]uint64, len(b.Changes)), facts: facts}
		err := w.write(ctx)
		if err == nil {
			err = writeFiles(ctx, tx, b)
		}
		if errors.Is(err, storage.ErrUnique) { // what another transaction has just made: the retry will find it
			return storage.ErrBusy.Wrap(err)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	made = w.made
	return w.versions, nil
}

// writer makes the changes of one batch.
type writer struct {
	tx       *storage.Tx
	changes  []repository.Change
	versions []uint64
	facts    [][]byte
	made     []madeChange // of what documents are found by
}

func changeOf(d *repository.Document) madeChange { return madeChange{d.Kind, keyOf(d.ID)} }

// factsOf returns a hash of what a document is found by.
func factsOf(d *repository.Document) []byte {
	terms := slices.SortedFunc(slices.Values(d.Terms), func(a, b repository.Term) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Value, b.Value)
	})
	buf := make([]byte, 0, 256)
	put := func(text string) {
		buf = binary.AppendUvarint(buf, uint64(len(text)))
		buf = append(buf, text...)
	}
	if buf = append(buf, 0); d.Live {
		buf[0] = 1
	}
	put(d.IDShort)
	for _, t := range terms {
		put(t.Name)
		put(t.Value)
	}
	sum := sha256.Sum256(buf)
	return sum[:]
}

// keptDocument is what is known of a document before a change.
type keptDocument struct {
	version uint64
	facts   []byte
	size    int64 // as row has it
}

func (w *writer) write(ctx context.Context) error {
	switch len(w.changes) {
	case 0:
		return nil
	case 1:
		if done, err := w.fastPath(ctx); done || err != nil {
			return err
		}
	}
	kept, err := w.kept(ctx)
	if err != nil {
		return err
	}
	for i := range w.changes {
		c := &w.changes[i]
		version := kept[i].version
		m := c.Match
		if m.Absent && version != 0 || m.Exists && version == 0 || m.Version != 0 && m.Version != version {
			return &repository.MismatchError{Index: i, Version: version}
		}
		w.versions[i] = c.Next(version)
	}
	return w.apply(ctx, kept)
}

// quick is what almost every write is: a new document, or one that is found by the same as before and
// that is in the version asked for.
type fastPath int

const (
	notFast fastPath = iota
	fastUpdate
	fastCreate
)

func fastPathOf(c *repository.Change) fastPath {
	switch {
	case c.Delete || c.Document.Divided != nil:
		return notFast
	case c.Match.Version != 0 && !c.Match.Absent:
		return fastUpdate
	case c.Match.Absent && !c.Match.Exists && c.Match.Version == 0:
		return fastCreate
	}
	return notFast
}

// fastPath makes the one change of a batch when it is on the fast path and its conditions hold.
func (w *writer) fastPath(ctx context.Context) (done bool, err error) {
	c := &w.changes[0]
	switch fastPathOf(c) {
	case fastUpdate:
		n, err := w.tx.Exec(ctx, updateDocument, updateRow(c, w.facts[0])...)
		w.versions[0] = c.Match.Version + 1
		return n == 1, err
	case fastCreate:
		n, err := w.tx.Exec(ctx, insertDocument+" (?,?,?,?,?,?,?,?,?,?) ON CONFLICT (kind, id) DO NOTHING", documentRow(c, w.facts[0])...)
		if err != nil || n == 0 {
			return false, err
		}
		w.versions[0] = c.Next(0)
		w.made = append(w.made, changeOf(&c.Document))
		if err := w.addTerms(ctx, []int{0}); err != nil {
			return false, err
		}
		return true, w.count(ctx, map[repository.Kind]int{c.Document.Kind: 1})
	}
	return false, nil
}

const (
	insertDocument = "INSERT INTO aas_documents (kind, id, long_id, id_short, id_short_lower, version, live, facts, json, size) VALUES"
	updateDocument = "UPDATE aas_documents SET version = version + 1, json = ? WHERE kind = ? AND id = ? AND version = ? AND facts = ? AND size = 0"
)

// documentRow returns the arguments of insertDocument.
func documentRow(c *repository.Change, facts []byte) []any {
	d := &c.Document
	text, size := textFor(d)
	return []any{int64(d.Kind), keyOf(d.ID), longText(d.ID), d.IDShort, strings.ToLower(d.IDShort), int64(c.Next(0)), d.Live, facts, text, size}
}

// updateRow returns the arguments of updateDocument.
func updateRow(c *repository.Change, facts []byte) []any {
	d := &c.Document
	return []any{string(d.JSON), int64(d.Kind), keyOf(d.ID), int64(c.Match.Version), facts}
}

// kept reads what is there of the documents that are to change, by index.
func (w *writer) kept(ctx context.Context) ([]keptDocument, error) {
	kept := make([]keptDocument, len(w.changes))
	at := make(map[repository.Kind]map[string]int)
	keys := make(map[repository.Kind][]any)
	for i := range w.changes {
		d := &w.changes[i].Document
		key := keyOf(d.ID)
		if at[d.Kind] == nil {
			at[d.Kind] = make(map[string]int)
		}
		at[d.Kind][key] = i
		keys[d.Kind] = append(keys[d.Kind], key)
	}
	for kind, list := range keys {
		for marks, part := range storage.InLists(list) {
			args := append([]any{int64(kind)}, part...)
			err := w.tx.Each(ctx, "SELECT id, version, facts, size FROM aas_documents WHERE kind = ? AND id IN "+marks, args, func(row storage.Scanner) error {
				var (
					key string
					k   keptDocument
				)
				err := row.Scan(&key, &k.version, &k.facts, &k.size)
				kept[at[kind][key]] = k
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return kept, nil
}

// apply makes the changes, whose conditions hold.
func (w *writer) apply(ctx context.Context, kept []keptDocument) error {
	var (
		rows   [][]any
		terms  []int // the documents whose terms are to be added
		counts = make(map[repository.Kind]int)
	)
	for i := range w.changes {
		c := &w.changes[i]
		d := &c.Document
		known := kept[i].version != 0
		var err error
		switch {
		case c.Delete && known:
			counts[d.Kind]--
			w.made = append(w.made, changeOf(d))
			err = w.remove(ctx, d)
		case c.Delete:
		case !known:
			counts[d.Kind]++
			w.made = append(w.made, changeOf(d))
			rows, terms = append(rows, documentRow(c, w.facts[i])), append(terms, i)
		case slices.Equal(kept[i].facts, w.facts[i]):
			text, size := textFor(d)
			_, err = w.tx.Exec(ctx, "UPDATE aas_documents SET version = ?, json = ?, size = ? WHERE kind = ? AND id = ?",
				int64(w.versions[i]), text, size, int64(d.Kind), keyOf(d.ID))
		default:
			w.made = append(w.made, changeOf(d))
			terms = append(terms, i)
			err = w.replace(ctx, i)
		}
		if err == nil && known && !c.Delete {
			err = writeChunks(ctx, w.tx, d, kept[i].size)
		}
		if err != nil {
			return err
		}
	}
	if err := w.tx.Insert(ctx, insertDocument, rows, ""); err != nil {
		return err
	}
	for i := range w.changes {
		if kept[i].version == 0 && !w.changes[i].Delete {
			if err := writeChunks(ctx, w.tx, &w.changes[i].Document, 0); err != nil {
				return err
			}
		}
	}
	if err := w.addTerms(ctx, terms); err != nil {
		return err
	}
	return w.count(ctx, counts)
}

func (w *writer) remove(ctx context.Context, d *repository.Document) error {
	for _, table := range []string{"aas_documents", "aas_chunks", "aas_terms", "aas_files"} {
		if _, err := w.tx.Exec(ctx, "DELETE FROM "+table+" WHERE kind = ? AND id = ?", int64(d.Kind), keyOf(d.ID)); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a document that is found by something else than before.
func (w *writer) replace(ctx context.Context, i int) error {
	d := &w.changes[i].Document
	text, size := textFor(d)
	_, err := w.tx.Exec(ctx, `UPDATE aas_documents SET version = ?, id_short = ?, id_short_lower = ?, live = ?, facts = ?, json = ?, size = ?
		WHERE kind = ? AND id = ?`, int64(w.versions[i]), d.IDShort, strings.ToLower(d.IDShort), d.Live, w.facts[i], text, size,
		int64(d.Kind), keyOf(d.ID))
	if err != nil {
		return err
	}
	_, err = w.tx.Exec(ctx, "DELETE FROM aas_terms WHERE kind = ? AND id = ?", int64(d.Kind), keyOf(d.ID))
	return err
}

func (w *writer) addTerms(ctx context.Context, documents []int) error {
	var rows [][]any
	for _, i := range documents {
		d := &w.changes[i].Document
		key := keyOf(d.ID)
		for _, t := range d.Terms {
			rows = append(rows, []any{int64(d.Kind), t.Name, keyOf(t.Value), key})
		}
	}
	return w.tx.Insert(ctx, "INSERT INTO aas_terms (kind, name, value, id) VALUES", rows, "")
}

// count adds to the numbers of documents and of changes.
func (w *writer) count(ctx context.Context, counts map[repository.Kind]int) error {
	changes := make(map[repository.Kind]int)
	for _, c := range w.made {
		changes[c.kind]++
	}
	slot := int64(0)
	if !w.tx.Features().Group {
		slot = countSlot(w.changes[0].Document.ID)
	}
	for kind := repository.KindShell; kind <= repository.KindPackage; kind++ {
		if changes[kind] == 0 {
			continue
		}
		_, err := w.tx.Exec(ctx, `INSERT INTO aas_counts (kind, slot, documents, changes) VALUES (?, ?, ?, ?)
			ON CONFLICT (kind, slot) DO UPDATE SET documents = aas_counts.documents + excluded.documents,
			changes = aas_counts.changes + excluded.changes`, int64(kind), slot, counts[kind], changes[kind])
		if err != nil {
			return err
		}
	}
	return nil
}

func writeFiles(ctx context.Context, tx *storage.Tx, b repository.Batch) error {
	for _, key := range b.Remove {
		query, args := "DELETE FROM aas_files WHERE kind = ? AND id = ?", []any{int64(key.Kind), keyOf(key.ID)}
		if key.Name != "" {
			query, args = query+" AND name = ?", append(args, keyOf(key.Name))
		}
		if _, err := tx.Exec(ctx, query, args...); err != nil {
			return err
		}
	}
	for i := range b.Files {
		f := &b.Files[i]
		data := f.Data
		if data == nil {
			data = []byte{}
		}
		_, err := tx.Exec(ctx, `INSERT INTO aas_files (kind, id, name, long_name, content_type, data) VALUES (?, ?, ?, ?, ?, ?)
			ON CONFLICT (kind, id, name) DO UPDATE SET content_type = excluded.content_type, data = excluded.data`,
			int64(f.Key.Kind), keyOf(f.Key.ID), keyOf(f.Key.Name), longText(f.Key.Name), storage.Text(f.ContentType), data)
		if err != nil {
			return err
		}
	}
	return nil
}
