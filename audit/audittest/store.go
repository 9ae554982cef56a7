package audittest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/audit"
)

// TestStore runs the suite. newStore returns an empty store; it is called for each test.
func TestStore(t *testing.T, newStore func(t *testing.T) audit.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s audit.Store)
	}{
		{"empty", testEmpty},
		{"append and read", testRoundTrip},
		{"outcomes", testOutcomes},
		{"filters", testFilters},
		{"pages", testPages},
		{"trim by age", testTrimAge},
		{"trim by number", testTrimNumber},
		{"trim nothing", testTrimNothing},
		{"concurrent appends form one chain", testConcurrent},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newStore(t)) })
	}
}

var start = time.Date(2026, 3, 1, 8, 0, 0, 123456000, time.UTC)

// act is the intent number n of a test, n minutes after start.
func act(n int) audit.Entry {
	return audit.Entry{Time: start.Add(time.Duration(n) * time.Minute), Act: audit.Act{
		Actor: fmt.Sprintf("user%d", n%3), Principal: "otkit user", Role: "Admin", Session: "s-1", Address: "192.0.2.7", Via: "rest",
		Action: fmt.Sprintf("action%d", n%2), Objects: []string{fmt.Sprintf("object%d", n), "line.ü%_'\"\\"},
		Before: `{"value":1}`, After: `{"value":2}`,
	}}
}

func outcome(intent int64, at time.Time, o audit.Outcome) audit.Entry {
	return audit.Entry{Time: at, Intent: intent, Result: audit.Result{Outcome: o, Code: "200", Detail: "done: ü"}}
}

func appendAll(t *testing.T, s audit.Store, entries ...audit.Entry) int64 {
	t.Helper()
	first, err := s.Append(t.Context(), entries)
	require.NoError(t, err)
	return first
}

// chain returns every entry after checking that they are chained from the anchor to the head.
func chain(t *testing.T, s audit.Store) []audit.Entry {
	t.Helper()
	anchor, head, err := s.Ends(t.Context())
	require.NoError(t, err)
	at := anchor
	var all []audit.Entry
	for {
		page, err := s.Entries(t.Context(), at.Seq, 7)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page), 7)
		for _, e := range page {
			require.Equal(t, e.Seal(at), e)
			at = e.Link()
		}
		all = append(all, page...)
		if len(page) == 0 {
			require.Equal(t, head, at)
			return all
		}
	}
}

