package modbus

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/otkit/otkit/tags"
)

// round is a poll of points under way: a tags.Requests. Units that answer are read before the others,
// and of the others none is asked any more once a timeout was waited for: however many units are dead,
// that costs the good ones one timeout a round. One that falls silent in the middle costs one more.
type round struct {
	driver *Driver
	plan   *plan
	units  []unitRuns // in the order in which they are asked; the first may be begun
	next   int        // the run of the first unit that is to be asked
	spare  *part
	parts  []*part // of the run that is being split, the next one last
	left   int     // requests
	splits int     // runs that may still be halved
	heard  bool    // the unit in turn has answered in this round
	lost   bool    // one of its answers was lost after that
	waited bool    // a timeout was waited for
	bad    bool    // the points without a valid address are still to be reported
	done   []int   // of the last answer
}

// Plan is for tags.Planner. One request reads neighbouring registers of a unit; see the package comment.
func (d *Driver) Plan(points []tags.Point) tags.Requests {
	p := d.plans.of(points, d.parsePoint)
	r := &round{
		driver: d, plan: p, units: slices.Clone(p.units), bad: len(p.bad) > 0,
		splits: max(maxSplits, len(points)/pointsPerSplit),
	}
	for _, u := range p.units {
		d.breakers.use(u.unit)
		r.left += len(u.runs)
	}
	slices.SortStableFunc(r.units, func(a, b unitRuns) int { return d.breakers.order(a.unit, b.unit) })
	return r
}

// CallTimeout is for tags.Planner: a request whose connection has to be opened again first, twice for a
// bit that is written by reading its register.
func (d *Driver) CallTimeout() time.Duration {
	const open = 5 * time.Second // the library's, see link.connect
	return open + 2*d.link.pause + 2*(d.options.Timeout+d.longestPause())
}

// Len is for tags.Requests.
func (r *round) Len() int {
	if r.left == 0 && r.bad {
		return 1
	}
	return r.left
}

// Next is for tags.Requests.
func (r *round) Next(ctx context.Context, out []tags.Reading) (tags.Answer, error) {
	r.done = r.done[:0]
	if r.bad {
		r.bad = false
		for _, b := range r.plan.bad {
			out[b.index].Err = b.err
			r.done = append(r.done, b.index)
		}
	}
	for r.left > 0 {
		u := r.units[0]
		if len(r.parts) == 0 && r.next == len(u.runs) {
			r.nextUnit()
			continue
		}
		if err := r.leaveOut(u.unit); err != nil {
			r.giveUp(err, out)
			continue
		}
		if !r.driver.link.connected() {
			return tags.Answer{Points: r.done}, tags.ErrNotConnected
		}
		return r.ask(ctx, out)
	}
	return tags.Answer{Points: r.done}, nil
}

var errNotAsked = fmt.Errorf("%w: the unit is asked next time, because another one gave no answer", tags.ErrTimeout)

// leaveOut returns the error of a unit whose polling is paused, or nil.
func (r *round) leaveOut(unit uint8) error {
	if b := &r.driver.breakers; r.waited && !b.answers(unit) && !b.alone() {
		return errNotAsked
	}
	return r.driver.breakers.check(unit)
}

// ask makes the next request.
func (r *round) ask(ctx context.Context, out []tags.Reading) (tags.Answer, error) {
	if len(r.parts) == 0 {
		r.parts = append(r.parts, r.whole(r.units[0].runs[r.next]))
		r.next++
	}
	part := r.parts[len(r.parts)-1]
	r.parts = r.parts[:len(r.parts)-1]
	raw, sent, err := r.driver.ask(ctx, part.run.unit, part.run.request)
	switch {
	case err == nil:
		r.heard = true
		r.left--
		r.plan.take(part.run, raw, out)
		r.done = append(r.done, part.run.items...)
		r.driver.plans.release(r.plan.parsed[part.run.items[0]].block())
		part.split.read = true
		r.finish(part, true, false)
	case endsCall(err):
		return r.interrupted(part, sent, err, out)
	default:
		r.refused(part, err, out)
	}
	return tags.Answer{Points: r.done, Asked: sent}, nil
}

// interrupted ends a request whose context has ended, or whose connection is gone. After a deadline
// the unit counts as one that gave no answer.
func (r *round) interrupted(part *part, sent time.Time, err error, out []tags.Reading) (tags.Answer, error) {
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, tags.ErrNotConnected) {
		r.waited = true
		r.parts = append(r.parts, part)
		r.giveUp(fmt.Errorf("%w: %w", tags.ErrTimeout, err), out)
		return tags.Answer{Points: r.done, Asked: sent}, nil
	}
	return tags.Answer{Points: r.done, Asked: sent}, err
}

// refused takes note of an error that the device, or its silence, gave for a part of a run.
func (r *round) refused(p *part, err error, out []tags.Reading) {
	if r.halve(p, err) {
		return
	}
	failures := r.driver.breakers.failures(p.run.unit)
	// Where nobody else is delayed, or the unit has just answered, one answer that was lost does not
	// mean that the others will be.
	alone := r.driver.breakers.alone()
	once := failures == 1 && (alone || r.heard && !r.lost)
	if once && !alone {
		r.lost = true
	} else {
		r.waited = r.waited || errors.Is(err, tags.ErrTimeout)
	}
	if failures == 0 || once {
		p.split.ended = p.split.ended || once
		r.left--
		r.fail(p.run, err, out)
		r.finish(p, false, true)
		return
	}
	// A unit that does not answer now does not answer its other requests either.
	r.parts = append(r.parts, p)
	r.giveUp(err, out)
}

// fail settles the points of a run with an error.
func (r *round) fail(run run, err error, out []tags.Reading) {
	for _, i := range run.items {
		out[i].Err = err
	}
	r.done = append(r.done, run.items...)
}

// giveUp settles what is left of the unit in turn with an error.
func (r *round) giveUp(err error, out []tags.Reading) {
	for len(r.parts) > 0 {
		p := r.parts[len(r.parts)-1]
		r.parts = r.parts[:len(r.parts)-1]
		p.split.ended = true
		r.left--
		r.fail(p.run, err, out)
		r.finish(p, false, true)
	}
	for _, run := range r.units[0].runs[r.next:] {
		r.left--
		r.fail(run, err, out)
	}
	r.nextUnit()
}

func (r *round) nextUnit() {
	r.units, r.next = r.units[1:], 0
	r.heard, r.lost = false, false
}

// Read reads points; see tags.Driver and the package comment. When the deadline of ctx passes, what
// has been read stays, the other points get tags.ErrTimeout, and Read returns nil.
func (d *Driver) Read(ctx context.Context, points []tags.Point, out []tags.Reading) error {
	if !d.link.connected() {
		return tags.ErrNotConnected
	}
	if err := ctx.Err(); len(points) == 0 {
		return err
	}
	for r := d.Plan(points); r.Len() > 0; {
		if _, err := r.Next(ctx, out); err != nil {
			return err
		}
	}
	return nil
}
