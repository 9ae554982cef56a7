package tags

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"
)

// group is the tags of one driver that are polled together.
type group struct {
	interval time.Duration
	due      time.Time
	targets
	out []Reading
}

// targets are tags with the definitions by which they are read.
type targets struct {
	entries []*entry
	tags    []*Tag
	points  []Point
}

func (t *targets) add(en *entry, tag *Tag) {
	t.entries, t.tags, t.points = append(t.entries, en), append(t.tags, tag), append(t.points, tag.point())
}

func (t *targets) slice(from, to int) targets {
	return targets{t.entries[from:to], t.tags[from:to], t.points[from:to]}
}

// serve polls and writes until the connection is lost, which is the error, or the runner is told to
// leave. worked says whether any call succeeded, which resets the backoff.
func (r *runner) serve() (worked bool, err error) {
	var groups []*group
	sub := r.newFeed()
	defer sub.stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		ok, err := r.sendWrites()
		worked = worked || ok
		if err != nil {
			return worked, err
		}
		if r.quit.Err() != nil {
			if r.ctx.Err() != nil || !r.promised() {
				return worked, nil
			}
			r.awaitPromised()
			continue
		}
		if r.takeRegroup() {
			groups = r.group(groups)
			sub.restart(groups)
		}
		ok, err = r.pollDue(groups)
		worked = worked || ok
		if err != nil {
			return worked, err
		}
		timer.Reset(time.Until(r.nextWrite(earliest(groups))))
		select {
		case <-timer.C:
		case <-r.wake:
		case <-r.quit.Done():
		case err := <-sub.ended:
			return worked, err
		}
	}
}

// pollDue polls each group that is due.
func (r *runner) pollDue(groups []*group) (worked bool, err error) {
	for _, g := range groups {
		if time.Now().Before(g.due) {
			continue
		}
		ok, err := r.poll(g, groups)
		worked = worked || ok
		if err != nil {
			return worked, err
		}
		if g.due = g.due.Add(g.interval); g.due.Before(time.Now()) {
			g.due = time.Now() // late: polls that were missed are not made up for
		}
	}
	return worked, nil
}

func (r *runner) awaitPromised() {
	timer := time.NewTimer(10 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-r.wake:
	case <-timer.C:
	case <-r.ctx.Done():
	}
}

func earliest(groups []*group) time.Time {
	if len(groups) == 0 {
		return time.Now().Add(time.Hour)
	}
	first := groups[0].due
	for _, g := range groups[1:] {
		if g.due.Before(first) {
			first = g.due
		}
	}
	return first
}

func (r *runner) takeRegroup() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.regroup
	r.regroup = false
	return was
}

// interval gives the polling interval of a tag.
func (r *runner) interval(t *Tag) time.Duration {
	if t.Interval > 0 {
		return t.Interval
	}
	if _, ok := r.driver.(Subscriber); ok {
		return r.opts.Refresh
	}
	return r.opts.Interval
}

// group sorts the tags into groups by interval. A group starts within its interval, at most a second
// from now, at a random point, so that groups and drivers that start together do not stay together;
// one that existed is not put off.
func (r *runner) group(old []*group) []*group {
	byInterval := make(map[time.Duration]*group)
	r.mu.Lock()
	for en := range r.entries {
		every := r.interval(en.tag.Load())
		g := byInterval[every]
		if g == nil {
			g = &group{interval: every}
			byInterval[every] = g
		}
		g.entries = append(g.entries, en)
	}
	r.mu.Unlock()
	now := time.Now()
	groups := make([]*group, 0, len(byInterval))
	for _, g := range byInterval {
		entries := g.entries
		slices.SortFunc(entries, func(a, b *entry) int {
			return cmp.Compare(a.tag.Load().Name, b.tag.Load().Name)
		})
		g.targets = targets{}
		for _, en := range entries {
			g.add(en, en.tag.Load())
		}
		g.out = make([]Reading, min(len(g.points), r.batch))
		g.due = now.Add(time.Duration(rand.Float64() * float64(min(g.interval, time.Second))))
		for _, was := range old {
			if was.interval == g.interval && was.due.Before(g.due) {
				g.due = was.due
			}
		}
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *group) int { return cmp.Compare(a.interval, b.interval) })
	return groups
}

