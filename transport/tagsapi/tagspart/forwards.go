package tagspart

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// forwards stores the history of tags whose drivers store and forward.
type forwards struct {
	append func(context.Context, []tags.Change) error
	log    *slog.Logger
	stored atomic.Uint64
	failed atomic.Bool // the last attempt
}

// store is the engine's Options.Store. A driver repeats what failed.
func (f *forwards) store(ctx context.Context, changes []tags.Change) error {
	err := f.append(ctx, changes)
	switch {
	case err == nil:
		f.stored.Add(uint64(len(changes)))
		if f.failed.Load() && f.failed.CompareAndSwap(true, false) {
			f.log.Info("storing of forwarded samples resumed")
		}
	case ctx.Err() == nil && f.failed.CompareAndSwap(false, true): // else the driver gave up
		f.log.Error("failed to store forwarded samples; the driver keeps them", "samples", len(changes), "error", err)
	}
	return err
}

func (f *forwards) failing() bool { return f.failed.Load() }

// historyStats are those of the recorder, with what was forwarded.
func (t *Tags) historyStats() history.RecorderStats {
	s := t.recorder.Stats()
	s.Stored += t.forwards.stored.Load()
	return s
}
