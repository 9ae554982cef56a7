package dispatch_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/outbox"
)

func TestWhatARemovedChannelDidNotSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newGate("email", true)
		k := newDesk(t, dispatch.Options{}, f)
		k.raise(t, alarms.Critical, "Pump", "Fan")
		pass(time.Minute)
		k.close(t)
		k.log.Reset()
		k.start(t, dispatch.Options{Logger: slog.New(slog.NewTextHandler(k.log, nil))}, &fake{name: "dashboard"})
		pass(23 * time.Hour)
		require.Empty(t, k.dead(t), "the channel may come back")
		pass(25 * time.Hour)
		dead := k.dead(t)
		require.Len(t, dead, 2)
		require.Equal(t, "down", dead[0].LastError)
		require.Equal(t, 1, strings.Count(k.log.String(), `msg="messages expired: unknown channel" channel=email number=2`), k.log)

		require.ErrorIs(t, k.Retry(t.Context(), dead[0].ID), alerting.ErrChannelNotFound)
		for _, channel := range []string{"", "email"} {
			n, err := k.RetryAll(t.Context(), channel)
			require.NoError(t, err)
			require.Zero(t, n)
		}
		require.Len(t, k.dead(t), 2)

		k.close(t)
		f.forget()
		f.down.Store(false)
		k.start(t, dispatch.Options{}, f)
		require.NoError(t, k.Retry(t.Context(), dead[0].ID))
		n, err := k.RetryAll(t.Context(), "")
		require.NoError(t, err)
		require.Equal(t, 1, n)
		pass(time.Minute)
		require.ElementsMatch(t, []string{"Pump", "Fan"}, f.titles())
	})
}

// failing is an outbox that fails to write down what was sent for so many times.
type failing struct {
	outbox.Store
	times int
}

func (f *failing) Settle(ctx context.Context, owner string, done []outbox.Settlement, add []outbox.Delivery) error {
	if len(done) > 0 && done[0].State == outbox.Sent && f.times > 0 {
		f.times--
		return errors.New("the database is locked")
	}
	return f.Store.Settle(ctx, owner, done, add)
}

func TestWhatWasSentAtTheEndIsWrittenDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "email", answer: func(context.Context, alerting.Notification) error {
			time.Sleep(2 * time.Second)
			return nil
		}}
		k := newDesk(t, dispatch.Options{}, f)
		k.close(t)
		k.raise(t, alarms.Critical, "Pump")
		deps := k.deps(f)
		deps.Outbox = &failing{Store: k.store, times: 2}
		d, err := dispatch.New(deps, dispatch.Options{Jitter: func() float64 { return 0.5 }})
		require.NoError(t, err)
		d.Start()
		pass(time.Second)
		closeAll(t, d)
		k.start(t, dispatch.Options{}, f)
		pass(time.Hour)
		require.Len(t, f.titles(), 1)
	})
}
