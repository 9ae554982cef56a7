package rules

import "context"

// Settle waits until the alarms that follow from earlier calls of Observe are stored, so that the source of the changes may forget
// them. It returns the error of ctx if that ends first.
func (r *Service) Settle(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for last := r.queued; ; {
		front := r.queue.Front()
		if front == nil || transitionOf(front).number > last {
			return nil
		}
		if r.moved == nil {
			r.moved = make(chan struct{})
		}
		if err := r.await(ctx, r.moved); err != nil {
			return err
		}
	}
}

// await waits for a channel to be closed. The lock is held, but not while it waits.
func (r *Service) await(ctx context.Context, c <-chan struct{}) error {
	r.mu.Unlock()
	defer r.mu.Lock()
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
