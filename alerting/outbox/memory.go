package outbox

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// Memory is a [Store] with all optional interfaces in memory. Safe for concurrent use.
type Memory struct {
	mu     sync.RWMutex
	outbox deliveryTable
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{outbox: newDeliveryTable()} }

// deliveryTable holds deliveries. Those that are not final are in open as well, so that a claim does
// not look at what was sent long ago.
type deliveryTable struct {
	cursor  int64
	byID    map[string]*Delivery
	known   map[[3]string]bool     // EventID, Channel and Recipient
	open    map[string][]*Delivery // by channel, ascending by Seq and ID
	ofAlarm map[string][]*Delivery // by occurrence
}

func newDeliveryTable() deliveryTable {
	return deliveryTable{
		byID: make(map[string]*Delivery), known: make(map[[3]string]bool),
		open: make(map[string][]*Delivery), ofAlarm: make(map[string][]*Delivery),
	}
}

func compareDeliveries(a, b *Delivery) int {
	return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.ID, b.ID))
}

func (t *deliveryTable) add(list []Delivery) {
	for _, d := range list {
		if t.known[identity(&d)] {
			continue
		}
		d.Notification.Labels = maps.Clone(d.Notification.Labels)
		p := &d
		t.byID[d.ID], t.known[identity(p)] = p, true
		if d.Occurrence != "" {
			t.ofAlarm[d.Occurrence] = append(t.ofAlarm[d.Occurrence], p)
		}
		if d.State.Open() {
			t.opened(p)
		}
	}
}

// identity is what is there once.
func identity(d *Delivery) [3]string { return [3]string{d.EventID, d.Channel, d.Recipient} }

func (t *deliveryTable) opened(d *Delivery) {
	at, _ := slices.BinarySearchFunc(t.open[d.Channel], d, compareDeliveries)
	t.open[d.Channel] = slices.Insert(t.open[d.Channel], at, d)
}

func (t *deliveryTable) purge(channel string) {
	t.open[channel] = slices.DeleteFunc(t.open[channel], func(d *Delivery) bool { return !d.State.Open() })
}

// Cursor implements [Store].
func (m *Memory) Cursor(ctx context.Context) (int64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.outbox.cursor, nil
}

// Plan implements [Store].
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

// Claim implements [Store].
func (m *Memory) Claim(ctx context.Context, c Claim) ([]Delivery, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var claimed []Delivery
	waiting := make(map[[2]string]bool) // occurrences and recipients with an earlier delivery that is open
	over := func(at, latest time.Time) bool {
		return !at.After(c.Now) || !latest.IsZero() && at.After(latest)
	}
	for _, d := range m.outbox.open[c.Channel] {
		if len(claimed) >= c.Limit {
			break
		}
		if slices.Contains(c.ExcludeRecipients, d.Recipient) {
			continue
		}
		again := d.State == Sending && (d.Owner == c.Owner || over(d.LeaseUntil, c.LatestLease))
		due := again || d.State == Pending && over(d.NextAttempt, c.LatestNext)
		if due && !waiting[[2]string{d.Occurrence, d.Recipient}] {
			d.Uncertain = d.Uncertain || again
			d.State, d.Owner, d.LeaseUntil = Sending, c.Owner, c.LeaseUntil
			claimed = append(claimed, *d)
		}
		if d.Occurrence != "" {
			waiting[[2]string{d.Occurrence, d.Recipient}] = true
		}
	}
	return claimed, nil
}

// ReleaseClaims implements [ClaimReleaser].
func (m *Memory) ReleaseClaims(ctx context.Context, alive []string) (n int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, list := range m.outbox.open {
		for _, d := range list {
			if d.State == Sending && !d.LeaseUntil.IsZero() && !slices.Contains(alive, d.Owner) {
				d.LeaseUntil = time.Time{}
				n++
			}
		}
	}
	return n, nil
}

// Settle implements [Store].
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

// FirstDeliveries implements [Store].
func (m *Memory) FirstDeliveries(ctx context.Context, occurrences []string) ([]Delivery, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []Delivery
	for _, o := range slices.Compact(slices.Sorted(slices.Values(occurrences))) {
		for _, d := range m.outbox.ofAlarm[o] {
			if d.Resolved {
				continue
			}
			one := *d
			if digest := m.outbox.byID[d.DigestID]; d.State == InDigest && digest != nil {
				one.State = digest.State
			}
			found = append(found, one)
		}
	}
	return found, nil
}

// SilencedDeliveries implements [Store].
func (m *Memory) SilencedDeliveries(ctx context.Context, after Delivery, limit int) ([]Delivery, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []Delivery
	for _, d := range m.outbox.byID {
		if d.State == Silenced && byOccurrence(*d, after) > 0 {
			found = append(found, *d)
		}
	}
	slices.SortFunc(found, byOccurrence)
	return found[:min(limit, len(found))], nil
}

func byOccurrence(a, b Delivery) int {
	return cmp.Or(cmp.Compare(a.Occurrence, b.Occurrence), cmp.Compare(a.ID, b.ID))
}

