package dispatch

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/otkit/otkit/alerting/internal/canon"
)

// maintain removes old deliveries from time to time, and expires those that no worker claims.
func (d *Dispatcher) maintain(ctx context.Context) {
	for {
		if d.cleaner != nil {
			d.clean(ctx, d.o.Now())
		}
		d.deadLettered.Set()
		if !wait(ctx, nil, time.Hour) {
			return
		}
	}
}

func (d *Dispatcher) clean(ctx context.Context, now time.Time) {
	expired := d.clock.before(canon.Time(now).Add(-d.o.DeliveryTimeout)).Add(d.o.DeliveryTimeout)
	counts, err := d.cleaner.ExpireOrphaned(ctx, slices.Sorted(maps.Keys(d.channels)), canon.Time(now), expired, deliveryTimedOut)
	for _, channel := range slices.Sorted(maps.Keys(counts)) {
		d.log.Error("messages expired: unknown channel", "channel", channel, "number", counts[channel], "error", deliveryTimedOut)
	}
	if err != nil && ctx.Err() == nil {
		d.log.Warn("failed to expire messages of unknown channels; retrying", "error", err)
	}
	before, active := d.clock.before(now.Add(-d.o.Retention)), d.clock.before(now.Add(-d.o.ActiveRetention))
	if err := d.cleaner.TrimDeliveries(ctx, before, active); err != nil && ctx.Err() == nil {
		d.log.Warn("failed to remove old deliveries; retrying", "error", err)
	}
}
