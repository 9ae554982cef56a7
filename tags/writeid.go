package tags

import (
	"context"
	"errors"
)

// claimID keeps others from using the id of a request with New, until releaseIDs is called after the write is in the log. It returns ErrWriteExists if there is a write
// of the id.
func (e *Engine) claimID(ctx context.Context, q *WriteRequest) error {
	if !q.New || q.ID == "" {
		return nil
	}
	if !e.takeID(q.ID) {
		return ErrWriteExists.On("writeId", q.ID)
	}
	_, err := e.GetWrite(ctx, q.ID)
	if errors.Is(err, ErrWriteNotFound) {
		return nil
	}
	e.claimedMu.Lock()
	defer e.claimedMu.Unlock()
	delete(e.claimed, q.ID)
	if err == nil {
		return ErrWriteExists.On("writeId", q.ID)
	}
	return err
}

func (e *Engine) takeID(id string) bool {
	e.claimedMu.Lock()
	defer e.claimedMu.Unlock()
	if _, taken := e.claimed[id]; taken {
		return false
	}
	if e.claimed == nil {
		e.claimed = map[string]struct{}{}
	}
	e.claimed[id] = struct{}{}
	return true
}

func (e *Engine) releaseIDs(writes []*queuedWrite) {
	e.claimedMu.Lock()
	defer e.claimedMu.Unlock()
	for _, w := range writes {
		if w != nil {
			delete(e.claimed, w.write.ID)
		}
	}
}
