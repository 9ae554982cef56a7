package accounts

import (
	"crypto/sha256"
	"math"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/otkit/otkit/fault"
)

// RetryAfter returns the time to wait after an [ErrTooManyLogins], in whole seconds; 0 for other errors.
func RetryAfter(err error) time.Duration {
	f, ok := fault.From(err)
	if !ok {
		return 0
	}
	seconds, err := strconv.Atoi(f.Metadata["retryAfter"])
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

func tooMany(wait time.Duration) error {
	seconds := max(1, int(math.Ceil(wait.Seconds())))
	return ErrTooManyLogins.With("retryAfter", strconv.Itoa(seconds))
}

// pair is an account, or a name that is none, at an address. Failures are counted by both together, so that a stranger
// elsewhere cannot lock an account out.
type pair struct{ account, address string }

// attemptKey stands for a pair. A name that nobody has may be a mistyped password, and counts go to other engines.
type attemptKey [16]byte

func (p pair) key() attemptKey {
	sum := sha256.Sum256([]byte(p.account + "\x00" + p.address))
	return attemptKey(sum[:16])
}

type failures struct {
	count int
	last  time.Time
	until time.Time // no attempt before this
	open  int       // attempts that are being checked
}

type throttle struct {
	Throttle
	now func() time.Time

	mu    sync.Mutex
	pairs map[attemptKey]*failures
}

func newThrottle(o Throttle, now func() time.Time) *throttle {
	return &throttle{Throttle: o, now: now, pairs: make(map[attemptKey]*failures)}
}

// begin admits an attempt or refuses it. Attempts that are being checked count as failures until
// they are decided, so that guesses sent side by side gain nothing: a pair has as many at a time as it
// has free failures left, and one when it is being slowed. Each begin that admits is followed by one end.
func (t *throttle) begin(p attemptKey) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.pairs[p]
	if f == nil {
		t.makeRoom()
		f = &failures{last: t.now()}
		t.pairs[p] = f
	}
	now := t.now()
	failed := f.count
	if now.Sub(f.last) > t.ResetAfter {
		failed = 0
	}
	switch {
	case now.Before(f.until):
		return tooMany(f.until.Sub(now))
	case f.open >= max(1, t.FreeAttempts-failed):
		return tooMany(t.Delay)
	}
	f.open++
	return nil
}

type outcome uint8

const (
	undecided outcome = iota // neither right nor wrong was found out
	right
	wrong
)

func (t *throttle) end(p attemptKey, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f := t.pairs[p]; f != nil {
		f.open = max(0, f.open-1)
	}
	t.count(p, o)
}

// note counts an attempt that another service has decided.
func (t *throttle) note(p attemptKey, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(p, o)
}

// count counts an attempt. t.mu is held.
func (t *throttle) count(p attemptKey, o outcome) {
	f := t.pairs[p]
	if f == nil { // forgotten to make room for others, or by a login that succeeded meanwhile
		if o != wrong {
			return
		}
		t.makeRoom()
		f = &failures{}
		t.pairs[p] = f
	}
	switch o {
	case right:
		f.count, f.until = 0, time.Time{}
	case wrong:
		t.failed(f)
		return
	}
	if f.open == 0 && f.count == 0 {
		delete(t.pairs, p)
	}
}

func (t *throttle) failed(f *failures) {
	now := t.now()
	if now.Sub(f.last) > t.ResetAfter {
		f.count = 0
	}
	f.count++
	f.last = now
	if over := f.count - t.FreeAttempts - 1; over >= 0 {
		delay := t.MaxDelay
		if over < 32 && t.Delay < t.MaxDelay>>over {
			delay = t.Delay << over
		}
		f.until = now.Add(delay)
	}
}

// makeRoom keeps the map within its bound. Of a few picked at random it drops the one that matters
// least, so that filling the map does not wipe out a pair that is being slowed.
func (t *throttle) makeRoom() {
	if len(t.pairs) < t.MaxEntries {
		return
	}
	var least attemptKey
	var fewest *failures
	looked := 0
	for p, f := range t.pairs {
		if f.open == 0 && t.now().Sub(f.last) > t.ResetAfter {
			least, fewest = p, f
			break
		}
		if fewest == nil || f.count+f.open < fewest.count+fewest.open {
			least, fewest = p, f
		}
		if looked++; looked == 16 {
			break
		}
	}
	delete(t.pairs, least)
}

// addressOf brings a remote address ("host:port" or a bare IP) to what attempts are counted by.
func addressOf(remote string) string {
	addr, err := netip.ParseAddr(remote)
	if err != nil {
		withPort, err := netip.ParseAddrPort(remote)
		if err != nil {
			return remote
		}
		addr = withPort.Addr()
	}
	addr = addr.Unmap().WithZone("")
	if addr.Is6() {
		// One host usually has a whole /64 to choose its address from.
		if net, err := addr.Prefix(64); err == nil {
			return net.String()
		}
	}
	return addr.String()
}
