package derived

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/otkit/otkit/tags"
)

// BenchmarkPass evaluates 10,000 expressions over 1,000 inputs that have all changed, as happens each second at 1 Hz. The bare
// baseline computes the same in Go, from the values that the expressions read.
func BenchmarkPass(b *testing.B) {
	const inputs, expressions = 1000, 10_000
	none := func(string) (tags.Snapshot, error) { return tags.Snapshot{}, errors.New("none") }
	g := newGraph(none)
	changes := make([]tags.Change, inputs)
	for i := range changes {
		changes[i].Tag = &tags.Tag{Name: fmt.Sprintf("plc.t%d", i), DataType: tags.Float}
	}
	put := make([]Definition, expressions)
	kinds := make(map[string]tags.DataType)
	for i := range put {
		put[i] = Definition{ID: fmt.Sprintf("d%d", i), Expression: fmt.Sprintf(`tag("plc.t%d") * 60 + max(tag("plc.t%d"), 10)`, i%inputs, (i*7+1)%inputs)}
		kinds[put[i].ID] = tags.Float
	}
	g.change(put, kinds, nil)
	seq := uint64(0)
	set := func(f float64) {
		now := time.Now()
		for i := range changes {
			seq++
			changes[i].Seq = seq
			changes[i].Sample = tags.Sample{Value: tags.FloatValue(f + float64(i)), Quality: tags.Good, SourceTime: now, ServerTime: now}
		}
		g.inlet.observe(changes)
	}
	set(0)
	g.pass() // which compiles them by the types
	b.Run("expressions", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			set(float64(i))
			if n := len(g.pass()); n != expressions {
				b.Fatalf("%d results", n)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/expressions, "ns/expression")
	})
	b.Run("bare", func(b *testing.B) {
		sum := 0.0
		for i := 0; b.Loop(); i++ {
			set(float64(i))
			for k := range expressions {
				x, _ := changes[k%inputs].Value.Float()
				y, _ := changes[(k*7+1)%inputs].Value.Float()
				sum += x*60 + max(y, 10)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/expressions, "ns/expression")
		_ = sum
	})
}

// BenchmarkChange replaces one of 10,000 definitions, in memory.
func BenchmarkChange(b *testing.B) {
	engine, err := tags.New(tags.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = engine.Close(context.Background()) }()
	list := make([]tags.Tag, 1000)
	for i := range list {
		list[i] = tags.Tag{Name: fmt.Sprintf("plc.t%d", i), Driver: "plc", DataType: tags.Float}
	}
	if err := engine.DefineTags(list...); err != nil {
		b.Fatal(err)
	}
	s, err := New(b.Context(), engine, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	put := make([]Owned, 10_000)
	for i := range put {
		put[i].Definition = Definition{ID: fmt.Sprintf("d%d", i), Expression: fmt.Sprintf(`tag("plc.t%d") * 60`, i%1000)}
	}
	start := time.Now()
	if err := s.SetOwned(put, nil); err != nil {
		b.Fatal(err)
	}
	b.Logf("%d definitions in %s", len(put), time.Since(start))
	if _, err := s.Create(b.Context(), Definition{ID: "one", Expression: `tag("plc.t1")`}, false); err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if _, err := s.Replace(b.Context(), Definition{ID: "one", Expression: fmt.Sprintf(`tag("plc.t%d") + 1`, i%1000)}, false, nil); err != nil {
			b.Fatal(err)
		}
	}
}
