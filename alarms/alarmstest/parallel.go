package alarmstest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
)

// errNothing ends a write that has nothing to do.
var errNothing = errors.New("nothing to do")

func testParallelRaises(t *testing.T, s *store) {
	const parallel, rounds = 16, 5
	for round := range rounds {
		var wg sync.WaitGroup
		var won atomic.Int32
		for n := range parallel {
			wg.Go(func() {
				err := s.Write(t.Context(), []alarms.Ref{{Key: "one", Create: true}}, func(next int64, f []alarms.RefResult) (alarms.Changes, error) {
					if f[0].Occurrence != nil && f[0].Occurrence.Active {
						return alarms.Changes{}, errNothing
					}
					o := occurrence(fmt.Sprintf("01900000-0000-7000-%04x-%012x", 0x8000+round, n), next, f[0].Condition, noon)
					f[0].Condition.Last = o
					return alarms.Changes{Conditions: []*alarms.Condition{f[0].Condition}, Occurrences: []*alarms.Occurrence{o}, Events: []alarms.Event{
						{Seq: next, ID: fmt.Sprintf("01900000-0000-7000-%04x-%012x", 0x9000+round, n), At: noon, Kind: alarms.Raised, Occurrence: *o}}}, nil
				})
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, errNothing):
					t.Errorf("Write: %v", err)
				}
			})
		}
		wg.Wait()
		require.Equal(t, int32(1), won.Load(), "exactly one of %d parallel raises makes an occurrence", parallel)
		require.Equal(t, 1, s.query(t, alarms.Query{Active: true, Count: true}).Total)
		s.ids = 1000 * (round + 1)
		s.clear(t, alarms.ByKey("one"), noon.Add(time.Second))
	}
	require.Len(t, s.all(t), rounds)
	codes := map[int64]bool{}
	for _, o := range s.all(t) {
		codes[o.Code] = true
	}
	require.Len(t, codes, 1, "parallel raises of one new key make one code")
}

func testParallelAcknowledges(t *testing.T, s *store) {
	const parallel = 16
	o := s.raise(t, noon, nil, "one")[0]
	var wg sync.WaitGroup
	var won atomic.Int32
	for n := range parallel {
		ref := []alarms.Ref{alarms.ByKey(o.Key), alarms.ByCode(o.Code), alarms.ByID(o.ID)}[n%3]
		wg.Go(func() {
			err := s.Write(t.Context(), []alarms.Ref{ref}, func(next int64, f []alarms.RefResult) (alarms.Changes, error) {
				if f[0].Occurrence == nil {
					return alarms.Changes{}, fmt.Errorf("%+v is not found", ref)
				}
				if f[0].Occurrence.Acknowledged() {
					return alarms.Changes{}, errNothing
				}
				f[0].Occurrence.AcknowledgedAt, f[0].Occurrence.AcknowledgedBy = noon, fmt.Sprintf("operator %d", n)
				return alarms.Changes{Occurrences: []*alarms.Occurrence{f[0].Occurrence}, Events: []alarms.Event{
					{Seq: next, ID: fmt.Sprintf("01900000-0000-7000-9000-%012x", n), At: noon, Kind: alarms.Acknowledged, Occurrence: *f[0].Occurrence, By: f[0].Occurrence.AcknowledgedBy}}}, nil
			})
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, errNothing):
				t.Errorf("Write: %v", err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int32(1), won.Load(), "exactly one of %d parallel acknowledges wins", parallel)
	events := s.events(t)
	require.Len(t, events, 2)
	require.Equal(t, events[1].By, s.stored(t, o.ID).AcknowledgedBy, "the journal and the occurrence name the same winner")
}

// testParallelSequence has a reader follow the journal while many write: what it reads must be all of
// it, in order.
func testParallelSequence(t *testing.T, s *store) {
	const writers, each = 8, 20
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				err := s.Write(t.Context(), []alarms.Ref{{Key: fmt.Sprintf("k%d", n%3*writers+w), Create: true}}, func(next int64, f []alarms.RefResult) (alarms.Changes, error) {
					o := occurrence(fmt.Sprintf("01900000-0000-7000-%04x-%012x", 0x8000+w, n), next, f[0].Condition, noon)
					o.Active, o.ClearedAt = false, noon
					f[0].Condition.Last = o
					c := alarms.Changes{Conditions: []*alarms.Condition{f[0].Condition}, Occurrences: []*alarms.Occurrence{o}}
					for i, kind := range []alarms.EventKind{alarms.Raised, alarms.Cleared} {
						c.Events = append(c.Events, alarms.Event{Seq: next + int64(i), ID: fmt.Sprintf("01900000-0000-7000-%04x-%012x", 0x9000+w, 2*n+i), At: noon, Kind: kind, Occurrence: *o})
					}
					return c, nil
				})
				if err != nil {
					t.Errorf("Write: %v", err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	var read []int64
	for ended := false; ; {
		select {
		case <-done:
			ended = true
		default:
		}
		after := int64(0)
		if len(read) > 0 {
			after = read[len(read)-1]
		}
		events, err := s.Events(t.Context(), after, 50)
		require.NoError(t, err)
		for _, e := range events {
			read = append(read, e.Seq)
		}
		if ended && len(events) == 0 {
			break
		}
	}
	require.Len(t, read, 2*writers*each, "a reader that follows the journal misses nothing")
	for i, seq := range read {
		require.Equal(t, int64(i+1), seq)
	}
}

func testReopen(t *testing.T, s *store) {
	if s.reopen == nil {
		t.Skip("the store keeps nothing over a restart")
	}
	want := s.raise(t, noon, func(_ int, o *alarms.Occurrence) { o.Labels = map[string]string{"line": "3"} }, "a", "b")
	s.change(t, alarms.ByKey("b"), noon, alarms.Shelved, func(f alarms.RefResult) {
		f.Condition.Suppression, f.Condition.ShelvedUntil = alarms.SuppressionShelved, noon.Add(time.Hour)
		f.Occurrence.Suppression = alarms.SuppressionShelved
	})
	events := s.events(t)
	s.Store = s.reopen()
	want[1].Suppression = alarms.SuppressionShelved
	for _, o := range want {
		same(t, o, s.stored(t, o.ID), "after a restart")
	}
	require.Len(t, s.events(t), len(events))
	list, err := s.SuppressedConditions(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	next := s.raise(t, noon, nil, "c")[0]
	require.Equal(t, events[len(events)-1].Seq+1, next.Seq)
	require.NotContains(t, []int64{want[0].Code, want[1].Code}, next.Code)
}

func testReopenResolutions(t *testing.T, s *store) {
	if s.reopen == nil {
		t.Skip("the store keeps nothing over a restart")
	}
	add := func() int64 {
		r, err := optional[alarms.ResolutionStore](t, s).AddResolution(t.Context(), alarms.Resolution{Code: 1, ResolvedBy: "anna", ResolvedAt: noon, ActionTaken: "x"})
		require.NoError(t, err)
		return r.ID
	}
	first := add()
	s.Store = s.reopen()
	require.Greater(t, add(), first)
	list, err := optional[alarms.ResolutionStore](t, s).Resolutions(t.Context(), 1)
	require.NoError(t, err)
	require.Len(t, list, 2)
}
