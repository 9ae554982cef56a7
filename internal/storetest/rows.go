package storetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// When is the time of rows.
var When = time.Date(2026, 3, 29, 1, 59, 59, 123456000, time.UTC)

// OneWrite returns a queued write of a tag.
func OneWrite(i int) tags.Write {
	return tags.Write{
		ID: fmt.Sprintf("01900000-0000-7000-8000-%012x", i), Tag: "press.valve", Value: tags.FloatValue(float64(i)),
		By: "operator", State: tags.WriteQueued, QueuedAt: time.UnixMicro(int64(i)),
	}
}

// RaiseAlarms writes one new alarm of each key and its event, as the service does.
func RaiseAlarms(ctx context.Context, s alarms.Store, first, count int) error {
	refs := make([]alarms.Ref, count)
	for i := range refs {
		refs[i] = alarms.Ref{Key: fmt.Sprintf("app:press/%d", first+i), Create: true}
	}
	return s.Write(ctx, refs, func(next int64, found []alarms.RefResult) (alarms.Changes, error) {
		var c alarms.Changes
		for i, f := range found {
			o := Occurrence(first+i, next+int64(i), f.Condition.Code, f.Condition.Key)
			f.Condition.Last = o
			c.Conditions, c.Occurrences = append(c.Conditions, f.Condition), append(c.Occurrences, o)
			c.Events = append(c.Events, alarms.Event{Seq: o.Seq, ID: uuid.Must(uuid.NewV7()).String(), At: o.RaisedAt, Kind: alarms.Raised, Occurrence: *o, Annunciate: true})
		}
		return c, nil
	})
}

// Occurrence returns an alarm.
func Occurrence(i int, seq, code int64, key string) *alarms.Occurrence {
	return &alarms.Occurrence{
		Seq: seq, ID: uuid.Must(uuid.NewV7()).String(), Code: code, Key: key, Source: fmt.Sprintf("line3.press%d", i%1000),
		SourceType: "Sensor", Message: "line3.press.temperature is 91.5, above 80", Severity: alarms.Severity(i % 4),
		RaisedAt: When.Add(time.Duration(i) * time.Millisecond), Active: true, Labels: map[string]string{"group": "1"},
	}
}

// Records returns records of alerts.
func Records(first, count int) []alerting.Record {
	list := make([]alerting.Record, count)
	for i := range list {
		n := first + i
		list[i] = alerting.Record{
			ID:       fmt.Sprintf("01900000-0000-7000-8000-%012x", n),
			Key:      alerting.RecordKey{Alarm: fmt.Sprintf("webhook:%016x", n%50_000), At: When.Add(time.Duration(n) * 2592 * time.Millisecond)},
			Severity: alarms.Severity(n % 4), Source: fmt.Sprintf("line3.press%d", n*7919%1000), SourceType: "Equipment",
			Title: "press is too hot", Description: "the press of line 3 is too hot", Labels: map[string]string{"job": "plant", "instance": "a"},
			Annotations: map[string]string{"summary": "press is too hot"},
		}
	}
	return list
}

// PlanDeliveries adds deliveries to an outbox.
func PlanDeliveries(tb testing.TB, o outbox.Store, first, count int, due time.Time) {
	tb.Helper()
	list := make([]outbox.Delivery, count)
	for i := range list {
		n := first + i
		id := fmt.Sprintf("01900000-0000-7000-8000-%012x", n)
		list[i] = outbox.Delivery{
			ID: id, Seq: int64(n), EventID: id, Occurrence: id, Channel: "sms", State: outbox.Pending, NextAttempt: due,
			CreatedAt: When, ExpiresAt: When.Add(24 * time.Hour),
			Notification: alerting.Notification{ID: id, EventID: id, Channel: "sms", Title: "[Error] press", Body: "the press is too hot", At: When},
		}
	}
	at, err := o.Cursor(tb.Context())
	require.NoError(tb, err)
	require.NoError(tb, o.Plan(tb.Context(), at, at+1, list))
}

// Plant makes samples as equipment does: values with two digits that wander, about once a
// second with a jitter of a millisecond.
type Plant struct {
	r      *rand.Rand
	Names  []string
	values []float64
	At     time.Time
	next   int
}

// NewPlant returns a plant with so many tags.
func NewPlant(count int) *Plant {
	p := &Plant{r: rand.New(rand.NewPCG(1, 2)), At: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for i := range count {
		p.Names = append(p.Names, fmt.Sprintf("line.tag%d", i))
		p.values = append(p.values, 20)
	}
	return p
}

// Batch returns the next samples.
func (p *Plant) Batch(n int) []history.Sample {
	out := make([]history.Sample, n)
	for i := range out {
		t := p.next % len(p.Names)
		if t == 0 {
			p.At = p.At.Add(time.Second)
		}
		p.next++
		p.values[t] += p.r.NormFloat64() / 10
		out[i] = history.Sample{
			Tag: p.Names[t], Time: p.At.Add(time.Duration(p.r.IntN(1000)) * time.Microsecond),
			Value: tags.FloatValue(math.Round(p.values[t]*100) / 100), Quality: tags.Good,
		}
	}
	return out
}

// Samples returns all samples of a tag.
func Samples(t testing.TB, h *historystore.Store, tag string) []history.Sample {
	t.Helper()
	var out []history.Sample
	for s, err := range h.Range(t.Context(), tag, time.Unix(0, 0), When.AddDate(1, 0, 0)) {
		require.NoError(t, err)
		out = append(out, s)
	}
	return out
}

// Count is for many samples, which a failed require.Len would print.
func Count(t testing.TB, h *historystore.Store, tag string) int {
	t.Helper()
	return len(Samples(t, h, tag))
}
