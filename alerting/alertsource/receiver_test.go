package alertsource_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/alertsource"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/fault"
)

// receiver is a webhook over stores in memory.
type receiver struct {
	*alertsource.Receiver
	store    *history.Memory
	alarms   *alarms.Service
	silences *silences.Service
	history  *faulty
	clock    *clock
}

// faulty is a history that fails when it is told to.
type faulty struct {
	history.ReceiverStore
	apply, related error
}

func (f *faulty) ApplyRecords(ctx context.Context, changes history.Changes) error {
	if f.apply != nil {
		return f.apply
	}
	return f.ReceiverStore.ApplyRecords(ctx, changes)
}

func (f *faulty) RelatedRecords(ctx context.Context, keys []alerting.RecordKey) (history.Related, error) {
	if f.related != nil {
		return history.Related{}, f.related
	}
	return f.ReceiverStore.RelatedRecords(ctx, keys)
}

func newReceiver(t testing.TB) *receiver {
	t.Helper()
	r := &receiver{store: history.NewMemory(), clock: &clock{noon}}
	r.history = &faulty{ReceiverStore: r.store}
	var err error
	r.alarms, err = alarms.New(t.Context(), alarms.NewMemory(), alarms.Options{Now: r.clock.now})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.alarms.Close(context.Background())) })
	r.silences = newSilences(t, silences.NewMemory(), r.clock.now)
	r.Receiver, err = alertsource.New(r.alarms, r.history, r.silences, alertsource.Options{Now: r.clock.now})
	require.NoError(t, err)
	return r
}

type m = map[string]any

func body(t testing.TB, alerts ...any) []byte {
	t.Helper()
	data, err := json.Marshal(m{"version": "4", "status": "resolved", "notification_reason": "first notification", "alerts": alerts})
	require.NoError(t, err)
	return data
}

// firing is an alert as Alertmanager sends it.
func firing(name string, starts time.Time) m {
	return m{
		"status": "firing", "labels": m{"alertname": name, "severity": "critical", "instance": "plc-1:9100"},
		"annotations": m{"summary": name + " is too hot", "description": "100 °C"}, "startsAt": starts.Format(time.RFC3339Nano),
		"endsAt": "0001-01-01T00:00:00Z", "generatorURL": "http://p/graph?a\u0026b", "fingerprint": "08a1f9ac2e8b4b6c",
	}
}

func resolved(a m, ends time.Time) m {
	c := m{}
	for k, v := range a {
		c[k] = v
	}
	c["status"], c["endsAt"] = "resolved", ends.Format(time.RFC3339Nano)
	return c
}

func (r *receiver) post(t testing.TB, alerts ...any) alertsource.Result {
	t.Helper()
	result, err := r.Receive(t.Context(), "", body(t, alerts...))
	require.NoError(t, err)
	return result
}

func (r *receiver) records(t testing.TB) []alerting.Record {
	t.Helper()
	list, _, err := r.store.Records(t.Context(), history.Filter{}, 0, 100)
	require.NoError(t, err)
	return list
}

func (r *receiver) events(t testing.TB) []alarms.Event {
	t.Helper()
	list, err := r.alarms.Events(t.Context(), 0, 1000)
	require.NoError(t, err)
	return list
}

func kinds(events []alarms.Event) string {
	var list []string
	for _, e := range events {
		list = append(list, string(e.Kind))
	}
	return strings.Join(list, " ")
}

func TestWebhookFiringAndResolved(t *testing.T) {
	r := newReceiver(t)
	starts := noon.Add(-time.Minute).Add(123456789)
	a := firing("Pump", starts)
	require.Equal(t, alertsource.Result{Success: true, ProcessedCount: 1, Message: "1 alerts processed"}, r.post(t, a))

	list := r.records(t)
	require.Len(t, list, 1)
	got, err := r.store.Record(t.Context(), list[0].ID)
	require.NoError(t, err)
	require.Equal(t, alerting.Record{
		ID: got.ID, Key: alerting.RecordKey{Alarm: got.Key.Alarm, At: starts.Truncate(time.Microsecond)}, Severity: alarms.Critical,
		Source: "plc-1:9100", SourceType: "Equipment", Title: "Pump is too hot", Description: "100 °C",
		Labels:      map[string]string{"alertname": "Pump", "severity": "critical", "instance": "plc-1:9100"},
		Annotations: map[string]string{"summary": "Pump is too hot", "description": "100 °C"}, Digest: got.Digest,
	}, got)

	active, err := r.alarms.Active(t.Context())
	require.NoError(t, err)
	require.Len(t, active, 1)
	require.Equal(t, "Pump is too hot", active[0].Message)
	require.Equal(t, "plc-1:9100", active[0].Source)
	require.Equal(t, alarms.Critical, active[0].Severity)

	ends := noon.Add(-time.Second)
	require.True(t, r.post(t, resolved(a, ends)).Success)
	active, err = r.alarms.Active(t.Context())
	require.NoError(t, err)
	require.Empty(t, active)
	require.Len(t, r.records(t), 1)
	require.Equal(t, ends, r.records(t)[0].CompletedAt)
	require.Equal(t, "Raised Cleared", kinds(r.events(t)))
}

