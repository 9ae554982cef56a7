package tags

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/otkit/otkit/fault"
)

// How long a write waits for a driver that moves, and how often it looks.
const (
	moveTimeout = 2 * time.Second
	moveLook    = 50 * time.Millisecond
)

// elsewhere is the error for a write to a driver that this engine does not run.
type elsewhere struct{ driver, tag string }

func (e *elsewhere) Error() string { return e.Unwrap().Error() }

func (e *elsewhere) Unwrap() error {
	return moving(ErrDriverOffline.On("driverId", e.driver)).With("tagName", e.tag)
}

// moving marks an error of a write that nothing has become of because its driver moves.
func moving(err *fault.Error) *fault.Error { return err.With("moving", "true") }

func isMoving(err error) bool {
	f, ok := fault.From(err)
	return ok && f.Metadata["moving"] != ""
}

// isMoving reports whether the driver leaves this engine, or has come and was not connected yet.
func (r *runner) isMoving() bool {
	return r.engine.shared != nil && (r.onStandby() || r.quit.Err() != nil || r.currentState() == DriverConnecting && time.Since(r.standby.since) < moveTimeout)
}

// followMoves repeats the requests that nothing has become of because their driver moves.
func (e *Engine) followMoves(ctx context.Context, requests []WriteRequest, writes []Write, errs []error) {
	for start := time.Now(); ; {
		var which []int
		for i, err := range errs {
			if isMoving(err) {
				which = append(which, i)
			}
		}
		if len(which) == 0 || time.Since(start) >= moveTimeout {
			return
		}
		select {
		case <-time.After(moveLook):
		case <-ctx.Done():
			return
		}
		again := make([]WriteRequest, len(which))
		for k, i := range which {
			again[k] = requests[i]
		}
		done, failed, err := e.WriteHere(ctx, again)
		if err != nil {
			return
		}
		e.passOn(ctx, again, done, failed)
		for k, i := range which {
			writes[i], errs[i] = done[k], failed[k]
		}
	}
}

// passOn passes the requests for drivers that are not run here on to the engines that run them.
func (e *Engine) passOn(ctx context.Context, requests []WriteRequest, writes []Write, errs []error) {
	var at map[string][]int
	for i := range errs {
		if there := (*elsewhere)(nil); errors.As(errs[i], &there) {
			if at == nil {
				at = make(map[string][]int)
			}
			at[there.driver] = append(at[there.driver], i)
		}
	}
	var wg sync.WaitGroup
	for driver, which := range at {
		wg.Go(func() {
			list := make([]WriteRequest, len(which))
			for k, i := range which {
				list[k] = requests[i]
				list[k].ID = e.writeID(list[k])
			}
			done, failed, err := e.shared.Write(ctx, driver, list)
			if err == nil && (len(done) != len(list) || len(failed) != len(list)) {
				err = fmt.Errorf("the engine that runs driver %q answered for %d of %d writes", driver, len(done), len(list))
			}
			for k, i := range which {
				switch {
				case err != nil:
					errs[i] = unanswered(err, list[k])
				default:
					writes[i], errs[i] = done[k], failed[k]
				}
			}
		})
	}
	wg.Wait()
}

// unanswered is the error of a request that was passed on.
func unanswered(err error, q WriteRequest) error {
	if f, ok := fault.From(err); ok {
		return f.With("tagName", clip(q.Tag))
	}
	return ErrWriteUnanswered.On("writeId", q.ID).With("tagName", clip(q.Tag)).Wrap(err)
}

func (e *Engine) writeID(q WriteRequest) string {
	if q.ID != "" {
		return q.ID
	}
	return e.newID()
}
