package repository

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// CreateAll keeps new documents: all of them or, after an error, none. An Invalid error names the documents
// that are refused by their places, such as [2].id; an Exists error names the first that is there already.
// Else it is as [Repository.Create].
func (r *Repository[T]) CreateAll(ctx context.Context, list []*T) error {
	docs, err := r.encodeAll(ctx, list)
	if err != nil {
		return err
	}
	unlock, err := r.s.locks.lockAll(ctx, docs)
	if err != nil {
		return err
	}
	defer unlock()
	changes := make([]Change, len(docs))
	for i, d := range docs {
		changes[i] = Change{Document: d, Match: Match{Absent: true}}
	}
	err = r.writeAll(ctx, Batch{Changes: changes})
	if at, ok := mismatched(err); ok {
		return r.form.exists.On("id", docs[at].ID).Invalid(fault.Field{Field: entryOf("", at) + ".id", Message: "is taken"}).Wrap(err)
	}
	return err
}

// PutAll keeps documents, each new or in place of the one with its id: all of them or, after an error, none.
// An Invalid error names the documents that are refused by their places, such as [2].id. Else it is as
// [Repository.Put].
func (r *Repository[T]) PutAll(ctx context.Context, list []*T) error {
	docs, err := r.encodeAll(ctx, list)
	if err != nil {
		return err
	}
	unlock, err := r.s.locks.lockAll(ctx, docs)
	if err != nil {
		return err
	}
	defer unlock()
	p := replacing[T]{r: r, docs: docs, list: list, changes: make([]*Change, len(docs)), gone: make([][]FileKey, len(docs))}
	from, to, width := 0, len(docs), 1
	return r.s.retry(ctx, func() error {
		if err := p.read(ctx, from, to); err != nil {
			return err
		}
		batch, places := p.batch()
		err := r.writeAll(ctx, batch)
		// While many are read again others change again: few at first, beginning with the first that has changed.
		if at, ok := mismatched(err); ok {
			from, to = places[at], min(places[at]+width, len(docs))
			width = min(2*width, len(docs))
		}
		return again(err, Match{})
	})
}

// DeleteAll removes documents and their files: all of them or, after an error, none. A NotFound error names
// the place of the first that is not there.
func (r *Repository[T]) DeleteAll(ctx context.Context, ids []string) error {
	missing := func(at int) *fault.Error {
		f, _ := fault.From(r.missing(ids[at]))
		return f.Invalid(fault.Field{Field: entryOf("", at), Message: "is not there"})
	}
	docs := make([]Document, len(ids))
	changes := make([]Change, len(ids))
	seen := make(map[string]bool, len(ids))
	for i, id := range ids {
		switch {
		case badID(id) != "":
			return missing(i)
		case seen[id]:
			return invalid(entryOf("", i), "is a duplicate")
		}
		seen[id] = true
		docs[i] = Document{Kind: r.form.kind, ID: id}
		changes[i] = Change{Document: docs[i], Delete: true, Match: Match{Exists: true}}
	}
	unlock, err := r.s.locks.lockAll(ctx, docs)
	if err != nil {
		return err
	}
	defer unlock()
	err = r.writeAll(ctx, Batch{Changes: changes})
	if at, ok := mismatched(err); ok {
		return missing(at).Wrap(err)
	}
	return err
}

func mismatched(err error) (index int, yes bool) {
	var mismatch *MismatchError
	if !errors.As(err, &mismatch) {
		return 0, false
	}
	return mismatch.Index, true
}

// encodeAll is encode for documents that are written together.
func (r *Repository[T]) encodeAll(ctx context.Context, list []*T) ([]Document, error) {
	docs := make([]Document, len(list))
	seen := make(map[string]bool, len(list))
	var fields []fault.Field
	for i, v := range list {
		if err := ctx.Err(); err != nil {
			return nil, errCanceled.Wrap(err)
		}
		if len(fields) >= maxReported {
			break
		}
		d, err := r.encode(ctx, v)
		if err == nil && seen[d.ID] {
			err = invalid("id", "is a duplicate")
		}
		switch refused, ok := fault.From(err); {
		case err == nil:
			docs[i], seen[d.ID] = d, true
		case !ok || refused.Kind != fault.Invalid:
			return nil, err
		case len(refused.Fields) == 0:
			fields = append(fields, fault.Field{Field: entryOf("", i), Message: refused.Message})
		default:
			fields = append(fields, below(entryOf("", i), refused.Fields)...)
		}
	}
	if len(fields) > 0 {
		return nil, refusal(fields)
	}
	return docs, nil
}

