package tags

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// group is the tags of one driver that are polled together.
type group struct {
	interval time.Duration
	due      time.Time // when its next round begins
	targets
	round *round // under way; nil between two
	out   []Reading
	pace  *pace
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

// serve polls and writes until the connection is lost, which is the error, or the runner
// ends. worked reports whether any call succeeded, which resets the backoff.
func (r *runner) serve() (worked bool, err error) {
	var groups []*group
	var grouped time.Time
	before := r.samples.Load()
	defer func() { worked = worked || r.samples.Load() != before }()
	sub := r.newFeed()
	defer sub.stop()
	defer r.setPaces(nil)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		ok, err := r.sendWrites()
		worked = worked || ok
		if err != nil {
			return worked, err
		}
		if r.quit.Err() != nil {
			if r.ctx.Err() != nil || !r.hasInFlightWrites() {
				return worked, nil
			}
			r.waitForWrites()
			continue
		}
		due, changed := r.regroupDue(grouped)
		if changed && !time.Now().Before(due) {
			grouped, changed = time.Now(), false
			groups = r.group(groups)
			sub.restart(groups)
			if r.unpolled {
				groups = nil
				r.setPaces(nil)
			}
		}
		if g := mostUrgent(groups, time.Now()); g != nil {
			ok, err = r.poll(g, groups)
			worked = worked || ok
			if err != nil {
				return worked, err
			}
			select {
			case err := <-sub.ended:
				return worked, err
			default:
			}
			continue
		}
		next := r.nextWrite(earliest(groups))
		if changed && due.Before(next) {
			next = due
		}
		timer.Reset(time.Until(next))
		select {
		case <-timer.C:
		case <-r.wake.C():
		case <-r.quit.Done():
		case err := <-sub.ended:
			return worked, err
		}
	}
}

func (r *runner) waitForWrites() {
	timer := time.NewTimer(10 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-r.wake.C():
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

// regroupPause is the shortest time between two subscriptions of an Unpolled driver, which begins each with
// the newest reading of every point. Many tags are defined in portions.
const regroupPause = 200 * time.Millisecond

// regroupDue returns from when the tags may be grouped again, and whether they have changed since the last time.
func (r *runner) regroupDue(last time.Time) (due time.Time, changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.unpolled && !last.IsZero() {
		due = last.Add(regroupPause)
	}
	return due, r.regroup
}

// interval returns the polling interval of a tag, 0 when it is not polled.
func (r *runner) interval(t *Tag) time.Duration {
	if r.unpolled || r.onStandby() {
		return 0
	}
	if t.PollInterval > 0 {
		return t.PollInterval
	}
	if _, ok := r.driver.(Subscriber); ok {
		return r.opts.RefreshInterval
	}
	return r.opts.PollInterval
}

// group sorts the tags into groups by interval. A group starts within its interval, at most a second
// from now, at a random point, so that groups and drivers that start together do not stay together;
// one that existed is not put off.
func (r *runner) group(old []*group) []*group {
	type member struct {
		entry *entry
		tag   *Tag // read once, while the lock keeps the entry from being given to another driver
	}
	byInterval := make(map[time.Duration][]member)
	r.mu.Lock()
	r.regroup = false
	for en := range r.entries {
		t := en.tag.Load()
		every := r.interval(t)
		byInterval[every] = append(byInterval[every], member{en, t})
	}
	r.mu.Unlock()
	now := time.Now()
	groups := make([]*group, 0, len(byInterval))
	for every, members := range byInterval {
		slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.tag.Name, b.tag.Name) })
		g := &group{interval: every}
		for _, m := range members {
			g.add(m.entry, m.tag)
		}
		g.due = now.Add(time.Duration(rand.Float64() * float64(min(g.interval, time.Second))))
		g.succeed(old)
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b *group) int { return cmp.Compare(a.interval, b.interval) })
	r.setPaces(groups)
	return groups
}

// succeed takes over what the group of the same interval had, if there was one. A round that is under
// way continues with the tags that it began with: else those at its end would never be read where tags
// are defined again and again.
func (g *group) succeed(old []*group) {
	g.pace = &pace{interval: g.interval}
	for _, was := range old {
		if was.interval != g.interval {
			continue
		}
		g.pace, g.round = was.pace, was.round
		if was.round != nil || was.due.Before(g.due) {
			g.due = was.due
		}
	}
	g.pace.tags.Store(int64(len(g.entries)))
	for _, en := range g.entries {
		en.follow(g.pace)
	}
}

func (t *Tag) point() Point {
	return Point{Address: t.Address, NativeType: t.NativeType, Type: t.DataType}
}

// take applies the readings of some targets and notifies of the changes. asked is when they were requested,
// zero for what the device sent by itself. It collects the changes in scratch and returns it.
func (r *runner) take(t *targets, which []int, readings []Reading, asked time.Time, scratch []Change) []Change {
	if r.ctx.Err() != nil || !r.mayCall() { // the driver did not stop in time and its tags are not its own any more
		return scratch
	}
	now, at := r.engine.now(), time.Now()
	failed, changed := 0, 0
	var firstErr error
	for _, i := range which {
		if err := readings[i].Err; err != nil {
			if failed++; failed == 1 {
				firstErr = err
			}
		}
		c := Change{Tag: t.tags[i], Sample: sampleOf(t.tags[i], &readings[i], now)}
		if !t.entries[i].accept(&c, &readings[i], arrival{at: at, asked: asked}) {
			continue
		}
		changed++
		// Asked after the change: an observer that is added meanwhile is either notified or reads the new sample.
		if len(r.engine.observing()) > 0 {
			scratch = append(scratch, c)
		}
	}
	r.count(len(which), failed, changed, firstErr)
	r.engine.notify(scratch)
	return scratch
}

// count takes note of how many readings came, of these how many failed and were changes, and of the first failure.
func (r *runner) count(came, failed, changed int, firstErr error) {
	if firstErr != nil {
		r.noteError(firstErr)
	}
	if failed < came {
		r.respond()
	}
	r.readErrors.Add(uint64(failed))
	r.samples.Add(uint64(came - failed))
	r.changes.Add(uint64(changed))
}

// sweepEvery checks tags for staleness until the engine closes.
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
	for slot, list := range e.wheel.sweep(at) {
		for _, en := range list {
			if !en.plannedFor(slot) {
				continue
			}
			if c, told := en.age(now, at); told {
				changes = append(changes, c)
			}
			en.planNext(at)
		}
	}
	e.notify(changes)
}
