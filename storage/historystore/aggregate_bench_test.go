package historystore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// BenchmarkHistoryAggregate aggregates a year of one tag at 1 Hz by hour, and by hours that begin at no quarter of an hour; and reads
// the samples of a month, as one would without summaries.
func BenchmarkHistoryAggregate(b *testing.B) {
	const day = 86_400
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind, func(b *testing.B) {
			db, _ := storetest.Bench(b, kind)
			p := storetest.NewPlant(1)
			start := p.At.Truncate(time.Hour)
			for range 365 {
				require.NoError(b, db.History().Append(b.Context(), p.Batch(day)))
				require.NoError(b, db.History().Compact(b.Context()))
			}
			late := int64(0)
			run := func(b *testing.B, q history.Query) {
				b.Helper()
				for b.Loop() {
					count := int64(0)
					all, err := history.Aggregate(b.Context(), db.History(), p.Names[:1], q)
					require.NoError(b, err)
					for i, err := range all[0] {
						if err != nil {
							b.Fatal(err)
						}
						count += i.Stats.Count
					}
					if q.End.Equal(p.At) {
						require.Equal(b, 365*day-1+late, count)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms")
			}
			hour := history.Period{N: 1, Unit: "h"}
			b.Run("year", func(b *testing.B) { run(b, history.Query{Start: start, End: p.At, Period: hour}) })
			b.Run("yearUnaligned", func(b *testing.B) { run(b, history.Query{Start: start.Add(-7 * time.Minute), End: p.At, Period: hour}) })
			b.Run("monthOfSamples", func(b *testing.B) {
				for b.Loop() {
					count := 0
					for _, err := range db.History().Range(b.Context(), p.Names[0], start, start.AddDate(0, 0, 30)) {
						if err != nil {
							b.Fatal(err)
						}
						count++
					}
				}
				b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms")
			})
			b.Run("yearWithLate", func(b *testing.B) { // 1,000 samples from anywhere in the year wait to be compacted
				var list []history.Sample
				for i := range 1000 {
					at := start.Add(time.Duration(i*365*day/1000)*time.Second + 500*time.Microsecond)
					list = append(list, history.Sample{Tag: p.Names[0], Time: at, Value: tags.FloatValue(1), Quality: tags.Good})
				}
				require.NoError(b, db.History().Append(b.Context(), list))
				late = 1 - 365*day
				for _, err := range db.History().Range(b.Context(), p.Names[0], start, p.At) { // some may replace others
					require.NoError(b, err)
					late++
				}
				run(b, history.Query{Start: start, End: p.At, Period: hour})
			})
		})
	}
}

// BenchmarkHistoryTrim trims 100,000 tags that have not changed since before the limit, again and again.
func BenchmarkHistoryTrim(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		b.Run(kind, func(b *testing.B) {
			db, _ := storetest.Bench(b, kind)
			p := storetest.NewPlant(100_000)
			for range 3 {
				require.NoError(b, db.History().Append(b.Context(), p.Batch(100_000)))
			}
			require.NoError(b, db.History().Compact(b.Context()))
			limit := p.At.Add(time.Hour)
			b.Run("first", func(b *testing.B) {
				for range b.N {
					require.NoError(b, db.History().Trim(b.Context(), limit, 0))
				}
			})
			b.Run("next", func(b *testing.B) {
				for range b.N {
					limit = limit.Add(10 * time.Minute)
					require.NoError(b, db.History().Trim(b.Context(), limit, 0))
				}
			})
		})
	}
}
