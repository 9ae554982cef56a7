package tagstest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// poll is a poll of a Planner under way.
type poll struct {
	dev      *device
	points   []tags.Point
	asked    []tags.Point // as it was given them
	requests tags.Requests
	out      []tags.Reading
	settled  []int // how often, by point
	calls    int
}

func (dev *device) plan(t testing.TB, points ...tags.Point) *poll {
	t.Helper()
	p := &poll{dev: dev, points: points, asked: slices.Clone(points), out: make([]tags.Reading, len(points)), settled: make([]int, len(points))}
	dev.limited(t, "Plan", soon, func() { p.requests = dev.d.(tags.Planner).Plan(p.asked) })
	require.NotNil(t, p.requests, "Plan")
	return p
}

// next makes the next request and checks what holds for each.
func (p *poll) next(t testing.TB, ctx context.Context) error {
	t.Helper()
	var a tags.Answer
	var err error
	p.dev.limited(t, "Next", p.dev.Timeout+soon, func() { a, err = p.requests.Next(ctx, p.out) })
	p.calls++
	require.LessOrEqual(t, p.calls, 10*len(p.points)+10, "Len does not become 0: so many requests were made for %d points", len(p.points))
	require.Equal(t, p.points, p.asked, "Next must not change the points")
	for _, i := range a.Points {
		require.True(t, i >= 0 && i < len(p.points), "Next settles point %d of %d", i, len(p.points))
		p.settled[i]++
		require.Equal(t, 1, p.settled[i], "Next settles point %d (%s) again", i, p.points[i].Address)
		if err == nil {
			requireReading(t, fmt.Sprintf("Next for point %d (%s)", i, p.points[i].Address), p.points[i], p.out[i])
		}
	}
	return err
}

func (p *poll) over(t testing.TB) bool {
	t.Helper()
	left := p.requests.Len()
	require.GreaterOrEqual(t, left, 0, "Len")
	return left == 0
}

// finish makes all requests and returns the readings.
func (p *poll) finish(t testing.TB) []tags.Reading {
	t.Helper()
	for !p.over(t) {
		require.NoError(t, p.next(t, p.dev.context(t)), "Next")
	}
	for i, n := range p.settled {
		require.Equal(t, 1, n, "the poll is over, and point %d (%s) was not settled", i, p.points[i].Address)
	}
	return p.out
}

func (p *poll) finishGood(t testing.TB) {
	t.Helper()
	for i, r := range p.finish(t) {
		requireGood(t, p.points[i], r)
	}
}

func (dev *device) needPlanner(t *testing.T) {
	t.Helper()
	if _, ok := dev.d.(tags.Planner); !ok {
		t.Skip("the driver is no Planner")
	}
}

func testPlan(t *testing.T, dev *device) {
	dev.needPlanner(t)
	require.Positive(t, dev.d.(tags.Planner).CallTimeout(), "CallTimeout")
	early := dev.plan(t, dev.Readable...)
	require.ErrorIs(t, early.next(t, dev.context(t)), tags.ErrNotConnected, "Next before Connect")
	dev.connect(t)
	require.True(t, dev.plan(t).over(t), "Len of a poll of no points")

	want := dev.writeAll(t, dev.Writable)
	points := slices.Concat(dev.Readable, pointsOf(dev.Writable))
	backwards := slices.Clone(points)
	slices.Reverse(backwards)
	for _, list := range [][]tags.Point{points, backwards, slices.Concat(points, backwards)} {
		p := dev.plan(t, list...)
		p.finishGood(t)
		for i, r := range p.out {
			if value, known := want[list[i]]; known {
				require.Equal(t, value, r.Value, "point %d (%s)", i, list[i].Address)
			}
		}
	}
	for _, bad := range []tags.Point{dev.Missing, dev.Malformed} {
		if bad.Address == "" {
			continue
		}
		for _, at := range places(len(dev.Readable)) {
			p := dev.plan(t, slices.Insert(slices.Clone(dev.Readable), at, bad)...)
			for i, r := range p.finish(t) {
				if i == at {
					require.Error(t, r.Err, "%q as point %d", bad.Address, i)
				} else {
					requireGood(t, p.points[i], r)
				}
			}
		}
	}
}

// testPlansTogether alternates between two polls, with a write between their requests, and abandons
// a third one.
func testPlansTogether(t *testing.T, dev *device) {
	dev.needPlanner(t)
	dev.connect(t)
	points := slices.Concat(dev.Readable, pointsOf(dev.Writable))
	backwards := slices.Clone(points)
	slices.Reverse(backwards)
	a, b := dev.plan(t, points...), dev.plan(t, backwards...)
	given := dev.plan(t, points...)
	require.NoError(t, given.next(t, dev.context(t)), "Next")
	for !a.over(t) || !b.over(t) {
		for _, p := range []*poll{a, b} {
			if !p.over(t) {
				require.NoError(t, p.next(t, dev.context(t)), "Next")
			}
			if len(dev.Writable) > 0 {
				dev.writeGood(t, dev.Writable[0])
			}
		}
	}
	a.finishGood(t)
	b.finishGood(t)
	dev.plan(t, points...).finishGood(t)
}

func testPlanEndedContext(t *testing.T, dev *device) {
	dev.needPlanner(t)
	dev.connect(t)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	p := dev.plan(t, dev.Readable...)
	dev.limited(t, "Next with a cancelled context", soon, func() { _ = p.next(t, canceled) })
	dev.recover(t)
	dev.plan(t, dev.Readable...).finishGood(t)
	if dev.Stall == nil {
		return
	}
	dev.Stall(t, dev.d)
	short, cancel := context.WithTimeout(t.Context(), dev.Timeout/20)
	defer cancel()
	p = dev.plan(t, dev.Readable...)
	dev.limited(t, "Next of a silent device", dev.Timeout/20+soon, func() { _ = p.next(t, short) })
	dev.Resume(t, dev.d)
	dev.recover(t)
	dev.plan(t, dev.Readable...).finishGood(t)
}

func testPlanDisconnect(t *testing.T, dev *device) {
	dev.needPlanner(t)
	if dev.Disconnect == nil {
		t.Skip("the harness has no Disconnect")
	}
	dev.connect(t)
	p := dev.plan(t, dev.Readable...)
	dev.Disconnect(t, dev.d)
	for err := error(nil); err == nil && !p.over(t); {
		err = p.next(t, dev.context(t))
	}
	for i, r := range p.out {
		require.False(t, p.settled[i] > 0 && r.Err == nil && !r.Value.IsZero(), "%s was read although the device is away", p.points[i].Address)
	}
	dev.Reconnect(t, dev.d)
	dev.recover(t)
	dev.plan(t, dev.Readable...).finishGood(t)
}