func testEmpty(t *testing.T, s audit.Store) {
	anchor, head, err := s.Ends(t.Context())
	require.NoError(t, err)
	require.Zero(t, anchor)
	require.Zero(t, head)
	page, total, err := s.Records(t.Context(), audit.Query{Limit: 10, Count: true})
	require.NoError(t, err)
	require.Empty(t, page)
	require.Zero(t, total)
	entries, err := s.Entries(t.Context(), 0, 10)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func testRoundTrip(t *testing.T, s audit.Store) {
	require.EqualValues(t, 1, appendAll(t, s, act(0), act(1)))
	bare := audit.Entry{Time: start.Add(3 * time.Minute).In(time.FixedZone("", 3600)), Act: audit.Act{Action: "x"}, Result: audit.Result{Outcome: audit.Refused}}
	require.EqualValues(t, 3, appendAll(t, s, outcome(1, start.Add(2*time.Minute), audit.Succeeded), bare))

	got := chain(t, s)
	require.Len(t, got, 4)
	want := act(0).Seal(audit.Link{})
	require.Equal(t, want, got[0])
	require.Equal(t, bare.Seal(got[2].Link()), got[3])

	for _, objects := range [][]string{{""}, {"", "a"}, {"a", ""}, {"", ""}} { // names that callers send may be empty
		e := bare
		e.Objects = objects
		appendAll(t, s, e)
	}
	all := chain(t, s)
	require.Equal(t, []string{"", "a"}, all[5].Objects)
	require.Equal(t, []string{"", ""}, all[7].Objects)

	for _, limit := range []int{1, 2} {
		part, err := s.Entries(t.Context(), 2, limit)
		require.NoError(t, err)
		require.Equal(t, got[2:2+limit], part)
	}
}

func testOutcomes(t *testing.T, s audit.Store) {
	appendAll(t, s, act(0), act(1), act(2))
	ended := start.Add(5 * time.Minute)
	appendAll(t, s, outcome(2, ended, audit.Failed))
	appendAll(t, s, outcome(2, ended.Add(time.Second), audit.Succeeded)) // the first one counts
	event := act(4)
	event.Outcome, event.Code = audit.Refused, "WHY"
	appendAll(t, s, event)

	page, total, err := s.Records(t.Context(), audit.Query{Limit: 10, Count: true, LostBefore: start.Add(time.Minute)})
	require.NoError(t, err)
	require.EqualValues(t, 4, total)
	require.Len(t, page, 4)
	entries := chain(t, s)

	require.Equal(t, audit.Record{ID: 6, Time: event.Time, Act: event.Act, Result: event.Result, EndedAt: event.Time, Hash: entries[5].Hash}, page[0])
	require.Equal(t, audit.Record{ID: 3, Time: act(2).Time, Act: act(2).Act, Result: audit.Result{Outcome: audit.Pending}, Hash: entries[2].Hash}, page[1])
	require.Equal(t, audit.Record{ID: 2, Time: act(1).Time, Act: act(1).Act, EndedAt: ended, Hash: entries[1].Hash,
		Result: audit.Result{Outcome: audit.Failed, Code: "200", Detail: "done: ü"}}, page[2])
	require.Equal(t, audit.Result{Outcome: audit.Unknown, Detail: audit.LostDetail}, page[3].Result)

	for want, ids := range map[audit.Outcome][]int64{audit.Failed: {2}, audit.Refused: {6}, audit.Pending: {3}, audit.Unknown: {1}, audit.Succeeded: nil} {
		require.Equal(t, ids, list(t, s, audit.Query{Outcome: want, LostBefore: start.Add(time.Minute)}), want)
	}
}

// list returns the ids that a query finds, after checking the total.
func list(t *testing.T, s audit.Store, q audit.Query) []int64 {
	t.Helper()
	q.Limit, q.Count = 1000, true
	page, total, err := s.Records(t.Context(), q)
	require.NoError(t, err)
	require.EqualValues(t, len(page), total)
	var ids []int64
	for _, r := range page {
		ids = append(ids, r.ID)
	}
	return ids
}

func testFilters(t *testing.T, s audit.Store) {
	for n := range 6 {
		appendAll(t, s, act(n))
	}
	minute := func(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }
	for name, test := range map[string]struct {
		q    audit.Query
		want []int64
	}{
		"all":              {audit.Query{}, []int64{6, 5, 4, 3, 2, 1}},
		"actor":            {audit.Query{Actor: "user1"}, []int64{5, 2}},
		"action":           {audit.Query{Action: "action0"}, []int64{5, 3, 1}},
		"object":           {audit.Query{Object: "object3"}, []int64{4}},
		"part of object":   {audit.Query{Object: "object"}, nil},
		"awkward object":   {audit.Query{Object: "line.ü%_'\"\\"}, []int64{6, 5, 4, 3, 2, 1}},
		"pattern":          {audit.Query{Object: "object_"}, nil},
		"from":             {audit.Query{From: minute(4)}, []int64{6, 5}},
		"to":               {audit.Query{To: minute(2)}, []int64{2, 1}},
		"range":            {audit.Query{From: minute(2), To: minute(3)}, []int64{3}},
		"before":           {audit.Query{Before: 3}, []int64{2, 1}},
		"id":               {audit.Query{ID: 3}, []int64{3}},
		"several together": {audit.Query{Actor: "user2", Action: "action1", From: minute(1)}, []int64{6}},
		"nobody":           {audit.Query{Actor: "%"}, nil},
	} {
		require.Equal(t, test.want, list(t, s, test.q), name)
	}
}

func testPages(t *testing.T, s audit.Store) {
	for n := range 25 {
		appendAll(t, s, act(n), outcome(int64(2*n+1), start, audit.Succeeded))
	}
	var ids []int64
	for offset := 0; ; offset += 10 {
		page, total, err := s.Records(t.Context(), audit.Query{Offset: offset, Limit: 10, Count: true})
		require.NoError(t, err)
		require.EqualValues(t, 25, total)
		for _, r := range page {
			require.Equal(t, audit.Succeeded, r.Outcome)
			ids = append(ids, r.ID)
		}
		if len(page) < 10 {
			break
		}
	}
	require.Len(t, ids, 25)
	for i, id := range ids {
		require.EqualValues(t, 49-2*i, id)
	}
}

func notice(n int64, anchor audit.Link) audit.Entry {
	return audit.Entry{Time: start.Add(time.Hour), Act: audit.Act{Actor: audit.System, Action: audit.TrimAction,
		After: fmt.Sprintf(`{"removed":%d,"lastSeq":%d,"hash":"%s"}`, n, anchor.Seq, anchor.Hash)}, Result: audit.Result{Outcome: audit.Succeeded}}
}

func trim(t *testing.T, s audit.Store, cut audit.Cut, want int64) {
	t.Helper()
	n, err := s.Trim(t.Context(), cut, notice)
	require.NoError(t, err)
	require.Equal(t, want, n)
}

func testTrimAge(t *testing.T, s audit.Store) {
	for n := range 10 {
		appendAll(t, s, act(n))
	}
	before := chain(t, s)
	trim(t, s, audit.Cut{Before: start.Add(4 * time.Minute), Max: 3}, 3)
	trim(t, s, audit.Cut{Before: start.Add(4 * time.Minute), Max: 3}, 1)

	anchor, _, err := s.Ends(t.Context())
	require.NoError(t, err)
	require.Equal(t, before[3].Link(), anchor)
	after := chain(t, s)
	require.Equal(t, before[4:], after[:6])
	require.Len(t, after, 8)
	require.Equal(t, notice(1, anchor).Seal(after[6].Link()), after[7])
	require.Equal(t, []int64{12, 11, 10, 9, 8, 7, 6, 5}, list(t, s, audit.Query{}))

	appendAll(t, s, act(20), outcome(2, start.Add(21*time.Minute), audit.Succeeded)) // its intent is gone
	require.Len(t, chain(t, s), 10)
	require.Equal(t, []int64{13}, list(t, s, audit.Query{From: start.Add(20 * time.Minute), To: start.Add(25 * time.Minute)}))
}

func testTrimNumber(t *testing.T, s audit.Store) {
	for n := range 10 {
		appendAll(t, s, act(n))
	}
	trim(t, s, audit.Cut{Keep: 6, Max: 100}, 4)
	require.Len(t, chain(t, s), 7)
	trim(t, s, audit.Cut{Before: start.Add(24 * time.Hour), Keep: 1, Max: 100}, 6) // the newest stays
	after := chain(t, s)
	require.Len(t, after, 2)
	require.EqualValues(t, 11, after[0].Seq)
}

func testTrimNothing(t *testing.T, s audit.Store) {
	never := func(int64, audit.Link) audit.Entry {
		t.Error("notice called")
		return audit.Entry{}
	}
	for range 2 {
		for _, cut := range []audit.Cut{{Max: 10}, {Before: start, Max: 10}, {Keep: 3, Max: 10}} {
			n, err := s.Trim(t.Context(), cut, never)
			require.NoError(t, err)
			require.Zero(t, n)
		}
		if head, _ := s.Entries(t.Context(), 0, 1); len(head) == 0 {
			appendAll(t, s, act(0), act(1), act(2))
		}
	}
}

func testConcurrent(t *testing.T, s audit.Store) {
	const writers, each = 8, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				first, err := s.Append(t.Context(), []audit.Entry{act(w), act(n)})
				if err != nil {
					t.Errorf("append: %v", err)
					return
				}
				end := outcome(first, start, audit.Succeeded)
				end.Detail = fmt.Sprint(first)
				if _, err := s.Append(t.Context(), []audit.Entry{end}); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	wg.Wait()
	all := chain(t, s)
	require.Len(t, all, writers*each*3)
	for i, e := range all {
		require.EqualValues(t, i+1, e.Seq)
		if e.Intent != 0 {
			require.Equal(t, fmt.Sprint(e.Intent), e.Detail)
			require.True(t, strings.HasPrefix(all[e.Intent-1].Action, "action"))
		}
	}
}
