package alerting

import (
	"sync"
	"time"
)

const (
	leastStep = time.Minute // less may be a clock that is slewed
	mostSteps = 100
)

// steps remembers where the clock was set forward, such as on an engine that began without knowing the
// time: what was written down before looks older by so much than it is. Safe for concurrent use.
type steps struct {
	now func() time.Time

	mu   sync.Mutex
	wall time.Time // at the last look
	mono time.Time // the same moment on the clock that nobody sets
	list []step
}

type step struct {
	from time.Time // what the clock would have shown
	by   time.Duration
}

func newSteps(now func() time.Time) *steps {
	return &steps{now: now, wall: now().Round(0), mono: time.Now()}
}

// look gives the steps so far.
func (s *steps) look() []step {
	s.mu.Lock()
	defer s.mu.Unlock()
	wall, mono := s.now().Round(0), time.Now()
	from := s.wall.Add(mono.Sub(s.mono))
	s.wall, s.mono = wall, mono
	if by := wall.Sub(from); by >= leastStep {
		s.list = append(s.list[max(0, len(s.list)-mostSteps+1):len(s.list):len(s.list)], step{from, by})
	}
	return s.list
}

// end gives when something is over that is to last for so long and would be over at some time if the
// clock had not been set.
func (s *steps) end(at time.Time, lasts time.Duration) time.Time {
	began := at.Add(-lasts)
	for _, one := range s.look() {
		if !began.After(one.from) {
			at = at.Add(one.by)
		}
	}
	return at
}

// before gives a time before which nothing was written down that is younger than it seems at the given
// time.
func (s *steps) before(at time.Time) time.Time {
	early := at
	for _, one := range s.look() {
		if !one.from.Add(one.by).Before(at) {
			early = early.Add(-one.by)
		}
	}
	return early
}
