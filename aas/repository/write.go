package repository

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// Create keeps a new document and returns it as it is stored. One that is there already is an Exists error.
// A value of a live property whose tag is known is omitted: it is neither kept nor written to the tag.
func (r *Repository[T]) Create(ctx context.Context, v *T) (Document, error) {
	d, err := r.encode(ctx, v)
	if err != nil {
		return Document{}, err
	}
	unlock, err := r.s.locks.lock(ctx, d.Kind, d.ID)
	if err != nil {
		return Document{}, err
	}
	defer unlock()
	return r.write(ctx, Batch{Changes: []Change{{Document: d, Match: Match{Absent: true}}}}, Event{Type: Created})
}

// Put keeps a document, new or in place of the one with its id. Match may ask for one of the two, or
// for a version. Values of live properties are omitted as in [Repository.Create], so that what was read
// can be put back without moving a machine. For the same reason a Blob without a value keeps the stored
// value of its path, if that has the same content type, unless its RemoveValue is set. If such a Blob is
// below a list whose entries cannot be distinguished from the stored ones, Put returns ErrInvalidRequest.
func (r *Repository[T]) Put(ctx context.Context, v *T, m Match) (d Document, created bool, err error) {
	d, err = r.verified(ctx, v)
	if err != nil {
		return Document{}, false, err
	}
	unlock, err := r.s.locks.lock(ctx, d.Kind, d.ID)
	if err != nil {
		return Document{}, false, err
	}
	defer unlock()
	err = r.s.retry(ctx, func() error {
		list, err := r.stored(ctx, d.ID)
		if err != nil {
			return err
		}
		var old *Document
		if created = len(list) == 0; !created {
			old = &list[0]
		}
		if err := r.encodeOver(ctx, v, &d, old); err != nil {
			return err
		}
		batch, event := Batch{Changes: []Change{{Document: d, Match: Match{Absent: true}}}}, Event{Type: Created}
		if created {
			if m.Exists || m.Version != 0 {
				return r.missing(d.ID)
			}
		} else {
			if err := r.admit(list[0], m); err != nil {
				return err
			}
			if bytes.Equal(list[0].JSON, d.JSON) {
				d = list[0]
				return nil
			}
			batch.Changes[0].Match = Match{Version: list[0].Version}
			if batch.Remove, err = r.orphans(ctx, list[0], v, nil); err != nil {
				return err
			}
			event.Type = Updated
		}
		written, err := r.write(ctx, batch, event)
		if err == nil {
			d = written
		}
		return again(err, m)
	})
	if err != nil {
		return Document{}, false, err
	}
	return d, created, nil
}

// admit checks a Match against a document that is there.
func (r *Repository[T]) admit(d Document, m Match) error {
	switch {
	case m.Absent:
		return r.form.exists.On("id", d.ID)
	case m.Version != 0 && m.Version != d.Version:
		return ErrVersionChanged.On("id", d.ID)
	}
	return nil
}

// orphans returns the stored files that a document named before and v does not name, when files of the
// change are there. A file that it never named stays: it came with its package.
func (r *Repository[T]) orphans(ctx context.Context, old Document, v *T, files []StoredFile) ([]FileKey, error) {
	if r.form.files == nil {
		return nil, nil
	}
	stored, err := r.s.store.FileNames(ctx, old.Kind, old.ID)
	if err != nil || len(stored) == 0 {
		return nil, err
	}
	named := stored // by a document that cannot be read any more
	if before, err := r.decode(old); err == nil {
		named = r.form.files(before)
	}
	return dropped(old, stored, named, r.form.files(v), files), nil
}

// Update reads a document as it is stored, has fn change it, and keeps it, so that no other write is
// lost: when one has come between, fn is called again with the newer document, unless Match has a
// version. A document that fn leaves as it is is not written. fn must not change the id. When documents
// are verified strictly, rules that the document has broken before are no reason to refuse the change.
// Values of live properties are omitted as in [Repository.Create].
func (r *Repository[T]) Update(ctx context.Context, id string, m Match, fn func(*T) error) (Document, error) {
	return r.change(ctx, id, m, func(v *T, _ *edit) error { return fn(v) })
}

func (r *Repository[T]) change(ctx context.Context, id string, m Match, fn func(*T, *edit) error) (Document, error) {
	unlock, err := r.s.locks.lock(ctx, r.form.kind, id)
	if err != nil {
		return Document{}, err
	}
	defer unlock()
	return r.changeStored(ctx, id, m, func(old Document) (Document, error) { return r.changeOnce(ctx, old, fn) })
}

// changeStored has fn change the stored document, again when another write has come between. The caller holds the lock.
func (r *Repository[T]) changeStored(ctx context.Context, id string, m Match, fn func(old Document) (Document, error)) (Document, error) {
	read := func() (d Document, ok bool, err error) {
		list, err := r.stored(ctx, id)
		if err != nil || len(list) == 0 {
			return Document{}, false, err
		}
		return list[0], true, nil
	}
	return r.changeRead(ctx, id, m, read, fn)
}

