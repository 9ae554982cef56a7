package tagconfig

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
)

// persist stores a draft: the text of the file beside it, the transaction, then the file in its place, so that what fails for
// lack of space fails before anything has changed. The caller holds turn and, if write, filing.
func (s *Store) persist(ctx context.Context, d *draft, write bool) error {
	var next *staged
	if write {
		var err error
		if next, err = s.stage(&d.view); err != nil {
			return notSaved(err)
		}
	}
	repo := s.opts.Repository
	if repo != nil {
		if next != nil && s.edited() {
			return next.discard(notSaved(errEdited))
		}
		set, err := d.changeset()
		if err == nil {
			if next != nil {
				set.File = &FileState{Written: s.mark, Next: next.mark(d.revision)}
			}
			d.revision, err = repo.Apply(ctx, d.from.revision, set)
		}
		if err != nil {
			if next != nil {
				err = next.discard(err)
			}
			return stored(err)
		}
	}
	if next == nil {
		return nil
	}
	if err := s.replace(ctx, next, d.revision); err != nil {
		if repo != nil {
			s.undo(ctx, d)
		}
		return notSaved(err)
	}
	clear(s.removed)
	return nil
}

// undo takes back in the Repository what the file could not have. Should that fail, too, the store follows the Repository.
func (s *Store) undo(ctx context.Context, d *draft) {
	back := d.draft()
	back.from = d.from
	for id, c := range d.changes {
		back.changes[id] = change{c.new, c.old}
	}
	set, err := back.changeset()
	if err == nil {
		set.Header = d.from.header.encode()
		mark := s.mark
		if mark.Revision == d.from.revision { // else the file is behind, and stays so
			mark.Revision = d.revision + 1
		}
		set.File = &FileState{Written: mark}
		var revision int64
		if revision, err = s.opts.Repository.Apply(ctx, d.revision, set); err == nil {
			v := *d.from
			v.revision = revision
			s.state.Store(&v)
			s.mark = mark
			return
		}
	}
	s.opts.Logger.Error("the database has a tag configuration that the model file could not take", "error", err)
}

// changeset returns what a Repository is to store.
func (d *draft) changeset() (Changeset, error) {
	set := Changeset{Records: make([]Record, 0, len(d.changes))}
	var text []byte
	for _, id := range slices.Sorted(maps.Keys(d.changes)) { // a database has near each other what comes after each other
		c, r := d.changes[id], Record{TagID: id}
		switch {
		case c.new != nil:
			var err error
			if text, err = c.new.appendTo(text[:0]); err != nil {
				return set, err
			}
			r.Text = bytes.Clone(text)
			r.Position = c.new.position
		case c.old == nil:
			continue
		default:
			r.Position = c.old.position
		}
		set.Records = append(set.Records, r)
	}
	if d.from.revision == 0 || !d.header.equal(d.from.header) {
		set.Header = d.header.encode()
	}
	return set, nil
}

func (st *staged) mark(revision int64) FileMark {
	return FileMark{Hash: hex.EncodeToString(st.stamp.hash[:]), Revision: revision}
}

// stage writes the text of a view beside the file. The caller holds filing.
func (s *Store) stage(v *view) (*staged, error) {
	if s.disk.broken != nil {
		aside := s.opts.Path + ".broken"
		kept, err := stage(aside, func(w io.Writer) error {
			_, err := w.Write(s.disk.broken)
			return err
		}, s.create, s.opts.Now)
		if err == nil {
			err = errors.Join(kept.replace(), kept.sync())
		}
		if err != nil {
			return nil, err
		}
		s.opts.Logger.Warn("broken model file kept aside", "file", aside)
	}
	return stage(s.opts.Path, v.encode, s.create, s.opts.Now)
}

// errEdited is for a file that was edited after it was looked at: the edit is to be taken over first.
var errEdited = errors.New("the model file is being edited")

// edited reports whether the file is not the one that was looked at. The caller holds filing.
func (s *Store) edited() bool {
	info, err := os.Stat(s.opts.Path)
	return err == nil && !s.disk.stamp.of(info)
}

// replace puts a text in the place of the file, with the configuration of a revision. If the file was edited since it was looked at, the
// error is errEdited. The caller holds filing and turn.
func (s *Store) replace(ctx context.Context, next *staged, revision int64) error {
	if s.edited() {
		return next.discard(errEdited)
	}
	if err := next.replace(); err != nil {
		return err
	}
	durable := next.sync()
	repo := s.opts.Repository
	if durable != nil && repo == nil {
		return durable // the next look at the file follows it
	}
	s.disk = disk{stamp: next.stamp}
	s.mark = next.mark(revision)
	s.trouble.set(&s.trouble.reading, nil)
	s.trouble.set(&s.trouble.saving, durable)
	if repo == nil {
		return nil
	}
	if err := repo.NoteFile(ctx, FileState{Written: s.mark}); err != nil { // what was stored before knows it as the next one
		s.opts.Logger.Warn("failed to note that the model file was written", "error", err)
	}
	return nil
}

