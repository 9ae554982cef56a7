package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/dispatch"
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
				k := newDesk(t, dispatch.Options{RateLimits: map[string]alerting.RateLimit{"email": {Burst: 3, Interval: time.Second}}}, f)
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
				o := dispatch.Options{Routes: alerting.Routes{alarms.Error: row, alarms.Critical: row}}
				k := newDesk(t, o, f)
				keys := []string{"a", "b", "c", "d"}
				k.raise(t, alarms.Critical, keys...)
				pass(time.Second)
				require.Equal(t, keys, f.titles())
				f.forget()
				k.close(t)
				pass(time.Minute) // the limit counts what was sent before the restart
				for _, key := range keys {
					k.clear(t, key)
				}
				if len(c.raise) > 0 {
					k.raise(t, alarms.Error, c.raise...)
				}
				o.RateLimits = map[string]alerting.RateLimit{"email": {Burst: 1, Interval: time.Minute}}
				k.start(t, o, f)
				pass(time.Second)
				require.Equal(t, []string{c.title}, f.titles())
				got := f.messages()[0]
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
		"of nothing else":   {[]string{dispatch.DeadLetterKey("email"), dispatch.DeadLetterKey("teamchat")}, 0},
		"of something else": {[]string{dispatch.DeadLetterKey("email"), "Pump"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{name: "sms", answer: func(context.Context, alerting.Notification) error { return alerting.Permanent(errors.New("no")) }}
				k := newDesk(t, dispatch.Options{
					Routes: alerting.Routes{alarms.Warning: {"sms"}}, RateLimits: map[string]alerting.RateLimit{"sms": {Burst: 1, Interval: time.Minute}},
				}, f)
				k.raise(t, alarms.Warning, c.keys...)
				pass(time.Hour)
				require.Equal(t, []string{"2 more alarm messages (2 Warning)"}, f.titles())
				require.Len(t, k.dead(t), c.dead)
			})
		})
	}
}

func raiseCritical(t *testing.T, k *desk, count int, source func(i int) string) {
	t.Helper()
	list := make([]alarms.Alarm, count)
	for i := range list {
		list[i] = alarms.Alarm{Key: fmt.Sprint("critical ", i), Source: source(i), Message: "too hot", Severity: alarms.Critical}
	}
	_, err := k.alarms.RaiseMany(t.Context(), list)
	require.NoError(t, err)
}

// requireSources checks that the messages name so many sources <0>, <1> and so on, one by one or in a digest.
func requireSources(t *testing.T, got []alerting.Notification, count int) {
	t.Helper()
	var all strings.Builder
	for _, n := range got {
		all.WriteString(n.Source + "\n" + n.Body + "\n")
	}
	text := all.String()
	for i := range count {
		require.Contains(t, text, fmt.Sprintf("<%d>", i))
	}
}

func TestDigestsNameEveryCriticalSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "email"}
		k := newDesk(t, dispatch.Options{
			Routes:    alerting.Routes{alarms.Critical: {"email"}},
			Templates: map[string]alerting.TemplateText{"": {Subject: "{{.Title}}", Body: "{{.Title}}"}}, // which do not name it
		}, f)
		raiseCritical(t, k, 500, func(i int) string { return fmt.Sprintf("Pump <%d>", i) })
		pass(time.Second)
		require.Len(t, f.messages(), 30)
		require.Equal(t, "471 more alarm messages (471 Critical)", f.messages()[29].Title)
		requireSources(t, f.messages(), 500)
	})
}

func TestADigestNamesTheGravestFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "email"}
		row := []string{"email"}
		o := dispatch.Options{
			Routes:     alerting.Routes{alarms.Warning: row, alarms.Critical: row},
			RateLimits: map[string]alerting.RateLimit{"email": {Burst: 1}},
			DigestLink: func(c alerting.DigestContent) string {
				return fmt.Sprintf("https://plant/alerts?severity=%s&from=%d&to=%d", c.Severity, c.From.Unix(), c.To.Unix())
			},
		}
		k := newDesk(t, o, f)
		k.close(t)
		at := time.Now().Unix()
		for i := range 30 {
			k.raise(t, alarms.Warning, fmt.Sprint("Fan ", i))
		}
		pass(5 * time.Second)
		raiseCritical(t, k, 30, func(i int) string { return fmt.Sprintf("Pump <%d>", i%29) })
		k.start(t, o, f)
		pass(time.Second)
		require.Len(t, f.messages(), 1)
		d := f.messages()[0]
		require.Equal(t, fmt.Sprintf("https://plant/alerts?severity=Critical&from=%d&to=%d", at, at+5), d.Link)
		lines := strings.Split(d.Body, "\n")
		require.Equal(t, []string{"60 more alarm messages (30 Critical, 30 Warning)", "All of them: " + d.Link, "",
			"[Critical] Pump <0>: too hot (+1)", "[Critical] Pump <1>: too hot"}, lines[:5], "the link is where no channel cuts it off")
		require.Equal(t, []string{"[Critical] Pump <28>: too hot", "and 30 more"}, lines[len(lines)-2:])
	})
}

// TestADigestLeavesTheRestToTheNext has more Critical alarms than one digest can name.
func TestADigestLeavesTheRestToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const count = 490 // planned together
		f := &fake{name: "email"}
		o := dispatch.Options{Routes: alerting.Routes{alarms.Critical: {"email"}},
			RateLimits: map[string]alerting.RateLimit{"email": {Burst: 1, Interval: time.Minute}}}
		k := newDesk(t, o, f)
		k.close(t)
		raiseCritical(t, k, count, func(i int) string { return strings.Repeat("x", 500) + fmt.Sprintf("<%d>", i) })
		k.start(t, o, f)
		pass(3 * time.Minute)
		require.Len(t, f.titles(), 2)
		require.Equal(t, count, f.messages()[0].Digest+f.messages()[1].Digest)
		requireSources(t, f.messages(), count)
	})
}

// TestARateLimitSurvivesRestarts starts an engine again and again during a flood.
func TestARateLimitSurvivesRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := group{&fake{name: "email"}, []string{"anna", "bob"}}
		o := dispatch.Options{Routes: alerting.Routes{alarms.Critical: {"email"}}}
		k := newDesk(t, o, f)
		start := time.Now()
		for round := range 6 {
			for i := range 40 {
				k.raise(t, alarms.Critical, fmt.Sprintf("%d/%d", round, i))
			}
			pass(2 * time.Second)
			k.close(t)
			k.start(t, o, f)
		}
		pass(time.Second)
		allowed := 30 + int(time.Since(start)/(10*time.Second))
		told := map[string]int{}
		for _, n := range f.messages() {
			told[n.Recipient]++
		}
		require.LessOrEqual(t, told["anna"], allowed)
		require.LessOrEqual(t, told["bob"], allowed)
		pass(time.Hour)
		sum := 0
		for _, n := range f.messages() {
			sum += max(n.Digest, 1)
		}
		require.Equal(t, 2*240, sum, "all are told in the end")
		f.forget()
		k.close(t)
		k.start(t, o, f)
		for i := range 30 {
			k.raise(t, alarms.Critical, fmt.Sprint("later ", i))
		}
		pass(time.Second)
		require.Len(t, f.messages(), 60, "after a quiet hour the whole burst is free")
	})
}
