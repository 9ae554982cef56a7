package rules_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

// BenchmarkObserve measures what a change costs under rules. An operation is one change; 100,000 of
// them a second cost the time of an operation times 100,000.
func BenchmarkObserve(b *testing.B) {
	const plantTags = 10_000
	for _, c := range []struct {
		name  string
		rules int
		delay time.Duration
		swing float64 // how far values go; the limit is at 1000
	}{
		{"rules=0", 0, 0, 900},
		{"rules=10000/quiet", 10_000, 0, 900},
		{"rules=10000/delays", 10_000, time.Hour, 1100}, // each fourth change begins or ends a delay
		{"rules=10000/alarms", 10_000, 0, 1100},         // each fourth change is a transition
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkObserve(b, plantTags, c.rules, c.delay, c.swing) })
	}
}

func benchmarkObserve(b *testing.B, plantTags, count int, delay time.Duration, swing float64) {
	store := newMemory()
	for i := range count {
		require.NoError(b, store.AddRule(b.Context(), rules.Rule{
			ID: fmt.Sprintf("r%d", i), Tag: fmt.Sprintf("plc%d.Area%02d.Tag%05d", i%4, i%50, i%plantTags), Kind: rules.High,
			Limit: 1000, Deadband: 5, OnDelay: delay, Severity: alarms.Warning, Enabled: true,
		}))
	}
	service, err := alarms.New(b.Context(), store, alarms.Options{})
	require.NoError(b, err)
	r, err := rules.New(b.Context(), store, service, rules.Options{})
	require.NoError(b, err)
	changes := make([]tags.Change, plantTags)
	for i := range changes {
		changes[i].Tag = &tags.Tag{Name: fmt.Sprintf("plc%d.Area%02d.Tag%05d", i%4, i%50, i), DataType: tags.Float, Unit: "°C"}
		changes[i].Quality = tags.Good
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		for from := 0; from < plantTags && n < b.N; from += 500 {
			batch := changes[from:min(from+500, from+b.N-n, plantTags)]
			for i := range batch {
				v := float64((n/plantTags + i) % 8)
				batch[i].Value = tags.FloatValue(swing * v / 7)
			}
			r.Observe(batch)
			n += len(batch)
		}
	}
	b.StopTimer()
	stats := r.Stats()
	b.ReportMetric(float64(stats.Transitions)/float64(b.N), "transitions/op")
	require.NoError(b, r.Close(b.Context()))
	require.NoError(b, service.Close(context.Background()))
}
