package tagstest

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
)

// awkwardValues are values that a careless encoding changes.
func awkwardValues() []tags.Value {
	everyByte := make([]byte, 256)
	for i := range everyByte {
		everyByte[i] = byte(i)
	}
	return []tags.Value{
		{},
		tags.BoolValue(false), tags.BoolValue(true),
		tags.IntValue(0), tags.IntValue(1), tags.IntValue(-1), tags.IntValue(1<<53 + 1),
		tags.IntValue(math.MinInt64), tags.IntValue(math.MaxInt64),
		tags.FloatValue(0), tags.FloatValue(1), tags.FloatValue(0.1), tags.FloatValue(-273.15),
		tags.FloatValue(math.MaxFloat64), tags.FloatValue(-math.MaxFloat64), tags.FloatValue(math.SmallestNonzeroFloat64),
		tags.FloatValue(1 << 60),
		tags.StringValue(""), tags.StringValue("plain"), tags.StringValue("0"), tags.StringValue("true"),
		tags.StringValue("quote ' double \" percent % back \\ nul \x00 line\nend"),
		tags.StringValue("Überdruck 圧力 \U0001f321"), tags.StringValue("trailing blank "),
		tags.StringValue(strings.Repeat("long ", 4000)),
		tags.BytesValue(nil), tags.BytesValue([]byte{0}), tags.BytesValue([]byte("text")),
		tags.BytesValue(everyByte), tags.BytesValue(make([]byte, 64<<10)),
	}
}

func testHistoryValues(t *testing.T, h historySuite) {
	var mixed []history.Sample
	for i, v := range awkwardValues() {
		s := history.Sample{Tag: "mixed", Time: day0.Add(time.Duration(i) * time.Second), Value: v, Quality: tags.Good}
		if v.IsZero() {
			s.Quality, s.Reason = tags.Bad, tags.ReasonWaiting
		}
		mixed = append(mixed, s)
		s.Tag = fmt.Sprintf("alone%d", i)
		h.put(t, s)
		requireSamples(t, []history.Sample{s}, h.all(t, s.Tag), "a tag with one value")
	}
	h.put(t, mixed...)
	requireSamples(t, mixed, h.all(t, "mixed"), "a tag whose values have changing types")

	for i, v := range awkwardValues() {
		s := history.Sample{Tag: fmt.Sprintf("run%d", i), Value: v, Quality: tags.Good}
		var run []history.Sample
		for range 10 {
			s.Time = day0.Add(time.Duration(len(run)) * time.Second)
			run = append(run, s)
		}
		h.put(t, run...)
		requireSamples(t, run, h.all(t, s.Tag), "a run of one value")
	}
}

func testHistoryQualities(t *testing.T, h historySuite) {
	var want []history.Sample
	for _, q := range []tags.Quality{tags.Bad, tags.Uncertain, tags.Good} {
		for r := tags.ReasonNone; r.Known(); r++ {
			for _, v := range []tags.Value{{}, tags.FloatValue(1.5)} {
				at := day0.Add(time.Duration(len(want)) * time.Second)
				want = append(want, history.Sample{Tag: "a", Time: at, Value: v, Quality: q, Reason: r})
			}
		}
	}
	h.put(t, want...)
	requireSamples(t, want, h.all(t, "a"), "every quality with every reason")
}

func testHistoryAwkwardNames(t *testing.T, h historySuite) {
	names := []string{
		"a", "A", "a ", " a", "a.b", "a.b.c", "ab", "a%", "a_", "a*", "a?", "a/b", `a\b`, "a'b", `a"b`, "a;b", "a--b",
		"a:b", "a%2Fb", "a+b", "null", "NULL", "0", "00", "1e1", "\u00c5", "A\u030a", "größe", "温度", "\U0001f321",
		strings.Repeat("n", tags.MaxNameBytes), strings.Repeat("n", tags.MaxNameBytes-1),
	}
	var all []history.Sample
	for i, name := range names {
		all = append(all, sampleAt(name, day0, float64(i)))
	}
	h.put(t, all...)
	for i, name := range names {
		requireSamples(t, all[i:i+1], h.all(t, name), fmt.Sprintf("tag %q", name))
	}
	requireCount(t, 0, h.all(t, "b"), "Range of what was never stored")
	requireCount(t, 0, h.all(t, "%"), "Range of what was never stored")
}
