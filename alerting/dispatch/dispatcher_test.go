package dispatch_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/alertsource"
	"github.com/otkit/otkit/alerting/dispatch"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
)

// fake is a channel that does as it is told.
type fake struct {
	name     string
	key      bool // takes a key
	silentOn bool // wants no resolved messages
	answer   func(ctx context.Context, n alerting.Notification) error

	mu  sync.Mutex
	got []alerting.Notification
}

func (f *fake) Name() string       { return f.name }
func (f *fake) AcceptsKey() bool   { return f.key }
func (f *fake) SendResolved() bool { return !f.silentOn }

func (f *fake) Send(ctx context.Context, n alerting.Notification) error {
	f.mu.Lock()
	f.got = append(f.got, n)
	f.mu.Unlock()
	if f.answer != nil {
		return f.answer(ctx, n)
	}
	return nil
}

// messages returns what was sent so far.
func (f *fake) messages() []alerting.Notification {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.got)
}

func (f *fake) titles() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := []string{}
	for _, n := range f.got {
		list = append(list, n.Title)
	}
	return list
}

func (f *fake) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = nil
}

// desk is a dispatcher with everything around it.
type desk struct {
	*dispatch.Dispatcher
	store    *outbox.Memory
	records  *history.Memory
	quiet    *silences.Memory
	alarms   *alarms.Service
	silences *silences.Service
	journal  dispatch.Journal // default: alarms
	log      *bytes.Buffer
}

// newDesk starts a dispatcher. It must run in a bubble of synctest.
func newDesk(t *testing.T, o dispatch.Options, channels ...alerting.Channel) *desk {
	t.Helper()
	k := &desk{store: outbox.NewMemory(), records: history.NewMemory(), quiet: silences.NewMemory(), log: new(bytes.Buffer)}
	var err error
	k.alarms, err = alarms.New(t.Context(), alarms.NewMemory(), alarms.Options{})
	require.NoError(t, err)
	k.silences = newSilences(t, k.quiet, time.Now)
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(k.log, nil))
	}
	if o.Jitter == nil {
		o.Jitter = func() float64 { return 0.5 } // waits are what they are set to
	}
	if o.Templates == nil {
		o.Templates = map[string]alerting.TemplateText{"": {Subject: "{{if .Resolved}}-{{end}}{{.Title}}"}}
	}
	k.start(t, o, channels...)
	t.Cleanup(func() { require.NoError(t, k.alarms.Close(context.Background())) })
	return k
}

func (k *desk) deps(channels ...alerting.Channel) dispatch.Deps {
	if k.journal == nil {
		k.journal = k.alarms
	}
	return dispatch.Deps{
		Journal: k.journal, Outbox: k.store, DeadLetters: k.store, Silences: k.silences, History: k.records, Channels: channels,
	}
}

func (k *desk) start(t *testing.T, o dispatch.Options, channels ...alerting.Channel) {
	t.Helper()
	d, err := dispatch.New(k.deps(channels...), o)
	require.NoError(t, err)
	k.Dispatcher = d
	d.Start()
	t.Cleanup(func() { closeAll(t, d) })
}

// close stops the dispatcher.
func (k *desk) close(t *testing.T) { closeAll(t, k.Dispatcher) }

func closeAll(t testing.TB, d *dispatch.Dispatcher) {
	t.Helper()
	require.NoError(t, d.Close(context.Background()))
}

func (k *desk) raise(t *testing.T, severity alarms.Severity, keys ...string) {
	t.Helper()
	var list []alarms.Alarm
	for _, key := range keys {
		list = append(list, alarms.Alarm{Key: key, Source: key, SourceType: "Sensor", Message: key, Severity: severity})
	}
	_, err := k.alarms.RaiseMany(t.Context(), list)
	require.NoError(t, err)
	k.Wake()
}

func (k *desk) clear(t *testing.T, key string) {
	t.Helper()
	_, err := k.alarms.Clear(t.Context(), alarms.ByKey(key), "", "")
	require.NoError(t, err)
	k.Wake()
}

func (k *desk) dead(t *testing.T) []outbox.Delivery {
	t.Helper()
	p, err := k.DeadLetters(t.Context(), "", 1, 100)
	require.NoError(t, err)
	return p.Deliveries
}

