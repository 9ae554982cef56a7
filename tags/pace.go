package tags

import (
	"sync"
	"sync/atomic"
	"time"
)

// pace is how fast a group is polled. Its entries share it, and derive from it how old a reading may
// be. The unexported times belong to the runner's goroutine, the atomics may be read by anybody.
type pace struct {
	interval time.Duration

	began time.Time     // the round under way, or the last one
	last  time.Time     // the last request of it
	gap   time.Duration // mean time between two requests of a round
	whole time.Duration // from the round before to this one

	tags, requests atomic.Int64
	cycle          atomic.Int64 // from round to round, or as long as the one under way will take if that is longer
}

func (p *pace) begin(now time.Time) {
	if !p.began.IsZero() {
		p.whole = now.Sub(p.began)
		p.cycle.Store(int64(p.whole))
	}
	p.began, p.last = now, now
}

// step takes note of a request that was made, and of how many are left. What a round will take is
// known long before its end: a device that becomes slow must not let its tags go stale meanwhile.
func (p *pace) step(now time.Time, left int) {
	gap := now.Sub(p.last)
	p.last = now
	if p.gap == 0 {
		p.gap = gap
	}
	p.gap += (gap - p.gap) / 8
	p.cycle.Store(int64(max(p.whole, now.Sub(p.began)+time.Duration(left)*p.gap)))
}

func (p *pace) finish(requests int) { p.requests.Store(int64(requests)) }

// reachable returns the cycle that the group can have.
func (p *pace) reachable() time.Duration { return max(p.interval, time.Duration(p.cycle.Load())) }

// Cycle describes the polling of the tags of one interval.
type Cycle struct {
	Wanted   time.Duration // the polling interval
	Reached  time.Duration // from one poll to the next, or the expected duration of the current poll; 0 before there was one
	Tags     int
	Requests int // of the last poll that is over
}

func (p *pace) status() Cycle {
	return Cycle{Wanted: p.interval, Reached: time.Duration(p.cycle.Load()), Tags: int(p.tags.Load()), Requests: int(p.requests.Load())}
}

// setPaces makes the paces of groups those that status shows.
func (r *runner) setPaces(groups []*group) {
	paces := make([]*pace, len(groups))
	for i, g := range groups {
		paces[i] = g.pace
	}
	r.mu.Lock()
	r.paces = paces
	r.mu.Unlock()
}

// trips collects round trips: those of the last 10 to 20 seconds in which there were any.
type trips struct {
	mu           sync.Mutex
	last         time.Duration
	old, current tripSum
	age          time.Duration // of current
}

type tripSum struct {
	count    int
	sum, max time.Duration
}

func (t *trips) note(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = d
	t.current.count++
	t.current.sum += d
	t.current.max = max(t.current.max, d)
}

// tick lets time pass.
func (t *trips) tick(passed time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.age += passed; t.age >= 10*time.Second && t.current.count > 0 {
		t.old, t.current, t.age = t.current, tripSum{}, 0
	}
}

// into shows the round trips in a status.
func (t *trips) into(s *DriverStatus) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.RoundTrip, s.RoundTripMax = t.last, max(t.old.max, t.current.max)
	if n := t.old.count + t.current.count; n > 0 {
		s.RoundTripMean = (t.old.sum + t.current.sum) / time.Duration(n)
	}
}
