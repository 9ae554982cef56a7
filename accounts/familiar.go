package accounts

import (
	"sync"
	"time"
)

const (
	// familiarFor is how long an account is known at an address after its last session there began or was refreshed.
	familiarFor = 30 * 24 * time.Hour
	// maxFamiliar is how many pairs of account and address are known.
	maxFamiliar = 10_000
)

// acquaintances are the accounts that had sessions lately, by address. A pair enters after a login with the right
// password.
type acquaintances struct {
	now func() time.Time

	mu        sync.Mutex
	pairs     map[pair]time.Time // last seen
	addresses map[string]int     // pairs by address; none with 0
}

func newAcquaintances(now func() time.Time) *acquaintances {
	return &acquaintances{now: now, pairs: make(map[pair]time.Time), addresses: make(map[string]int)}
}

// meet records that an account has a session from an address.
func (a *acquaintances) meet(p pair) {
	if p.address == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.pairs[p]; !known {
		if len(a.pairs) >= maxFamiliar {
			a.forgetOldest()
		}
		a.addresses[p.address]++
	}
	a.pairs[p] = a.now()
}

// forgetOldest removes the oldest of a few pairs picked at random. a.mu is held.
func (a *acquaintances) forgetOldest() {
	var oldest pair
	var seen time.Time
	looked := 0
	for p, at := range a.pairs {
		if seen.IsZero() || at.Before(seen) {
			oldest, seen = p, at
		}
		if looked++; looked == 16 {
			break
		}
	}
	a.forget(oldest)
}

func (a *acquaintances) forget(p pair) {
	delete(a.pairs, p)
	if a.addresses[p.address]--; a.addresses[p.address] == 0 {
		delete(a.addresses, p.address)
	}
}

func (a *acquaintances) rank(p pair) rank {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at, known := a.pairs[p]; known {
		if a.now().Sub(at) <= familiarFor {
			return familiar
		}
		a.forget(p)
	}
	if a.addresses[p.address] > 0 {
		return neighbor
	}
	return stranger
}