func TestWebhookRepeatsChangeNothing(t *testing.T) {
	r := newReceiver(t)
	a := firing("Pump", noon)
	b := firing("Pump", noon)
	b["labels"] = m{"severity": "critical", "instance": "plc-1:9100", "alertname": "Pump"}
	b["startsAt"] = noon.In(time.FixedZone("", 7200)).Format(time.RFC3339)
	for range 3 {
		require.Equal(t, 2, r.post(t, a, b).ProcessedCount)
	}
	r.clock.at = noon.Add(time.Minute)
	for range 3 {
		require.True(t, r.post(t, resolved(a, noon.Add(time.Minute))).Success)
		_, err := r.Receive(t.Context(), "another", body(t, a))
		require.NoError(t, err, "a late repeat of firing")
	}
	require.Len(t, r.records(t), 1)
	require.Equal(t, "Raised Cleared", kinds(r.events(t)))
}

func TestWebhookSequences(t *testing.T) {
	first, second := firing("Pump", noon), firing("Pump", noon.Add(time.Minute))
	end := func(a m) m { return resolved(a, noon.Add(time.Hour)) }
	soon := resolved(first, noon.Add(30*time.Second)) // before the second began
	endless := resolved(first, time.Time{})
	for _, c := range []struct {
		name      string
		alerts    []any
		events    string
		completed int // records
		records   int
	}{
		{"one body with both", []any{first, end(first)}, "Raised Cleared", 1, 1},
		{"again after it ended", []any{first, end(first), second}, "Raised Cleared Raised", 1, 2},
		{"again, the end unheard of", []any{first, second}, "Raised", 1, 2},
		{"again, the end late", []any{first, second, soon, soon}, "Raised", 1, 2},
		{"again, an end without a time late", []any{first, second, endless}, "Raised", 1, 2},
		{"again after it ended, the end repeated", []any{first, soon, second, soon}, "Raised Cleared Raised", 1, 2},
		{"an end without a time", []any{first, endless}, "Raised Cleared", 1, 1},
		{"an end before the beginning", []any{second, resolved(second, noon)}, "Raised Cleared", 1, 1},
		{"the first is late", []any{second, first}, "Raised", 1, 2},
		{"the first is late and ends early", []any{second, first, soon}, "Raised", 1, 2},
		{"the first and its early end are late", []any{second, soon, end(second)}, "Raised Cleared", 1, 1},
		{"a pair, the earlier one ends it", []any{first, second, first, end(first), end(second)}, "Raised Cleared", 2, 2},
		{"a pair, the later one ends it", []any{first, second, first, end(second), end(first)}, "Raised Cleared", 2, 2},
		{"a pair, the later one first, the earlier one ends it", []any{second, first, second, end(first), end(second)}, "Raised Cleared", 2, 2},
		{"a pair, the later one first ends it", []any{second, first, end(second), end(first)}, "Raised Cleared", 2, 2},
		{"a pair, each hears of a half", []any{first, end(second)}, "Raised Cleared", 1, 1},
		{"a pair, each hears of the other half", []any{second, end(first)}, "Raised Cleared", 1, 1},
		{"an end without a beginning", []any{end(first)}, "", 0, 0},
		{"different labels", []any{first, firing("Fan", noon), end(first)}, "Raised Raised Cleared", 1, 2},
	} {
		for _, one := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, one body %v", c.name, one), func(t *testing.T) {
				r := newReceiver(t)
				r.clock.at = noon.Add(2 * time.Hour)
				if one {
					require.True(t, r.post(t, c.alerts...).Success)
				} else {
					for _, a := range c.alerts {
						require.True(t, r.post(t, a).Success)
					}
				}
				require.Equal(t, c.events, kinds(r.events(t)))
				completed := 0
				for _, rec := range r.records(t) {
					if !rec.CompletedAt.IsZero() {
						completed++
					}
				}
				require.Equal(t, c.completed, completed)
				require.Len(t, r.records(t), c.records)

				require.True(t, r.post(t, c.alerts...).Success)
				require.Equal(t, c.events, kinds(r.events(t)), "a repeat of the body")
				require.Len(t, r.records(t), c.records)
			})
		}
	}
}

