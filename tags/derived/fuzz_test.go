package derived

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/otkit/otkit/tags"
)

// Whatever is written, an expression is refused or gives a value of its type, or is Bad with a reason, within a second.
func FuzzExpression(f *testing.F) {
	for _, text := range []string{
		`tag("f") * 2 + tag("i") % 3`, `default(tag("bad"), 1) ** 0.5`, `let x = tag("s"); len(x + x) > 3 ? upper(x) : string(tag("b"))`,
		`1 < tag("f") + 1 < 4 and good("i")`, `scale(tag("f"), 0, 1, 0, 10)`, `bit(tag("i"), 3) || !tag("b")`, `rate("f") - delta("i")`,
		`round(tag("f"), 2) == clamp(tag("i"), 1, 2)`, `tag("s") matches "^a+$"`, `if tag("b") { 1 } else { 2 }`, `min(tag("f"), -tag("i"), 9223372036854775807)`,
	} {
		f.Add(text)
	}
	samples := map[string]tags.Value{"f": tags.FloatValue(1.5), "i": tags.IntValue(-9223372036854775808), "b": tags.BoolValue(true), "s": tags.StringValue("aa"), "bad": {}}
	kinds := map[string]tags.DataType{"f": tags.Float, "i": tags.Int, "b": tags.Bool, "s": tags.String, "bad": tags.Float}
	read := func(name string) (tags.Snapshot, error) {
		v, ok := samples[name]
		if !ok {
			return tags.Snapshot{}, errors.New("none")
		}
		quality := tags.Good
		if v.IsZero() {
			quality = tags.Bad
		}
		return tags.Snapshot{Tag: &tags.Tag{Name: name, DataType: kinds[name]}, Sample: tags.Sample{Value: v, Quality: quality, SourceTime: time.Unix(1, 0)}}, nil
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := Definition{ID: "x", Expression: text}
		if d.Validate() != nil {
			return
		}
		p, err := compile(text, func(name string) tags.DataType { return kinds[name] })
		if err != nil || p.result == "" || slices.Contains(p.inputs, d.ID) {
			return
		}
		began := time.Now()
		g := newGraph(read)
		g.change([]Definition{d}, map[string]tags.DataType{"x": p.result}, nil)
		g.pass()
		s := g.nodes["x"].src.state
		if s.quality == tags.Bad {
			if s.reason == tags.ReasonNone || g.nodes["x"].message == "" {
				t.Fatalf("%q is Bad without a reason", text)
			}
		} else if s.value.Type() != p.result {
			t.Fatalf("%q is %q of type %s, not %s", text, s.value, s.value.Type(), p.result)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Fatalf("%q took %s", text, took)
		}
	})
}
