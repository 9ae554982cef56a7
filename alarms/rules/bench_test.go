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

// BenchmarkObserveLate measures what a late change costs beside a current one: on a tag without rules, with a rule, and
// with a rule whose alarm each fourth change begins or ends.
func BenchmarkObserveLate(b *testing.B) {
	for _, c := range []struct {
		name  string
		rules int
		swing float64 // how far values go; the limit is at 1000
		late  bool
	}{
		{"current/rules=0", 0, 900, false}, {"late/rules=0", 0, 900, true},
		{"current/rules=1000", 1000, 900, false}, {"late/rules=1000", 1000, 900, true},
		{"late/rules=1000/alarms", 1000, 1100, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			store := newMemory()
			changes := make([]tags.Change, 1000)
			for i := range changes {
				name := fmt.Sprintf("bridge.Area%02d.Tag%05d", i%50, i)
				if i < c.rules {
					require.NoError(b, store.AddRule(b.Context(), rules.Rule{ID: fmt.Sprint("r", i), Tag: name, Kind: rules.High, Limit: 1000, Deadband: 5, Severity: alarms.Warning, Enabled: true}))
				}
				changes[i].Tag, changes[i].Quality = &tags.Tag{Name: name, Driver: "bridge", DataType: tags.Float, Unit: "°C"}, tags.Good
			}
			service, err := alarms.New(b.Context(), store, alarms.Options{})
			require.NoError(b, err)
			r, err := rules.New(b.Context(), store, service, rules.Options{})
			require.NoError(b, err)
			at := time.Now()
			set := func(i, n int, late bool, from time.Time) {
				changes[i].Value, changes[i].Late = tags.FloatValue(c.swing*float64((n/len(changes)+i)%8)/7), late
				changes[i].SourceTime = from.Add(time.Duration(n/len(changes)) * time.Millisecond)
			}
			for i := range changes {
				set(i, 0, false, at)
			}
			r.Observe(changes)
			from := at
			if c.late {
				from = at.Add(-365 * 24 * time.Hour)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; {
				count := min(len(changes), b.N-n)
				for i := range count {
					set(i, n+i, c.late, from)
				}
				r.Observe(changes[:count])
				n += count
			}
			b.StopTimer()
			b.ReportMetric(float64(r.Stats().Late)/float64(b.N), "occurrences/op")
			require.NoError(b, r.Close(b.Context()))
			require.NoError(b, service.Close(context.Background()))
		})
	}
}
