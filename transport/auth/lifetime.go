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

// Lifetime returns a context for a stream that is canceled when its caller's token expires or its
// session ends: within a second when it ended in this process, within six otherwise. The cause
// (context.Cause) is then [ErrUnauthenticated]. Without a principal in ctx it is canceled with ctx
// only. stop must be called when the stream ends; it waits for what Lifetime started.
func Lifetime(ctx context.Context) (lifetime context.Context, stop func()) {
	p, ok := From(ctx)
	if !ok {
		return context.WithCancel(ctx)
	}
	lifetime, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		watch(lifetime, p, cancel)
	}()
	return lifetime, func() {
		cancel(context.Canceled)
		<-done
	}
}

func watch(ctx context.Context, p *Principal, cancel context.CancelCauseFunc) {
	checker := p.Checker
	if checker == nil {
		checker = untilExpiry{}
	}
	tick := time.NewTicker(lifetimeCheck)
	defer tick.Stop()
	for {
		// A store that cannot be read does not end a stream.
		if err := checker.CheckPrincipal(ctx, p); fault.KindOf(err) == fault.Unauthenticated {
			cancel(ErrUnauthenticated.Wrap(err))
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// untilExpiry is the Checker of a principal that has none.
type untilExpiry struct{}

// CheckPrincipal implements Checker.
func (untilExpiry) CheckPrincipal(_ context.Context, p *Principal) error {
	if !p.ExpiresAt.IsZero() && !time.Now().Before(p.ExpiresAt) {
		return ErrUnauthenticated.Wrap(errExpired)
	}
	return nil
}

// CheckPrincipal implements [Checker].
func (a *Authority) CheckPrincipal(ctx context.Context, p *Principal) error {
	ends := p.ExpiresAt
	if p.SessionID == "" {
		ends = ends.Add(oidcLeeway) // as Verify does
	}
	if !a.opts.Now().Before(ends) {
		return ErrUnauthenticated.Wrap(errExpired)
	}
	if p.SessionID == "" {
		return nil
	}
	_, err := a.accounts.SessionInfo(ctx, p.SessionID)
	return err
}
