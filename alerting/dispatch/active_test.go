package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
)

func (k *desk) silence(t *testing.T, pattern string, d time.Duration) silences.Silence {
	t.Helper()
	s, err := k.silences.Create(t.Context(), silences.Silence{
		SourceType: "*", Pattern: pattern, Reason: "x", StartsAt: time.Now(), EndsAt: time.Now().Add(d),
	})
	require.NoError(t, err)
	return s
}

func TestWhatStandsIsToldWhenTheSilenceEnds(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, k *desk, s silences.Silence){
		"it expires": func(*testing.T, *desk, silences.Silence) { pass(time.Hour + 20*time.Second) },
		"it is deleted": func(t *testing.T, k *desk, s silences.Silence) {
			require.NoError(t, k.silences.Delete(t.Context(), s.ID))
			pass(time.Second)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{name: "dashboard"}
				k := newDesk(t, dispatch.Options{}, f)
				other, err := dispatch.New(k.deps(f), dispatch.Options{Templates: map[string]alerting.TemplateText{"": {Subject: "{{if .Resolved}}-{{end}}{{.Title}}"}}})
				require.NoError(t, err)
				defer closeAll(t, other)
				other.Start()
				s := k.silence(t, "*", time.Hour)
				k.raise(t, alarms.Warning, "stands", "cleared", "seen", "graver")
				pass(30 * time.Second)
				k.clear(t, "cleared")
				_, err = k.alarms.Acknowledge(t.Context(), alarms.ByKey("seen"), "anna", "")
				require.NoError(t, err)
				k.raise(t, alarms.Critical, "graver")
				pass(30 * time.Second)
				require.Empty(t, f.titles())
				end(t, k, s)
				require.ElementsMatch(t, []string{"stands", "graver"}, f.titles(), "each once, of two dispatchers")
				k.clear(t, "stands")
				pass(time.Second)
				require.Equal(t, "-stands", f.titles()[2])
			})
		})
	}
}

func TestASilenceHoldsWhatIsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var down atomic.Bool
		down.Store(true)
		f := &fake{name: "dashboard", answer: func(context.Context, alerting.Notification) error {
			if down.Load() {
				return alerting.Retryable(errors.New("down"), 0)
			}
			return nil
		}}
		k := newDesk(t, dispatch.Options{}, f)
		k.raise(t, alarms.Warning, "stands", "cleared", "seen")
		pass(time.Minute)
		_, err := k.alarms.Acknowledge(t.Context(), alarms.ByKey("seen"), "anna", "")
		require.NoError(t, err)
		k.clear(t, "cleared")
		pass(time.Second)
		s := k.silence(t, "*", 8*time.Hour)
		f.forget()
		down.Store(false)
		pass(time.Hour)
		require.Empty(t, f.titles())
		require.NoError(t, k.silences.Delete(t.Context(), s.ID))
		pass(time.Second)
		require.Equal(t, []string{"stands"}, f.titles(), "what is over or known by then is not told")
		k.clear(t, "stands")
		pass(time.Second)
		require.Equal(t, []string{"stands", "-stands"}, f.titles())
	})
}

// scans counts how often all that is silenced is read.
type scans struct {
	outbox.Store
	n atomic.Int64
}

func (s *scans) SilencedDeliveries(ctx context.Context, after outbox.Delivery, limit int) ([]outbox.Delivery, error) {
	s.n.Add(1)
	return s.Store.SilencedDeliveries(ctx, after, limit)
}

func TestWhatIsSilencedIsReadWhenSilencesChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "dashboard"}
		k := newDesk(t, dispatch.Options{}, f)
		k.close(t)
		deps := k.deps(f)
		s := &scans{Store: k.store}
		deps.Outbox = s
		d, err := dispatch.New(deps, dispatch.Options{})
		require.NoError(t, err)
		defer closeAll(t, d)
		d.Start()
		k.silence(t, "*", 90*time.Minute)
		k.raise(t, alarms.Warning, "Pump")
		pass(time.Minute)
		s.n.Store(0)
		pass(time.Hour)
		require.LessOrEqual(t, s.n.Load(), int64(6))
		// A silence of another engine that shares the store.
		other := newSilences(t, k.quiet, time.Now)
		all, err := other.List(t.Context())
		require.NoError(t, err)
		require.NoError(t, other.Delete(t.Context(), all[0].ID))
		pass(11 * time.Second)
		require.Len(t, f.titles(), 1)
	})
}

func TestRaisedAndClearedAtOnceUnderASilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "dashboard"}
		k := newDesk(t, dispatch.Options{}, f)
		k.close(t)
		k.silence(t, "*", time.Minute)
		k.raise(t, alarms.Warning, "Pump")
		k.clear(t, "Pump")
		k.start(t, dispatch.Options{}, f)
		pass(time.Hour)
		require.Empty(t, f.titles())
	})
}

func TestAnAlarmThatStoodForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "dashboard"}
		k := newDesk(t, dispatch.Options{PollInterval: time.Minute}, f)
		k.raise(t, alarms.Warning, "Pump")
		pass(40 * 24 * time.Hour)
		k.clear(t, "Pump")
		pass(time.Minute)
		require.Equal(t, []string{"Pump", "-Pump"}, f.titles())
	})
}

// TestTheEndOfALongAlarmWaits is about a channel that is down when the alarm ends, after the time for
// which sent messages are kept.
func TestTheEndOfALongAlarmWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newGate("email", false)
		k := newDesk(t, dispatch.Options{PollInterval: time.Minute}, f)
		k.raise(t, alarms.Critical, "Pump")
		pass(31 * 24 * time.Hour)
		require.Equal(t, []string{"Pump"}, f.titles())
		f.down.Store(true)
		k.clear(t, "Pump")
		pass(90 * time.Minute)
		f.forget()
		f.down.Store(false)
		pass(30 * time.Minute)
		require.Equal(t, []string{"-Pump"}, f.titles())
	})
}

