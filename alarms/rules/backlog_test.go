package rules_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

// slowTarget takes signals once it may, and says when it has all.
type slowTarget struct {
	begun, hold, all chan struct{}
	want             int
	batches          []int
	sources          []string
}

func (s *slowTarget) Apply(_ context.Context, signals []alarms.Signal) ([]alarms.Result, error) {
	if len(s.batches) == 0 {
		close(s.begun)
		<-s.hold
	}
	s.batches = append(s.batches, len(signals))
	for _, one := range signals {
		s.sources = append(s.sources, one.Raise.Source)
	}
	if len(s.sources) == s.want {
		close(s.all)
	}
	return make([]alarms.Result, len(signals)), nil
}

func (s *slowTarget) EachActive(context.Context) iter.Seq2[alarms.Occurrence, error] {
	return func(func(alarms.Occurrence, error) bool) {}
}

// TestALargeBacklogIsTakenInParts has 40,000 alarms wait: each part of 2,000 must cost what it holds, and not
// what waits behind it, since drivers wait for the lock meanwhile.
func TestALargeBacklogIsTakenInParts(t *testing.T) {
	const n = 40_000
	store, target := newMemory(), &slowTarget{begun: make(chan struct{}), hold: make(chan struct{}), all: make(chan struct{}), want: n,
		sources: make([]string, 0, n)}
	changes, want := make([]tags.Change, n), make([]string, n)
	for i := range n {
		want[i] = fmt.Sprintf("t%05d", (i*7919)%n)
		require.NoError(t, store.AddRule(t.Context(), rule(rules.High, func(r *rules.Rule) { r.ID, r.Tag = want[i], want[i] })))
		changes[i] = tags.Change{Tag: &tags.Tag{Name: want[i], DataType: tags.Float}, Sample: tags.Sample{Value: tags.FloatValue(90), Quality: tags.Good}}
	}
	rules, err := rules.New(t.Context(), store, target, rules.Options{})
	require.NoError(t, err)
	rules.Observe(changes[:1])
	<-target.begun
	rules.Observe(changes[1:])
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	close(target.hold)
	<-target.all
	runtime.ReadMemStats(&after)
	require.NoError(t, rules.Close(t.Context()))
	require.Equal(t, want, target.sources, "oldest first")
	require.Len(t, target.batches, 1+(n-1+1999)/2000)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/n, uint64(1000), "bytes for each transition")
}