// pass lets time go by until everything waits again.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func known(names ...string) []alerting.Channel {
	var list []alerting.Channel
	for _, name := range names {
		list = append(list, &fake{name: name})
	}
	return list
}

func TestDispatchByTheDefaultTable(t *testing.T) {
	want := map[alarms.Severity]string{
		alarms.Critical: "email teamchat sms tts dashboard fcm apns",
		alarms.Error:    "teamchat dashboard fcm apns telegram line",
		alarms.Warning:  "dashboard",
		alarms.Info:     "dashboard",
	}
	for severity, names := range want {
		t.Run(severity.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				channels := known(alerting.KnownChannels()...)
				k := newDesk(t, dispatch.Options{Unrouted: []string{alerting.ChannelWebhook}}, channels...)
				k.raise(t, severity, "Pump")
				pass(10 * time.Millisecond)
				var told []string
				for _, c := range channels {
					if f := c.(*fake); len(f.messages()) > 0 {
						told = append(told, f.name)
						require.Equal(t, []string{"Pump"}, f.titles())
					}
				}
				require.Equal(t, names, strings.Join(told, " "))
			})
		})
	}
}

func TestDispatchMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "email"}
		k := newDesk(t, dispatch.Options{}, f)
		at := time.Now().UTC().Truncate(time.Microsecond)
		_, err := k.alarms.Raise(t.Context(), alarms.Alarm{
			Key: "x", Source: "plc-1", Message: "too hot", Severity: alarms.Critical, Labels: map[string]string{"job": "j", "description": "100 °C"},
		})
		require.NoError(t, err)
		pass(time.Second)
		require.Len(t, f.messages(), 1)
		n := f.messages()[0]
		_, err = uuid.Parse(n.ID)
		require.NoError(t, err)
		require.NotEmpty(t, n.EventID)
		n.ID, n.EventID, n.AlarmID, n.Code = "", "", "", 0
		require.Equal(t, alerting.Notification{
			Channel: "email", Severity: alarms.Critical, Source: "plc-1", SourceType: "Equipment", Message: "too hot", Title: "too hot",
			Body:   "Firing: too hot\n100 °C\n\nSeverity: Critical\nSource: plc-1 (Equipment)\nTime: " + at.Format(time.RFC3339) + "\njob: j",
			Labels: map[string]string{"job": "j", "description": "100 °C"}, At: at,
		}, n)
	})
}

func TestDispatchResolved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mail, chat := &fake{name: "email"}, &fake{name: "teamchat", silentOn: true}
		sms := &fake{name: "sms", answer: func(context.Context, alerting.Notification) error { return alerting.Permanent(errors.New("no")) }}
		k := newDesk(t, dispatch.Options{}, mail, chat, sms)
		k.raise(t, alarms.Critical, "Pump")
		pass(time.Second)
		o, err := k.alarms.Occurrence(t.Context(), mail.messages()[0].AlarmID)
		require.NoError(t, err)
		k.clear(t, "Pump")
		pass(time.Second)
		require.Equal(t, []string{"Pump", "-Pump"}, mail.titles())
		for _, n := range mail.messages() {
			require.Equal(t, o.ID, n.AlarmID, "both tell of one alarm")
			require.Equal(t, o.Code, n.Code)
		}
		require.Equal(t, []string{"Pump"}, chat.titles(), "does not want to hear of it")
		require.Equal(t, []string{"Pump"}, sms.titles(), "never took the first")
		require.True(t, mail.messages()[1].Resolved)
		require.NotEqual(t, mail.messages()[0].ID, mail.messages()[1].ID)
	})
}

func TestDispatchKeepsTheOrderOfAnAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fails := 2
		f := &fake{name: "email"}
		f.answer = func(_ context.Context, n alerting.Notification) error {
			if n.Message == "Pump" && fails > 0 {
				fails--
				return alerting.Retryable(errors.New("busy"), 0)
			}
			return nil
		}
		k := newDesk(t, dispatch.Options{}, f)
		k.raise(t, alarms.Critical, "Pump")
		k.clear(t, "Pump")
		k.raise(t, alarms.Critical, "Fan")
		pass(time.Minute)
		require.Equal(t, []string{"Pump", "Fan", "Pump", "Pump", "-Pump"}, f.titles())
	})
}

