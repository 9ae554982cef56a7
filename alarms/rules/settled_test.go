package rules_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
)

// TestSettleWaitsUntilAlarmsAreStored has an alarm that cannot be stored for a minute.
func TestSettleWaitsUntilAlarmsAreStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &doubtful{memory: newMemory()}
		require.NoError(t, store.AddRule(t.Context(), rule(rules.High, nil)))
		p := &plant{t: t, service: service(t, store, alarms.Options{})}
		var err error
		p.rules, err = rules.New(t.Context(), store, p.service, rules.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, p.rules.Close(t.Context())) }()
		p.set(70)
		require.NoError(t, p.rules.Settle(t.Context()), "there is nothing to store")

		store.dead.Store(true)
		p.set(90)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, p.rules.Settle(ctx), context.DeadlineExceeded)
		settled := make(chan error, 1)
		go func() { settled <- p.rules.Settle(t.Context()) }()
		pass(time.Second)
		require.Empty(t, settled)
		store.dead.Store(false)
		require.NoError(t, <-settled)
		require.Equal(t, []alarms.EventKind{alarms.Raised}, p.kinds())
	})
}