// ReleaseSilenced implements [Store].
func (m *Memory) ReleaseSilenced(ctx context.Context, ids []string, to DeliveryState, now, expires time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, id := range ids {
		d := m.outbox.byID[id]
		if d == nil || d.State != Silenced {
			continue
		}
		n++
		if d.State = to; to == Pending {
			d.NextAttempt, d.ExpiresAt = now, expires
			m.outbox.opened(d)
		} else {
			d.SettledAt = now
		}
	}
	return n, nil
}

// SentSince implements [SentLister].
func (m *Memory) SentSince(ctx context.Context, channel string, since time.Time, limit int) ([]SentTime, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []SentTime
	for _, d := range m.outbox.byID {
		if d.State == Sent && d.Channel == channel && d.SettledAt.After(since) {
			found = append(found, SentTime{d.Recipient, d.SettledAt})
		}
	}
	slices.SortFunc(found, func(a, b SentTime) int { return b.At.Compare(a.At) })
	return found[:min(limit, len(found))], nil
}

// TrimDeliveries implements [Store].
func (m *Memory) TrimDeliveries(ctx context.Context, before, standing time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, resolved := range []bool{false, true} { // the end of an alarm stays as long as its beginning
		for _, d := range m.outbox.byID {
			if d.Resolved == resolved && (d.settledBefore(standing) || m.outbox.past(d, before)) {
				m.outbox.remove(d)
			}
		}
	}
	return nil
}

func (d *Delivery) settledBefore(at time.Time) bool {
	return d.State.Final() && d.SettledAt.Before(at)
}

// past reports whether a delivery that was settled before some time is of no use any more.
func (t *deliveryTable) past(d *Delivery, before time.Time) bool {
	if !d.settledBefore(before) {
		return false
	}
	other, young := false, false
	for _, o := range t.ofAlarm[d.Occurrence] {
		other = other || o.Resolved != d.Resolved
		young = young || o.Resolved && !o.settledBefore(before)
	}
	if d.Resolved {
		return !other
	}
	return !young && (other || d.Occurrence == "" || d.State == Discarded || d.NoDeadLetter)
}

func (t *deliveryTable) remove(d *Delivery) {
	delete(t.byID, d.ID)
	delete(t.known, identity(d))
	t.open[d.Channel] = slices.DeleteFunc(t.open[d.Channel], func(o *Delivery) bool { return o == d })
	rest := slices.DeleteFunc(t.ofAlarm[d.Occurrence], func(o *Delivery) bool { return o == d })
	if t.ofAlarm[d.Occurrence] = rest; len(rest) == 0 {
		delete(t.ofAlarm, d.Occurrence)
	}
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
		if d.State == DeadLettered && (id == "" || d.ID == id) && (channel == "" || d.Channel == channel) {
			dead = append(dead, d)
		}
	}
	return dead
}

// RequeueDeadLetters implements [DeadLetters].
func (m *Memory) RequeueDeadLetters(ctx context.Context, id, channel string, now, expires time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dead := m.dead(id, channel)
	revive := dead[:len(dead):len(dead)]
	for _, d := range m.outbox.toldBy(dead) {
		for _, o := range m.outbox.ofAlarm[d.Occurrence] {
			if !d.Resolved && o.Resolved && o.State == Discarded && o.Channel == d.Channel && o.Recipient == d.Recipient {
				revive = append(revive, o)
			}
		}
	}
	for _, d := range revive {
		if d.State == Pending {
			continue // the end of an alarm that was told twice
		}
		d.State, d.Attempts, d.LastError = Pending, 0, ""
		d.NextAttempt, d.ExpiresAt, d.SettledAt = now, expires, time.Time{}
		m.outbox.opened(d)
	}
	return len(dead), nil
}

// toldBy returns the deliveries and those that are folded into them.
func (t *deliveryTable) toldBy(list []*Delivery) []*Delivery {
	digests := make(map[string]bool)
	for _, d := range list {
		if d.Notification.Digest > 0 {
			digests[d.ID] = true
		}
	}
	if len(digests) == 0 {
		return list
	}
	all := slices.Clone(list)
	for _, d := range t.byID {
		if digests[d.DigestID] {
			all = append(all, d)
		}
	}
	return all
}

// DiscardDeadLetters implements [DeadLetters].
func (m *Memory) DiscardDeadLetters(ctx context.Context, id, channel string, now time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dead := m.dead(id, channel)
	for _, d := range dead {
		d.State, d.SettledAt = Discarded, now
	}
	return len(dead), nil
}

// CountDeadLetters implements [DeadLetters].
func (m *Memory) CountDeadLetters(ctx context.Context) (map[string]DeadLetterCount, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	counts := make(map[string]DeadLetterCount)
	for _, d := range m.dead("", "") {
		c := counts[d.Channel]
		if c.Count++; d.SettledAt.After(c.Newest) {
			c.Newest = d.SettledAt
		}
		counts[d.Channel] = c
	}
	return counts, nil
}
