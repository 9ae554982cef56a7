package dispatch

import (
	"context"
	"log/slog"
	"time"

	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/outbox"
)

// checkRecipients is the [sendStage] that discards deliveries to recipients that were removed from the settings.
type checkRecipients struct{ w *worker }

func (s checkRecipients) send(_ context.Context, b *sendBatch) error {
	b.filter(func(d *outbox.Delivery) bool {
		switch {
		case s.w.to[d.Recipient] != nil:
			return true
		case d.Recipient == "":
			s.fanOut(b, d)
		default:
			s.w.finish(&b.results, slog.LevelInfo, "message discarded", d, outbox.Discarded, "the recipient is not configured any more")
		}
		return false
	})
	return nil
}

// fanOut replaces a delivery that was planned when the recipients of the channel had no deliveries of their own.
func (s checkRecipients) fanOut(b *sendBatch, d *outbox.Delivery) {
	b.note(settlement(d, outbox.Discarded), canon.Time(s.w.d.o.Now()))
	for _, r := range s.w.order {
		one := *d
		one.ID, one.Recipient, one.State, one.Attempts = s.w.d.o.NewID(), r, outbox.Pending, 0
		one.Owner, one.LeaseUntil = "", time.Time{}
		one.Notification.ID, one.Notification.Recipient = one.ID, r
		b.add = append(b.add, one)
	}
}
