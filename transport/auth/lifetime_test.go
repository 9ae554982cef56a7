package auth_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/transport/auth"
)

func TestLifetime(t *testing.T) {
	for name, row := range map[string]struct {
		end    func(*testing.T, plant, *auth.Principal)
		within time.Duration
	}{
		"expiry": {func(*testing.T, plant, *auth.Principal) { time.Sleep(time.Minute) }, time.Second},
		"logout": {func(t *testing.T, p plant, who *auth.Principal) {
			require.NoError(t, p.Logout(auth.WithPrincipal(t.Context(), who)))
		}, time.Second},
		"removal by another process": {func(t *testing.T, p plant, _ *auth.Principal) {
			elsewhere, err := accounts.New(p.store, p.store, accounts.Options{})
			require.NoError(t, err)
			require.NoError(t, elsewhere.Remove(t.Context(), "viewer"))
		}, 6 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t, auth.Options{AccessTTL: time.Minute})
				who := p.requireGood(t, p.login(t, "viewer").AccessToken)
				ctx, stop := auth.Lifetime(auth.WithPrincipal(t.Context(), who))
				defer stop()
				time.Sleep(30 * time.Second)
				require.NoError(t, ctx.Err())
				row.end(t, p, who)
				time.Sleep(row.within)
				synctest.Wait()
				require.Error(t, ctx.Err())
				require.ErrorIs(t, context.Cause(ctx), auth.ErrUnauthenticated)
			})
		})
	}
}

func TestLifetimeStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, auth.Options{})
		who := p.requireGood(t, p.login(t, "viewer").AccessToken)
		for _, parent := range []context.Context{t.Context(), auth.WithPrincipal(t.Context(), who)} {
			parent, cancel := context.WithCancel(parent)
			ctx, stop := auth.Lifetime(parent)
			cancel()
			<-ctx.Done()
			require.NotErrorIs(t, context.Cause(ctx), auth.ErrUnauthenticated)
			stop()
			stop()
		}
	})
}
