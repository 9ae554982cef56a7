package tagconfig

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Reload takes over the file if it has changed. When that cannot be done the last good configuration
// stays in force and the error has the cause; it is also logged and returned by Err.
func (s *Store) Reload(ctx context.Context) error {
	if err := s.acquire(ctx); err != nil {
		return err
	}
	defer s.release()
	return s.refresh()
}

// refresh is Reload for who has the turn, and for Open.
func (s *Store) refresh() error {
	err := s.refreshFile()
	if !s.setTrouble(err) {
		return err
	}
	if err != nil {
		s.opts.Logger.Error("model file not taken over, the last good configuration stays in force", "file", s.opts.Path, "error", err)
	} else {
		s.opts.Logger.Info("model file is good again", "file", s.opts.Path)
	}
	return err
}

func (s *Store) refreshFile() error {
	info, err := os.Stat(s.opts.Path)
	if errors.Is(err, fs.ErrNotExist) {
		if s.disk.stamp.info != nil || s.disk.err != nil {
			s.disk = disk{err: errDeleted}
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
	return s.takeOver(file)
}

// takeOver makes the text of the file the configuration.
func (s *Store) takeOver(file content) error {
	m, err := parseModel(file.data, s.opts.MaxItems)
	if err != nil {
		s.disk = disk{stamp: file.stamp, err: err, broken: file.data}
		return err
	}
	s.disk = disk{stamp: file.stamp}
	if unknown := m.unknown(); len(unknown) > 0 && !slices.Equal(unknown, s.Unknown()) {
		s.opts.Logger.Warn("the model file has members that are not known; they are kept and do nothing", "file", s.opts.Path, "members", unknown)
	}
	s.apply(m)
	s.opts.Logger.Info("tag configuration taken over from the model file", "file", s.opts.Path, "tags", len(m.entries))
	return nil
}

// Watch applies changes of the file until ctx ends, and then returns nil. It watches the folder, since
// editors replace files, and checks the file every Options.PollInterval, for file systems that do not
// report changes. Call it once, in a goroutine of the caller.
func (s *Store) Watch(ctx context.Context) error {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		s.opts.Logger.Warn("no notice of file changes, looking now and then only", "error", err)
		watcher = &fsnotify.Watcher{} // nil channels: never ready
	} else {
		defer func() { _ = watcher.Close() }()
	}
	poll := time.NewTicker(s.opts.PollInterval)
	defer poll.Stop()
	var quiet <-chan time.Time
	s.look(ctx, watcher, err == nil)
	for {
		select {
		case <-ctx.Done():
			return nil
		case event := <-watcher.Events:
			if filepath.Base(event.Name) == filepath.Base(s.opts.Path) {
				quiet = time.After(s.opts.Debounce)
			}
		case err := <-watcher.Errors:
			s.opts.Logger.Warn("notices of file changes were lost", "error", err)
			quiet = time.After(s.opts.Debounce)
		case <-quiet:
			quiet = nil
			s.look(ctx, watcher, false)
		case <-poll.C:
			s.look(ctx, watcher, err == nil)
		}
	}
}

// look reloads the file. With add it also watches the folder, which may have been made or replaced
// since the last time.
func (s *Store) look(ctx context.Context, watcher *fsnotify.Watcher, add bool) {
	if add {
		if err := watcher.Add(filepath.Dir(s.opts.Path)); err != nil {
			s.opts.Logger.Debug("folder of the model file cannot be watched", "error", err)
		}
	}
	_ = s.Reload(ctx) // reported by refresh
}
