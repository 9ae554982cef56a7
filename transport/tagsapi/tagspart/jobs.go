package tagspart

import (
	"context"
	"time"

	"github.com/otkit/otkit/transport/server"
)

// A write waits for its driver far less than lostWrites. One that is queued for longer is of an engine
// that shares the database and has ended.
const (
	lostWrites   = 15 * time.Minute
	settleWrites = 10 * time.Minute
	trimEvery    = time.Hour
)

// jobs run while the server does.
func (t *Tags) jobs() []func(context.Context) {
	jobs := append(t.upkeep(), t.watch, t.configs.Run)
	if t.Shared() {
		jobs = append(jobs, t.drivers.Follow)
	}
	return jobs
}

// upkeep keeps the log of writes in bounds.
func (t *Tags) upkeep() (jobs []func(context.Context)) {
	o := t.opts
	if store, ok := o.Writes.(interface {
		Trim(ctx context.Context, before time.Time) error
	}); ok {
		jobs = append(jobs, server.Every(trimEvery, o.Logger, "failed to remove old outcomes of writes", func(ctx context.Context) error {
			return store.Trim(ctx, o.Now().Add(-o.WriteLogMaxAge))
		}))
	}
	if store, ok := o.Writes.(interface {
		MarkUnfinished(ctx context.Context, before time.Time) (int64, error)
	}); ok {
		jobs = append(jobs, server.Every(settleWrites, o.Logger, "failed to settle writes without an outcome", func(ctx context.Context) error {
			n, err := store.MarkUnfinished(ctx, o.Now().Add(-lostWrites))
			if n > 0 {
				o.Logger.Warn("tag writes of an engine that has ended have no known outcome; not repeated", "writes", n)
			}
			return err
		}))
	}
	return jobs
}

func (t *Tags) watch(ctx context.Context) {
	if err := t.config.Watch(ctx); err != nil && ctx.Err() == nil {
		t.opts.Logger.Error("failed to watch the model file; changes are not seen", "error", err)
	}
}
