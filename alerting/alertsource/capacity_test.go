package alertsource_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/alertsource"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/fault"
)

// platform returns the messages of the active alarms of the platform itself.
func (r *receiver) platform(t *testing.T) []string {
	t.Helper()
	active, err := r.alarms.Active(t.Context())
	require.NoError(t, err)
	list := []string{}
	for _, o := range active {
		if o.Source == "alerting" {
			list = append(list, o.Message)
		}
	}
	return list
}

func TestWebhookHasRoomForSoMany(t *testing.T) {
	r := newReceiver(t)
	var err error
	r.Receiver, err = alertsource.New(r.alarms, r.history, r.silences, alertsource.Options{Now: r.clock.now, MaxActive: 3})
	require.NoError(t, err)
	var all []any
	for n := range 5 {
		all = append(all, firing(fmt.Sprintf("Pump %d", n), noon))
	}
	for range 2 { // the sender tries again
		_, err = r.Receive(t.Context(), "", body(t, all...))
		require.ErrorIs(t, err, alertsource.ErrTooManyAlarms)
		require.Equal(t, fault.TooMany, fault.KindOf(err), "package problem answers it with a status at which senders try again")
		require.Len(t, r.records(t), 3)
		require.Len(t, r.platform(t), 1)
	}
	require.True(t, r.post(t, all[0], all[1], all[2]).Success, "repeats need no room")
	require.True(t, r.post(t, firing("Pump 0", noon.Add(time.Second))).Success, "a sender that was started again needs none for what is active")
	require.NoError(t, r.Maintain(t.Context()))
	require.Len(t, r.platform(t), 1, "it is still full")
	require.True(t, r.post(t, resolved(all[0].(m), noon.Add(2*time.Second)), resolved(all[1].(m), noon)).Success)
	require.True(t, r.post(t, all[3]).Success)
	require.NoError(t, r.Maintain(t.Context()))
	require.Empty(t, r.platform(t))
	require.True(t, r.post(t, all[4]).Success)
	require.Equal(t, 2, strings.Count(kinds(r.events(t)), "Cleared")-1, "two alerts and the alarm of the platform")
}

// TestWebhookRoomOfSeveralEngines has two receivers over one store: room that one makes counts for the other one immediately, and what
// one has taken after a second.
func TestWebhookRoomOfSeveralEngines(t *testing.T) {
	r := newReceiver(t)
	engine := func() *alertsource.Receiver {
		e, err := alertsource.New(r.alarms, r.history, r.silences, alertsource.Options{Now: r.clock.now, MaxActive: 2})
		require.NoError(t, err)
		return e
	}
	a, b := engine(), engine()
	alerts := make([]m, 4)
	for i := range alerts {
		alerts[i] = firing(fmt.Sprintf("Pump %d", i), noon)
	}
	receive := func(e *alertsource.Receiver, alert m) error {
		_, err := e.Receive(t.Context(), "", body(t, alert))
		return err
	}
	require.NoError(t, receive(a, alerts[0]))
	require.NoError(t, receive(a, alerts[1]))
	require.ErrorIs(t, receive(b, alerts[2]), alertsource.ErrTooManyAlarms)
	require.NoError(t, receive(b, resolved(alerts[0], noon.Add(time.Second))))
	require.NoError(t, receive(a, alerts[2]))
	r.clock.at = r.clock.at.Add(time.Second)
	require.ErrorIs(t, receive(b, alerts[3]), alertsource.ErrTooManyAlarms)
}

func TestWebhookPostThatIsCut(t *testing.T) {
	r := newReceiver(t)
	post := func(group string, omitted int) {
		t.Helper()
		data, err := json.Marshal(m{"receiver": "few", "groupKey": group, "truncatedAlerts": omitted, "alerts": []any{firing("Pump", noon)}})
		require.NoError(t, err)
		_, err = r.Receive(t.Context(), "", data)
		require.NoError(t, err)
	}
	post("a", 0)
	require.Empty(t, r.platform(t))
	post("a", 3)
	post("b", 4)
	require.Len(t, r.platform(t), 1)
	require.Contains(t, r.platform(t)[0], `3 in the last post of the receiver "few"`)
	post("a", 0)
	require.Len(t, r.platform(t), 1, "b is still cut")
	post("b", 0)
	require.Empty(t, r.platform(t))

	post("a", 3)
	r.clock.at = noon.Add(25 * time.Hour)
	require.NoError(t, r.Maintain(t.Context()))
	require.Empty(t, r.platform(t), "nothing was heard of it for a day")
}

// One of two engines receives posts that are cut, and the other one looks after the limits.
func TestAlarmAboutACutPostOfAnotherEngineStays(t *testing.T) {
	r := newReceiver(t)
	other, err := alertsource.New(r.alarms, r.history, r.silences, alertsource.Options{Now: r.clock.now})
	require.NoError(t, err)
	r.clock.at = noon.Add(25 * time.Hour)
	require.NoError(t, other.Maintain(t.Context()))
	r.clock.at = noon.Add(26 * time.Hour)
	data, err := json.Marshal(m{"receiver": "few", "groupKey": "a", "truncatedAlerts": 3, "alerts": []any{firing("Pump", noon)}})
	require.NoError(t, err)
	_, err = r.Receive(t.Context(), "", data)
	require.NoError(t, err)
	require.NoError(t, other.Maintain(t.Context()))
	require.Len(t, r.platform(t), 1)
	r.clock.at = noon.Add(51 * time.Hour) // the engine that received it may be gone for good
	require.NoError(t, other.Maintain(t.Context()))
	require.Empty(t, r.platform(t))
}

func TestSilencesWithoutAToken(t *testing.T) {
	now := &clock{noon}
	full := 0
	s, err := silences.New(silences.NewMemory(), silences.Options{Now: now.now, MaxAnonymous: 2,
		OnFull: func(context.Context) { full++ }})
	require.NoError(t, err)
	make := func(anonymous bool, pattern string, life time.Duration) error {
		_, err := s.Create(t.Context(), silences.Silence{SourceType: "*", Pattern: pattern, Reason: "r", StartsAt: now.at, EndsAt: now.at.Add(life), Anonymous: anonymous})
		return err
	}
	err = make(true, "*", 31*24*time.Hour)
	require.ErrorIs(t, err, silences.ErrInvalid)
	require.ErrorContains(t, err, "endsAt must be at most 720h0m0s ahead")
	require.NoError(t, make(false, "**", 10_000*time.Hour), "somebody with a token may")
	require.NoError(t, make(true, "plc-*", time.Hour))
	require.NoError(t, make(true, "*", 30*24*time.Hour))
	require.ErrorIs(t, make(true, "c", time.Hour), silences.ErrTooMany)
	require.Equal(t, 1, full)
	require.NoError(t, make(false, "c", time.Hour))
	sum, room, err := s.Summary(t.Context())
	require.NoError(t, err)
	require.False(t, room)
	require.Equal(t, silences.Summary{Active: 4, Broad: 2, Long: 2, Anonymous: 2}, sum)

	now.at = noon.Add(2 * time.Hour)
	_, room, err = s.Summary(t.Context())
	require.NoError(t, err)
	require.True(t, room, "one has ended")
	require.NoError(t, make(true, "d", time.Hour), "and makes room")
	all, err := s.List(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 4)
}
