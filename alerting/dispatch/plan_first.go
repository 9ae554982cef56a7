package dispatch

import (
	"context"
	"slices"
	"time"

	"github.com/otkit/otkit/alerting/outbox"
)

// loadFirst is the [planStage] that reads the first messages of occurrences that end, and discards silenced ones that nobody needs any
// more. It comes before the plan is stored: repeating it after a crash changes nothing.
type loadFirst struct{ outbox outbox.Store }

func (s loadFirst) plan(ctx context.Context, b *planBatch) error {
	var over []string
	for i := range b.events {
		if endsSilenced(&b.events[i]) {
			over = append(over, b.events[i].Occurrence.ID)
		}
	}
	if len(over) == 0 {
		return nil
	}
	slices.Sort(over)
	over = slices.Compact(over)
	for {
		list, err := s.outbox.FirstDeliveries(ctx, over)
		if err != nil {
			return err
		}
		b.first = make(map[string][]outbox.Delivery)
		var silenced []string
		for _, f := range list {
			if f.State == outbox.Silenced {
				silenced = append(silenced, f.ID)
				continue
			}
			b.first[f.Occurrence] = append(b.first[f.Occurrence], f)
		}
		if len(silenced) == 0 {
			return nil
		}
		n, err := s.outbox.ReleaseSilenced(ctx, silenced, outbox.Discarded, b.now, time.Time{})
		if err != nil || n == len(silenced) {
			return err
		}
		// Another dispatcher was faster, and some of them may be sent: read again.
	}
}