func TestWebhookBadAlertsFailAlone(t *testing.T) {
	r := newReceiver(t)
	with := func(key string, value any) m {
		a := firing(key, noon)
		a[key] = value
		return a
	}
	good := firing("Good", noon)
	bad := []any{
		1, "x", nil, m{}, with("status", "pending"), with("status", nil), with("labels", nil), with("labels", m{}), with("labels", m{"a": 1}),
		with("labels", "x"), with("annotations", m{"a": m{}}), with("startsAt", "yesterday"), with("startsAt", nil),
		with("startsAt", "0001-01-01T00:00:00Z"), m{"status": "firing", "startsAt": noon},
	}
	broken := resolved(firing("X", noon), noon)
	broken["endsAt"] = "soon"
	bad = append(bad, broken)
	result := r.post(t, append(bad, good)...)
	require.False(t, result.Success)
	require.Equal(t, len(bad), result.FailedCount)
	require.Equal(t, 1, result.ProcessedCount)
	require.Contains(t, result.Message, "alerts[4] status must be firing or resolved")
	require.Contains(t, result.Message, "and 6 more")
	require.Len(t, r.records(t), 1)

	result = r.post(t, bad...)
	require.Equal(t, len(bad), result.FailedCount)
	require.Zero(t, result.ProcessedCount, "all bad is no failure of the stores")
}

func TestWebhookBadBodies(t *testing.T) {
	r := newReceiver(t)
	for _, text := range []string{``, `x`, `[]`, `null`, `{}`, `{"alerts":null}`, `{"alerts":[]}`, `{"alerts":{}}`, `{"alerts":[{}]`, `{"alerts":[{}]}x`} {
		_, err := r.Receive(t.Context(), "", []byte(text))
		require.ErrorIs(t, err, alertsource.ErrInvalidPayload, text)
		require.Equal(t, fault.Invalid, fault.KindOf(err))
	}
}

func TestWebhookEndAheadOfTheClock(t *testing.T) {
	r := newReceiver(t)
	a := firing("Pump", noon.Add(-time.Minute))
	r.post(t, a)
	for range 2 {
		require.True(t, r.post(t, resolved(a, noon.Add(time.Hour))).Success)
		require.Equal(t, noon, r.records(t)[0].CompletedAt, "nothing has ended that is not over")
	}
	require.Equal(t, "Raised Cleared", kinds(r.events(t)))
}

func TestWebhookConversion(t *testing.T) {
	for _, c := range []struct {
		name                string
		labels, annotations m
		want                alerting.Record
	}{
		{"severity in any case", m{"severity": " Critical\t", "a": "b"}, nil, alerting.Record{Severity: alarms.Critical, Source: "unknown", SourceType: "Equipment", Title: "unknown"}},
		{"warning", m{"severity": "WARNING", "job": "j"}, m{"title": "T", "message": "M"}, alerting.Record{Severity: alarms.Warning, Source: "j", SourceType: "Equipment", Title: "T", Description: "M"}},
		{"page is an Info", m{"severity": "page", "alertname": "A"}, nil, alerting.Record{Source: "A", SourceType: "Equipment", Title: "A"}},
		{"error is an Info", m{"severity": "error", "equipment": "E", "device": "D"}, nil, alerting.Record{Source: "E", SourceType: "Equipment", Title: "E"}},
		{"none is an Info", m{"device": "D", "job": "J"}, nil, alerting.Record{Source: "D", SourceType: "Equipment", Title: "D"}},
		{"source first", m{"source": "S", "instance": "I", "source_type": "Robot"}, m{"summary": "s", "title": "t"}, alerting.Record{Source: "S", SourceType: "Robot", Title: "s"}},
		{"blanks say nothing", m{"source": " ", "instance": "\t", "device": "D", "sourceType": " "}, m{"summary": "  ", "title": "T", "description": " ", "message": "M"},
			alerting.Record{Source: "D", SourceType: "Equipment", Title: "T", Description: "M"}},
		{"sourceType first", m{"source": "", "instance": "I", "source_type": "Robot", "sourceType": "Sensor"}, nil, alerting.Record{Source: "I", SourceType: "Sensor", Title: "I"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newReceiver(t)
			a := firing("x", noon)
			a["labels"], a["annotations"] = c.labels, c.annotations
			require.True(t, r.post(t, a).Success)
			got := r.records(t)[0]
			got.ID, got.Key, got.Labels, got.Digest = "", alerting.RecordKey{}, nil, ""
			require.Equal(t, c.want, got)
		})
	}
}

