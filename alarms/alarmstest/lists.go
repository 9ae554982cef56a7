package alarmstest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

// testStates checks each state of a list over what can have happened to an alarm.
func testStates(t *testing.T, s *store) {
	const active, ended, acknowledged, both = "active", "ended", "acknowledged", "both"
	seq := make(map[string]int64)
	for i, reason := range []alarms.Suppression{0, alarms.SuppressionShelved, alarms.SuppressionByDesign, alarms.SuppressionOutOfService, alarms.SuppressionShelved | alarms.SuppressionByDesign} {
		for j, what := range []string{active, ended, acknowledged, both} {
			key := fmt.Sprintf("%s %d", what, reason)
			o := s.raise(t, noon.Add(time.Duration(10*i+j)*time.Second), nil, key)[0]
			seq[key] = o.Seq
			if what == acknowledged || what == both {
				s.acknowledge(t, alarms.ByKey(key), noon)
			}
			if reason != 0 {
				s.change(t, alarms.ByKey(key), noon, alarms.Suppressed, func(f alarms.RefResult) {
					f.Condition.Suppression, f.Occurrence.Suppression = reason, reason
				})
			}
			if what == ended || what == both {
				s.clear(t, alarms.ByKey(key), noon)
			}
		}
	}
	// Of a suppressed condition, the newest occurrence is listed.
	newest := s.raise(t, noon.Add(time.Hour), func(_ int, o *alarms.Occurrence) { o.Suppression = alarms.SuppressionShelved }, "ended 1")[0]
	seq["new"] = newest.Seq
	standing := func(reasons ...int) (keys []string) {
		for _, reason := range reasons {
			for _, what := range []string{active, ended, acknowledged} {
				keys = append(keys, fmt.Sprintf("%s %d", what, reason))
			}
		}
		return keys
	}
	for state, keys := range map[alarms.ListState][]string{
		alarms.ListActive:       {"active 0", "acknowledged 0"},
		alarms.ListReturned:     {"ended 0"},
		alarms.ListShelved:      append(standing(3), "active 1", "acknowledged 1", "new"),
		alarms.ListSuppressed:   standing(2, 3),
		alarms.ListOutOfService: standing(4),
	} {
		var want []int64
		for _, key := range keys {
			want = append(want, seq[key])
		}
		p := s.query(t, alarms.Query{State: state, Limit: 100, Count: true})
		require.ElementsMatch(t, want, seqs(p.Occurrences), state)
		require.Equal(t, len(want), p.Total, state)
		p = s.query(t, alarms.Query{State: state, Offset: 1, Limit: 1, Count: true})
		require.Equal(t, len(want), p.Total, state)
		require.Len(t, p.Occurrences, min(1, len(want)-1), state)
	}
	all := s.query(t, alarms.Query{State: alarms.ListAll, Limit: 100, Count: true})
	require.Equal(t, 5*3+1, all.Total, "all but those that are over and acknowledged")
	require.Len(t, all.Occurrences, all.Total)
}

