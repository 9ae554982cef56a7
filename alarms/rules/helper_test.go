package rules_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type (
	alarmMemory = alarms.Memory
	ruleMemory  = rules.Memory
)

// memory keeps alarms and rules.
type memory struct {
	*alarmMemory
	*ruleMemory
}

func newMemory() memory {
	m := alarms.NewMemory()
	return memory{m, rules.NewMemory(m)}
}

func service(t testing.TB, store alarms.Store, o alarms.Options) *alarms.Service {
	t.Helper()
	s, err := alarms.New(t.Context(), store, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

func pump(key string) alarms.Alarm {
	return alarms.Alarm{Key: key, Source: "P-101", Message: "pump failed", Severity: alarms.Warning}
}

func raise(t testing.TB, s *alarms.Service, a alarms.Alarm) alarms.Occurrence {
	t.Helper()
	o, err := s.Raise(t.Context(), a)
	require.NoError(t, err)
	return o
}

func kinds(t testing.TB, s *alarms.Service) []alarms.EventKind {
	t.Helper()
	events, err := s.Events(t.Context(), 0, 10_000)
	require.NoError(t, err)
	var out []alarms.EventKind
	for _, e := range events {
		out = append(out, e.Kind)
	}
	return out
}

// flaky is a store whose writes fail while it is told so.
type flaky struct {
	memory
	broken atomic.Bool
	refuse atomic.Bool   // changes of rules fail
	away   atomic.Bool   // the version of the rules cannot be read
	hold   chan struct{} // when not nil, a write waits for it
	slow   time.Duration // how long it takes to store states
}

var errLost = errors.New("the connection was lost at the commit")

var errDisk = errors.New("disk is full")

func (f *flaky) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	if f.hold != nil {
		<-f.hold
	}
	if f.broken.Load() {
		return errDisk
	}
	return f.memory.Write(ctx, refs, change)
}

func (f *flaky) PutRuleStates(ctx context.Context, states []rules.State) error {
	time.Sleep(f.slow)
	if f.broken.Load() {
		return errDisk
	}
	return f.memory.PutRuleStates(ctx, states)
}

func (f *flaky) UpdateRule(ctx context.Context, id string, update func(*rules.Rule) error) error {
	if f.refuse.Load() {
		return errDisk
	}
	return f.memory.UpdateRule(ctx, id, update)
}

func (f *flaky) RulesVersion(ctx context.Context) (int64, error) {
	if f.away.Load() {
		return 0, errDisk
	}
	return f.memory.RulesVersion(ctx)
}
