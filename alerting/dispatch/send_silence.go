package dispatch

import (
	"context"
	"time"

	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
)

// applySilences is the [sendStage] that holds back what was silenced after it was planned. What tells the end of an alarm is sent
// nevertheless.
type applySilences struct {
	silences *silences.Service
	outbox   outbox.Store
	digests  outbox.DigestSplitter
	owner    string
	now      func() time.Time
}

func (s applySilences) send(ctx context.Context, b *sendBatch) error {
	index, err := s.silences.Index(ctx)
	if err != nil || index.Len() == 0 {
		return err
	}
	now := s.now()
	b.filter(func(d *outbox.Delivery) bool {
		switch {
		case err != nil:
		case isDigest(d):
			if s.digests == nil { // made when the outbox could still split it: late word is better than none
				return true
			}
			var split bool
			split, err = s.splitDigest(ctx, d, index, now)
			return !split
		case !d.Resolved && silenced(index, d, now):
			b.note(settlement(d, outbox.Silenced), canon.Time(now))
			return false
		}
		return true
	})
	return err
}

func isDigest(d *outbox.Delivery) bool { return d.Notification.Digest > 0 && d.Occurrence == "" }

func silenced(index *silences.Index, d *outbox.Delivery, now time.Time) bool {
	_, applies := index.Match(d.Notification.SourceType, d.Notification.Source, now)
	return applies
}

// splitDigest divides a digest if some of its messages are silenced, and reports whether it did.
func (s applySilences) splitDigest(ctx context.Context, d *outbox.Delivery, index *silences.Index, now time.Time) (bool, error) {
	combined, err := s.digests.DigestDeliveries(ctx, d.ID)
	if err != nil {
		return false, err
	}
	var quiet []string
	for i := range combined {
		if one := &combined[i]; !one.Resolved && silenced(index, one, now) {
			quiet = append(quiet, one.ID)
		}
	}
	if len(quiet) == 0 {
		return false, nil
	}
	return true, s.digests.SplitDigest(ctx, s.owner, d.ID, quiet, canon.Time(now))
}
