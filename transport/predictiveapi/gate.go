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

// gate bounds the calls of a kind: those that need no token must leave room for everything else.
type gate struct {
	queue chan struct{}
	turn  chan struct{}
}

func newGate() gate {
	return gate{make(chan struct{}, atOnce+maxQueued), make(chan struct{}, atOnce)}
}

// enter waits for the turn of a call, which ends with leave unless there is an error.
func (g gate) enter(ctx context.Context) error {
	select {
	case g.queue <- struct{}{}:
	default:
		return errQueue
	}
	select {
	case g.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		<-g.queue
		return ctx.Err()
	}
}

func (g gate) leave() { <-g.turn; <-g.queue }