func TestDispatchDropsTheEndOfWhatWasNeverTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{name: "email", answer: func(context.Context, alerting.Notification) error { return alerting.Retryable(errors.New("down"), 0) }}
		k := newDesk(t, dispatch.Options{DeliveryTimeout: time.Hour}, f)
		k.raise(t, alarms.Critical, "Pump")
		pass(50 * time.Minute)
		k.clear(t, "Pump")
		pass(2 * time.Hour)
		for _, title := range f.titles() {
			require.Equal(t, "Pump", title)
		}
		require.Len(t, k.dead(t), 1)
		require.Equal(t, "down", k.dead(t)[0].LastError)
	})
}

func TestDispatchSilenced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		board := &fake{name: "dashboard"}
		k := newDesk(t, dispatch.Options{}, board)
		s, err := k.silences.Create(t.Context(), silences.Silence{
			SourceType: "*", Pattern: "Pump*", Reason: "x", StartsAt: time.Now(), EndsAt: time.Now().Add(time.Hour),
		})
		require.NoError(t, err)
		k.raise(t, alarms.Critical, "Pump-1", "Fan")
		pass(time.Second)
		k.clear(t, "Pump-1")
		pass(time.Second)
		require.Equal(t, []string{"Fan"}, board.titles())
		list, _, err := k.records.Records(t.Context(), history.Filter{}, 0, 10)
		require.NoError(t, err)
		require.Len(t, list, 2, "recorded all the same")
		for _, r := range list {
			require.Equal(t, "Sensor", r.SourceType)
			if r.Source == "Pump-1" {
				require.Equal(t, s.ID, r.Labels[alerting.LabelSilencedBy])
				require.False(t, r.CompletedAt.IsZero())
			} else {
				require.NotContains(t, r.Labels, alerting.LabelSilencedBy)
				require.True(t, r.CompletedAt.IsZero())
			}
		}
		pass(time.Hour)
		k.raise(t, alarms.Critical, "Pump-1")
		pass(time.Second)
		require.Equal(t, []string{"Fan", "Pump-1"}, board.titles(), "when the silence is over")
	})
}

func TestDispatchOfWebhookAlerts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		board := &fake{name: "dashboard"}
		k := newDesk(t, dispatch.Options{}, board)
		w, err := alertsource.New(k.alarms, k.records, k.silences, alertsource.Options{})
		require.NoError(t, err)
		_, err = k.silences.Create(t.Context(), silences.Silence{
			SourceType: "Equipment", Pattern: "fan", Reason: "x", StartsAt: time.Now(), EndsAt: time.Now().Add(time.Hour),
		})
		require.NoError(t, err)
		old := firing("Pump", time.Now().Add(-72*time.Hour)) // began long ago, heard of now
		silenced := firing("Fan", time.Now())
		silenced["labels"] = m{"alertname": "Fan", "instance": "fan"}
		for range 2 {
			_, err = w.Receive(t.Context(), "", body(t, old, silenced))
			require.NoError(t, err)
			pass(time.Second)
		}
		require.Equal(t, []string{"Pump is too hot"}, board.titles())
		list, _, err := k.records.Records(t.Context(), history.Filter{}, 0, 10)
		require.NoError(t, err)
		require.Len(t, list, 2)
	})
}

func TestDispatchEscalation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		board, mail := &fake{name: "dashboard"}, &fake{name: "email"}
		k := newDesk(t, dispatch.Options{}, board, mail)
		k.raise(t, alarms.Warning, "Pump")
		pass(time.Second)
		k.raise(t, alarms.Critical, "Pump")
		pass(time.Second)
		k.clear(t, "Pump")
		pass(time.Second)
		require.Equal(t, []string{"Pump", "Pump", "-Pump"}, board.titles())
		require.Equal(t, []string{"Pump", "-Pump"}, mail.titles())
	})
}

