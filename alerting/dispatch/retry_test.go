package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/outbox"
)

func TestDispatchRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		start := time.Now()
		f := &fake{name: "email"}
		f.answer = func(context.Context, alerting.Notification) error {
			at = append(at, time.Since(start).Round(time.Second))
			return alerting.Retryable(errors.New("refused"), 0)
		}
		k := newDesk(t, dispatch.Options{DeliveryTimeout: time.Hour}, f)
		k.raise(t, alarms.Critical, "Pump")
		pass(2 * time.Hour)
		for i := 1; i < len(at); i++ {
			gap, want := at[i]-at[i-1], min(time.Second<<(i-1), 5*time.Minute)
			require.InDelta(t, want.Seconds(), gap.Seconds(), 2, "before attempt %d", i+1)
		}
		require.Greater(t, len(at), 10)
		require.LessOrEqual(t, at[len(at)-1], time.Hour)
		require.Len(t, k.dead(t), 1)
		require.Equal(t, 1, strings.Count(k.log.String(), "message expired"))
	})
}

func TestDispatchRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var (
			mu sync.Mutex
			at []string
		)
		f := &fake{name: "email"}
		f.answer = func(_ context.Context, n alerting.Notification) error {
			mu.Lock()
			defer mu.Unlock()
			at = append(at, fmt.Sprint(n.Title, " ", time.Since(start).Round(10*time.Second)))
			if len(at) == 1 {
				return alerting.Retryable(errors.New("slow down"), 10*time.Minute)
			}
			return nil
		}
		k := newDesk(t, dispatch.Options{}, f)
		k.raise(t, alarms.Critical, "Pump", "Fan")
		pass(time.Minute)
		mu.Lock()
		require.Len(t, at, 1, "nothing at all is sent before the peer wants it")
		mu.Unlock()
		require.Equal(t, start.Add(10*time.Minute).UTC(), k.Channels()[0].PausedUntil)
		pass(time.Hour)
		require.Equal(t, []string{"Pump 0s", "Pump 10m0s", "Fan 10m0s"}, at)
	})
}

func TestDispatchAmbiguous(t *testing.T) {
	for _, c := range []struct {
		key  bool
		want []time.Duration
	}{
		{true, []time.Duration{0, 0, 2 * time.Second, 6 * time.Second}},
		{false, []time.Duration{0, time.Minute, 2 * time.Minute, 3 * time.Minute}},
	} {
		t.Run(fmt.Sprintf("takes a key %v", c.key), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var at []time.Duration
				f := &fake{name: "email", key: c.key}
				f.answer = func(context.Context, alerting.Notification) error {
					if at = append(at, time.Since(start).Round(time.Second)); len(at) == 4 {
						return nil
					}
					return errors.New("no answer") // not classified: ambiguous
				}
				k := newDesk(t, dispatch.Options{PollInterval: 100 * time.Millisecond}, f)
				k.raise(t, alarms.Critical, "Pump")
				pass(time.Hour)
				require.Equal(t, c.want, at)
				for _, n := range f.messages() {
					require.Equal(t, f.messages()[0].ID, n.ID, "the key stays the same")
				}
			})
		})
	}
}

func TestDispatchPermanentAndRetryByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var refuse atomic.Bool
		refuse.Store(true)
		f := &fake{name: "email"}
		f.answer = func(context.Context, alerting.Notification) error {
			if refuse.Load() {
				return alerting.Permanent(errors.New("no such user"))
			}
			return nil
		}
		k := newDesk(t, dispatch.Options{}, f)
		k.raise(t, alarms.Critical, "Pump", "Fan", "Belt")
		pass(time.Hour)
		require.Len(t, f.messages(), 3, "once each")
		dead := k.dead(t)
		require.Len(t, dead, 3)
		require.Equal(t, "Belt", dead[0].Notification.Title, "newest first")
		require.Equal(t, "no such user", dead[0].LastError)

		refuse.Store(false)
		require.NoError(t, k.Retry(t.Context(), dead[1].ID))
		require.ErrorIs(t, k.Retry(t.Context(), dead[1].ID), outbox.ErrDeadLetterNotFound)
		for _, id := range []string{"", "x", uuid.NewString()} {
			require.ErrorIs(t, k.Retry(t.Context(), id), outbox.ErrDeadLetterNotFound)
		}
		pass(time.Second)
		require.Equal(t, "Fan", f.titles()[3])
		n, err := k.RetryAll(t.Context(), "email")
		require.NoError(t, err)
		require.Equal(t, 2, n)
		pass(time.Second)
		require.Len(t, f.messages(), 6)
		require.Empty(t, k.dead(t))
	})
}

func TestDispatchHangingChannelDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mail, sms := &fake{name: "email"}, &fake{name: "sms"}
		mail.answer = func(ctx context.Context, _ alerting.Notification) error {
			<-ctx.Done()
			return alerting.Ambiguous(ctx.Err())
		}
		k := newDesk(t, dispatch.Options{}, mail, sms)
		for i := range 10 {
			k.raise(t, alarms.Critical, fmt.Sprint(i))
			pass(10 * time.Millisecond)
			require.Len(t, sms.titles(), i+1)
		}
		require.Len(t, mail.titles(), 1)
		pass(time.Hour)
		require.Greater(t, len(mail.messages()), 10, "and is tried again")
	})
}

func TestDispatchPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		times := 0
		f := &fake{name: "custom"}
		f.answer = func(context.Context, alerting.Notification) error {
			if times++; times == 1 {
				panic("a defect with a secret")
			}
			return nil
		}
		k := newDesk(t, dispatch.Options{Routes: alerting.Routes{alarms.Info: {"custom"}}}, f)
		k.raise(t, alarms.Info, "Pump")
		pass(time.Hour)
		require.Equal(t, 2, times)
		require.NotContains(t, k.log.String(), "secret")
	})
}

// TestDispatchCrashesAreNoAttempts has engines that end while they send, one after the other, and then a peer
// that fails once.
func TestDispatchCrashesAreNoAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var peer atomic.Int32 // what it does: 0 hangs until the engine is gone, 1 fails, 2 takes messages
		f := &fake{name: "webhook", key: true}
		f.answer = func(ctx context.Context, _ alerting.Notification) error {
			switch peer.Load() {
			case 0:
				<-ctx.Done()
				return ctx.Err()
			case 1:
				peer.Store(2)
				return alerting.Retryable(errors.New("500"), 0)
			}
			return nil
		}
		o := dispatch.Options{Owner: "engine", Routes: alerting.Routes{alarms.Critical: {"webhook"}}, SendTimeout: time.Hour, Lease: 2 * time.Hour}
		k := newDesk(t, o, f)
		k.raise(t, alarms.Critical, "Pump")
		pass(time.Second)
		for range 8 { // the ones before hang for ever, as if they were gone
			k.start(t, o, f)
			pass(time.Second)
		}
		require.Len(t, f.titles(), 9)
		peer.Store(1)
		k.start(t, o, f)
		pass(5 * time.Second)
		require.Len(t, f.titles(), 11, "it is sent soon after the one failure")
		first, err := k.store.FirstDeliveries(t.Context(), []string{k.occurrence(t)})
		require.NoError(t, err)
		require.Equal(t, outbox.Sent, first[0].State)
		require.Equal(t, 2, first[0].Attempts)
	})
}

// occurrence returns the id of the one alarm.
func (k *desk) occurrence(t *testing.T) string {
	t.Helper()
	active, err := k.alarms.Active(t.Context())
	require.NoError(t, err)
	require.Len(t, active, 1)
	return active[0].ID
}
