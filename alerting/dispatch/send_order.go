package dispatch

import (
	"context"
	"slices"
	"time"

	"github.com/otkit/otkit/alerting/internal/canon"
	"github.com/otkit/otkit/alerting/outbox"
)

// orderResolved is the [sendStage] that lets the end of an alarm follow its first message: it waits for the digest that has that
// message, and is discarded if the recipient did not get it.
type orderResolved struct{ w *worker }

func (s orderResolved) send(ctx context.Context, b *sendBatch) error {
	first, err := s.loadFirst(ctx, b.list)
	if err != nil || first == nil {
		return err
	}
	now := s.w.d.o.Now()
	b.filter(func(d *outbox.Delivery) bool {
		key, all := [2]string{d.Occurrence, d.Recipient}, [2]string{d.Occurrence}
		switch {
		case !d.Resolved:
		case first[key] == firstOpen || first[all] == firstOpen:
			b.postpone(d, now.Add(time.Second), s.w.expiry(d))
			return false
		case first[key] != firstSent && first[all] != firstSent:
			b.note(settlement(d, outbox.Discarded), canon.Time(now))
			return false
		}
		return true
	})
	return nil
}

// firstState is the state of the first messages about an occurrence.
type firstState uint8

const (
	firstSent firstState = iota + 1
	firstOpen            // one is still to be sent
)

// loadFirst returns the states of first messages by occurrence and recipient, nil if no delivery is about the end of an alarm.
func (s orderResolved) loadFirst(ctx context.Context, list []outbox.Delivery) (map[[2]string]firstState, error) {
	var resolved []string
	for i := range list {
		if list[i].Resolved {
			resolved = append(resolved, list[i].Occurrence)
		}
	}
	if len(resolved) == 0 {
		return nil, nil
	}
	slices.Sort(resolved)
	found, err := s.w.d.deps.Outbox.FirstDeliveries(ctx, slices.Compact(resolved))
	states := make(map[[2]string]firstState)
	for i := range found {
		f := &found[i]
		key, state := [2]string{f.Occurrence, f.Recipient}, firstState(0)
		switch {
		case f.Channel != s.w.name:
		case f.State.Open():
			state = firstOpen
		case f.State == outbox.Sent || f.State == outbox.InDigest: // in a digest that was sent and removed long ago
			state = firstSent
		}
		states[key] = max(states[key], state)
	}
	return states, err
}
