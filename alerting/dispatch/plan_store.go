package dispatch

import (
	"context"

	"github.com/otkit/otkit/alerting/outbox"
)

// storePlan is the last [planStage]: it stores the deliveries together with the journal position, and wakes the workers.
type storePlan struct {
	outbox  outbox.Store
	workers map[string]*worker
}

func (s storePlan) plan(ctx context.Context, b *planBatch) error {
	if err := s.outbox.Plan(ctx, b.from, b.events[len(b.events)-1].Seq, b.add); err != nil {
		return err
	}
	for i := range b.add {
		s.workers[b.add[i].Channel].wake.Set()
	}
	return nil
}