// replacing puts documents in place of those that are there.
type replacing[T Storable] struct {
	r       *Repository[T]
	docs    []Document
	list    []*T
	changes []*Change // nil for what is there as it should be
	gone    [][]FileKey
}

// read readies some of the documents for what is there now.
func (p *replacing[T]) read(ctx context.Context, from, to int) error {
	const readTogether = 16 // may be large
	for ; from < to; from += readTogether {
		part := p.docs[from:min(from+readTogether, to)]
		ids := make([]string, len(part))
		for i := range part {
			ids[i] = part[i].ID
		}
		there, err := p.r.stored(ctx, ids...)
		if err != nil {
			return err
		}
		old := make(map[string]Document, len(there))
		for _, d := range there {
			old[d.ID] = d
		}
		for i, d := range part {
			at := from + i
			p.changes[at], p.gone[at] = nil, nil
			before, known := old[d.ID]
			if known {
				if err := p.keepBlobs(ctx, at, &before, &d); err != nil {
					return err
				}
			}
			switch {
			case !known:
				p.changes[at] = &Change{Document: d, Match: Match{Absent: true}}
			case !bytes.Equal(before.JSON, d.JSON):
				if p.gone[at], err = p.r.orphans(ctx, before, p.list[at], nil); err != nil {
					return err
				}
				p.changes[at] = &Change{Document: d, Match: Match{Version: before.Version}}
			}
		}
	}
	return nil
}

// keepBlobs encodes a document into d again if it keeps Blobs of the one that it replaces.
func (p *replacing[T]) keepBlobs(ctx context.Context, at int, before, d *Document) error {
	v, err := p.r.keepBlobs(before, p.list[at])
	if err == nil && v != p.list[at] {
		err = encodeInto(ctx, p.r.s, p.r.form, v, d, before)
	}
	if refused, ok := fault.From(err); ok && len(refused.Fields) > 0 {
		return aas.ErrInvalidRequest.Invalid(below(entryOf("", at), refused.Fields)...)
	}
	return err
}

// batch returns the changes, and the place of each among the documents.
func (p *replacing[T]) batch() (b Batch, places []int) {
	for at, c := range p.changes {
		if c != nil {
			b.Changes, places = append(b.Changes, *c), append(places, at)
			b.Remove = append(b.Remove, p.gone[at]...)
		}
	}
	return b, places
}

// writeAll makes a batch and tells of its changes together.
func (r *Repository[T]) writeAll(ctx context.Context, b Batch) error {
	if len(b.Changes) == 0 {
		return nil
	}
	start := r.s.start()
	for i := range b.Changes {
		b.Changes[i].Start = start
	}
	versions, err := r.s.store.Write(ctx, b)
	if err != nil {
		return err
	}
	events, now := make([]Event, len(versions)), r.s.now()
	for i, version := range versions {
		c := &b.Changes[i]
		e := Event{Type: Updated, Kind: c.Document.Kind, ID: c.Document.ID, Version: version, At: now}
		switch {
		case c.Delete:
			e.Type = Deleted
		case c.Match.Absent:
			e.Type = Created
		}
		events[i] = e
	}
	r.s.hub.publish(events...)
	return nil
}

// maxLocked is how many documents are locked together. More would keep every writer waiting: they rely on
// the versions that their changes ask for alone.
const maxLocked = 32

// lockAll is lock for several documents; more than maxLocked it leaves alone. Everybody takes several slots
// in the same order, so that writers cannot deadlock.
func (l *locks) lockAll(ctx context.Context, docs []Document) (unlock func(), err error) {
	if len(docs) > maxLocked {
		return func() {}, nil
	}
	slots := make([]int, len(docs))
	for i := range docs {
		slots[i] = l.slot(docs[i].Kind, docs[i].ID)
	}
	slices.Sort(slots)
	slots = slices.Compact(slots)
	taken := 0
	unlock = func() {
		for _, slot := range slots[:taken] {
			<-l.slots[slot]
		}
	}
	for _, slot := range slots {
		select {
		case l.slots[slot] <- struct{}{}:
			taken++
		case <-ctx.Done():
			unlock()
			return nil, errCanceled.Wrap(ctx.Err())
		}
	}
	return unlock, nil
}
