package alertsource_test

import (
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting/history"
)

// word is one alert that a sender posts at a time.
type word struct {
	after  time.Duration // since noon
	sender [3]string     // peer, externalURL and receiver
	alert  m
	active int // alarms afterwards
}

func (r *receiver) hear(t *testing.T, w word) {
	t.Helper()
	r.clock.at = noon.Add(w.after)
	data, err := json.Marshal(m{"externalURL": w.sender[1], "receiver": w.sender[2], "alerts": []any{w.alert}})
	require.NoError(t, err)
	result, err := r.Receive(t.Context(), w.sender[0], data)
	require.NoError(t, err)
	require.True(t, result.Success)
	active, err := r.alarms.Active(t.Context())
	require.NoError(t, err)
	require.Len(t, active, w.active, "after %s", w.after)
}

// TestWebhookFiringAfterItsEnd posts what senders say of one alert with one startsAt.
func TestWebhookFiringAfterItsEnd(t *testing.T) {
	const s = time.Second
	fire := firing("Pump", noon.Add(-time.Hour))
	end := func(after time.Duration) m { return resolved(fire, noon.Add(after)) }
	endless := resolved(fire, time.Time{})
	a, b := [3]string{"10.0.0.1", "http://am-a:9093", "otkit"}, [3]string{"10.0.0.2", "http://am-b:9093", "otkit"}
	shared := [3]string{"10.0.0.2", "http://am-a:9093", "otkit"} // the externalURL of a, another address
	other := [3]string{"10.0.0.1", "http://am-a:9093", "other"}  // the same Alertmanager, another receiver
	for _, c := range []struct {
		name   string
		words  []word
		events string
	}{
		{"Prometheus is away and comes back", []word{
			{0, a, fire, 1}, {300 * s, a, end(250 * s), 0}, {301 * s, a, fire, 1}, {302 * s, a, fire, 1}, {900 * s, a, end(880 * s), 0},
		}, "Raised Cleared Raised Cleared"},
		{"and away again", []word{
			{0, a, fire, 1}, {10 * s, a, end(5 * s), 0}, {11 * s, a, fire, 1}, {20 * s, a, end(15 * s), 0}, {20 * s, a, end(15 * s), 0}, {21 * s, a, fire, 1},
		}, "Raised Cleared Raised Cleared Raised"},
		{"an ordinary pair", []word{
			{0, a, fire, 1}, {1 * s, b, fire, 1}, {60 * s, a, end(50 * s), 0}, {70 * s, b, end(50 * s), 0},
		}, "Raised Cleared"},
		{"a pair with one externalURL", []word{
			{0, a, fire, 1}, {1 * s, shared, fire, 1}, {60 * s, a, end(50 * s), 0}, {61 * s, shared, fire, 0}, {70 * s, shared, end(50 * s), 0},
		}, "Raised Cleared"},
		{"a late message of a cluster", []word{
			{0, a, fire, 1}, {60 * s, a, end(50 * s), 0}, {75 * s, b, fire, 0}, {120 * s, b, fire, 0},
		}, "Raised Cleared"},
		{"another receiver is another sender", []word{
			{0, a, fire, 1}, {60 * s, a, end(50 * s), 0}, {61 * s, other, fire, 0},
		}, "Raised Cleared"},
		{"one of two lost Prometheus", []word{
			{0, a, fire, 1}, {1 * s, b, fire, 1}, {60 * s, a, end(50 * s), 0}, {121 * s, b, fire, 1}, {200 * s, b, end(190 * s), 0}, {201 * s, b, end(190 * s), 0},
		}, "Raised Cleared Raised Cleared"},
		{"both told the end, either begins again", []word{
			{0, a, fire, 1}, {60 * s, a, end(50 * s), 0}, {61 * s, b, end(50 * s), 0}, {62 * s, b, fire, 1}, {63 * s, a, fire, 1},
		}, "Raised Cleared Raised"},
		{"the other one tells the old end when it lasts again", []word{
			{0, a, fire, 1}, {60 * s, a, end(50 * s), 0}, {61 * s, a, fire, 1}, {62 * s, b, end(50 * s), 1}, {63 * s, b, fire, 1}, {90 * s, b, end(80 * s), 0}, {91 * s, a, end(80 * s), 0},
		}, "Raised Cleared Raised Cleared"},
		{"a sender whose clock is ahead", []word{
			{0, a, fire, 1}, {60 * s, a, end(150 * s), 0}, {61 * s, a, fire, 1}, {62 * s, b, end(150 * s), 1}, {70 * s, a, end(160 * s), 0},
		}, "Raised Cleared Raised Cleared"},
		{"a sender that tells no end", []word{
			{0, a, fire, 1}, {60 * s, a, endless, 0}, {61 * s, a, endless, 0}, {62 * s, a, fire, 1}, {70 * s, a, endless, 0}, {71 * s, a, fire, 1},
		}, "Raised Cleared Raised Cleared Raised"},
		{"the next one, after one that began again", []word{
			{0, a, fire, 1}, {60 * s, a, end(50 * s), 0}, {61 * s, a, fire, 1}, {100 * s, a, firing("Pump", noon.Add(99*s)), 1}, {101 * s, a, end(90 * s), 1},
			{120 * s, a, resolved(firing("Pump", noon.Add(99*s)), noon.Add(110*s)), 0},
		}, "Raised Cleared Raised Cleared"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReceiver(t)
			for _, w := range c.words {
				r.hear(t, w)
			}
			require.Equal(t, c.events, kinds(r.events(t)))
			for _, rec := range r.records(t) {
				require.False(t, !rec.CompletedAt.IsZero() && rec.CompletedAt.Before(rec.Key.At))
			}
		})
	}
}

