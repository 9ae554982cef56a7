package tagconfig

import (
	"context"
	"encoding/hex"
	"errors"
	"io/fs"
	"math"
	"os"
	"slices"
)

// Reload takes over the file if it has changed. When that cannot be done the last good configuration
// stays in force and the error has the cause; it is also logged and returned by Err. Without a file there is nothing to do.
func (s *Store) Reload(ctx context.Context) error {
	if s.opts.Path == "" {
		return nil
	}
	if err := acquire(ctx, s.filing); err != nil {
		return err
	}
	defer release(s.filing)
	return s.refresh(ctx)
}

// refresh is Reload for who holds filing.
func (s *Store) refresh(ctx context.Context) error {
	err := s.refreshFile(ctx)
	if !s.trouble.set(&s.trouble.reading, err) {
		return err
	}
	if err != nil {
		s.opts.Logger.Error("model file not taken over, the last good configuration stays in force", "file", s.opts.Path, "error", err)
	} else {
		s.opts.Logger.Info("model file is good again", "file", s.opts.Path)
	}
	return err
}

func (s *Store) refreshFile(ctx context.Context) error {
	info, err := os.Stat(s.opts.Path)
	if errors.Is(err, fs.ErrNotExist) {
		switch {
		case s.disk.stamp.info != nil || s.disk.err != nil:
			s.disk = disk{err: errDeleted}
		default: // there was none at the start
			s.turn <- struct{}{}
			s.mark, s.next = FileMark{}, FileMark{}
			release(s.turn)
		}
		return s.disk.err
	}
	if err == nil && s.disk.stamp.current(info) {
		return s.disk.err
	}
	var file content
	if err == nil {
		file, err = readFile(s.opts.Path, s.opts.Now())
	}
	if err != nil {
		s.disk = disk{err: ErrModelFile.Because("it cannot be read").Wrap(err)}
		return s.disk.err
	}
	if s.disk.stamp.info != nil && file.stamp.hash == s.disk.stamp.hash {
		s.disk.stamp = file.stamp
		return s.disk.err
	}
	s.turn <- struct{}{}
	defer release(s.turn)
	switch hash := hex.EncodeToString(file.stamp.hash[:]); hash {
	case s.mark.Hash, s.next.Hash:
		if hash == s.next.Hash {
			s.mark = s.next
		}
		s.next, s.disk = FileMark{}, disk{stamp: file.stamp}
		return nil
	}
	m, err := parseModel(file.data, s.opts.MaxItems)
	if err != nil {
		s.disk = disk{stamp: file.stamp, err: err, broken: file.data}
		return err
	}
	if err := s.takeOver(ctx, m, FileMark{Hash: hex.EncodeToString(file.stamp.hash[:])}); err != nil {
		return err
	}
	s.disk = disk{stamp: file.stamp}
	return nil
}

// takeOver makes what a file has the configuration. Edits that the file cannot know, because it was not written since, stay. The caller
// holds turn.
func (s *Store) takeOver(ctx context.Context, m *model, mark FileMark) error {
	for {
		now := s.state.Load()
		known := s.mark.Revision
		if s.opts.Repository == nil {
			known = math.MaxInt64
		}
		d := now.draft()
		whole := d.adopt(m, known, s.removed)
		if !d.changed() {
			d.revision = now.revision
		}
		if mark.Revision = known; whole {
			mark.Revision = d.revision
		}
		err := s.storeFileEdit(ctx, d, mark)
		if errors.Is(err, ErrRevision) {
			if err = s.follow(ctx); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		s.mark, s.next = mark, FileMark{}
		if unknown := d.unknown(); len(unknown) > 0 && !slices.Equal(unknown, now.unknown()) {
			s.opts.Logger.Warn("the model file has members that are not known; they are kept and do nothing", "file", s.opts.Path, "members", unknown)
		}
		if !whole {
			s.signalBehind()
		} else {
			clear(s.removed)
		}
		if !d.changed() {
			return nil
		}
		for _, c := range d.changes {
			if c.new != nil && (c.old == nil || c.old.revision <= known) {
				c.new.revision = mark.Revision // the file has it: what an editor saves before it is written again counts
			}
		}
		s.inForce(d, false)
		changes, total := d.differences(100)
		s.opts.OnFileEdit(FileEdit{Changes: changes, Total: total})
		s.opts.OnChange(d.edit())
		s.opts.Logger.Info("tag configuration taken over from the model file", "file", s.opts.Path, "tags", len(m.entries), "changes", total)
		return nil
	}
}

func (s *Store) storeFileEdit(ctx context.Context, d *draft, mark FileMark) error {
	repo := s.opts.Repository
	if repo == nil {
		return nil
	}
	file := FileState{Written: mark}
	if !d.changed() {
		return stored(repo.NoteFile(ctx, file))
	}
	set, err := d.changeset()
	if err != nil {
		return err
	}
	if mark.Hash != "" {
		set.File = &file
	}
	d.revision, err = repo.Apply(ctx, d.from.revision, set)
	if err != nil {
		return stored(err)
	}
	return nil
}

// readInitial takes over the file that an empty Repository begins with.
func (s *Store) readInitial(ctx context.Context) error {
	if s.opts.Initial == "" || s.state.Load().revision > 0 {
		return nil
	}
	file, err := readFile(s.opts.Initial, s.opts.Now())
	if deleted(err) {
		return nil
	}
	if err != nil {
		return ErrModelFile.Because("it cannot be read").Wrap(err)
	}
	m, err := parseModel(file.data, s.opts.MaxItems)
	if err != nil {
		return err
	}
	return s.takeOver(ctx, m, FileMark{})
}
