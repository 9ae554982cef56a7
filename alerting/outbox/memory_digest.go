package outbox

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// DigestDeliveries implements [Store].
func (m *Memory) DigestDeliveries(ctx context.Context, digest string) ([]Delivery, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	var found []Delivery
	for _, d := range m.outbox.folded(digest) {
		found = append(found, *d)
	}
	return found, nil
}

func (t *deliveryTable) folded(digest string) []*Delivery {
	var found []*Delivery
	for _, d := range t.byID {
		if d.State == InDigest && d.DigestID == digest {
			found = append(found, d)
		}
	}
	return found
}

// DigestMessages implements [DigestReader].
func (m *Memory) DigestMessages(ctx context.Context, digest string, offset, limit int) ([]Delivery, int64, error) {
	all, err := m.DigestDeliveries(ctx, digest)
	slices.SortFunc(all, func(a, b Delivery) int { return compareDeliveries(&a, &b) })
	return all[min(offset, len(all)):min(offset+limit, len(all))], int64(len(all)), err
}

// SplitDigest implements [Store].
func (m *Memory) SplitDigest(ctx context.Context, owner, digest string, silenced []string, now time.Time) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	whole := m.outbox.byID[digest]
	if whole == nil || whole.State != Sending || whole.Owner != owner {
		return nil
	}
	whole.State, whole.SettledAt, whole.Owner, whole.LeaseUntil = Discarded, now, "", time.Time{}
	m.outbox.purge(whole.Channel)
	for _, d := range m.outbox.folded(digest) {
		d.State, d.DigestID, d.SettledAt = Pending, "", time.Time{}
		d.NextAttempt, d.ExpiresAt, d.Uncertain = now, whole.ExpiresAt, d.Uncertain || whole.Uncertain
		if slices.Contains(silenced, d.ID) {
			d.State = Silenced
		} else {
			m.outbox.opened(d)
		}
	}
	return nil
}

// ExpireOrphaned implements [Store].
func (m *Memory) ExpireOrphaned(ctx context.Context, channels []string, now, expired time.Time, why string) (map[string]int, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	counts := make(map[string]int)
	for channel, open := range m.outbox.open {
		if slices.Contains(channels, channel) {
			continue
		}
		for _, d := range open {
			if d.ExpiresAt.After(expired) || d.State == Sending && d.LeaseUntil.After(now) {
				continue
			}
			d.State, d.LastError, d.SettledAt, d.Owner, d.LeaseUntil = d.FailedState(), cmp.Or(d.LastError, why), now, "", time.Time{}
			counts[channel]++
		}
		m.outbox.purge(channel)
	}
	return counts, nil
}

// DeadLetter implements [DeadLetters].
func (m *Memory) DeadLetter(ctx context.Context, id string) (Delivery, error) {
	if err := ctx.Err(); err != nil {
		return Delivery{}, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if d := m.outbox.byID[id]; d != nil && d.State == DeadLettered {
		return *d, nil
	}
	return Delivery{}, ErrDeadLetterNotFound.On("id", id)
}