func TestWebhookSilenced(t *testing.T) {
	r := newReceiver(t)
	s, err := r.silences.Create(t.Context(), silences.Silence{
		SourceType: "equipment", Pattern: "plc-*", Reason: "x", StartsAt: noon, EndsAt: noon.Add(time.Hour),
	})
	require.NoError(t, err)
	other := firing("Fan", noon)
	other["labels"] = m{"alertname": "Fan", "instance": "fan-1", "silencedBy": "the sender"}
	require.True(t, r.post(t, firing("Pump", noon.Add(-time.Hour)), other).Success)
	list := r.records(t)
	require.Len(t, list, 2)
	require.NotContains(t, list[0].Labels, alerting.LabelSilencedBy, "a sender cannot silence")
	require.Equal(t, s.ID, list[1].Labels[alerting.LabelSilencedBy])
	active, err := r.alarms.Active(t.Context())
	require.NoError(t, err)
	require.Len(t, active, 2, "it is raised all the same")
}

func TestWebhookStoreFails(t *testing.T) {
	full := errors.New("disk is full")
	r := newReceiver(t)
	r.history.related = full
	_, err := r.Receive(t.Context(), "", body(t, firing("Pump", noon), 1))
	require.ErrorIs(t, err, alertsource.ErrNothingStored)
	f, _ := fault.From(err)
	require.Equal(t, "STORAGE_FAILED", f.Code, "as elsewhere where the stores fail")
	require.Equal(t, fault.Internal, fault.KindOf(err))
	require.Empty(t, r.events(t))

	r.history.related, r.history.apply = nil, full
	_, err = r.Receive(t.Context(), "", body(t, firing("Pump", noon)))
	require.ErrorIs(t, err, alertsource.ErrNothingStored)
	r.history.apply = nil
	require.True(t, r.post(t, firing("Pump", noon)).Success, "the sender's repeat completes it")
	require.Equal(t, "Raised", kinds(r.events(t)))
	require.Len(t, r.records(t), 1)

	// A repeat needs no store, but the new alert beside it does: the sender is to come again.
	r.history.apply = full
	_, err = r.Receive(t.Context(), "", body(t, firing("Pump", noon), firing("Fan", noon)))
	require.ErrorIs(t, err, alertsource.ErrNothingStored)
	r.history.apply = nil
	require.True(t, r.post(t, firing("Pump", noon), firing("Fan", noon)).Success)
	require.Len(t, r.records(t), 2)
}

func TestWebhookInterruptedThenResolved(t *testing.T) {
	r := newReceiver(t)
	a := firing("Pump", noon)
	r.history.apply = errors.New("gone")
	_, err := r.Receive(t.Context(), "", body(t, a))
	require.Error(t, err)
	r.history.apply = nil
	r.clock.at = noon.Add(time.Hour)
	require.True(t, r.post(t, resolved(a, noon.Add(time.Minute))).Success)
	list := r.records(t)
	require.Len(t, list, 1, "an alarm that was raised has its record")
	require.Equal(t, noon.Add(time.Minute), list[0].CompletedAt)
	require.Equal(t, "Raised Cleared", kinds(r.events(t)))
}

