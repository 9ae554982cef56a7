package alerting_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
)

func TestASilenceHoldsWhatADigestTells(t *testing.T) {
	for name, c := range map[string]struct {
		pattern string
		told    []string
		then    int // messages when the silence has ended
	}{
		"all of it":  {"*", []string{}, 3},
		"some of it": {"*c", []string{"a", "b", "d"}, 1},
		"nothing":    {"z", []string{"a", "b", "2 more alarm messages (2 Critical)"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newGate("email", true)
				k := newDesk(t, alerting.Options{Flood: map[string]alerting.Flood{"email": {Burst: 3, Every: time.Second}}}, f)
				k.raise(t, alarms.Critical, "a", "b", "c", "d")
				pass(time.Minute)
				s := k.silence(t, c.pattern, 8*time.Hour)
				f.forget()
				f.down.Store(false)
				pass(time.Hour)
				require.ElementsMatch(t, c.told, f.titles())
				f.forget()
				require.NoError(t, k.silences.Delete(t.Context(), s.ID))
				pass(time.Minute)
				require.Len(t, f.titles(), c.then)
				for _, key := range []string{"a", "b", "c", "d"} {
					f.forget()
					k.clear(t, key)
					pass(10 * time.Second)
					require.Equal(t, []string{"-" + key}, f.titles(), "everybody hears of the end")
				}
			})
		})
	}
}

// What a flood ends with is no emergency: a digest is as grave as the worst that still stands.
func TestADigestTellsTheEndsApart(t *testing.T) {
	for name, c := range map[string]struct {
		raise    []string // Error, after the ends
		title    string
		severity alarms.Severity
	}{
		"all have cleared":  {nil, "4 more alarm messages (4 resolved)", alarms.Info},
		"some have not yet": {[]string{"x", "y", "z"}, "7 more alarm messages (3 Error, 4 resolved)", alarms.Error},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{name: "email"}
				row := []string{"email"}
				o := alerting.Options{Routes: alerting.Routes{alarms.Error: row, alarms.Critical: row}}
				k := newDesk(t, o, f)
				keys := []string{"a", "b", "c", "d"}
				k.raise(t, alarms.Critical, keys...)
				pass(time.Second)
				require.Equal(t, keys, f.titles())
				f.forget()
				k.Close()
				for _, key := range keys {
					k.clear(t, key)
				}
				if len(c.raise) > 0 {
					k.raise(t, alarms.Error, c.raise...)
				}
				o.Flood = map[string]alerting.Flood{"email": {Burst: 1, Every: time.Minute}}
				k.start(t, o, f)
				pass(time.Second)
				require.Equal(t, []string{c.title}, f.titles())
				got := f.got[0]
				require.Equal(t, c.severity, got.Severity)
				require.Empty(t, got.AlarmID)
				require.Zero(t, got.Code)
			})
		})
	}
}

func TestADigestAboutDeadLettersBecomesNone(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		dead int
	}{
		"of nothing else":   {[]string{alerting.DeadLetterKey("email"), alerting.DeadLetterKey("teamchat")}, 0},
		"of something else": {[]string{alerting.DeadLetterKey("email"), "Pump"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{name: "sms", answer: func(context.Context, alerting.Notification) error { return alerting.Permanent(errors.New("no")) }}
				k := newDesk(t, alerting.Options{
					Routes: alerting.Routes{alarms.Warning: {"sms"}}, Flood: map[string]alerting.Flood{"sms": {Burst: 1, Every: time.Minute}},
				}, f)
				k.raise(t, alarms.Warning, c.keys...)
				pass(time.Hour)
				require.Equal(t, []string{"2 more alarm messages (2 Warning)"}, f.titles())
				require.Len(t, k.dead(t), c.dead)
			})
		})
	}
}