// changeRead is changeStored for what read reads of the document.
func (r *Repository[T]) changeRead(ctx context.Context, id string, m Match, read func() (Document, bool, error), fn func(old Document) (Document, error)) (d Document, err error) {
	err = r.s.retry(ctx, func() error {
		old, ok, err := read()
		if err != nil {
			return err
		}
		if !ok {
			return r.missing(id)
		}
		if m.Absent {
			return ErrPreconditionFailed.Because("there is one already").On("id", id)
		}
		if err := r.admit(old, m); err != nil {
			return err
		}
		d, err = fn(old)
		return again(err, m)
	})
	if err != nil {
		return Document{}, err
	}
	return d, nil
}

// changed is a document after a change that is not written yet.
type changed[T Storable] struct {
	value    *T
	document Document // its JSON is nil if nothing is to be written
	edit     edit
	count    int  // of the elements before
	live     bool // it was, before
	refiled  bool // what it says about files has changed
	// misplaced means that the error names elements by their places in the document that was changed.
	misplaced bool
}

// apply has fn change a document.
func (r *Repository[T]) apply(ctx context.Context, old Document, fn func(*T, *edit) error) (c changed[T], err error) {
	v, err := r.decode(old)
	if err != nil {
		return c, err
	}
	c.value, c.edit.event = v, Updated
	var before []string
	if r.form.files != nil {
		before = r.form.files(v)
	}
	var was []storedProperty
	if m, ok := any(v).(*aas.Submodel); ok {
		c.live, c.count = hasLive(m.Elements), countElements(m.Elements)
		if r.s.opts.Values != nil {
			was = storedProperties(m)
		}
	}
	if err := fn(v, &c.edit); err != nil {
		return c, err
	}
	if r.form.id(v) != old.ID {
		return c, invalid("id", "cannot be changed")
	}
	if err := r.verifyChange(ctx, old, v, &c.edit); err != nil {
		c.misplaced = c.edit.subject == nil
		return c, err
	}
	d := Document{Kind: old.Kind, ID: old.ID}
	if err := encodeOver(ctx, r.s, r.form, v, &d, func() ([]storedProperty, error) { return was, nil }); err != nil {
		c.misplaced = true
		return c, err
	}
	c.refiled = len(before) > 0 && (len(c.edit.files) > 0 || !slices.Equal(before, r.form.files(v)))
	if len(c.edit.files) == 0 && bytes.Equal(d.JSON, old.JSON) {
		return c, nil
	}
	c.document = d
	return c, nil
}

func (r *Repository[T]) changeOnce(ctx context.Context, old Document, fn func(*T, *edit) error) (Document, error) {
	c, err := r.apply(ctx, old, fn)
	if err != nil || c.document.JSON == nil {
		return old, err
	}
	for i := range c.edit.files {
		c.edit.files[i].Key.Kind, c.edit.files[i].Key.ID = old.Kind, old.ID
	}
	batch := Batch{Changes: []Change{{Document: c.document, Match: Match{Version: old.Version}}}, Files: c.edit.files}
	if c.refiled {
		if batch.Remove, err = r.orphans(ctx, old, c.value, c.edit.files); err != nil {
			return old, err
		}
	}
	return r.write(ctx, batch, Event{Type: c.edit.event, Path: c.edit.path})
}

// Delete removes a document and its files. One that is not there is a NotFound error; one that is there
// is ErrVersionChanged for a Match that wants none.
func (r *Repository[T]) Delete(ctx context.Context, id string, m Match) error {
	if badID(id) != "" {
		return r.missing(id)
	}
	unlock, err := r.s.locks.lock(ctx, r.form.kind, id)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = r.write(ctx, Batch{Changes: []Change{{
		Document: Document{Kind: r.form.kind, ID: id}, Delete: true, Match: Match{Exists: true, Absent: m.Absent, Version: m.Version},
	}}}, Event{Type: Deleted})
	return err
}

// write makes a batch of one change and tells of it.
func (r *Repository[T]) write(ctx context.Context, b Batch, e Event) (Document, error) {
	b.Changes[0].Start = r.s.start()
	d := b.Changes[0].Document
	versions, err := r.s.store.Write(ctx, b)
	if err != nil {
		return Document{}, r.mismatch(err, &b.Changes[0])
	}
	d.Version, d.Divided = versions[0], nil
	r.s.tell(&d, e)
	return d, nil
}

// tell publishes the event of a document that was written.
func (s *Service) tell(d *Document, e Event) {
	e.Kind, e.ID, e.Version, e.At = d.Kind, d.ID, d.Version, s.now()
	s.hub.publish(e)
}

// mismatch returns the error of a change that was not made, in the words of the type.
func (r *Repository[T]) mismatch(err error, c *Change) error {
	var mismatch *MismatchError
	if !errors.As(err, &mismatch) {
		return err
	}
	switch id := c.Document.ID; {
	case mismatch.Version == 0:
		err = r.missing(id)
	case c.Match.Absent && !c.Delete:
		err = r.form.exists.On("id", id)
	default:
		err = ErrVersionChanged.On("id", id)
	}
	f, _ := fault.From(err)
	return f.Wrap(mismatch)
}

