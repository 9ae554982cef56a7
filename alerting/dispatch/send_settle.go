package dispatch

import "context"

// settleBatch is the [sendStage] that stores what the stages before it decided: a digest must not be lost after it was sent. Without
// that nothing is sent.
type settleBatch struct{ w *worker }

func (s settleBatch) send(ctx context.Context, b *sendBatch) error {
	if !s.w.settle(ctx, &b.results, b.lease) {
		b.list = nil // claimed again when the lease is over
	}
	return nil
}