// testSearch checks lists that are selected by texts and labels.
func testSearch(t *testing.T, s *store) {
	type one struct {
		source, message string
		labels          map[string]string
	}
	list := []one{
		{"Line3.Press", "Press is 91% hot", map[string]string{"line": "3", "team": "anna"}},
		{"line3.pump", "back\\slash", map[string]string{"line": "3"}},
		{"line13.press", "under_score", map[string]string{"line": "13", "xline": "3"}},
		{"LINE4", "Überdruck in Becken 2", map[string]string{`a"line`: "3", "b": `","line":"3`}},
		{"", "nothing", nil},
		{"quote", "it's 'hot'?", map[string]string{"path": `c:\`, "Line": "3", "温度": "a=b"}},
	}
	keys := make([]string, len(list))
	for i := range list {
		keys[i] = strconv.Itoa(i)
	}
	all := s.raise(t, noon, func(i int, o *alarms.Occurrence) {
		o.Source, o.Message, o.Labels = list[i].source, list[i].message, list[i].labels
	}, keys...)
	s.clear(t, alarms.ByKey("1"), noon)
	for _, c := range []struct {
		name   string
		search alarms.Search
		want   []int
	}{
		{"part of a source in another case", alarms.Search{Source: "LINE3"}, []int{0, 1}},
		{"inside a source", alarms.Search{Source: "press"}, []int{0, 2}},
		{"a character with a meaning in LIKE", alarms.Search{Source: "%"}, nil},
		{"percent", alarms.Search{Text: "91% H"}, []int{0}},
		{"underscore", alarms.Search{Text: "r_s"}, []int{2}},
		{"backslash", alarms.Search{Text: `k\S`}, []int{1}},
		{"quote and question mark", alarms.Search{Text: "'hot'?"}, []int{5}},
		{"not an ASCII letter", alarms.Search{Text: "Überdruck IN"}, []int{3}},
		{"a label", alarms.Search{Labels: map[string]string{"line": "3"}}, []int{0, 1}},
		{"two labels", alarms.Search{Labels: map[string]string{"line": "3", "team": "anna"}}, []int{0}},
		{"a label in another case", alarms.Search{Labels: map[string]string{"LINE": "3"}}, nil},
		{"a label's value in another case", alarms.Search{Labels: map[string]string{"team": "Anna"}}, nil},
		{"a part of a label's value", alarms.Search{Labels: map[string]string{"line": "1"}}, nil},
		{"a backslash at the end", alarms.Search{Labels: map[string]string{"path": `c:\`}}, []int{5}},
		{"an equals sign", alarms.Search{Labels: map[string]string{"温度": "a=b"}}, []int{5}},
		{"an empty value of a label that is not there", alarms.Search{Labels: map[string]string{"team": ""}}, nil},
		{"everything together", alarms.Search{Source: "line", Text: "hot", Labels: map[string]string{"team": "anna"}}, []int{0}},
	} {
		p := s.query(t, alarms.Query{Search: c.search, Limit: 10, Count: true})
		require.Equal(t, backward(all, c.want...), seqs(p.Occurrences), c.name)
		require.Equal(t, len(c.want), p.Total, c.name)
	}
	p := s.query(t, alarms.Query{State: alarms.ListAll, Search: alarms.Search{Source: "line"}, Offset: 1, Limit: 2, Count: true})
	require.Equal(t, backward(all, 1, 2), seqs(p.Occurrences))
	require.Equal(t, 4, p.Total)
	p = s.query(t, alarms.Query{State: alarms.ListActive, Search: alarms.Search{Source: "line3"}, Limit: 2, Count: true})
	require.Equal(t, backward(all, 0), seqs(p.Occurrences))
}

// testManyPages compares pages of thousands of occurrences, which come and go, with a list of all of them.
func testManyPages(t *testing.T, s *store) {
	p := &pages{store: s, random: rand.New(rand.NewPCG(7, 11))}
	p.raise(t, 1000)
	p.check(t)
	p.raise(t, 4000)
	p.check(t)
	for i := range 30 {
		key := alarms.ByKey(fmt.Sprintf("k%d", i*97))
		s.acknowledge(t, key, noon)
		s.clear(t, key, noon)
		s.change(t, key, noon, alarms.Escalated, func(f alarms.RefResult) {
			f.Occurrence.Severity, f.Occurrence.RaisedAt = alarms.Critical, f.Occurrence.RaisedAt.Add(time.Hour)
		})
	}
	p.check(t)
}

// testTrimManyPages does the same after occurrences were trimmed.
func testTrimManyPages(t *testing.T, s *store) {
	trimmer := optional[alarms.Trimmer](t, s)
	p := &pages{store: s, random: rand.New(rand.NewPCG(7, 11))}
	p.raise(t, 5000)
	require.NoError(t, trimmer.Trim(t.Context(), noon.Add(3000*time.Second)))
	p.check(t)
	p.raise(t, 100)
	p.check(t)
	require.NoError(t, trimmer.Trim(t.Context(), noon.Add(24*time.Hour)))
	p.check(t)
}

// pages compares pages of random occurrences with a list of all.
type pages struct {
	*store
	random *rand.Rand
	raised int
}

// raise adds occurrences that are not in the order of the journal, some at one time.
func (p *pages) raise(t *testing.T, n int) {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("k%d", p.raised+i)
	}
	p.store.raise(t, noon, func(i int, o *alarms.Occurrence) {
		o.RaisedAt = noon.Add(time.Duration(p.raised+i+p.random.IntN(500)) * time.Second)
		o.Severity = alarms.Severity(p.random.IntN(4))
		if p.random.IntN(4) == 0 {
			o.Suppression = alarms.SuppressionShelved
		}
		if p.random.IntN(3) == 0 {
			o.AcknowledgedAt = o.RaisedAt
		}
		if p.random.IntN(3) == 0 {
			o.Active, o.ClearedAt = false, o.RaisedAt
		}
	}, keys...)
	p.raised += n
}

func (p *pages) check(t *testing.T) {
	t.Helper()
	all := p.all(t)
	for range 40 {
		q := randomQuery(p.random, all)
		var want []int64
		for i := range all {
			o := &all[i]
			if q.SelectsClass(o.Class()) && (q.Start.IsZero() || !o.RaisedAt.Before(q.Start)) && (q.End.IsZero() || o.RaisedAt.Before(q.End)) {
				want = append(want, o.Seq)
			}
		}
		last := max(len(want)-25, 0)
		for _, offset := range []int{0, p.random.IntN(len(want) + 1), last, len(want), len(want) + 1000} {
			q.Offset, q.Limit, q.Count = offset, 50, true
			found := p.query(t, q)
			require.Equal(t, len(want), found.Total, "%+v", q)
			page := want[min(offset, len(want)):]
			require.Equal(t, append([]int64{}, page[:min(50, len(page))]...), append([]int64{}, seqs(found.Occurrences)...), "%+v", q)
		}
	}
}

func randomQuery(random *rand.Rand, all []alarms.Occurrence) alarms.Query {
	q := alarms.Query{Active: random.IntN(4) == 0, Unacknowledged: random.IntN(4) == 0, Suppressed: alarms.SuppressionFilter(random.IntN(3))}
	states := []alarms.ListState{"", "", alarms.ListActive, alarms.ListReturned, alarms.ListAll}
	q.State = states[random.IntN(len(states))]
	if random.IntN(2) == 0 {
		q.Severities = alarms.SeveritySet(random.IntN(16))
	}
	pick := func() time.Time {
		if random.IntN(2) == 0 || len(all) == 0 {
			return time.Time{}
		}
		return all[random.IntN(len(all))].RaisedAt.Add(time.Duration(random.IntN(3)-1) * time.Microsecond)
	}
	q.Start, q.End = pick(), pick()
	return q
}

// testByID checks lookups of several ids.
func testByID(t *testing.T, s *store) {
	all := s.raise(t, noon, func(i int, o *alarms.Occurrence) { o.Labels = map[string]string{"i": strconv.Itoa(i)} }, "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k")
	ids := []string{"unknown", all[2].ID, all[2].ID, ""}
	for _, o := range all[4:] {
		ids = append(ids, o.ID)
	}
	found, err := s.OccurrencesByID(t.Context(), ids)
	require.NoError(t, err)
	slices.SortFunc(found, func(a, b alarms.Occurrence) int { return int(a.Seq - b.Seq) })
	require.Len(t, found, 8)
	same(t, all[2], found[0], "an occurrence by id")
	require.Equal(t, seqs(all[4:]), seqs(found[1:]))
	none, err := s.OccurrencesByID(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, none)
}

func testCodesOf(t *testing.T, s *store) {
	lister := optional[alarms.CodeLister](t, s)
	all := s.raise(t, noon, nil, "a", "b", "k")
	codes, err := lister.Codes(t.Context(), []string{"a", "k", "a", "unknown"})
	require.NoError(t, err)
	require.Equal(t, map[string]int64{"a": all[0].Code, "k": all[2].Code}, codes)
	codes, err = lister.Codes(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, codes)
}
