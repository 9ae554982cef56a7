package alertingtest

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/history"
)

// testRecordSearch checks the filters by text, state and labels.
func testRecordSearch(t *testing.T, s historyStore) {
	texts := [][2]string{{"Pump is HOT", "100% above"}, {"other", "the pump rests"}, {"Überlauf", ""}}
	labels := []map[string]string{{"job": "plant", "line": "3"}, {"job": "plant", "line": "13"}, {"job": "other", "xline": "3", `c:\`: `"`}}
	for n := range texts {
		r := record(n)
		r.Title, r.Description, r.Labels = texts[n][0], texts[n][1], labels[n]
		apply(t, s, []alerting.Record{r})
	}
	apply(t, s, nil, history.Completion{Key: recordKey(1), At: base.Add(time.Hour)})
	for _, c := range []struct {
		name   string
		filter history.Filter
		want   []int
	}{
		{"in the title or in the description", history.Filter{Text: "PUMP"}, []int{1, 0}},
		{"a percent sign", history.Filter{Text: "0% A"}, []int{0}},
		{"another letter", history.Filter{Text: "ÜberLAUF"}, []int{2}},
		{"firing", history.Filter{State: history.Firing}, []int{2, 0}},
		{"resolved", history.Filter{State: history.Resolved}, []int{1}},
		{"a label", history.Filter{Labels: map[string]string{"job": "plant"}}, []int{1, 0}},
		{"two labels", history.Filter{Labels: map[string]string{"job": "plant", "line": "3"}}, []int{0}},
		{"part of a value", history.Filter{Labels: map[string]string{"line": "1"}}, nil},
		{"awkward characters", history.Filter{Labels: map[string]string{`c:\`: `"`}}, []int{2}},
		{"all together", history.Filter{State: history.Firing, Source: "pump-", Text: "hot", Labels: map[string]string{"line": "3"}}, []int{0}},
	} {
		page, total, err := s.Records(t.Context(), c.filter, 0, 10)
		require.NoError(t, err, c.name)
		require.EqualValues(t, len(c.want), total, c.name)
		require.Len(t, page, len(c.want), c.name)
		for i, n := range c.want {
			require.Equal(t, id(n), page[i].ID, c.name)
		}
	}
}

// testRecordManyPages compares pages of thousands of records with a list of all of them.
func testRecordManyPages(t *testing.T, s historyStore) {
	random := rand.New(rand.NewPCG(3, 5))
	var all []alerting.Record // ascending
	add := func(n int) {
		var list []alerting.Record
		for range n {
			i := len(all)
			r := record(i)
			r.Key.At = base.Add(time.Duration(i/3) * time.Second) // some at one time
			r.Severity = alarms.Severity(random.IntN(4))
			if random.IntN(3) == 0 {
				r.CompletedAt = r.Key.At.Add(time.Hour)
			}
			all, list = append(all, r), append(list, r)
		}
		random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		apply(t, s, list)
		apply(t, s, list[:n/2]) // a repeat changes nothing
	}
	check := func() {
		t.Helper()
		for range 30 {
			f := history.Filter{State: []history.State{"", history.Firing, history.Resolved}[random.IntN(3)]}
			if random.IntN(2) == 0 {
				f.Severities = alarms.SeveritySet(random.IntN(16))
			}
			if random.IntN(2) == 0 {
				f.From = all[random.IntN(len(all))].Key.At
			}
			if random.IntN(2) == 0 {
				f.To = all[random.IntN(len(all))].Key.At.Add(time.Microsecond)
			}
			want := []string{}
			for i := len(all) - 1; i >= 0; i-- {
				r := &all[i]
				if f.Severities.Has(r.Severity) && (f.State == "" || r.CompletedAt.IsZero() == (f.State == history.Firing)) &&
					!r.Key.At.Before(f.From) && (f.To.IsZero() || r.Key.At.Before(f.To)) {
					want = append(want, r.ID)
				}
			}
			for _, offset := range []int{0, random.IntN(len(want) + 1), max(len(want)-20, 0), len(want) + 100} {
				page, total, err := s.Records(t.Context(), f, offset, 50)
				require.NoError(t, err)
				require.EqualValues(t, len(want), total, "%+v", f)
				got := []string{}
				for _, r := range page {
					got = append(got, r.ID)
				}
				from := min(offset, len(want))
				require.Equal(t, want[from:min(from+50, len(want))], got, "%d of %+v", offset, f)
			}
		}
	}
	add(1000)
	check()
	add(4000)
	check()
	for i := 0; i < len(all); i += 13 {
		if at := base.Add(2 * time.Hour); all[i].CompletedAt.IsZero() {
			all[i].CompletedAt = at
			apply(t, s, nil, history.Completion{Key: all[i].Key, At: at}, history.Completion{Key: all[i].Key, At: at})
		}
	}
	check()
	before := base.Add(100 * time.Minute)
	require.NoError(t, s.TrimRecords(t.Context(), before))
	var kept []alerting.Record
	for _, r := range all {
		if r.CompletedAt.IsZero() || !r.CompletedAt.Before(before) {
			kept = append(kept, r)
		}
	}
	require.NotEqual(t, len(all), len(kept))
	all = kept
	check()
}
