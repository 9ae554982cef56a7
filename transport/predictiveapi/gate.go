package predictiveapi

import (
	"context"

	"github.com/otkit/otkit/fault"
)

const (
	// atOnce is how many calls of a kind are worked on at the same time. Each holds thousands of samples or all records of an equipment, and
	// reads the history, whose connections are few: an operator's reads come between.
	atOnce = 2
	// maxQueued bounds the calls of a kind that wait for their turn.
	maxQueued = 100
)

var errQueue = fault.New(fault.TooMany, "TOO_MANY_WAITING", "too many such calls wait, try again later").With("retryAfter", "1")

// gate bounds the calls of a kind: those that need no token must leave room for everything else. Callers who are known wait apart, and so need not
// wait for a flood of others.
type gate struct {
	known           func(context.Context) bool
	callers, others lane
}

type lane struct {
	queue chan struct{}
	turn  chan struct{}
}

func newGate(known func(context.Context) bool) *gate { return &gate{known, newLane(), newLane()} }

func newLane() lane {
	return lane{make(chan struct{}, atOnce+maxQueued), make(chan struct{}, atOnce)}
}

// enter waits for the turn of a call, which lasts until leave is called, and which is not there with an error.
func (g *gate) enter(ctx context.Context) (leave func(), err error) {
	l := g.others
	if g.known(ctx) {
		l = g.callers
	}
	select {
	case l.queue <- struct{}{}:
	default:
		return nil, errQueue
	}
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn; <-l.queue }, nil
	case <-ctx.Done():
		<-l.queue
		return nil, ctx.Err()
	}
}
