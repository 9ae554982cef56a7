package main

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/alerting/outbox"
)

// memoryOutbox is an outbox.Store with the required methods alone. alertingtest.TestOutbox proves it. A real one stores
// each call's changes in one transaction; here a lock does what a transaction would.
type memoryOutbox struct {
	mu         sync.Mutex
	cursor     int64
	deliveries map[string]*outbox.Delivery
}

func newOutbox() *memoryOutbox { return &memoryOutbox{deliveries: make(map[string]*outbox.Delivery)} }

// Cursor implements outbox.Store.
func (m *memoryOutbox) Cursor(ctx context.Context) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cursor, ctx.Err()
}

// Plan implements outbox.Store.
func (m *memoryOutbox) Plan(ctx context.Context, from, to int64, add []outbox.Delivery) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cursor != from {
		return outbox.ErrCursorMoved
	}
	m.cursor = to
	m.add(add)
	return nil
}

func (m *memoryOutbox) add(list []outbox.Delivery) {
	for _, d := range list {
		if !m.any(func(o *outbox.Delivery) bool {
			return o.EventID == d.EventID && o.Channel == d.Channel && o.Recipient == d.Recipient
		}) {
			m.deliveries[d.ID] = &d
		}
	}
}

func (m *memoryOutbox) any(is func(*outbox.Delivery) bool) bool {
	for _, d := range m.deliveries {
		if is(d) {
			return true
		}
	}
	return false
}

// Claim implements outbox.Store.
func (m *memoryOutbox) Claim(ctx context.Context, c outbox.Claim) ([]outbox.Delivery, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var due []*outbox.Delivery
	for _, d := range m.deliveries {
		if d.Channel == c.Channel && isDue(d, c) && !slices.Contains(c.ExcludeRecipients, d.Recipient) && !m.waits(d) {
			due = append(due, d)
		}
	}
	slices.SortFunc(due, func(a, b *outbox.Delivery) int { return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID)) })
	var claimed []outbox.Delivery
	for _, d := range due[:min(c.Limit, len(due))] {
		d.Uncertain = d.Uncertain || d.State == outbox.Sending // the attempt before may have arrived
		d.State, d.Owner, d.LeaseUntil = outbox.Sending, c.Owner, c.LeaseUntil
		claimed = append(claimed, *d)
	}
	return claimed, nil
}

func isDue(d *outbox.Delivery, c outbox.Claim) bool {
	switch d.State {
	case outbox.Pending:
		return over(d.NextAttempt, c.Now, c.LatestNext)
	case outbox.Sending:
		return d.Owner == c.Owner || over(d.LeaseUntil, c.Now, c.LatestLease)
	default:
		return false
	}
}

// over reports whether t is over by now. It also is if it is after latest: the clock was set back.
func over(t, now, latest time.Time) bool {
	return !t.After(now) || !latest.IsZero() && t.After(latest)
}

// waits reports whether an earlier delivery must be sent before d.
func (m *memoryOutbox) waits(d *outbox.Delivery) bool {
	return d.Occurrence != "" && m.any(func(o *outbox.Delivery) bool {
		return o.Occurrence == d.Occurrence && o.Channel == d.Channel && o.Recipient == d.Recipient && o.Seq < d.Seq && o.State.Open()
	})
}

// Settle implements outbox.Store.
func (m *memoryOutbox) Settle(ctx context.Context, owner string, done []outbox.Settlement, add []outbox.Delivery) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range done {
		d := m.deliveries[s.ID]
		if d == nil || d.State != outbox.Sending || d.Owner != owner {
			continue // another dispatcher holds it now
		}
		d.State, d.Attempts, d.Uncertain, d.NextAttempt = s.State, s.Attempts, s.Uncertain, s.NextAttempt
		d.LastError, d.DigestID, d.SettledAt = s.LastError, s.DigestID, s.SettledAt
		d.Owner, d.LeaseUntil = "", time.Time{}
	}
	m.add(add)
	return nil
}

// FirstDeliveries implements outbox.Store.
func (m *memoryOutbox) FirstDeliveries(ctx context.Context, occurrences []string) ([]outbox.Delivery, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []outbox.Delivery
	for _, d := range m.deliveries {
		if d.Resolved || !slices.Contains(occurrences, d.Occurrence) {
			continue
		}
		first := *d
		if digest := m.deliveries[d.DigestID]; d.State == outbox.InDigest && digest != nil {
			first.State = digest.State
		}
		list = append(list, first)
	}
	return list, ctx.Err()
}

// SilencedDeliveries implements outbox.Store.
func (m *memoryOutbox) SilencedDeliveries(ctx context.Context, after outbox.Delivery, limit int) ([]outbox.Delivery, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var list []outbox.Delivery
	for _, d := range m.deliveries {
		if d.State == outbox.Silenced && byOccurrence(*d, after) > 0 {
			list = append(list, *d)
		}
	}
	slices.SortFunc(list, byOccurrence)
	return list[:min(limit, len(list))], ctx.Err()
}

func byOccurrence(a, b outbox.Delivery) int {
	return cmp.Or(cmp.Compare(a.Occurrence, b.Occurrence), cmp.Compare(a.ID, b.ID))
}

// ReleaseSilenced implements outbox.Store.
func (m *memoryOutbox) ReleaseSilenced(ctx context.Context, ids []string, to outbox.DeliveryState, now, expires time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, id := range ids {
		d := m.deliveries[id]
		if d == nil || d.State != outbox.Silenced {
			continue
		}
		n++
		if d.State = to; to == outbox.Discarded {
			d.SettledAt = now
		} else {
			d.NextAttempt, d.ExpiresAt = now, expires
		}
	}
	return n, nil
}