// TestASilenceThatEndedBeforeThePlan has an alarm that the webhook has found to be silenced and that is
// planned so late that no silence is seen to end.
func TestASilenceThatEndedBeforeThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "dashboard"}
		k := newDesk(t, dispatch.Options{}, f)
		pass(time.Minute)
		_, err := k.alarms.Raise(t.Context(), alarms.Alarm{
			Key: "webhook:1", Source: "Pump", Severity: alarms.Warning, Message: "hot", Labels: map[string]string{alerting.LabelSilencedBy: "gone"},
		})
		require.NoError(t, err)
		pass(15 * time.Second)
		require.Len(t, f.titles(), 1)
	})
}

func TestDeadLettersOfAChannelAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			mu     sync.Mutex
			told   []string
			failed atomic.Bool
			mended atomic.Bool
		)
		f := &fake{name: "email", answer: func(context.Context, alerting.Notification) error {
			if mended.Load() {
				return nil
			}
			return alerting.Permanent(errors.New("no"))
		}}
		k := newDesk(t, dispatch.Options{OnDeadLetter: func(_ context.Context, channel string, dead outbox.DeadLetterCount) error {
			if channel != "email" {
				return nil
			}
			if !failed.Swap(true) {
				return errors.New("the store is busy") // it is told again
			}
			mu.Lock()
			defer mu.Unlock()
			told = append(told, fmt.Sprint(dead.Count))
			return nil
		}}, f)
		pass(time.Minute)
		k.raise(t, alarms.Critical, "Pump", dispatch.DeadLetterKey("email"))
		pass(time.Second)
		require.Len(t, f.messages(), 1, "a channel is not told that it cannot be told")
		mended.Store(true)
		_, err := k.RetryAll(t.Context(), "")
		require.NoError(t, err)
		pass(time.Second)
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, []string{"0", "1", "0"}, told)
	})
}

func TestChannelsThatRefuseDoNotKeepOneAnothersAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := func(context.Context, alerting.Notification) error { return alerting.Permanent(errors.New("no")) }
		mail, sms := &fake{name: "email", answer: refuse}, &fake{name: "sms", answer: refuse}
		k := newDesk(t, dispatch.Options{Routes: alerting.Routes{alarms.Critical: {"email"}, alarms.Warning: {"email", "sms"}}}, mail, sms)
		k.raise(t, alarms.Critical, "boiler")
		pass(time.Second)
		k.raise(t, alarms.Warning, dispatch.DeadLetterKey("email"), dispatch.DeadLetterKey("sms"))
		pass(time.Second)
		require.Equal(t, []string{dispatch.DeadLetterKey("email")}, sms.titles())
		dead := k.dead(t)
		require.Len(t, dead, 1)
		require.Equal(t, "boiler", dead[0].Notification.Title)
		require.ErrorIs(t, k.Discard(t.Context(), "x", "anna"), outbox.ErrDeadLetterNotFound)
		require.NoError(t, k.Discard(t.Context(), dead[0].ID, "anna"))
		require.ErrorIs(t, k.Discard(t.Context(), dead[0].ID, "anna"), outbox.ErrDeadLetterNotFound)
		require.Contains(t, k.log.String(), `msg="dead letters discarded" by=anna`)
		require.Empty(t, k.dead(t))
		k.clear(t, "boiler")
		pass(time.Hour)
		require.Equal(t, []string{"boiler", dispatch.DeadLetterKey("sms")}, mail.titles(), "nobody hears of the end")
	})
}

func TestNothingIsSentBeforeStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "dashboard"}
		k := newDesk(t, dispatch.Options{}, f)
		k.close(t)
		k.raise(t, alarms.Warning, "Pump")
		d, err := dispatch.New(k.deps(f), dispatch.Options{})
		require.NoError(t, err)
		pass(time.Hour)
		require.Empty(t, f.titles())
		closeAll(t, d) // without Start
	})
}

func TestClockSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Int64
		now := func() time.Time { return time.Now().Add(-time.Duration(back.Load())).Round(0) }
		var down atomic.Bool
		down.Store(true)
		f := &fake{name: "email", answer: func(context.Context, alerting.Notification) error {
			if down.Load() {
				return alerting.Retryable(errors.New("down"), 0)
			}
			return nil
		}}
		k := newDesk(t, dispatch.Options{Now: now}, f)
		k.raise(t, alarms.Critical, "Pump")
		pass(10 * time.Minute)
		down.Store(false)
		f.forget()
		back.Store(int64(time.Hour))
		k.Wake()
		pass(6 * time.Minute)
		require.Len(t, f.titles(), 1, "not an hour later")
	})
}

// broken is an outbox that cannot be used for a while.
type broken struct {
	outbox.Store
	down atomic.Bool
}

func (b *broken) Cursor(ctx context.Context) (int64, error) {
	if b.down.Load() {
		return 0, errDead
	}
	return b.Store.Cursor(ctx)
}

func TestErrWhileTheStoreCannotBeUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "dashboard"}
		k := newDesk(t, dispatch.Options{}, f)
		k.close(t)
		deps := k.deps(f)
		b := &broken{Store: k.store}
		deps.Outbox = b
		d, err := dispatch.New(deps, dispatch.Options{})
		require.NoError(t, err)
		defer closeAll(t, d)
		d.Start()
		pass(time.Second)
		require.NoError(t, d.Err())
		b.down.Store(true)
		pass(time.Second)
		require.ErrorIs(t, d.Err(), errDead)
		b.down.Store(false)
		pass(10 * time.Minute)
		require.NoError(t, d.Err())
	})
}