func (t *Tag) point() Point {
	return Point{Address: t.Address, Native: t.Native, Type: t.DataType}
}

// poll reads a group, one of groups, in batches and lets writes in before each of them.
func (r *runner) poll(g *group, groups []*group) (worked bool, err error) {
	var fared tally
	samples := r.samples.Load()
	for from := 0; from < len(g.points) && r.quit.Err() == nil; from += r.batch {
		ok, err := r.sendWrites()
		worked = worked || ok
		if err != nil {
			return worked, err
		}
		to := min(from+r.batch, len(g.points))
		ok, err = r.read(g.slice(from, to), g.out[:to-from])
		worked = worked || ok
		if err != nil {
			return worked, err
		}
		fared.add(g.out[:to-from])
	}
	if r.quit.Err() == nil { // else it was not the whole poll
		err = r.judge(g, groups, fared, samples)
	}
	return worked, err
}

// read reads points and takes the readings over. A failure of the whole call is a failure of each of
// its points; the error is set when the connection has to be made anew.
func (r *runner) read(t targets, out []Reading) (worked bool, err error) {
	clear(out)
	ctx, cancel := context.WithTimeout(r.ctx, r.opts.Timeout)
	start := time.Now()
	err = r.call(func() error { return r.driver.Read(ctx, t.points, out) })
	cancel()
	r.roundTrip.Store(int64(time.Since(start)))
	r.reads.Add(1)
	if err != nil {
		r.readErrors.Add(1)
		if r.ctx.Err() != nil || r.lost(err) {
			return false, err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = ErrTimeout
		}
		for i := range out {
			out[i] = Reading{Err: err}
		}
	} else {
		r.failures = 0
		worked = true
	}
	r.scratch = r.take(t, out, start, r.scratch[:0])
	return worked, nil
}

// take takes readings over and tells of the changes. asked is when they were asked for, zero for what
// the device told by itself. It collects the changes in scratch, which it gives back.
func (r *runner) take(t targets, readings []Reading, asked time.Time, scratch []Change) []Change {
	if r.ctx.Err() != nil { // the driver did not stop in time and its tags are not its own any more
		return scratch
	}
	now, at := r.engine.now(), time.Now()
	var told *[]Change
	if len(r.engine.observing()) > 0 {
		told = &scratch
	}
	failed, changed := 0, 0
	var firstErr error
	for i, en := range t.entries {
		if err := readings[i].Err; err != nil {
			if failed++; failed == 1 {
				firstErr = err
			}
		}
		if en.apply(t.tags[i], &readings[i], now, at, asked, told) {
			changed++
		}
	}
	if firstErr != nil {
		r.noteError(firstErr)
	}
	if failed < len(readings) {
		r.respond()
	}
	r.readErrors.Add(uint64(failed))
	r.samples.Add(uint64(len(t.entries) - failed))
	r.changes.Add(uint64(changed))
	r.engine.tell(scratch)
	return scratch
}

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
					f.runner.take(all.slice(i, i+1), []Reading{reading}, time.Time{}, nil)
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

// sweepEvery checks all tags for staleness until the engine closes.
func (e *Engine) sweepEvery(every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-ticker.C:
			e.sweep(every)
		}
	}
}

func (e *Engine) sweep(passed time.Duration) {
	e.mu.RLock()
	for _, r := range e.runners {
		r.tick(passed)
		r.checkStuck()
	}
	e.mu.RUnlock()
	now, at := e.now(), time.Now()
	var changes []Change
	for _, en := range e.sortedEntries() {
		if c, told := en.age(now, at); told {
			changes = append(changes, c)
		}
	}
	e.tell(changes)
}