// errAgain means that another write came in between.
var errAgain = errors.New("another write came between")

// again returns errAgain for a mismatch that the caller has not asked for.
func again(err error, m Match) error {
	var mismatch *MismatchError
	if !errors.As(err, &mismatch) || m != (Match{}) && m != (Match{Exists: true}) {
		return err
	}
	return errAgain
}

const maxTries = 50

// retry repeats a change that met one of another service, after a growing and jittered wait.
func (s *Service) retry(ctx context.Context, try func() error) error {
	wait := 100 * time.Microsecond
	for range maxTries {
		err := try()
		if !errors.Is(err, errAgain) {
			return err
		}
		select {
		case <-ctx.Done():
			return errCanceled.Wrap(ctx.Err())
		case <-time.After(rand.N(wait)):
			wait = min(2*wait, 50*time.Millisecond)
		}
	}
	return ErrBusy
}

// start returns the version that a new document begins with.
func (s *Service) start() uint64 { return uint64(max(s.now().UnixMicro(), 1)) }

// encode checks a document and returns it as a store keeps it.
func (r *Repository[T]) encode(ctx context.Context, v *T) (Document, error) {
	d, err := r.verified(ctx, v)
	if err != nil {
		return d, err
	}
	return d, encodeInto(ctx, r.s, r.form, v, &d, nil)
}

// verified verifies v and returns its document without the content.
func (r *Repository[T]) verified(ctx context.Context, v *T) (Document, error) {
	if v == nil {
		return Document{}, aas.ErrInvalidRequest.Because("there is no document")
	}
	d := Document{Kind: r.form.kind, ID: r.form.id(v)}
	if rule := badID(d.ID); rule != "" {
		return d, invalid("id", rule)
	}
	_, err := r.s.verify(ctx, d.ID, v)
	return d, err
}

// encodeOver encodes v into d in place of old, which is nil if there is none. What a reader of old was not
// shown is kept.
func (r *Repository[T]) encodeOver(ctx context.Context, v *T, d, old *Document) error {
	v, err := r.keepBlobs(old, v)
	if err != nil {
		return err
	}
	if old == nil {
		return encodeOver(ctx, r.s, r.form, v, d, func() ([]storedProperty, error) { return nil, nil })
	}
	return encodeInto(ctx, r.s, r.form, v, d, old)
}

// encodeInto returns a document in the form that is kept, whatever the verification: one that can be found
// and read again. old is the document that is kept, nil when that was not read.
func encodeInto[T Storable](ctx context.Context, s *Service, f form[T], v *T, d, old *Document) error {
	return encodeOver(ctx, s, f, v, d, func() ([]storedProperty, error) { return s.storedBefore(ctx, d.Kind, d.ID, old) })
}

// encodeOver is encodeInto in place of a document whose properties before returns.
func encodeOver[T Storable](ctx context.Context, s *Service, f form[T], v *T, d *Document, before func() ([]storedProperty, error)) error {
	if err := aas.ValidateTree(v); err != nil {
		return err
	}
	f.describe(v, d)
	if err := checkFacts(d); err != nil {
		return err
	}
	instead, err := held(ctx, s, v, d, before)
	if err != nil {
		return err
	}
	buf := s.bytes.Get().(*[]byte)
	if m, ok := any(v).(*aas.Submodel); ok {
		*buf = aas.AppendSubmodel((*buf)[:0], m, instead)
	} else {
		*buf = aas.Append((*buf)[:0], v)
	}
	d.JSON = bytes.Clone(*buf)
	if cap(*buf) <= 1<<20 {
		s.bytes.Put(buf)
	}
	// The limits of reading, and what was made in Go or merged, are known to the decoder alone.
	read, err := aas.Decode[T](d.JSON)
	if m, ok := any(read).(*aas.Submodel); ok && err == nil {
		d.Divided = s.divide(d.JSON, countElements(m.Elements))
	}
	return err
}

const maxIDShortBytes = 1024

// checkFacts refuses what no store can look for, whatever the verification.
func checkFacts(d *Document) error {
	if !utf8.ValidString(d.IDShort) || strings.Contains(d.IDShort, "\x00") || len(d.IDShort) > maxIDShortBytes {
		return invalid("idShort", "has a zero byte, is not valid UTF-8 or is longer than 1024 bytes")
	}
	if len(d.Terms) > MaxTerms {
		return aas.ErrInvalidRequest.Because("a document has at most %d asset ids, submodels and other facts that it is found by", MaxTerms)
	}
	for _, t := range d.Terms {
		zeros := 0
		if t.Name == termAsset {
			zeros = 1
		}
		if !utf8.ValidString(t.Value) || strings.Count(t.Value, "\x00") > zeros {
			return aas.ErrInvalidRequest.Because("a text that documents are found by (%s) has a zero byte or is not valid UTF-8", t.Name)
		}
	}
	return nil
}
