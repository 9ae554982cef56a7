package dispatch

import (
	"sync"
	"time"
)

const (
	minClockJump  = time.Minute // less may be a clock that is slewed
	maxClockJumps = 100
)

// clockJumps records where the clock was set forward, for example on an engine that started without knowing the time: what was stored
// before looks older than it is by that much. Safe for concurrent use.
type clockJumps struct {
	now func() time.Time

	mu   sync.Mutex
	wall time.Time // at the last check
	mono time.Time // the same moment on the monotonic clock
	list []clockJump
}

type clockJump struct {
	from time.Time // what the clock would have shown
	by   time.Duration
}

func newClockJumps(now func() time.Time) *clockJumps {
	return &clockJumps{now: now, wall: now().Round(0), mono: time.Now()}
}

// check returns the jumps so far.
func (s *clockJumps) check() []clockJump {
	s.mu.Lock()
	defer s.mu.Unlock()
	wall, mono := s.now().Round(0), time.Now()
	from := s.wall.Add(mono.Sub(s.mono))
	s.wall, s.mono = wall, mono
	if by := wall.Sub(from); by >= minClockJump {
		s.list = append(s.list[max(0, len(s.list)-maxClockJumps+1):len(s.list):len(s.list)], clockJump{from, by})
	}
	return s.list
}

// end returns the end of something that lasts for a time and would end at another one if the clock had not been set.
func (s *clockJumps) end(at time.Time, lasts time.Duration) time.Time {
	began := at.Add(-lasts)
	for _, one := range s.check() {
		if !began.After(one.from) {
			at = at.Add(one.by)
		}
	}
	return at
}

// before returns a time before which everything stored is as old as it seems at the given time.
func (s *clockJumps) before(at time.Time) time.Time {
	early := at
	for _, one := range s.check() {
		if !one.from.Add(one.by).Before(at) {
			early = early.Add(-one.by)
		}
	}
	return early
}
