package silences

import (
	"slices"
	"strings"
	"time"
)

// Index finds the silences of an alarm without trying every one. It never changes and is safe
// for concurrent use.
type Index struct {
	silences []indexed
	byType   map[string]*typeIndex // by source type in lower case
	anyType  *typeIndex
}

type indexed struct {
	Silence
	pattern Pattern
}

// typeIndex holds the places of silences in Index.silences by what is cheapest to look up: the
// whole name, else the text before the first star, else the text after the last one.
type typeIndex struct {
	exact    map[string][]int
	prefix   map[string][]int
	suffix   map[string][]int
	rest     []int // patterns that begin and end with a star
	prefixes []int // the lengths of the keys of prefix, ascending
	suffixes []int
}

// NewIndex returns an index. If several silences match an alarm, Match returns the first of them.
func NewIndex(silences []Silence) *Index {
	x := &Index{byType: make(map[string]*typeIndex), anyType: newTypeIndex()}
	for i, s := range silences {
		x.silences = append(x.silences, indexed{s, CompilePattern(s.Pattern)})
		t := x.anyType
		if s.SourceType != "*" {
			key := strings.ToLower(s.SourceType)
			if t = x.byType[key]; t == nil {
				t = newTypeIndex()
				x.byType[key] = t
			}
		}
		t.add(x.silences[i].pattern.parts, i)
	}
	x.anyType.finish()
	for _, t := range x.byType {
		t.finish()
	}
	return x
}

// Len returns the number of silences in the index.
func (x *Index) Len() int { return len(x.silences) }

// Match returns a silence that holds at the given time for an alarm of this source, and reports whether there is one.
func (x *Index) Match(sourceType, source string, at time.Time) (Silence, bool) {
	best := len(x.silences)
	for _, t := range [...]*typeIndex{x.byType[strings.ToLower(sourceType)], x.anyType} {
		if t != nil {
			t.each(source, func(i int) {
				if s := &x.silences[i]; i < best && s.ActiveAt(at) && s.pattern.Match(source) {
					best = i
				}
			})
		}
	}
	if best == len(x.silences) {
		return Silence{}, false
	}
	return x.silences[best].Silence, true
}

// Matching returns the silences for alarms of this source, whenever they hold.
func (x *Index) Matching(sourceType, source string) []Silence {
	var found []Silence
	for _, t := range [...]*typeIndex{x.byType[strings.ToLower(sourceType)], x.anyType} {
		if t != nil {
			t.each(source, func(i int) {
				if s := &x.silences[i]; s.pattern.Match(source) {
					found = append(found, s.Silence)
				}
			})
		}
	}
	return found
}

// Equal reports whether x and o have silences that hold for the same alarms at the same times.
func (x *Index) Equal(o *Index) bool {
	return slices.EqualFunc(x.silences, o.silences, func(a, b indexed) bool {
		return a.ID == b.ID && a.SourceType == b.SourceType && a.Silence.Pattern == b.Silence.Pattern && a.StartsAt.Equal(b.StartsAt) && a.EndsAt.Equal(b.EndsAt)
	})
}

// Ended reports whether a silence ended after one time and not after another.
func (x *Index) Ended(after, until time.Time) bool {
	return slices.ContainsFunc(x.silences, func(s indexed) bool { return s.EndsAt.After(after) && !s.EndsAt.After(until) })
}

func newTypeIndex() *typeIndex {
	return &typeIndex{exact: make(map[string][]int), prefix: make(map[string][]int), suffix: make(map[string][]int)}
}

func (t *typeIndex) add(parts []string, i int) {
	first, last := parts[0], parts[len(parts)-1]
	switch {
	case len(parts) == 1:
		t.exact[first] = append(t.exact[first], i)
	case first != "":
		t.prefix[first] = append(t.prefix[first], i)
	case last != "":
		t.suffix[last] = append(t.suffix[last], i)
	default:
		t.rest = append(t.rest, i)
	}
}

func (t *typeIndex) finish() {
	t.prefixes, t.suffixes = lengths(t.prefix), lengths(t.suffix)
}

func lengths(m map[string][]int) []int {
	all := make([]int, 0, len(m))
	for k := range m {
		all = append(all, len(k))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// each calls f for the silences that may match the source; f looks at the whole pattern.
func (t *typeIndex) each(source string, f func(int)) {
	for _, i := range t.exact[source] {
		f(i)
	}
	for _, n := range t.prefixes {
		if n > len(source) {
			break
		}
		for _, i := range t.prefix[source[:n]] {
			f(i)
		}
	}
	for _, n := range t.suffixes {
		if n > len(source) {
			break
		}
		for _, i := range t.suffix[source[len(source)-n:]] {
			f(i)
		}
	}
	for _, i := range t.rest {
		f(i)
	}
}
