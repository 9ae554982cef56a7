package alerting_test

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
		k := newDesk(t, alerting.Options{MaxAge: time.Hour}, f)
		k.raise(t, alarms.Critical, "Pump")
		pass(2 * time.Hour)
		for i := 1; i < len(at); i++ {
			gap, want := at[i]-at[i-1], min(time.Second<<(i-1), 5*time.Minute)
			require.InDelta(t, want.Seconds(), gap.Seconds(), 2, "before attempt %d", i+1)
		}
		require.Greater(t, len(at), 10)
		require.LessOrEqual(t, at[len(at)-1], time.Hour)
		require.Len(t, k.dead(t), 1)
		require.Equal(t, 1, strings.Count(k.log.String(), "message is given up"))
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
		k := newDesk(t, alerting.Options{}, f)
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
				k := newDesk(t, alerting.Options{Poll: 100 * time.Millisecond}, f)
				k.raise(t, alarms.Critical, "Pump")
				pass(time.Hour)
				require.Equal(t, c.want, at)
				for _, n := range f.got {
					require.Equal(t, f.got[0].ID, n.ID, "the key stays the same")
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
		k := newDesk(t, alerting.Options{}, f)
		k.raise(t, alarms.Critical, "Pump", "Fan", "Belt")
		pass(time.Hour)
		require.Len(t, f.got, 3, "once each")
		dead := k.dead(t)
		require.Len(t, dead, 3)
		require.Equal(t, "Belt", dead[0].Notification.Title, "newest first")
		require.Equal(t, "no such user", dead[0].LastError)

		refuse.Store(false)
		require.NoError(t, k.Retry(t.Context(), dead[1].ID))
		require.ErrorIs(t, k.Retry(t.Context(), dead[1].ID), alerting.ErrDeadLetterNotFound)
		for _, id := range []string{"", "x", uuid.NewString()} {
			require.ErrorIs(t, k.Retry(t.Context(), id), alerting.ErrDeadLetterNotFound)
		}
		pass(time.Second)
		require.Equal(t, "Fan", f.titles()[3])
		n, err := k.RetryAll(t.Context(), "email")
		require.NoError(t, err)
		require.Equal(t, 2, n)
		pass(time.Second)
		require.Len(t, f.got, 6)
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
		k := newDesk(t, alerting.Options{}, mail, sms)
		for i := range 10 {
			k.raise(t, alarms.Critical, fmt.Sprint(i))
			pass(10 * time.Millisecond)
			require.Len(t, sms.titles(), i+1)
		}
		require.Len(t, mail.titles(), 1)
		pass(time.Hour)
		require.Greater(t, len(mail.got), 10, "and is tried again")
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
		k := newDesk(t, alerting.Options{Routes: alerting.Routes{alarms.Info: {"custom"}}}, f)
		k.raise(t, alarms.Info, "Pump")
		pass(time.Hour)
		require.Equal(t, 2, times)
		require.NotContains(t, k.log.String(), "secret")
	})
}
