package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/otkit/otkit/internal/atomicfile"
	"github.com/otkit/otkit/predictive"
)

const (
	lockFile      = "registry.lock"
	metaSuffix    = ".json"
	deletedSuffix = ".deleted"
	lockPoll      = 10 * time.Millisecond
)

func modelFile(t predictive.ModelType, version int) string {
	return string(t) + "_" + predictive.FormatVersion(version)
}

// listing is what a directory has of one model type.
type listing struct {
	kind     predictive.ModelType
	versions []int    // those with metadata, newest first
	deleted  []int    // those that Delete has left a mark of
	models   []int    // those with a model, also without metadata
	temps    []string // temporary files of writers that were killed; and those of one that is at work
}

// highest returns the highest number that is or was in use.
func (l *listing) highest() int {
	return max(slices.Max(append(l.versions, 0)), slices.Max(append(l.deleted, 0)), slices.Max(append(l.models, 0)))
}

// list reads a directory.
func list(root *os.Root, t predictive.ModelType) (*listing, error) {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, err
	}
	l := &listing{kind: t}
	for _, e := range entries {
		name, ok := strings.CutPrefix(e.Name(), string(t)+"_")
		if !ok {
			continue
		}
		name, temp := strings.CutSuffix(name, atomicfile.TempSuffix)
		version, suffix := cutVersion(name)
		switch {
		case version == 0:
		case temp:
			l.temps = append(l.temps, e.Name())
		case suffix == deletedSuffix:
			l.deleted = append(l.deleted, version)
		case suffix == metaSuffix:
			l.versions = append(l.versions, version)
		default:
			l.models = append(l.models, version)
		}
	}
	slices.SortFunc(l.versions, func(a, b int) int { return cmp.Compare(b, a) })
	return l, nil
}

// cutVersion returns the version that a name such as v3.json begins with, and what follows it. The version is 0 if the name is of no file of a
// version.
func cutVersion(name string) (version int, suffix string) {
	for _, s := range []string{metaSuffix, deletedSuffix} {
		if rest, ok := strings.CutSuffix(name, s); ok {
			name, suffix = rest, s
			break
		}
	}
	version, err := predictive.ParseVersion(name)
	if err != nil || !strings.HasPrefix(name, "v") {
		return 0, ""
	}
	return version, suffix
}

// IsVersionFile reports whether a name is that of a file of a version, which belongs in a backup of the directory. A backup that reads such files
// in the order of their names while models are added and deleted, and omits those that are gone by then, has only whole versions.
func IsVersionFile(name string) bool {
	for _, t := range predictive.ModelTypes() {
		if rest, ok := strings.CutPrefix(name, string(t)+"_"); ok {
			version, _ := cutVersion(rest)
			return version > 0
		}
	}
	return false
}

// hold makes the directory if it is missing, opens it, and waits for the lock of it.
func (r *Registry) hold(ctx context.Context) (root *os.Root, release func(), err error) {
	select {
	case r.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("another call writes to the model directory: %w", ctx.Err())
	}
	defer func() {
		if err != nil {
			<-r.turn
		}
	}()
	for {
		root, unlock, err := lock(ctx, r.opts.Dir)
		if err != nil {
			return nil, nil, err
		}
		if root == nil {
			continue
		}
		return root, func() { unlock(); <-r.turn }, nil
	}
}

// makeDir makes a directory that survives a loss of power.
func makeDir(dir string) error {
	info, err := os.Stat(dir)
	if err == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	root, err := os.OpenRoot(parent)
	if err != nil {
		return err
	}
	return errors.Join(atomicfile.SyncFolder(root), root.Close())
}

// lock locks a directory; root is nil if the directory was replaced meanwhile.
func lock(ctx context.Context, dir string) (root *os.Root, unlock func(), err error) {
	if err := makeDir(dir); err != nil {
		return nil, nil, err
	}
	if root, err = os.OpenRoot(dir); err != nil {
		return nil, nil, err
	}
	l := flock.New(filepath.Join(dir, lockFile), flock.SetPermissions(0o600))
	unlock = func() { _, _ = l.Unlock(), root.Close() }
	held, err := l.TryLockContext(ctx, lockPoll)
	if err == nil && held {
		var locked, there os.FileInfo
		if locked, err = l.Stat(); err == nil {
			there, err = root.Lstat(lockFile)
		}
		if err == nil && os.SameFile(locked, there) {
			return root, unlock, nil
		}
	}
	unlock()
	switch {
	case ctx.Err() != nil:
		return nil, nil, fmt.Errorf("another process writes to the model directory: %w", ctx.Err())
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, nil, err
	}
	return nil, nil, nil
}

// read returns the content of a regular file of at most limit bytes.
func read(root *os.Root, name string, limit int) ([]byte, error) {
	info, err := root.Lstat(name) // opening a pipe would wait for a writer
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("is not a regular file")
	case info.Size() > int64(limit):
		return nil, fmt.Errorf("has %d bytes, allowed are %d", info.Size(), limit)
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(f, data)
	return data, errors.Join(err, f.Close())
}
