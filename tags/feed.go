package tags

import (
	"context"
	"time"
)

// feed runs the subscription of a driver that has one.
type feed struct {
	runner *runner
	driver Subscriber // nil when the driver only polls
	ended  chan error
	cancel context.CancelFunc
	done   chan struct{}
}

func (r *runner) newFeed() *feed {
	f := &feed{runner: r, ended: make(chan error, 1)}
	f.driver, _ = r.driver.(Subscriber)
	return f
}

// first is the index of the only target there is.
var first = []int{0}

// restart subscribes to the points of all groups, if any, in place of what was subscribed before.
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
	if len(all.points) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(f.runner.quit)
	done := make(chan struct{})
	f.cancel, f.done = cancel, done
	go func() {
		defer close(done)
		err := f.runner.guarded(func() error {
			return f.driver.Subscribe(ctx, all.points, func(i int, reading Reading) {
				if i >= 0 && i < len(all.points) {
					one := all.slice(i, i+1)
					f.runner.take(&one, first, []Reading{reading}, time.Time{}, nil)
				}
			})
		})
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
	}()
}

func (f *feed) stop() {
	if f.cancel == nil {
		return
	}
	f.cancel()
	<-f.done
	f.cancel = nil
	select {
	case <-f.ended: //nolint:errcheck // of the subscription that is gone
	default:
	}
}
