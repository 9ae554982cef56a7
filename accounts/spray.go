package accounts

import (
	"hash/maphash"
	"sync"
	"time"
)

// sprayFree is on how many accounts a wrong password may be tried before it is slowed.
const sprayFree = 10

// spray slows a password that fails on many accounts, whoever tries it. What is wrong on one account alone is the
// throttle's concern. Passwords are kept as keyed hashes of 64 bits, the key of this process.
type spray struct {
	Throttle
	now  func() time.Time
	seed maphash.Seed

	mu        sync.Mutex
	passwords map[uint64]*sprayed
}

type sprayed struct {
	accounts map[uint64]struct{} // on which it failed; the first ones, a few more than sprayFree
	open     int                 // attempts that are being checked
	over     int                 // further accounts
	last     time.Time
	until    time.Time // no attempt before this
}

func newSpray(o Throttle, now func() time.Time) *spray {
	return &spray{Throttle: o, now: now, seed: maphash.MakeSeed(), passwords: make(map[uint64]*sprayed)}
}

// begin admits an attempt with a password or refuses it. Attempts that are being checked count as further accounts, so
// that those sent side by side gain nothing. Each begin that admits is followed by one end.
func (s *spray) begin(password string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	key := maphash.String(s.seed, password)
	p := s.passwords[key]
	if p != nil && p.open == 0 && now.Sub(p.last) > s.ResetAfter {
		delete(s.passwords, key)
		p = nil
	}
	if p == nil {
		s.makeRoom(now)
		p = &sprayed{accounts: make(map[uint64]struct{}), last: now}
		s.passwords[key] = p
	}
	switch {
	case now.Before(p.until):
		return tooMany(p.until.Sub(now))
	case len(p.accounts) >= sprayFree && p.open >= 1, len(p.accounts)+p.open >= 4*sprayFree:
		return tooMany(s.Delay)
	}
	p.open++
	return nil
}

func (s *spray) end(password, account string, o outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := maphash.String(s.seed, password)
	p := s.passwords[key]
	if p == nil { // forgotten to make room for others
		return
	}
	p.open = max(0, p.open-1)
	if o == wrong {
		s.failed(p, maphash.String(s.seed, account))
	}
	if p.open == 0 && len(p.accounts) == 0 {
		delete(s.passwords, key)
	}
}

func (s *spray) failed(p *sprayed, account uint64) {
	p.last = s.now()
	if _, again := p.accounts[account]; again {
		return
	}
	if len(p.accounts) < 4*sprayFree {
		p.accounts[account] = struct{}{}
	}
	if len(p.accounts) <= sprayFree {
		return
	}
	delay := s.MaxDelay
	if p.over < 32 && s.Delay < s.MaxDelay>>p.over {
		delay = s.Delay << p.over
	}
	p.over++
	p.until = p.last.Add(delay)
}

// makeRoom keeps the table within its bound; see throttle.makeRoom.
func (s *spray) makeRoom(now time.Time) {
	if len(s.passwords) < s.MaxEntries {
		return
	}
	var least uint64
	var fewest *sprayed
	looked := 0
	for key, p := range s.passwords {
		if p.open == 0 && now.Sub(p.last) > s.ResetAfter {
			least = key
			break
		}
		if fewest == nil || len(p.accounts)+p.over+p.open < len(fewest.accounts)+fewest.over+fewest.open {
			least, fewest = key, p
		}
		if looked++; looked == 16 {
			break
		}
	}
	delete(s.passwords, least)
}
