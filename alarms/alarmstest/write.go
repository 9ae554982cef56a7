package alarmstest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

func testEmpty(t *testing.T, s *store) {
	require.Empty(t, s.all(t))
	require.Empty(t, numbers(s.events(t)))
	require.Zero(t, s.query(t, alarms.Query{Count: true}).Total)
	found, err := s.OccurrencesByID(t.Context(), []string{"", "no uuid", "%", "01900000-0000-7000-8000-000000000001"})
	require.NoError(t, err)
	require.Empty(t, found)
	for _, ref := range []alarms.Ref{alarms.ByCode(1), alarms.ByCode(-1), alarms.ByKey("x"), {}} {
		_, err := s.Condition(t.Context(), ref)
		require.ErrorIs(t, err, alarms.ErrAlarmNotFound, "Condition %+v", ref)
	}
	refs := []alarms.Ref{alarms.ByCode(1), alarms.ByKey("x"), alarms.ByID("01900000-0000-7000-8000-000000000001"), alarms.ByID("x")}
	require.NoError(t, s.Write(t.Context(), refs, func(next int64, found []alarms.RefResult) (alarms.Changes, error) {
		if next != 1 {
			return alarms.Changes{}, fmt.Errorf("the first sequence number is %d", next)
		}
		for i, f := range found {
			if f.Condition != nil || f.Occurrence != nil {
				return alarms.Changes{}, fmt.Errorf("%+v is found in an empty store", refs[i])
			}
		}
		return alarms.Changes{}, nil
	}))
	require.NoError(t, s.Write(t.Context(), nil, func(int64, []alarms.RefResult) (alarms.Changes, error) { return alarms.Changes{}, nil }))
	list, err := s.SuppressedConditions(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
}

func testRoundTrip(t *testing.T, s *store) {
	at := noon.Add(123456 * time.Microsecond)
	full := s.raise(t, at, func(_ int, o *alarms.Occurrence) {
		o.Severity, o.Latching, o.Suppression = alarms.Error, true, alarms.SuppressionShelved|alarms.SuppressionOutOfService
		o.ReturnedAt, o.ClearedAt, o.AcknowledgedAt = at.Add(time.Microsecond), at.Add(2*time.Hour), at.Add(time.Hour)
		o.AcknowledgedBy, o.Comment, o.Active = "anna", "seen", false
		o.Labels = map[string]string{"line": "3", "": "empty name", "größe": "温度"}
		o.Cause = alarms.Cause{Tag: "Line-3/温度", Rule: "r1", Value: "91.5", Limit: "80", Instructions: "Close \"V-1\".\nCall <the> shift."}
	}, "full")[0]
	plain := s.raise(t, at.In(time.FixedZone("", 9*3600)), nil, "plain")[0]
	same(t, full, s.stored(t, full.ID), "Occurrence")
	same(t, plain, s.stored(t, plain.ID), "Occurrence")
	for i, o := range s.all(t) {
		same(t, []alarms.Occurrence{plain, full}[i], o, "Occurrences")
	}
	for i, e := range s.events(t) {
		want := []alarms.Occurrence{full, plain}[i]
		same(t, want, e.Occurrence, "snapshot in the journal")
		require.Equal(t, want.Seq, e.Seq)
		require.NotEmpty(t, e.ID)
		require.Equal(t, alarms.Raised, e.Kind)
		require.True(t, e.At.Equal(at))
		require.True(t, e.Annunciate)
	}
	c, err := s.Condition(t.Context(), alarms.ByKey("full"))
	require.NoError(t, err)
	require.Equal(t, full.Code, c.Code)
	require.Equal(t, "full", c.Key)
	require.NotNil(t, c.Last, "Condition.Last was not stored")
	same(t, full, *c.Last, "Condition.Last")
	c, err = s.Condition(t.Context(), alarms.ByCode(plain.Code))
	require.NoError(t, err)
	require.NotNil(t, c.Last, "Condition.Last was not stored")
	same(t, plain, *c.Last, "Condition.Last")
}

func testUpdate(t *testing.T, s *store) {
	first := s.raise(t, noon, nil, "a")[0]
	s.clear(t, alarms.ByKey("a"), noon.Add(time.Minute))
	second := s.raise(t, noon.Add(2*time.Minute), nil, "a")[0]
	require.Equal(t, first.Code, second.Code, "a key keeps its code")
	s.acknowledge(t, alarms.ByID(first.ID), noon.Add(3*time.Minute)) // an older one than Last
	s.change(t, alarms.ByCode(first.Code), noon.Add(4*time.Minute), alarms.Escalated, func(f alarms.RefResult) {
		f.Occurrence.Severity, f.Occurrence.Message = alarms.Critical, "worse"
	})
	first.Active, first.ClearedAt = false, noon.Add(time.Minute)
	first.AcknowledgedAt, first.AcknowledgedBy, first.Comment = noon.Add(3*time.Minute), "anna", "seen"
	second.Message = "worse"
	same(t, first, s.stored(t, first.ID), "the first occurrence")
	same(t, second, s.stored(t, second.ID), "the second occurrence")
	c, err := s.Condition(t.Context(), alarms.ByCode(first.Code))
	require.NoError(t, err)
	require.NotNil(t, c.Last, "Condition.Last was not stored")
	require.Equal(t, second.ID, c.Last.ID, "Last is the newest occurrence, not the one changed last")
	require.Equal(t, []int64{second.Seq, first.Seq}, seqs(s.all(t)))
	s.keepsKey(t, second)

	events := s.events(t)
	var kinds []alarms.EventKind
	for i, e := range events {
		require.Equal(t, int64(i+1), e.Seq)
		kinds = append(kinds, e.Kind)
	}
	require.Equal(t, []alarms.EventKind{alarms.Raised, alarms.Cleared, alarms.Raised, alarms.Acknowledged, alarms.Escalated}, kinds)
	require.True(t, events[0].Occurrence.Active, "a snapshot stays as the event left it")
	require.False(t, events[1].Occurrence.Acknowledged(), "a snapshot stays as the event left it")
	same(t, first, events[3].Occurrence, "snapshot")
	require.Equal(t, "anna", events[3].By)
	require.Equal(t, "why", events[3].Comment)
	require.False(t, events[3].Annunciate)
}

// keepsKey stores a condition with another Key and with a Last that has another message.
func (s *store) keepsKey(t *testing.T, last alarms.Occurrence) {
	t.Helper()
	err := s.Write(t.Context(), []alarms.Ref{alarms.ByCode(last.Code)}, func(int64, []alarms.RefResult) (alarms.Changes, error) {
		other := last
		other.Message = "not stored"
		c := &alarms.Condition{Code: last.Code, Key: "another", ShelvedBy: "anna", Last: &other}
		return alarms.Changes{Conditions: []*alarms.Condition{c}}, nil
	})
	require.NoError(t, err)
	c, err := s.Condition(t.Context(), alarms.ByKey(last.Key))
	require.NoError(t, err, "Changes.Conditions must not change the Key of a condition")
	require.Equal(t, last.Key, c.Key, "Changes.Conditions must not change the Key of a condition")
	require.Equal(t, "anna", c.ShelvedBy, "ShelvedBy was not stored")
	require.NotNil(t, c.Last, "Condition.Last was not stored")
	same(t, last, *c.Last, "Changes.Conditions must not change an occurrence")
	_, err = s.Condition(t.Context(), alarms.ByKey("another"))
	require.ErrorIs(t, err, alarms.ErrAlarmNotFound, "Changes.Conditions must not change the Key of a condition")
}

func testCodes(t *testing.T, s *store) {
	a := s.raise(t, noon, nil, "a", "b", "A", "a ", "ä")
	codes := map[int64]bool{}
	for _, o := range a {
		require.Positive(t, o.Code)
		require.False(t, codes[o.Code], "keys that differ have one code")
		codes[o.Code] = true
	}
	s.clear(t, alarms.ByKey("b"), noon)
	require.Equal(t, a[1].Code, s.raise(t, noon, nil, "b")[0].Code)

	var code int64
	require.NoError(t, s.Write(t.Context(), []alarms.Ref{{Key: "quiet", Create: true}}, func(_ int64, found []alarms.RefResult) (alarms.Changes, error) {
		code = found[0].Condition.Code
		return alarms.Changes{}, nil
	}))
	c, err := s.Condition(t.Context(), alarms.ByKey("quiet"))
	require.NoError(t, err, "Create stores the condition by itself")
	require.Equal(t, code, c.Code)
	require.Nil(t, c.Last)
	require.Equal(t, code, s.raise(t, noon, nil, "quiet")[0].Code)
}

func testSameValues(t *testing.T, s *store) {
	old := s.raise(t, noon, nil, "a")[0]
	s.clear(t, alarms.ByKey("a"), noon)
	last := s.raise(t, noon, nil, "a")[0]
	refs := []alarms.Ref{alarms.ByKey("a"), alarms.ByCode(old.Code), alarms.ByID(last.ID), alarms.ByID(old.ID), alarms.ByID(old.ID),
		{Key: "new", Create: true}, {Key: "new", Create: true}, {Key: "a", Create: true}}
	require.NoError(t, s.Write(t.Context(), refs, func(_ int64, f []alarms.RefResult) (alarms.Changes, error) {
		for _, i := range []int{1, 2, 3, 4, 7} {
			if f[i].Condition == nil || f[i].Condition != f[0].Condition {
				return alarms.Changes{}, fmt.Errorf("ref %d has a Condition of its own", i)
			}
		}
		for _, i := range []int{0, 1, 2, 7} {
			if f[i].Occurrence == nil || f[i].Occurrence != f[0].Condition.Last {
				return alarms.Changes{}, fmt.Errorf("the Occurrence of ref %d is not Last", i)
			}
		}
		if f[3].Occurrence == nil || f[3].Occurrence.ID != old.ID || f[3].Occurrence != f[4].Occurrence {
			return alarms.Changes{}, errors.New("an older occurrence is not given once")
		}
		if f[5].Condition == nil || f[5].Condition != f[6].Condition || f[5].Occurrence != nil {
			return alarms.Changes{}, errors.New("a new condition is not given once")
		}
		return alarms.Changes{}, nil
	}))
}

func testAtomic(t *testing.T, s *store) {
	kept := s.raise(t, noon, nil, "kept")[0]
	stop := errors.New("stop")
	err := s.Write(t.Context(), []alarms.Ref{{Key: "lost", Create: true}, alarms.ByKey("kept")}, func(next int64, f []alarms.RefResult) (alarms.Changes, error) {
		f[1].Occurrence.Active = false
		o := occurrence("01900000-0000-7000-8000-0000000000ff", next, f[0].Condition, noon)
		return alarms.Changes{
			Conditions: []*alarms.Condition{f[0].Condition}, Occurrences: []*alarms.Occurrence{o, f[1].Occurrence},
			Events: []alarms.Event{{Seq: next, ID: "01900000-0000-7000-8000-0000000000fe", At: noon, Kind: alarms.Raised, Occurrence: *o}},
		}, stop
	})
	require.ErrorIs(t, err, stop)
	_, err = s.Condition(t.Context(), alarms.ByKey("lost"))
	require.ErrorIs(t, err, alarms.ErrAlarmNotFound)
	require.Len(t, s.all(t), 1)
	require.Len(t, s.events(t), 1)
	same(t, kept, s.stored(t, kept.ID), "what a failed change altered")
	require.Equal(t, kept.Seq+1, s.raise(t, noon, nil, "next")[0].Seq, "a failed change uses up no number")
}

func testCallersValues(t *testing.T, s *store) {
	var (
		mine  *alarms.Occurrence
		event []alarms.Event
	)
	require.NoError(t, s.Write(t.Context(), []alarms.Ref{{Key: "a", Create: true}}, func(next int64, f []alarms.RefResult) (alarms.Changes, error) {
		mine = occurrence("01900000-0000-7000-8000-000000000001", next, f[0].Condition, noon)
		f[0].Condition.Last = mine
		event = []alarms.Event{{Seq: next, ID: "01900000-0000-7000-8000-000000000002", At: noon, Kind: alarms.Raised, Occurrence: *mine}}
		return alarms.Changes{Conditions: []*alarms.Condition{f[0].Condition}, Occurrences: []*alarms.Occurrence{mine}, Events: event}, nil
	}))
	want := *mine
	mine.Message, event[0].Occurrence.Message = "changed afterwards", "changed afterwards"
	same(t, want, s.stored(t, want.ID), "after the caller changed its value")
	got := s.all(t)
	got[0].Message = "changed afterwards"
	c, err := s.Condition(t.Context(), alarms.ByKey("a"))
	require.NoError(t, err)
	require.NotNil(t, c.Last, "Condition.Last was not stored")
	c.Last.Message = "changed afterwards"
	same(t, want, s.stored(t, want.ID), "after a reader changed what it got")
	same(t, want, s.events(t)[0].Occurrence, "after the caller changed its event")
}

func testAwkwardTexts(t *testing.T, s *store) {
	for i, text := range []string{"", "größe 温度 \U0001F525", "quote ' double \" percent % back \\ ? $1", "line\nbreak\ttab", strings.Repeat("n", 4096)} {
		key := fmt.Sprintf("k%d%.200s", i, text)
		o := s.raise(t, noon, func(_ int, o *alarms.Occurrence) {
			o.Source, o.SourceType, o.Message, o.AcknowledgedBy, o.Comment = text, text, text, text, text
			o.Labels = map[string]string{"k" + text: text}
		}, key)[0]
		same(t, o, s.stored(t, o.ID), "awkward texts")
		c, err := s.Condition(t.Context(), alarms.ByKey(key))
		require.NoError(t, err)
		require.NotNil(t, c.Last, "Condition.Last was not stored")
		same(t, o, *c.Last, "awkward texts by key")
		events := s.events(t)
		same(t, o, events[len(events)-1].Occurrence, "awkward texts in the journal")
	}
}

func testBigBatch(t *testing.T, s *store) {
	const n = 3000
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("rule:%d", i)
	}
	want := s.raise(t, noon, nil, keys...)
	require.Equal(t, n, s.query(t, alarms.Query{Active: true, Count: true}).Total)
	got := s.all(t)
	require.Len(t, got, n)
	for i := range got {
		same(t, want[n-1-i], got[i], "a batch")
	}
	refs := make([]alarms.Ref, n) // by every kind of ref, in one batch
	for i, o := range want {
		refs[i] = []alarms.Ref{alarms.ByKey(o.Key), alarms.ByCode(o.Code), alarms.ByID(o.ID)}[i%3]
	}
	require.NoError(t, s.Write(t.Context(), refs, func(next int64, found []alarms.RefResult) (alarms.Changes, error) {
		var c alarms.Changes
		for i, f := range found {
			if f.Occurrence == nil || f.Occurrence.ID != want[i].ID {
				return c, fmt.Errorf("%+v is not found", refs[i])
			}
			f.Occurrence.Active, f.Occurrence.ClearedAt = false, noon.Add(time.Second)
			c.Occurrences = append(c.Occurrences, f.Occurrence)
			c.Events = append(c.Events, alarms.Event{Seq: next + int64(i), ID: fmt.Sprintf("01900000-0000-7000-9000-%012x", i), At: noon, Kind: alarms.Cleared, Occurrence: *f.Occurrence})
		}
		return c, nil
	}))
	require.Zero(t, s.query(t, alarms.Query{Active: true, Count: true}).Total)
	require.Equal(t, n, s.query(t, alarms.Query{Count: true}).Total)
	require.Len(t, s.events(t), 2*n)
}

func testCanceledContext(t *testing.T, s *store) {
	s.raise(t, noon, nil, "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Write(ctx, nil, func(int64, []alarms.RefResult) (alarms.Changes, error) { return alarms.Changes{}, nil })
	require.Error(t, err, "Write with a canceled context returned nil")
	_, err = s.Occurrences(ctx, alarms.Query{Limit: 1})
	require.Error(t, err, "Occurrences with a canceled context returned no error")
	_, err = s.Events(ctx, 0, 1)
	require.Error(t, err, "Events with a canceled context returned no error")
}
