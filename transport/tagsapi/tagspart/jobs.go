package tagspart

import (
	"context"
	"errors"
	"time"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/transport/server"
)

// A write waits for its driver far less than lostWrites. One that is queued for longer is of an engine
// that shares the database and has ended.
const (
	lostWrites   = 15 * time.Minute
	settleWrites = 10 * time.Minute
	trimEvery    = time.Hour
	trimHistory  = 10 * time.Minute
)

// jobs run while the server does.
func (t *Tags) jobs() []func(context.Context) {
	jobs := append(t.upkeep(), t.watch, t.configs.Run)
	if t.Shared() {
		jobs = append(append(jobs, t.drivers.Follow), t.historyTrim()...)
	}
	return jobs
}

// historyTrim trims the history where one engine does so for all; else the recorder does.
func (t *Tags) historyTrim() []func(context.Context) {
	if t.recorder == nil || t.opts.Cluster == nil {
		return nil
	}
	return []func(context.Context){t.opts.Cluster.Once("history-trim",
		server.Every(trimHistory, t.opts.Logger, "failed to remove old tag history", t.recorder.Trim))}
}

// upkeep keeps the log of writes in bounds.
func (t *Tags) upkeep() (jobs []func(context.Context)) {
	o := t.opts
	if store, ok := o.Writes.(interface {
		Trim(ctx context.Context, before time.Time) error
	}); ok {
		jobs = append(jobs, o.Cluster.Once("writes-trim", server.Every(trimEvery, o.Logger, "failed to remove old outcomes of writes", func(ctx context.Context) error {
			return store.Trim(ctx, o.Now().Add(-o.WriteLogMaxAge))
		})))
	}
	if settle := t.settle(); settle != nil {
		jobs = append(jobs, o.Cluster.Once("writes-settle", server.Every(settleWrites, o.Logger, "failed to settle writes without an outcome", func(ctx context.Context) error {
			n, err := settle(ctx, o.Now().Add(-lostWrites))
			if n > 0 {
				o.Logger.Warn("tag writes of an engine that has ended have no known outcome; not repeated", "writes", n)
			}
			return err
		})))
	}
	return jobs
}

// unfinished is a log of writes that engines share.
type unfinished interface {
	UnfinishedDrivers(ctx context.Context, before time.Time) ([]string, error)
	MarkUnfinishedOf(ctx context.Context, driver string, before time.Time) (int64, error)
}

// settleLost settles the writes to a driver that is taken over from an engine that was lost. One that gives it away has settled its own.
func (t *Tags) settleLost(ctx context.Context, driver string, _ *cluster.Held) error {
	store, ok := t.opts.Writes.(unfinished)
	if !ok {
		return nil
	}
	n, err := store.MarkUnfinishedOf(ctx, driver, time.Time{})
	if n > 0 {
		t.opts.Logger.Warn("tag writes of an engine that was lost have no known outcome; not repeated", "driver", driver, "writes", n)
	}
	return err
}

// settle returns what settles the writes that an engine has left; nil if the log cannot do that. In a cluster, who takes over a driver settles
// its writes at once. Here are those to drivers that are there no more, and those that the log took and did not say so.
func (t *Tags) settle() func(ctx context.Context, before time.Time) (int64, error) {
	if t.opts.Cluster == nil {
		if store, ok := t.opts.Writes.(interface {
			MarkUnfinished(ctx context.Context, before time.Time) (int64, error)
		}); ok {
			return store.MarkUnfinished
		}
		return nil
	}
	store, ok := t.opts.Writes.(unfinished)
	if !ok {
		return nil
	}
	return func(ctx context.Context, before time.Time) (total int64, err error) {
		drivers, err := store.UnfinishedDrivers(ctx, before)
		for _, id := range drivers {
			n, failed := store.MarkUnfinishedOf(ctx, id, before)
			total, err = total+n, errors.Join(err, failed)
		}
		return total, err
	}
}

func (t *Tags) watch(ctx context.Context) {
	if err := t.config.Watch(ctx); err != nil && ctx.Err() == nil {
		t.opts.Logger.Error("failed to watch the model file; changes are not seen", "error", err)
	}
}