func TestDispatchShelved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		board := &fake{name: "dashboard"}
		k := newDesk(t, dispatch.Options{}, board)
		k.raise(t, alarms.Warning, "Pump")
		pass(time.Second)
		k.clear(t, "Pump")
		_, err := k.alarms.Shelve(t.Context(), alarms.ByKey("Pump"), time.Hour, "anna", "")
		require.NoError(t, err)
		k.raise(t, alarms.Warning, "Pump")
		pass(time.Minute)
		require.Equal(t, []string{"Pump", "-Pump"}, board.titles())
		pass(time.Hour)
		require.Equal(t, []string{"Pump", "-Pump", "Pump"}, board.titles(), "told when it is shelved no more")
	})
}

func TestChannelTest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		good := &fake{name: "email"}
		bad := &fake{name: "sms", answer: func(context.Context, alerting.Notification) error {
			return alerting.Permanent(errors.New("wrong number"))
		}}
		k := newDesk(t, dispatch.Options{}, good, bad)
		require.NoError(t, k.Test(t.Context(), "email"))
		require.Equal(t, []string{"Test message"}, good.titles())
		err := k.Test(t.Context(), "sms")
		require.ErrorIs(t, err, alerting.ErrChannelFailed)
		require.Contains(t, err.Error(), "wrong number")
		require.ErrorIs(t, k.Test(t.Context(), "tts"), alerting.ErrChannelNotFound)
		require.Empty(t, k.dead(t))
	})
}

func TestMissingChannelsAreLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newDesk(t, dispatch.Options{}, known("email", "dashboard")...)
		text := k.log.String()
		require.Equal(t, 1, strings.Count(text, "channels without settings omitted"))
		for _, name := range []string{"teamchat", "sms", "tts", "fcm", "apns", "telegram", "line"} {
			require.Contains(t, text, name)
		}
		require.NotContains(t, text, "email")
		require.NotContains(t, text, "webhook", "no route names it")
	})
}

func TestNewDispatcherRefuses(t *testing.T) {
	memory := outbox.NewMemory()
	good := dispatch.Deps{Journal: alarms.NewMemory(), Outbox: memory, DeadLetters: memory, Silences: newSilences(t, silences.NewMemory(), time.Now)}
	for text, c := range map[string]struct {
		o        dispatch.Options
		channels []alerting.Channel
	}{
		"Options.DeliveryTimeout": {o: dispatch.Options{DeliveryTimeout: -1}},
		"Options.Retention":       {o: dispatch.Options{Retention: time.Second}},
		"Options.Lease":           {o: dispatch.Options{Lease: time.Second}},
		"Options.MinBackoff":      {o: dispatch.Options{MinBackoff: time.Hour}},
		"Options.StartAfter":      {o: dispatch.Options{StartAfter: -1}},
		`channel "emial"`:         {o: dispatch.Options{Routes: alerting.Routes{alarms.Info: {"emial"}}}},
		`channel "own"`:           {channels: known("sms", "own")},
		"is in Options.Routes":    {o: dispatch.Options{Unrouted: []string{"sms"}}},
		"twice":                   {o: dispatch.Options{Routes: alerting.Routes{alarms.Info: {"sms", "sms"}}}},
		"is not a severity":       {o: dispatch.Options{Routes: alerting.Routes{9: {"sms"}}}},
		"Deps.Channels":           {channels: known("a", "a")},
		`RateLimits["sms"]`:       {o: dispatch.Options{RateLimits: map[string]alerting.RateLimit{"sms": {Interval: -1}}}},
		`RateLimits names the`:    {o: dispatch.Options{RateLimits: map[string]alerting.RateLimit{"smss": {}}}},
		"Templates names":         {o: dispatch.Options{Templates: map[string]alerting.TemplateText{"smss": {}}}},
		"channel sms: alertin":    {o: dispatch.Options{Templates: map[string]alerting.TemplateText{"sms": {Body: "{{"}}}},
	} {
		deps := good
		deps.Channels = c.channels
		_, err := dispatch.New(deps, c.o)
		require.ErrorContains(t, err, text)
		require.EqualError(t, c.o.Validate(c.channels...), err.Error())
	}
	require.NoError(t, dispatch.Options{}.Validate())
	_, err := dispatch.New(dispatch.Deps{}, dispatch.Options{})
	require.ErrorContains(t, err, "Deps.Journal")
}
