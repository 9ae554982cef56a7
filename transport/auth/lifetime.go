package auth

import (
	"context"
	"errors"
	"time"

	"github.com/otkit/otkit/fault"
)

// lifetimeCheck is how often a stream's session is looked at. It is a look into memory.
const lifetimeCheck = time.Second

var errExpired = errors.New("token has expired")

// Lifetime gives a stream a context that is cancelled when its caller's token expires or its
// session ends: within a second when it ended in this process, within six otherwise. The cause
// (context.Cause) is then [ErrUnauthenticated]. Without a principal in ctx it is cancelled with ctx
// only. stop must be called when the stream ends; it waits for what Lifetime started.
func Lifetime(ctx context.Context) (lifetime context.Context, stop func()) {
	c, ok := ctx.Value(contextKey{}).(*caller)
	if !ok {
		return context.WithCancel(ctx)
	}
	lifetime, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.authority.watch(lifetime, c.principal, cancel)
	}()
	return lifetime, func() {
		cancel(context.Canceled)
		<-done
	}
}

func (a *Authority) watch(ctx context.Context, p *Principal, cancel context.CancelCauseFunc) {
	ends := p.ExpiresAt
	if p.SessionID == "" {
		ends = ends.Add(oidcLeeway) // as Verify does
	}
	tick := time.NewTicker(lifetimeCheck)
	defer tick.Stop()
	for {
		if !a.opts.Now().Before(ends) {
			cancel(ErrUnauthenticated.Wrap(errExpired))
			return
		}
		if p.SessionID != "" {
			// A store that cannot be read is no reason to cut a stream.
			if _, err := a.accounts.Live(ctx, p.SessionID); fault.KindOf(err) == fault.Unauthenticated {
				cancel(ErrUnauthenticated.Wrap(err))
				return
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