func TestWebhookOverlong(t *testing.T) {
	r := newReceiver(t)
	a := firing("Pump", noon)
	labels := m{"alertname": "Pump", "instance": strings.Repeat("ä", 1000), "sourceType": strings.Repeat("t", 300)}
	for i := range 200 {
		labels[fmt.Sprintf("l%03d", i)] = strings.Repeat("x", 5000)
	}
	a["labels"], a["annotations"] = labels, m{"summary": strings.Repeat("s", 10_000), "description": strings.Repeat("d", 10_000)}
	labels[strings.Repeat("a", 300)] = strings.Repeat("ö", 5000)
	other := firing("Pump", noon)
	otherLabels := maps.Clone(labels)
	otherLabels["l199"] = "what is cut off makes another alert"
	other["labels"], other["annotations"] = otherLabels, a["annotations"]
	require.True(t, r.post(t, a, other).Success)
	list := r.records(t)
	require.Len(t, list, 2)
	require.Equal(t, []string{"labels", "title", "description"}, list[0].Truncated)
	require.Less(t, size(list[0].Labels)+len(list[0].Title)+len(list[0].Description), 6<<10, "what a list shows")
	record, err := r.store.Record(t.Context(), list[0].ID)
	require.NoError(t, err)
	require.Len(t, record.Labels, alerting.MaxPairs)
	require.Equal(t, strings.Repeat("x", 5000), record.Labels["l050"])
	require.Equal(t, strings.Repeat("ö", 4096), record.Labels[strings.Repeat("a", 256)], "cut between characters")
	require.Equal(t, strings.Repeat("ä", 256), record.Source)
	require.Equal(t, strings.Repeat("t", 128), record.SourceType)
	require.Equal(t, strings.Repeat("s", 8<<10), record.Title)
	require.Equal(t, strings.Repeat("d", 8<<10), record.Description)
	require.Equal(t, []string{"labels", "annotations", "title", "description"}, record.Truncated)
	active, err := r.alarms.Active(t.Context())
	require.NoError(t, err)
	require.Len(t, active, 2)
	require.Less(t, size(active[0].Labels), 24<<10)
}

func size(pairs map[string]string) (n int) {
	for name, value := range pairs {
		n += len(name) + len(value)
	}
	return n
}

func TestWebhookConcurrent(t *testing.T) {
	r := newReceiver(t)
	done := make(chan error)
	for range 8 {
		go func() {
			_, err := r.Receive(context.Background(), "", body(t, firing("Pump", noon), firing("Fan", noon)))
			done <- err
		}()
	}
	for range 8 {
		require.NoError(t, <-done)
	}
	require.Len(t, r.records(t), 2)
	require.Equal(t, "Raised Raised", kinds(r.events(t)))
}

func FuzzWebhook(f *testing.F) {
	f.Add(body(f, firing("Pump", noon), resolved(firing("Fan", noon), noon)))
	for _, text := range []string{
		`{}`, `{"alerts":[null,1,{}]}`, `{"alerts":[{"status":"firing","labels":{"a":"b"},"startsAt":"2026-01-01T00:00:00+02:00"}]}`,
		`{"alerts":[{"status":"resolved","labels":{"a":"\u0000"},"startsAt":"9999-12-31T23:59:59Z","endsAt":"0001-01-01T00:00:00Z"}],"truncatedAlerts":-1}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReceiver(t) // one for all would hold ever more records
		first, err := r.Receive(t.Context(), "", data)
		if err != nil {
			require.ErrorIs(t, err, alertsource.ErrInvalidPayload)
			return
		}
		count := len(r.records(t))
		require.Equal(t, first.FailedCount == 0, first.Success)
		again, err := r.Receive(t.Context(), "", data)
		require.NoError(t, err)
		require.Equal(t, first, again)
		if !strings.Contains(strings.ToLower(string(data)), "resolved") { // firing after its end is a new beginning
			require.Len(t, r.records(t), count, "a repeat adds nothing")
		}
	})
}

// BenchmarkWebhook posts 1,000 alerts in one body: firing, and then resolved.
func BenchmarkWebhook(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		r := newReceiver(b)
		var fire, resolve []any
		for i := range 1000 {
			a := firing(fmt.Sprintf("Pump %d", i), noon)
			fire, resolve = append(fire, a), append(resolve, resolved(a, noon.Add(time.Minute)))
		}
		first, second := body(b, fire...), body(b, resolve...)
		b.StartTimer()
		for _, data := range [][]byte{first, second} {
			if res, err := r.Receive(b.Context(), "", data); err != nil || !res.Success {
				b.Fatal(res, err)
			}
		}
	}
	b.ReportMetric(float64(2000*b.N)/b.Elapsed().Seconds(), "alerts/s")
}
