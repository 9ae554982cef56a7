package tags

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// round is one poll of a group under way.
type round struct {
	targets  // as they were when it began
	requests Requests
	out      []Reading
	began    time.Time
	asked    int       // requests made
	left     int       // requests to be made
	wanted   time.Time // by when the next request is to be made, to reach the interval
	every    time.Duration
	fared    tally
	samples  uint64 // of the runner, when it began
}

// mostUrgent returns the group whose next request is wanted first, nil if none is to be polled now.
//
// Each request of a round has its share of the interval. A request that comes late moves those after
// it, so that where a device is too slow for all groups together, each gets its part of it: a group of
// many tags does not stand in the way of one that is to be read often, nor the other way round.
func mostUrgent(groups []*group, now time.Time) (best *group) {
	var first time.Time
	for _, g := range groups {
		wanted := g.due
		if g.round != nil {
			wanted = g.round.wanted
		} else if now.Before(g.due) {
			continue
		}
		if best == nil || wanted.Before(first) {
			best, first = g, wanted
		}
	}
	return best
}

// poll makes the next request of a group, one of groups.
func (r *runner) poll(g *group, groups []*group) (worked bool, err error) {
	if g.round == nil {
		g.begin(r)
	}
	rd := g.round
	worked, err = r.ask(rd)
	if err != nil {
		return worked, err
	}
	now := time.Now()
	rd.wanted = now.Add(rd.every)
	g.pace.step(now, rd.left)
	if rd.left > 0 || r.quit.Err() != nil {
		return worked, nil //nolint:nilerr // the runner ends: the poll does not
	}
	g.round = nil
	g.pace.finish(rd.asked)
	if g.due = g.due.Add(g.interval); g.due.Before(now) {
		g.due = now // late: polls that were missed are not made up for
	}
	return worked, r.evaluatePoll(g, groups, rd.fared, rd.samples)
}

// begin begins a poll of the group.
func (g *group) begin(r *runner) {
	if len(g.out) < len(g.points) {
		g.out = make([]Reading, len(g.points))
	}
	g.round = r.newRound(g.targets, g.out[:len(g.points)])
	g.round.every = g.interval / time.Duration(max(1, g.round.left))
	g.pace.begin(g.round.began)
}

func (r *runner) newRound(t targets, out []Reading) *round {
	clear(out)
	rd := &round{targets: t, out: out, began: time.Now(), samples: r.samples.Load()}
	if r.planner != nil {
		err := r.guarded(func() error {
			rd.requests = r.planner.Plan(rd.points)
			rd.left = rd.requests.Len()
			return nil
		})
		if err == nil {
			return rd
		}
		r.noteError(err)
	}
	b := &batches{driver: r.driver, points: rd.points, size: r.batch}
	rd.requests, rd.left = b, b.Len()
	return rd
}

// unsettled returns the points of the round that have no reading yet.
func (rd *round) unsettled() (which []int) {
	for i := range rd.out {
		if rd.out[i].Err == nil && rd.out[i].Value.IsZero() {
			which = append(which, i)
		}
	}
	return which
}

// ask makes the next request of a round and takes the readings over. A failure of the whole call is a
// failure of each of its points; the error is set when the connection has to be made again.
func (r *runner) ask(rd *round) (worked bool, err error) {
	ctx, cancel := context.WithTimeout(r.ctx, r.timeout)
	start := time.Now()
	var a Answer
	left := 0 // when the driver panics, the round is over
	err = r.call(func() error {
		var err error
		a, err = rd.requests.Next(ctx, rd.out)
		left = rd.requests.Len()
		return err
	})
	cancel()
	rd.left = left
	if p := (*panicError)(nil); errors.As(err, &p) && a.Asked.IsZero() {
		a.Points = rd.unsettled()
	}
	if bad := slices.IndexFunc(a.Points, func(i int) bool { return i < 0 || i >= len(rd.out) }); bad >= 0 {
		a.Points, err = nil, fmt.Errorf("the driver answered for point %d of %d", a.Points[bad], len(rd.out))
	}
	if !a.Asked.IsZero() {
		rd.asked++
		start = a.Asked
		r.trips.note(time.Since(start))
		r.reads.Add(1)
	}
	if err != nil {
		r.readErrors.Add(1)
		if r.ctx.Err() != nil || r.needsReconnect(err) {
			return false, err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = ErrTimeout
		}
		for _, i := range a.Points {
			rd.out[i] = Reading{Err: err}
		}
	} else {
		r.failures = 0
		worked = true
	}
	rd.fared.add(rd.out, a.Points)
	r.scratch = r.take(&rd.targets, a.Points, rd.out, start, r.scratch[:0])
	return worked, nil
}

// read reads points, all of them before it returns, which is for a few. The error is as for ask.
func (r *runner) read(t targets, out []Reading) (worked bool, err error) {
	rd := r.newRound(t, out)
	for rd.left > 0 && r.ctx.Err() == nil {
		ok, err := r.ask(rd)
		worked = worked || ok
		if err != nil {
			return worked, err
		}
	}
	return worked, nil
}

// batches are the requests to a driver that is no Planner: lists of at most so many points.
type batches struct {
	driver Driver
	points []Point
	size   int
	from   int
	which  []int
}

func (b *batches) Len() int { return (len(b.points) - b.from + b.size - 1) / b.size }

func (b *batches) Next(ctx context.Context, out []Reading) (Answer, error) {
	from, to := b.from, min(b.from+b.size, len(b.points))
	b.from = to
	b.which = b.which[:0]
	for i := from; i < to; i++ {
		b.which = append(b.which, i)
	}
	a := Answer{Points: b.which, Asked: time.Now()}
	return a, guard(func() error { return b.driver.Read(ctx, b.points[from:to], out[from:to]) })
}