// Sync writes the file if it is behind the Repository. Watch does so by itself; call Sync before the program ends. Without a Repository, or
// without a file, there is nothing to do.
func (s *Store) Sync(ctx context.Context) error {
	if s.opts.Path == "" || s.opts.Repository == nil {
		return nil
	}
	if err := acquire(ctx, s.filing); err != nil {
		return err
	}
	defer release(s.filing)
	err := s.writeBehind(ctx)
	if s.trouble.set(&s.trouble.saving, err) {
		if err != nil {
			s.opts.Logger.Error("model file not written, the database has the configuration; retrying", "file", s.opts.Path, "error", err)
		} else {
			s.opts.Logger.Info("model file written again", "file", s.opts.Path)
		}
	}
	return err
}

func (s *Store) writeBehind(ctx context.Context) (err error) {
	for range maxStarts {
		if err = s.writeOnce(ctx); !errors.Is(err, errEdited) {
			break
		}
	}
	return err
}

func (s *Store) writeOnce(ctx context.Context) error {
	if err := s.refresh(ctx); err != nil && s.disk.broken == nil && !deleted(err) {
		return ErrNotSaved.Wrap(err)
	}
	s.turn <- struct{}{}
	v, mark := s.state.Load(), s.mark
	release(s.turn)
	if v.revision == mark.Revision {
		return nil
	}
	next, err := s.stage(v)
	if err != nil {
		return notSaved(err)
	}
	// A process that is killed after the rename finds its own text.
	if err := s.opts.Repository.NoteFile(ctx, FileState{Written: mark, Next: next.mark(v.revision)}); err != nil {
		return next.discard(stored(err))
	}
	s.turn <- struct{}{}
	defer release(s.turn)
	if err := s.replace(ctx, next, v.revision); err != nil {
		return notSaved(err)
	}
	maps.DeleteFunc(s.removed, func(_ string, revision int64) bool { return revision <= v.revision })
	return nil
}

// load reads the Repository. For Open.
func (s *Store) load(ctx context.Context) error {
	v, state, err := s.readAll(ctx)
	if err != nil {
		return err
	}
	s.mark, s.next = state.File.Written, state.File.Next
	_, err = s.opts.Repository.Changes(ctx, s.mark.Revision, func(r Record) error {
		if r.Text == nil {
			s.removed[r.TagID] = r.Revision
		}
		return nil
	})
	if err != nil && !errors.Is(err, ErrRevision) {
		return err
	}
	s.state.Store(v)
	if v.items.Len() > 0 {
		s.opts.OnChange(v.edit())
	}
	return nil
}

func (s *Store) readAll(ctx context.Context) (*view, State, error) {
	d := emptyView(s.state.Load().header).draft()
	d.changes = nil
	texts := words{}
	state, err := s.opts.Repository.Load(ctx, func(r Record) error {
		e, err := r.entry(texts)
		if err == nil {
			d.set(e)
			e.revision = r.Revision
		}
		return err
	})
	if err != nil {
		return nil, state, err
	}
	d.revision = state.Revision
	err = d.setHeader(state.Header)
	return &d.view, state, err
}

func (r Record) entry(texts words) (*entry, error) {
	e, err := parseEntry(r.Text, texts)
	if err == nil && e.TagID != r.TagID {
		err = fmt.Errorf("its id is %q", clip(e.TagID))
	}
	if err != nil {
		return nil, fmt.Errorf("stored configuration of tag %q: %w", clip(r.TagID), err)
	}
	e.position = r.Position
	return e, nil
}

func (d *draft) setHeader(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	m, err := parseModel(text, math.MaxInt)
	if err == nil {
		d.header = m.header
	}
	return err
}

// follow takes over what another engine has changed in the Repository. The caller holds turn.
func (s *Store) follow(ctx context.Context) error {
	now := s.state.Load()
	d := now.draft()
	var failed error
	state, err := s.opts.Repository.Changes(ctx, now.revision, func(r Record) error {
		if r.Text == nil {
			d.remove(r.TagID)
			return nil
		}
		e, err := r.entry(nil)
		if err != nil {
			failed = err
			return err
		}
		if old, ok := d.items.Get(e.TagID); !ok || old.position != e.position || !sameConfig(&old.Config, &e.Config) || !sameMembers(old.extra, e.extra) {
			d.set(e)
		}
		return nil
	})
	switch {
	case failed != nil:
		return failed
	case errors.Is(err, ErrRevision):
		return s.reload(ctx)
	case err != nil:
		return stored(err)
	case state.Revision == now.revision:
		return nil
	}
	if err := d.setHeader(state.Header); err != nil {
		return err
	}
	d.revision = state.Revision
	s.inForce(d, true)
	if len(d.changes) > 0 {
		s.opts.OnChange(d.edit())
	}
	return nil
}

// reload reads the Repository again. The caller holds turn.
func (s *Store) reload(ctx context.Context) error {
	v, _, err := s.readAll(ctx)
	if err != nil {
		return stored(err)
	}
	now := s.state.Load()
	d := &draft{view: *v, from: now, changes: map[string]change{}}
	now.items.Scan(func(id string, old *entry) bool {
		if e, _ := v.items.Get(id); e == nil || !sameConfig(&old.Config, &e.Config) {
			d.note(id, old, e)
		}
		return true
	})
	v.items.Scan(func(id string, e *entry) bool {
		if _, ok := now.items.Get(id); !ok {
			d.note(id, nil, e)
		}
		return true
	})
	s.inForce(d, true)
	s.opts.OnChange(d.edit())
	return nil
}
