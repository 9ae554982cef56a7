package alerting

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// sift takes out what is not to be sent any more.
func (b *run) sift(ctx context.Context, claimed []Delivery) ([]Delivery, error) {
	t, err := b.readTold(ctx, claimed)
	if err != nil {
		return nil, err
	}
	index, err := b.d.deps.Silences.Index(ctx)
	if err != nil {
		return nil, err
	}
	now := b.d.o.Now()
	keep := claimed[:0:0]
	for i := range claimed {
		d := &claimed[i]
		switch {
		case d.Unreadable:
			b.bury(d, "the stored message cannot be read")
		case !b.expiry(d).After(now):
			b.bury(d, cmp.Or(d.LastError, notInTime))
		case b.to[d.Recipient] == nil && d.Recipient == "":
			b.spread(d)
		case b.to[d.Recipient] == nil: // there is nobody to mend it for
			b.drop(d, "the recipient is not configured any more")
		case !d.Resolved && d.Occurrence != "" && silenced(index, d, now):
			s := settled(d, Silenced)
			s.Attempts--
			b.note(s)
		case d.Notification.Digest > 0 && d.Occurrence == "":
			unfolded, err := b.unfold(ctx, d, index, now)
			if err != nil {
				return nil, err
			}
			if !unfolded {
				keep = append(keep, *d)
			}
		case d.Resolved && (t.open[occurrenceOf(d)] || t.open[[2]string{d.Occurrence}]):
			b.putOff(claimed[i:i+1], now.Add(time.Second)) // the first message, or the digest that has it, is to come
		case d.Resolved && !t.told[occurrenceOf(d)] && !t.told[[2]string{d.Occurrence}]:
			b.note(settled(d, Dropped))
		default:
			keep = append(keep, *d)
		}
	}
	return keep, nil
}

// told says of occurrences and recipients where their first messages stand.
type told struct {
	told, open map[[2]string]bool
}

func occurrenceOf(d *Delivery) [2]string { return [2]string{d.Occurrence, d.Recipient} }

// readTold looks after those whose end is to be told.
func (b *run) readTold(ctx context.Context, claimed []Delivery) (told, error) {
	t := told{told: make(map[[2]string]bool), open: make(map[[2]string]bool)}
	var resolved []string
	for i := range claimed {
		if claimed[i].Resolved {
			resolved = append(resolved, claimed[i].Occurrence)
		}
	}
	if len(resolved) == 0 {
		return t, nil
	}
	slices.Sort(resolved)
	list, err := b.d.deps.Outbox.FirstDeliveries(ctx, slices.Compact(resolved))
	for i := range list {
		if f := &list[i]; f.Channel == b.name {
			t.told[occurrenceOf(f)] = t.told[occurrenceOf(f)] || f.State == Sent || f.State == Folded // into a digest that was told long ago
			t.open[occurrenceOf(f)] = t.open[occurrenceOf(f)] || f.State.Open()
		}
	}
	return t, err
}

// expiry gives when a delivery is given up: after the whole time for which it is to be tried.
func (b *run) expiry(d *Delivery) time.Time { return b.d.steps.end(d.ExpiresAt, b.d.o.MaxAge) }

const notInTime = "not sent in time"

// bury makes a dead letter of what was not tried this time.
func (b *run) bury(d *Delivery, why string) {
	b.giveUp(d, lost(d), why)
	b.d.log.Error("message is given up", "channel", b.name, "recipient", d.Recipient, "delivery", d.ID, "error", why)
}

// drop gives up what nobody is to be told.
func (b *run) drop(d *Delivery, why string) {
	b.giveUp(d, Dropped, why)
	b.d.log.Info("message is dropped", "channel", b.name, "recipient", d.Recipient, "delivery", d.ID, "reason", why)
}

func (b *run) giveUp(d *Delivery, state DeliveryState, why string) {
	s := settled(d, state)
	s.Attempts, s.LastError = s.Attempts-1, why
	b.note(s)
}

// silenced says whether a silence that was made after a message was planned holds for it.
func silenced(index *SilenceIndex, d *Delivery, now time.Time) bool {
	_, holds := index.Match(d.Notification.SourceType, d.Notification.Source, now)
	return holds
}

// unfold takes a digest apart when a silence holds for some of what it tells, and says whether it did.
func (b *run) unfold(ctx context.Context, d *Delivery, index *SilenceIndex, now time.Time) (bool, error) {
	if index.Len() == 0 {
		return false, nil
	}
	folded, err := b.d.deps.Outbox.FoldedDeliveries(ctx, d.ID)
	if err != nil {
		return false, err
	}
	var quiet []string
	for i := range folded {
		if one := &folded[i]; !one.Resolved && silenced(index, one, now) {
			quiet = append(quiet, one.ID)
		}
	}
	if len(quiet) == 0 {
		return false, nil
	}
	return true, b.d.deps.Outbox.Unfold(ctx, b.d.o.Owner, d.ID, quiet, stamp(now))
}

// spread replaces a delivery of a time when the channel's recipients had none of their own.
func (b *run) spread(d *Delivery) {
	s := settled(d, Dropped)
	s.Attempts--
	b.note(s)
	for _, r := range b.order {
		one := *d
		one.ID, one.Recipient, one.State, one.Attempts = b.d.o.NewID(), r, Pending, 0
		one.Owner, one.LeaseUntil = "", time.Time{}
		one.Notification.ID, one.Notification.Recipient = one.ID, r
		b.add = append(b.add, one)
	}
}
