package registry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/otkit/otkit/internal/atomicfile"
	"github.com/otkit/otkit/predictive"
)

// Put implements [predictive.Registry]. It waits for other writers as long as ctx lasts.
func (r *Registry) Put(ctx context.Context, m predictive.Meta, model []byte) (version int, err error) {
	if err := check(m.ModelType, 0); err != nil {
		return 0, err
	}
	if size := len(model); size < 1 || size > r.opts.MaxSize {
		return 0, fmt.Errorf("registry: the model has %d bytes, must have 1 to %d", size, r.opts.MaxSize)
	}
	root, release, err := r.hold(ctx)
	if err != nil {
		return 0, fmt.Errorf("registry: %w", err)
	}
	defer release()
	l, err := list(root, m.ModelType)
	if err != nil {
		return 0, fmt.Errorf("registry: %w", err)
	}
	r.sweep(root, l)
	m.Version = r.see(m.ModelType, l.highest()) + 1
	m.SHA256, m.Size = digest(model), len(model)
	if err := write(ctx, root, m, model); err != nil {
		return 0, fmt.Errorf("registry: %w", err)
	}
	r.see(m.ModelType, m.Version)
	r.retain(root, m.ModelType)
	return m.Version, nil
}

// write writes the files of a version.
func write(ctx context.Context, root *os.Root, m predictive.Meta, model []byte) error {
	text, err := encode(m)
	if err == nil && len(text) > maxMetadata {
		err = fmt.Errorf("the metadata has %d bytes, allowed are %d", len(text), maxMetadata)
	}
	if err != nil {
		return err
	}
	name := modelFile(m.ModelType, m.Version)
	err = atomicfile.WriteIn(root, name, model)
	if err == nil {
		err = ctx.Err() // the process may have been stopped meanwhile
	}
	if err == nil {
		err = atomicfile.WriteIn(root, name+metaSuffix, text)
	}
	if err == nil {
		return nil
	}
	if _, there := root.Lstat(name + metaSuffix); !errors.Is(there, fs.ErrNotExist) {
		return err // only the last sync failed
	}
	if removed := root.Remove(name); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// Delete implements [predictive.Registry]. It works on a full disk too.
func (r *Registry) Delete(ctx context.Context, t predictive.ModelType, version int) error {
	if err := check(t, version); err != nil {
		return err
	}
	root, release, err := r.hold(ctx)
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	defer release()
	l, err := list(root, t)
	if err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	if !slices.Contains(l.versions, version) {
		return notFound(t, version)
	}
	r.see(t, l.highest())
	if err := remove(root, l, version); err != nil {
		return fmt.Errorf("registry: %w", err)
	}
	if l, err = list(root, t); err == nil {
		r.sweep(root, l)
	}
	return nil
}

// remove removes a version, the metadata first. That of the highest version becomes its mark, which takes no space.
func remove(root *os.Root, l *listing, version int) error {
	name := modelFile(l.kind, version)
	var err error
	if version < l.highest() {
		err = root.Remove(name + metaSuffix)
	} else {
		err = root.Rename(name+metaSuffix, name+deletedSuffix)
	}
	if err != nil {
		return err
	}
	err = atomicfile.SyncFolder(root)
	if removed := root.Remove(name); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	return err
}

// sweep removes what is of no version: the caller holds the lock, so no writer is at work.
func (r *Registry) sweep(root *os.Root, l *listing) {
	highest := l.highest()
	names := l.temps
	for _, v := range l.models {
		if !slices.Contains(l.versions, v) {
			names = append(names, modelFile(l.kind, v))
		}
	}
	for _, v := range l.deleted {
		if v < highest {
			names = append(names, modelFile(l.kind, v)+deletedSuffix)
		}
	}
	for _, name := range names {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.opts.Logger.Warn("failed to remove a file of the model directory", "file", name, "error", err)
		}
	}
}

// retain deletes old versions. Damaged ones take no place of whole ones, and go when enough newer whole ones are there. What could not be read may be
// whole.
func (r *Registry) retain(root *os.Root, t predictive.ModelType) {
	if r.opts.Keep < 0 {
		return
	}
	l, err := list(root, t)
	if err == nil && len(l.versions) > r.opts.Keep {
		v := &view{r: r, ctx: context.Background(), root: root, list: l}
		serving := v.serving()
		var whole []predictive.Meta
		var outdated []int // damaged ones
		for _, version := range l.versions {
			if m, _, damage := v.load(version); damage == nil {
				whole = append(whole, m)
			} else if !unread(damage) && len(whole) >= recent(r.opts.Keep) {
				outdated = append(outdated, version)
			}
		}
		for _, version := range append(Superfluous(whole, r.opts.Keep), outdated...) {
			if version != serving {
				err = errors.Join(err, remove(root, l, version))
			}
		}
	}
	if err != nil {
		r.opts.Logger.Warn("failed to delete old models", "modelType", t, "error", err)
	}
}

// unread reports whether an error of [view.load] says nothing about the files, as reading one failed.
func unread(err error) bool {
	var failed *fs.PathError
	return errors.As(err, &failed) && !errors.Is(err, fs.ErrNotExist)
}

// recent returns how many of the versions that are kept are the newest ones.
func recent(keep int) int { return min(max((keep+1)/2, 2), keep) }

// Superfluous returns the versions beyond those to keep, of models of which Version and TrainedAt count. Behind the recent ones, the first of each day
// stays before others: anybody may train, and must not replace in an hour what was kept for months.
func Superfluous(newestFirst []predictive.Meta, keep int) (list []int) {
	older := newestFirst[min(recent(keep), len(newestFirst)):]
	var days, others []int // the newest first
	var last time.Time
	for _, m := range slices.Backward(older) {
		if !m.TrainedAt.IsZero() && m.TrainedAt.Sub(last) >= 24*time.Hour {
			days, last = append([]int{m.Version}, days...), m.TrainedAt
		} else {
			others = append([]int{m.Version}, others...)
		}
	}
	ranked := append(days, others...)
	return ranked[min(keep-recent(keep), len(ranked)):]
}

// see notes that a version was in use, and returns the highest that was.
func (r *Registry) see(t predictive.ModelType, version int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.highest[t] = max(r.highest[t], version)
	return r.highest[t]
}

// check refuses what names no model file.
func check(t predictive.ModelType, version int) error {
	if !slices.Contains(predictive.ModelTypes(), t) {
		return predictive.ErrModelType
	}
	if version < 0 {
		return predictive.ErrModelVersion
	}
	return nil
}
