package remote

import (
	"log/slog"
	"sync"
	"time"
)

// breaker leaves a server alone that has failed some times in a row. One caller at a time tries it again.
type breaker struct {
	failures int
	pause    time.Duration
	now      func() time.Time
	log      *slog.Logger

	mu     sync.Mutex
	failed int       // in a row
	open   bool      // the server is left alone
	pauses int       // in a row, but for the first
	since  time.Time // the begin of the pause
	probe  bool      // a caller tries the server
}

// maxPause is how many pauses a pause grows to.
const maxPause = 10

var errOpen = unavailable("the server of the model has failed repeatedly and is left alone for a while")

// enter returns an error while the server is left alone. Otherwise one of the other methods must follow, with probe.
func (b *breaker) enter() (probe bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.open {
		return false, nil
	}
	pause := b.pause * time.Duration(min(1<<min(b.pauses, 10), maxPause))
	// A clock that was set back must not make the pause longer.
	if age := b.now().Sub(b.since); b.probe || age >= 0 && age < pause {
		return false, errOpen
	}
	b.probe = true
	return true, nil
}

// leave tells that nothing was learned about the server.
func (b *breaker) leave(probe bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.probe = b.probe && !probe
}

func (b *breaker) succeed() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		b.log.Info("server of the model answers again")
	}
	b.failed, b.open, b.pauses, b.probe = 0, false, 0, false
}

func (b *breaker) fail(probe bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.open && probe:
		b.pauses++
		b.since, b.probe = b.now(), false
	case b.open: // asked before it was
	default:
		if b.failed++; b.failed >= b.failures {
			b.open, b.since = true, b.now()
			b.log.Warn("server of the model does not work; predictions paused", "failures", b.failed, "err", err)
		}
	}
}
