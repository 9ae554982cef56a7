package audit_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/audit"
)

// forged is a store whose answers a test changes.
type forged struct {
	*audit.Memory
	entries func([]audit.Entry) []audit.Entry
	ends    func(anchor, head *audit.Link)
}

func (f *forged) Entries(ctx context.Context, after int64, limit int) ([]audit.Entry, error) {
	all, err := f.Memory.Entries(ctx, 0, 1000)
	if err != nil {
		return nil, err
	}
	if f.entries != nil {
		all = f.entries(all)
	}
	var page []audit.Entry
	for _, e := range all {
		if e.Seq > after && len(page) < limit {
			page = append(page, e)
		}
	}
	return page, nil
}

func (f *forged) Ends(ctx context.Context) (anchor, head audit.Link, err error) {
	anchor, head, err = f.Memory.Ends(ctx)
	if f.ends != nil {
		f.ends(&anchor, &head)
	}
	return anchor, head, err
}

func TestVerifyFindsTampering(t *testing.T) {
	without := func(seq int64) func([]audit.Entry) []audit.Entry {
		return func(all []audit.Entry) (kept []audit.Entry) {
			for _, e := range all {
				if e.Seq != seq {
					kept = append(kept, e)
				}
			}
			return kept
		}
	}
	change := func(seq int64, f func(*audit.Entry)) func([]audit.Entry) []audit.Entry {
		return func(all []audit.Entry) []audit.Entry {
			for i := range all {
				if all[i].Seq == seq {
					f(&all[i])
				}
			}
			return all
		}
	}
	for name, test := range map[string]struct {
		entries func([]audit.Entry) []audit.Entry
		ends    func(anchor, head *audit.Link)
		seq     int64
	}{
		"actor":     {change(4, func(e *audit.Entry) { e.Actor = "eve" }), nil, 4},
		"object":    {change(4, func(e *audit.Entry) { e.Objects = []string{"line", ".level"} }), nil, 4},
		"time":      {change(4, func(e *audit.Entry) { e.Time = e.Time.Add(time.Microsecond) }), nil, 4},
		"outcome":   {change(5, func(e *audit.Entry) { e.Outcome = audit.Failed }), nil, 5},
		"value":     {change(4, func(e *audit.Entry) { e.After = "1" }), nil, 4},
		"moved":     {change(3, func(e *audit.Entry) { e.Before, e.After = e.After, e.Before }), nil, 3},
		"hash":      {change(4, func(e *audit.Entry) { e.Hash[0]++ }), nil, 4},
		"removed":   {without(4), nil, 4},
		"last":      {without(8), nil, 8},
		"head":      {nil, func(_, head *audit.Link) { head.Hash[0]++ }, 8},
		"beheaded":  {without(1), func(anchor, _ *audit.Link) { anchor.Seq = 1 }, 2},
		"resealed":  {change(4, func(e *audit.Entry) { e.Actor = "eve"; *e = e.Seal(audit.Link{Seq: 3}) }), nil, 4},
		"cut short": {nil, func(_, head *audit.Link) { head.Seq = 7 }, 7},
	} {
		t.Run(name, func(t *testing.T) {
			s := &forged{Memory: audit.NewMemory()}
			l := newLog(t, s, audit.Options{})
			for range 4 {
				act := audit.Act{Actor: "anna", Action: "x", Objects: []string{"line.level"}, After: "2"}
				require.NoError(t, l.Do(t.Context(), act, func(context.Context) error { return nil }, nil))
				_, err := l.Head(t.Context()) // so that intents and outcomes take turns
				require.NoError(t, err)
			}
			report, err := l.Verify(t.Context())
			require.NoError(t, err)
			require.True(t, report.Intact(), report.Problem)
			require.EqualValues(t, 8, report.Entries)

			s.entries, s.ends = test.entries, test.ends
			report, err = l.Verify(t.Context())
			require.NoError(t, err)
			require.False(t, report.Intact())
			require.Equal(t, test.seq, report.Seq, report.Problem)
		})
	}
}

