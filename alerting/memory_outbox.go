package alerting

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"
)

// deliveryTable holds deliveries. Those that are not final are in open as well, so that a claim does
// not look at what was sent long ago.
type deliveryTable struct {
	cursor  int64
	byID    map[string]*Delivery
	known   map[[2]string]bool     // EventID and Channel
	open    map[string][]*Delivery // by channel, ascending by Seq and ID
	ofAlarm map[string][]*Delivery // by occurrence
}

func newDeliveryTable() deliveryTable {
	return deliveryTable{
		byID: make(map[string]*Delivery), known: make(map[[2]string]bool),
		open: make(map[string][]*Delivery), ofAlarm: make(map[string][]*Delivery),
	}
}

func compareDeliveries(a, b *Delivery) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID))
}

func (t *deliveryTable) add(list []Delivery) {
	for _, d := range list {
		if t.known[[2]string{d.EventID, d.Channel}] {
			continue
		}
		d.Notification.Labels = maps.Clone(d.Notification.Labels)
		p := &d
		t.byID[d.ID], t.known[[2]string{d.EventID, d.Channel}] = p, true
		if d.Occurrence != "" {
			t.ofAlarm[d.Occurrence] = append(t.ofAlarm[d.Occurrence], p)
		}
		t.opened(p)
	}
}

func (t *deliveryTable) opened(d *Delivery) {
	at, _ := slices.BinarySearchFunc(t.open[d.Channel], d, compareDeliveries)
	t.open[d.Channel] = slices.Insert(t.open[d.Channel], at, d)
}

func (t *deliveryTable) purge(channel string) {
	t.open[channel] = slices.DeleteFunc(t.open[channel], func(d *Delivery) bool { return d.State.Final() })
}

// Cursor implements [Outbox].
func (m *Memory) Cursor(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.outbox.cursor, nil
}

// Plan implements [Outbox].
func (m *Memory) Plan(ctx context.Context, from, to int64, add []Delivery) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.outbox.cursor != from {
		return ErrCursorMoved
	}
	m.outbox.cursor = to
	m.outbox.add(add)
	return nil
}

// Claim implements [Outbox].
func (m *Memory) Claim(ctx context.Context, c Claim) ([]Delivery, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var claimed []Delivery
	waiting := make(map[string]bool) // occurrences with an earlier delivery that is open
	for _, d := range m.outbox.open[c.Channel] {
		if len(claimed) >= c.Limit {
			break
		}
		again := d.State == Sending && (d.Owner == c.Owner || !d.LeaseUntil.After(c.Now))
		due := again || d.State == Pending && !d.NextAttempt.After(c.Now)
		if due && !waiting[d.Occurrence] {
			d.Uncertain = d.Uncertain || again
			d.State, d.Owner, d.LeaseUntil = Sending, c.Owner, c.LeaseUntil
			d.Attempts++
			claimed = append(claimed, *d)
		}
		if d.Occurrence != "" {
			waiting[d.Occurrence] = true
		}
	}
	return claimed, nil
}

// Settle implements [Outbox].
func (m *Memory) Settle(ctx context.Context, owner string, done []Settlement, add []Delivery) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	channels := make(map[string]bool)
	for _, s := range done {
		d := m.outbox.byID[s.ID]
		if d == nil || d.State != Sending || d.Owner != owner {
			continue
		}
		d.State, d.Attempts, d.Uncertain, d.NextAttempt = s.State, s.Attempts, s.Uncertain, s.NextAttempt
		d.LastError, d.DigestID, d.SettledAt = s.LastError, s.DigestID, s.SettledAt
		d.Owner, d.LeaseUntil = "", time.Time{}
		channels[d.Channel] = true
	}
	for channel := range channels {
		m.outbox.purge(channel)
	}
	m.outbox.add(add)
	return nil
}

// FirstDeliveries implements [Outbox].
func (m *Memory) FirstDeliveries(ctx context.Context, occurrences []string) ([]Delivery, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []Delivery
	for _, o := range occurrences {
		for _, d := range m.outbox.ofAlarm[o] {
			if !d.Resolved {
				found = append(found, *d)
			}
		}
	}
	return found, nil
}

// TrimDeliveries implements [Outbox].
func (m *Memory) TrimDeliveries(ctx context.Context, before time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old := func(d *Delivery) bool { return d.State.Final() && d.SettledAt.Before(before) }
	for id, d := range m.outbox.byID {
		if !old(d) {
			continue
		}
		delete(m.outbox.byID, id)
		delete(m.outbox.known, [2]string{d.EventID, d.Channel})
		rest := slices.DeleteFunc(m.outbox.ofAlarm[d.Occurrence], old)
		if m.outbox.ofAlarm[d.Occurrence] = rest; len(rest) == 0 {
			delete(m.outbox.ofAlarm, d.Occurrence)
		}
	}
	return nil
}

// DeadLetters implements [DeadLetters].
func (m *Memory) DeadLetters(ctx context.Context, channel string, offset, limit int) ([]Delivery, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	dead := m.dead("", channel)
	slices.SortFunc(dead, func(a, b *Delivery) int { return compareDeliveries(b, a) })
	total := len(dead)
	dead = dead[min(offset, total):min(offset+limit, total)]
	page := make([]Delivery, len(dead))
	for i, d := range dead {
		page[i] = *d
	}
	return page, int64(total), nil
}

func (m *Memory) dead(id, channel string) []*Delivery {
	var dead []*Delivery
	for _, d := range m.outbox.byID {
		if d.State == Dead && (id == "" || d.ID == id) && (channel == "" || d.Channel == channel) {
			dead = append(dead, d)
		}
	}
	return dead
}

// ReviveDeadLetters implements [DeadLetters].
func (m *Memory) ReviveDeadLetters(ctx context.Context, id, channel string, now, expires time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dead := m.dead(id, channel)
	for _, d := range dead {
		d.State, d.Attempts, d.LastError = Pending, 0, ""
		d.NextAttempt, d.ExpiresAt, d.SettledAt = now, expires, time.Time{}
		m.outbox.opened(d)
	}
	return len(dead), nil
}
