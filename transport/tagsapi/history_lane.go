package tagsapi

import (
	"context"
	"time"

	"github.com/otkit/otkit/fault"
)

// The answers with the history of several tags that are made at a time, since each reads as fast as the database can, and those that wait: a
// page with many charts asks for all of them at once.
const (
	maxHistoryTables = 8
	maxTablesQueued  = 64
	maxTableWait     = 10 * time.Second
)

var errHistoryBusy = fault.New(fault.Unavailable, "HISTORY_BUSY", "too many answers with history are being made").With("retryAfter", "2")

// lane bounds the answers of one kind.
type lane struct {
	queue, turn chan struct{}
}

func newLane() lane {
	return lane{make(chan struct{}, maxHistoryTables+maxTablesQueued), make(chan struct{}, maxHistoryTables)}
}

// enter waits for the turn of an answer, which lasts until leave is called. If it takes too long, or too many wait, enter returns errHistoryBusy.
func (l lane) enter(ctx context.Context) (leave func(), err error) {
	select {
	case l.queue <- struct{}{}:
	default:
		return nil, errHistoryBusy
	}
	timer := time.NewTimer(maxTableWait)
	defer timer.Stop()
	select {
	case l.turn <- struct{}{}:
		return func() { <-l.turn; <-l.queue }, nil
	case <-timer.C:
		err = errHistoryBusy
	case <-ctx.Done():
		err = ctx.Err()
	}
	<-l.queue
	return nil, err
}