// TestWebhookFiringAgainFromBefore has a history whose ends were stored by an earlier version.
func TestWebhookFiringAgainFromBefore(t *testing.T) {
	r := newReceiver(t)
	fire := firing("Pump", noon.Add(-time.Hour))
	r.post(t, fire)
	key := r.records(t)[0].Key
	require.NoError(t, r.store.ApplyRecords(t.Context(), history.Changes{Complete: []history.Completion{{Key: key, At: noon}}}))
	r.post(t, fire)
	require.Len(t, r.records(t), 1, "late")
	r.clock.at = noon.Add(2 * time.Minute)
	r.post(t, fire)
	require.Len(t, r.records(t), 2)
}

// TestWebhookChangedAnnotation has a sender say otherwise of an alert that lasts.
func TestWebhookChangedAnnotation(t *testing.T) {
	r := newReceiver(t)
	a := firing("Pump", noon)
	r.post(t, a)
	active, err := r.alarms.Active(t.Context())
	require.NoError(t, err)
	_, err = r.alarms.Acknowledge(t.Context(), alarms.ByID(active[0].ID), "anna", "")
	require.NoError(t, err)
	changed := maps.Clone(a)
	changed["annotations"] = m{"summary": "Pump is far too hot", "description": "150 °C", "runbook_url": "http://wiki/pump"}
	for range 2 {
		r.post(t, changed)
	}
	require.Equal(t, "Raised Acknowledged Updated", kinds(r.events(t)))
	now := func() alarms.Occurrence {
		o, err := r.alarms.Occurrence(t.Context(), active[0].ID)
		require.NoError(t, err)
		require.True(t, o.Active)
		return o
	}
	require.Equal(t, "Pump is far too hot", now().Message)
	require.Equal(t, "150 °C", now().Labels["description"])
	require.Equal(t, "http://wiki/pump", now().Cause.Instructions)
	require.False(t, now().AcknowledgedAt.IsZero(), "it is the same alarm")
	require.Equal(t, "Pump is far too hot", r.events(t)[2].Occurrence.Message)
	rec, err := r.store.Record(t.Context(), r.records(t)[0].ID)
	require.NoError(t, err)
	require.Equal(t, "Pump is far too hot", rec.Title)
	require.Equal(t, "150 °C", rec.Description)
	require.Equal(t, "http://wiki/pump", rec.Annotations["runbook_url"])

	changed["annotations"] = m{"summary": "Pump is far too hot"}
	r.post(t, changed)
	require.NotContains(t, now().Labels, "description")
	require.Equal(t, "Pump", now().Labels["alertname"])
}
