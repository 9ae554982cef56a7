package storage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

const (
	probeInterval = 2 * time.Second
	probeAgain    = 250 * time.Millisecond  // while the server is away: an engine of a plant has three seconds in all to renew its session
	probeTimeout  = 8 * time.Second         // before the server counts as away
	againTimeout  = 1500 * time.Millisecond // then: a probe that hangs in the connecting must not hide that it is back
)

// presence watches whether a database server answers. A server that hangs, or a machine that lost its power, closes no
// connection: without presence every call would wait, and keep a connection meanwhile. A nil presence is always there.
type presence struct {
	probe *sql.DB
	log   *slog.Logger
	stop  context.CancelFunc
	done  chan struct{}

	mu      sync.Mutex
	present context.Context // ends when the server goes away; a new one begins when it answers again
	end     context.CancelCauseFunc
}

// newPresence starts to ping a server. The probe is one connection of its own, since the others may be busy.
func newPresence(probe *sql.DB, log *slog.Logger) *presence {
	ctx, stop := context.WithCancel(context.Background())
	p := &presence{probe: probe, log: log, stop: stop, done: make(chan struct{})}
	p.present, p.end = context.WithCancelCause(context.Background())
	go p.run(ctx)
	return p
}

func (p *presence) run(ctx context.Context) {
	defer close(p.done)
	timer := time.NewTimer(probeInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		timeout := probeTimeout
		if p.err() != nil {
			timeout = againTimeout
		}
		asked, cancel := context.WithTimeout(ctx, timeout)
		err := p.probe.PingContext(asked)
		cancel()
		if ctx.Err() != nil {
			return
		}
		p.note(err)
		if err != nil {
			timer.Reset(probeAgain)
		} else {
			timer.Reset(probeInterval)
		}
	}
}

func (p *presence) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	away := p.present.Err() != nil
	switch {
	case err != nil && !away:
		p.log.Error("database not responding; calls fail until it responds", "error", err)
		p.end(ErrAway.Wrap(fmt.Errorf("the database does not answer: %w", err)))
	case err == nil && away:
		p.log.Info("database responding again")
		p.present, p.end = context.WithCancelCause(context.Background())
	}
}

// err is ErrAway while the server does not answer.
func (p *presence) err() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return context.Cause(p.present)
}

// during returns a context that also ends when the server stops to answer, or ErrAway if it has. done must be called
// with the error of the work, and returns the error for the caller.
func (p *presence) during(ctx context.Context) (_ context.Context, done func(error) error, _ error) {
	if p == nil {
		return ctx, func(err error) error { return err }, nil
	}
	p.mu.Lock()
	present := p.present
	p.mu.Unlock()
	if present.Err() != nil {
		cause := context.Cause(present)
		return ctx, func(error) error { return cause }, cause
	}
	limited, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(present, func() { cancel(context.Cause(present)) })
	return limited, func(err error) error {
		unhook()
		if err != nil && errors.Is(context.Cause(limited), ErrAway) {
			err = ErrAway.Wrap(err)
		}
		cancel(nil)
		return err
	}, nil
}

func (p *presence) close() error {
	if p == nil {
		return nil
	}
	p.stop()
	<-p.done
	return p.probe.Close()
}
