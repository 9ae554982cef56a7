package accounts

import (
	"math"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/otkit/otkit/fault"
)

// RetryAfter gives the time to wait that an [ErrTooManyLogins] tells, in whole seconds; 0 for other errors.
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

// pair is what failures are counted by. Account and address together, so that a stranger elsewhere
// cannot lock an account out.
type pair struct{ account, address string }

type failures struct {
	count int
	last  time.Time
	until time.Time // no attempt before this
	busy  bool      // an attempt of a slowed pair is being checked
}

type throttle struct {
	Throttle
	now func() time.Time

	mu    sync.Mutex
	pairs map[pair]*failures
}

func newThrottle(o Throttle, now func() time.Time) *throttle {
	return &throttle{Throttle: o, now: now, pairs: make(map[pair]*failures)}
}

// begin admits an attempt or refuses it. A pair that is being slowed has one attempt at a time, so
// that guesses sent side by side gain nothing. Each begin that admits is followed by one end.
func (t *throttle) begin(p pair) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.pairs[p]
	now := t.now()
	switch {
	case f == nil:
		return nil
	case now.Before(f.until):
		return tooMany(f.until.Sub(now))
	case f.busy:
		return tooMany(t.Delay)
	}
	f.busy = f.count >= t.Free
	return nil
}

type outcome uint8

const (
	undecided outcome = iota // neither right nor wrong was found out
	right
	wrong
)

func (t *throttle) end(p pair, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.pairs[p]
	switch {
	case o == right:
		delete(t.pairs, p)
		return
	case f == nil && o == undecided:
		return
	case f == nil:
		t.makeRoom()
		f = &failures{}
		t.pairs[p] = f
	}
	f.busy = false
	if o == undecided {
		return
	}
	now := t.now()
	if now.Sub(f.last) > t.Forget {
		f.count = 0
	}
	f.count++
	f.last = now
	if over := f.count - t.Free - 1; over >= 0 {
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
	if len(t.pairs) < t.Pairs {
		return
	}
	var least pair
	var fewest *failures
	looked := 0
	for p, f := range t.pairs {
		if t.now().Sub(f.last) > t.Forget {
			least, fewest = p, f
			break
		}
		if fewest == nil || f.count < fewest.count {
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
