package dispatch

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/otkit/otkit/alerting/outbox"
)

// deliveryTimedOut is stored with deliveries that were not sent in time. Dead letters show it.
const deliveryTimedOut = "not sent in time"

// expireDue is the [sendStage] that makes dead letters of what cannot be sent any more.
type expireDue struct{ w *worker }

func (s expireDue) send(_ context.Context, b *sendBatch) error {
	now := s.w.d.o.Now()
	b.filter(func(d *outbox.Delivery) bool {
		switch {
		case d.Unreadable:
			s.w.finish(&b.results, slog.LevelError, "message expired", d, d.FailedState(), "the stored message cannot be read")
		case !s.w.expiry(d).After(now):
			s.w.finish(&b.results, slog.LevelError, "message expired", d, d.FailedState(), cmp.Or(d.LastError, deliveryTimedOut))
		default:
			return true
		}
		return false
	})
	return nil
}
