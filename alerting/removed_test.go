package alerting_test

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
)

func TestWhatARemovedChannelDidNotSend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newGate("email", true)
		k := newDesk(t, alerting.Options{}, f)
		k.raise(t, alarms.Critical, "Pump", "Fan")
		pass(time.Minute)
		k.Close()
		k.log.Reset()
		k.start(t, alerting.Options{Logger: slog.New(slog.NewTextHandler(k.log, nil))}, &fake{name: "dashboard"})
		pass(23 * time.Hour)
		require.Empty(t, k.dead(t), "the channel may come back")
		pass(25 * time.Hour)
		dead := k.dead(t)
		require.Len(t, dead, 2)
		require.Equal(t, "down", dead[0].LastError)
		require.Equal(t, 1, strings.Count(k.log.String(), `msg="messages of a channel without settings are given up" channel=email number=2`), k.log)

		require.ErrorIs(t, k.Retry(t.Context(), dead[0].ID), alerting.ErrChannelNotFound)
		for _, channel := range []string{"", "email"} {
			n, err := k.RetryAll(t.Context(), channel)
			require.NoError(t, err)
			require.Zero(t, n)
		}
		require.Len(t, k.dead(t), 2)

		k.Close()
		f.forget()
		f.down.Store(false)
		k.start(t, alerting.Options{}, f)
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
	alerting.Outbox
	times int
}

func (f *failing) Settle(ctx context.Context, owner string, done []alerting.Settlement, add []alerting.Delivery) error {
	if len(done) > 0 && done[0].State == alerting.Sent && f.times > 0 {
		f.times--
		return errors.New("the database is locked")
	}
	return f.Outbox.Settle(ctx, owner, done, add)
}

func TestWhatWasSentAtTheEndIsWrittenDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "email", answer: func(context.Context, alerting.Notification) error {
			time.Sleep(2 * time.Second)
			return nil
		}}
		k := newDesk(t, alerting.Options{}, f)
		k.Close()
		k.raise(t, alarms.Critical, "Pump")
		deps := k.deps(f)
		deps.Outbox = &failing{Outbox: k.store, times: 2}
		d, err := alerting.NewDispatcher(deps, alerting.Options{Jitter: func() float64 { return 0.5 }})
		require.NoError(t, err)
		d.Start()
		pass(time.Second)
		d.Close()
		k.start(t, alerting.Options{}, f)
		pass(time.Hour)
		require.Len(t, f.titles(), 1)
	})
}
