package limit

import (
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/otkit/otkit/fault"
)

// ErrTooFast refuses a call. Its Metadata "retryAfter" has the whole seconds to wait.
var ErrTooFast = fault.New(fault.TooMany, "RATE_LIMITED", "too many requests, try again later").With("retryAfter", "1")

// maxKeys is how many callers a Rate remembers.
const maxKeys = 10_000

// burst is for how many seconds' worth of calls a bucket has room: a starting client sends many calls together.
const burst = 10

// Rate is a limit of calls for each key, in a token bucket. A nil *Rate is no limit. Safe for concurrent use.
type Rate struct {
	perSecond rate.Limit
	burst     int
	now       func() time.Time

	mu      sync.Mutex
	buckets map[string]*rate.Limiter
	refused uint64
}

// NewRate returns a limit with buckets that hold ten seconds' worth, or nil when perSecond is not above 0. now is nil for time.Now.
func NewRate(perSecond int, now func() time.Time) *Rate {
	if perSecond <= 0 {
		return nil
	}
	return newRate(rate.Limit(perSecond), burst*perSecond, now)
}

// NewInterval returns a limit of one call each interval, which is above 0, with buckets that hold size calls. now is nil for time.Now.
func NewInterval(interval time.Duration, size int, now func() time.Time) *Rate {
	return newRate(rate.Every(interval), size, now)
}

func newRate(perSecond rate.Limit, size int, now func() time.Time) *Rate {
	if now == nil {
		now = time.Now
	}
	return &Rate{perSecond: perSecond, burst: size, now: now, buckets: make(map[string]*rate.Limiter)}
}

// Allow counts a call and returns [ErrTooFast] when it comes too fast.
func (r *Rate) Allow(key string) error {
	if r == nil {
		return nil
	}
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.buckets[key]
	if b == nil {
		r.makeRoom(now)
		b = rate.NewLimiter(r.perSecond, r.burst)
		r.buckets[key] = b
	}
	if b.AllowN(now, 1) {
		return nil
	}
	r.refused++
	if wait := math.Ceil((1 - b.TokensAt(now)) / float64(r.perSecond)); wait > 1 {
		return ErrTooFast.With("retryAfter", strconv.Itoa(int(wait)))
	}
	return ErrTooFast
}

// Refused returns how many calls were refused.
func (r *Rate) Refused() uint64 {
	if r == nil {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}

// makeRoom keeps the table within its bound. Of a few keys picked at random it drops the one with the fullest bucket,
// so that filling the table does not free a caller that is being held back.
func (r *Rate) makeRoom(now time.Time) {
	if len(r.buckets) < maxKeys {
		return
	}
	fullest, tokens, looked := "", -1.0, 0
	for key, b := range r.buckets {
		if t := b.TokensAt(now); t > tokens {
			fullest, tokens = key, t
		}
		if looked++; looked == 16 {
			break
		}
	}
	delete(r.buckets, fullest)
}
