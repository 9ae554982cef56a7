package tagspart

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/mirror"
)

// kindDriver is the kind of the work of running drivers.
const kindDriver = "driver"

// Companion is what must be on the engine that runs a driver, such as the evaluation of the rules of its tags.
type Companion struct {
	// Begin is called before the driver is run here, by a lease, and again after it has returned an error.
	Begin func(ctx context.Context, driver string, lease *cluster.Held) error
	// End is called when the driver is not run here any more, if Begin has returned nil. moved is false if another engine may run it already; then nothing may be done
	// that only one does.
	End func(ctx context.Context, driver string, moved bool)
}

// Accompany adds a companion of all drivers. Without a cluster it is never called. Call it before the server starts.
func (t *Tags) Accompany(c Companion) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.companions = append(t.companions, c)
}

// Shared reports whether other engines have the same drivers.
func (t *Tags) Shared() bool { return t.opts.Cluster != nil }

func (t *Tags) openMirror() (err error) {
	c := t.opts.Cluster
	if c == nil {
		return nil
	}
	t.Accompany(Companion{Begin: t.settleLost, End: func(context.Context, string, bool) {}})
	t.mirror, err = mirror.New(t.engine, c.Bus(), mirror.Options{Engine: c.Engine(), Name: c.Name(), Others: c.Others, Logger: t.opts.Logger,
		Owner: func(driver string) (string, bool) {
			s, _, ok := c.Owner(kindDriver, driver)
			return s.Engine, ok
		}})
	return err
}

// Lag returns how long ago something was heard of a driver that another engine runs; ok is false if nothing was, or if there are no others.
func (t *Tags) Lag(driver string) (lag time.Duration, ok bool) {
	if t.mirror == nil {
		return 0, false
	}
	return t.mirror.Lag(driver)
}

func (t *Tags) passOn(ctx context.Context, driver string, requests []tags.WriteRequest) ([]tags.Write, []error, error) {
	return t.mirror.Write(ctx, driver, requests)
}

// share lets the engines share a driver that is not stored.
func (t *Tags) share(id string, requires map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.local[id] = requires
}

func (t *Tags) unshare(id string) {
	t.mu.Lock()
	delete(t.local, id)
	t.mu.Unlock()
	t.assign()
}

// subjectDrivers is that of messages that say that definitions of drivers have changed.
const subjectDrivers = "drivers.changed"

// onDriverChange is called when a definition has changed.
func (t *Tags) onDriverChange() {
	if c := t.opts.Cluster; c != nil && t.drivers != nil {
		t.assign()
		if c.Others() {
			_ = c.Bus().Publish(subjectDrivers, nil) // they look by themselves, too
		}
	}
}

// weightOfDriver is how much work a driver is beside its points.
const weightOfDriver = 10

// assign tells the cluster which drivers there are.
func (t *Tags) assign() {
	if t.opts.Cluster == nil || t.drivers == nil {
		return
	}
	t.assigning.Lock()
	defer t.assigning.Unlock()
	var works []cluster.Work
	for _, d := range t.drivers.Wanted() {
		w := cluster.Work{Name: d.ID, Requires: d.Requires, Weight: weightOfDriver + d.Points}
		if d.Err != nil {
			w.Cannot = publicText(d.Err)
		}
		works = append(works, w)
	}
	t.mu.Lock()
	for _, id := range slices.Sorted(maps.Keys(t.local)) {
		works = append(works, cluster.Work{Name: id, Requires: t.local[id], Weight: weightOfDriver})
	}
	t.mu.Unlock()
	t.opts.Cluster.Set(kindDriver, works)
}

// publicText is the text of an error without its cause.
func publicText(err error) string {
	if f, ok := fault.From(err); ok {
		public := *f
		public.Err = nil
		return public.Error()
	}
	return err.Error()
}

// The times of taking over and giving away a driver.
const (
	beginRetry = 200 * time.Millisecond
	endTimeout = 5 * time.Second

	// replaceTimeout is how long a driver may be missing while its settings change.
	replaceTimeout = 10 * time.Second
	replaceLook    = 20 * time.Millisecond
)

// runDriver runs a driver while this engine has its lease.
func (t *Tags) runDriver(ctx context.Context, id string, lease *cluster.Held) error {
	t.mu.Lock()
	companions := slices.Clone(t.companions)
	t.mu.Unlock()
	begun := 0
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
		defer cancel()
		moved := lease.Valid()
		for _, c := range slices.Backward(companions[:begun]) {
			c.End(ending, id, moved)
		}
	}()
	for ; begun < len(companions); begun++ {
		if !t.begin(ctx, id, func() error { return companions[begun].Begin(ctx, id, lease) }) {
			return nil
		}
	}
	end := t.mirror.Begin(id, lease.Epoch)
	defer end()
	return t.runDrivers(ctx, id, lease)
}

// runDrivers runs a driver, and those that take its place when its settings change. A driver that is removed for good ends ctx.
func (t *Tags) runDrivers(ctx context.Context, id string, lease *cluster.Held) error {
	for missing := time.Duration(0); ; missing += replaceLook {
		began := time.Now()
		err := t.engine.RunDriver(ctx, id, lease.Valid)
		if time.Since(began) > replaceLook {
			missing = 0
		}
		if !errors.Is(err, tags.ErrInvalidDriver) || missing >= replaceTimeout {
			return err
		}
		select {
		case <-time.After(replaceLook):
		case <-ctx.Done():
			return nil
		}
	}
}

// begin calls what must be done before a driver is run, until it works. It reports false if ctx ends first.
func (t *Tags) begin(ctx context.Context, driver string, do func() error) bool {
	for failing := false; ctx.Err() == nil; failing = true {
		err := do()
		if err == nil {
			return true
		}
		if !failing && !errors.Is(err, context.Canceled) {
			t.opts.Logger.Error("driver cannot be taken over; retrying", "driver", driver, "error", err)
		}
		select {
		case <-time.After(beginRetry):
		case <-ctx.Done():
		}
	}
	return false
}
