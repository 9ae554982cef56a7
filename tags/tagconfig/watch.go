package tagconfig

import (
	"context"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Watch applies changes of the file and of other engines, and writes the file behind edits, until ctx ends; then it returns nil. It
// watches the folder, since editors replace files, and checks file and Repository every Options.PollInterval, for file systems that do
// not report changes. Call it once, in a goroutine of the caller.
func (s *Store) Watch(ctx context.Context) error {
	watcher, notices := &fsnotify.Watcher{}, false // nil channels: never ready
	if s.opts.Path != "" {
		if w, err := fsnotify.NewWatcher(); err != nil {
			s.opts.Logger.Warn("no notice of file changes, looking now and then only", "error", err)
		} else {
			watcher, notices = w, true
			defer func() { _ = watcher.Close() }()
		}
	}
	poll := time.NewTicker(s.opts.PollInterval)
	defer poll.Stop()
	var quiet, write <-chan time.Time
	s.look(ctx, watcher, notices)
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
		case <-s.behind:
			if write == nil {
				write = time.After(s.opts.WriteDelay)
			}
		case <-write:
			write = nil
			if s.Sync(ctx) != nil { // reported by it
				write = time.After(s.opts.PollInterval)
			}
		case <-poll.C:
			s.look(ctx, watcher, notices)
			s.followNow(ctx)
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

func (s *Store) followNow(ctx context.Context) {
	if s.opts.Repository == nil || acquire(ctx, s.turn) != nil {
		return
	}
	defer release(s.turn)
	if err := s.follow(ctx); err != nil && ctx.Err() == nil {
		s.opts.Logger.Warn("failed to read changes of the tag configuration; retrying", "error", err)
	}
}