func TestVerifyKnown(t *testing.T) {
	s := audit.NewMemory()
	l := newLog(t, s, audit.Options{MaxEntries: 1000})
	_, err := s.Append(t.Context(), make([]audit.Entry, 500))
	require.NoError(t, err)
	noted, err := l.Head(t.Context())
	require.NoError(t, err)
	_, err = s.Append(t.Context(), make([]audit.Entry, 501))
	require.NoError(t, err)

	other := noted
	other.Hash[3]++
	for _, test := range []struct {
		known audit.Link
		good  bool
	}{{noted, true}, {other, false}, {audit.Link{Seq: 5000}, false}} {
		report, err := l.Verify(t.Context(), test.known)
		require.NoError(t, err)
		require.Equal(t, test.good, report.Intact(), report.Problem)
	}
}

func TestRetention(t *testing.T) {
	now := time.Now()
	s := audit.NewMemory()
	l := newLog(t, s, audit.Options{MaxAge: time.Hour, MaxEntries: 30_000, Now: func() time.Time { return now }})
	old := make([]audit.Entry, 45_000)
	for i := range old {
		old[i].Time = now
	}
	_, err := s.Append(t.Context(), old)
	require.NoError(t, err)
	n, err := l.Trim(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 15_001, n, "the notices count too")
	report, err := l.Verify(t.Context())
	require.NoError(t, err)
	require.True(t, report.Intact(), report.Problem)
	require.EqualValues(t, 15_001, report.Anchor.Seq)
	require.Len(t, records(t, l, audit.Query{Action: audit.TrimAction}), 2)

	now = now.Add(2 * time.Hour)
	_, err = l.Trim(t.Context())
	require.NoError(t, err)
	report, err = l.Verify(t.Context())
	require.NoError(t, err)
	require.True(t, report.Intact(), report.Problem)
	require.LessOrEqual(t, report.Entries, int64(5))
}

func TestJSON(t *testing.T) {
	for given, want := range map[string]string{
		``:                                          ``,
		` { "a" : 1.10 , "b":[ ] }`:                 `{"a":1.10,"b":[]}`,
		`{"Password":"x","b":{"token":{}}}`:         `{"Password":"[redacted]","b":{"token":"[redacted]"}}`,
		`[{"api_key":1,"refreshToken":"y"}]`:        `[{"api_key":"[redacted]","refreshToken":"[redacted]"}]`,
		`{"p\u0061ssword":"x"}`:                     `{"password":"[redacted]"}`,
		`{"bridgeUrl":"http://eve:pa/s@s@b1:5100"}`: `{"bridgeUrl":"http://[redacted]@b1:5100"}`,
		`{"url":"eve:pw@b1","urls":["u@b1","b2"]}`:  `{"url":"[redacted]@b1","urls":["[redacted]@b1","b2"]}`,
		`{"URL":"http://b1:5100/@x","to":"a@b.c"}`:  `{"URL":"http://[redacted]@x","to":"a@b.c"}`,
		`{"n":12345678901234567890,"secret":""}`:    `{"n":12345678901234567890,"secret":"[redacted]"}`,
		`{"password":"x"`:                           `{"bytes":15}`,
	} {
		require.Equal(t, want, audit.JSON([]byte(given)), given)
	}
	require.Contains(t, audit.JSON([]byte("no json")), `{"bytes":7,"sha256":"`)
	require.Contains(t, audit.JSON([]byte(`"`+strings.Repeat("x", audit.MaxValue)+`"`)), `{"bytes":65538,"sha256":"`)
	require.Empty(t, audit.JSON(nil))
	require.Equal(t, `{"unreadable":true}`, audit.JSON(func() {}))
	require.JSONEq(t, `{"role":"Admin"}`, audit.JSON(map[string]string{"role": "Admin"}))
}

func TestBounds(t *testing.T) {
	l := newLog(t, audit.NewMemory(), audit.Options{})
	many := make([]string, 5000)
	for i := range many {
		many[i] = strings.Repeat("n", 100)
	}
	act := audit.Act{Actor: "a\x00b\xff", Action: strings.Repeat("x", 5000), After: strings.Repeat("x", audit.MaxValue+1), Objects: append([]string{"a\nb"}, many...)}
	require.True(t, l.Record(act, audit.Result{Outcome: "odd", Detail: strings.Repeat("x", 10_000)}))
	got := records(t, l, audit.Query{})[0]
	require.Equal(t, "ab", got.Actor)
	require.Len(t, got.Action, 1024)
	require.Less(t, len(got.After), 200)
	require.Len(t, got.Detail, 4096)
	require.Equal(t, audit.Unknown, got.Outcome)
	require.Equal(t, "a b", got.Objects[0])
	require.Less(t, len(got.Objects), 3000)
}
