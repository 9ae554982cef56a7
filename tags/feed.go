package tags

import (
	"context"
	"sync"
	"time"
)

// feed runs the subscription of a driver that has one, and what a Forwarder forwards.
type feed struct {
	runner *runner
	driver Subscriber // nil when the driver only polls
	ended  chan error
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

func (r *runner) newFeed() *feed {
	f := &feed{runner: r, ended: make(chan error, 1)}
	f.driver, _ = r.driver.(Subscriber)
	return f
}

// first is the index of the only target there is.
var first = []int{0}

// restart subscribes to the points of all groups, if any, in place of what was subscribed before. A Forwarder
// forwards also when there are none, because it has to get rid of what it keeps.
func (f *feed) restart(groups []*group) {
	if f.driver == nil {
		return
	}
	f.stop()
	var all targets
	for _, g := range groups {
		for i, en := range g.entries {
			all.add(en, g.tags[i])
		}
	}
	ctx, cancel := context.WithCancel(f.runner.quit)
	f.cancel = cancel
	if forwarder := f.runner.forwarder; forwarder != nil {
		to := &forwarding{runner: f.runner, ctx: ctx, targets: all}
		f.run(ctx, func() error { return forwarder.Forward(ctx, all.points, to.store) })
	}
	if len(all.points) > 0 {
		f.run(ctx, func() error { return f.driver.Subscribe(ctx, all.points, f.runner.emitter(&all)) })
	}
}

// emitter returns the emit of a subscription to some targets.
func (r *runner) emitter(all *targets) func(int, Reading) {
	return func(i int, reading Reading) {
		if i >= 0 && i < len(all.points) {
			one := all.slice(i, i+1)
			r.take(&one, first, []Reading{reading}, time.Time{}, nil)
		}
	}
}

// run makes a call that lasts until ctx ends, and reports it when it ends by itself.
func (f *feed) run(ctx context.Context, call func() error) {
	f.wg.Go(func() {
		err := f.runner.guarded(call)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = ErrNotConnected // it ended by itself: what it watched is not watched any more
		}
		select {
		case f.ended <- err:
		default:
		}
	})
}

func (f *feed) stop() {
	if f.cancel == nil {
		return
	}
	f.cancel()
	f.wg.Wait()
	f.cancel = nil
	select {
	case <-f.ended: //nolint:errcheck // of the subscription that is gone
	default:
	}
}
