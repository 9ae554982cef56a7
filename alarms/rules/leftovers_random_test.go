package rules_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
)

// member is an engine of a plant with faults.
type member struct {
	p     *plant // nil: it does not run
	kept  *shelfOfSignals
	lease *atomic.Bool // nil: it has not adopted the driver
}

// faulty is a plant with faults, whose tag is 60 or, during an excursion, 90.
type faulty struct {
	*shared
	members [2]*member
	value   float64
	turned  []time.Time // when the value changed; it was 60 before
	log     []string
}

func (f *faulty) turn() {
	f.value = 150 - f.value
	f.turned = append(f.turned, time.Now())
	f.set(f.value)
}

func (f *faulty) run(m *member) {
	if m.p == nil && !f.store.broken.Load() {
		m.p = f.joinWith(m.kept)
	}
}

func (f *faulty) end(m *member) {
	if m.p == nil {
		return
	}
	broken := f.store.broken.Swap(true)
	last := slices.Clone(m.kept.signals)
	_ = m.p.rules.Close(f.t.Context()) // it cannot store what waits
	require.NoError(f.t, m.p.service.Close(context.Background()))
	m.kept.signals = last
	f.store.broken.Store(broken)
	f.engines = slices.DeleteFunc(f.engines, func(p *plant) bool { return p == m.p })
	m.p, m.lease = nil, nil
}

func (f *faulty) take(m *member) {
	if m.p == nil || f.store.broken.Load() || slices.ContainsFunc(f.members[:], func(m *member) bool { return m.lease != nil }) {
		return
	}
	m.lease = &atomic.Bool{}
	m.lease.Store(true)
	f.adopt(m.p, "plc", m.lease.Load)
	pass(time.Millisecond)
}

// lose ends a lease that could not be renewed.
func (f *faulty) lose(m *member) {
	if m.lease == nil {
		return
	}
	m.lease.Store(false)
	pass(100 * time.Millisecond)
	m.p.rules.Abandon("plc")
	m.lease = nil
}

func (f *faulty) give(m *member) {
	if m.lease == nil || f.store.broken.Load() {
		return
	}
	require.NoError(f.t, m.p.rules.Yield(f.t.Context(), "plc"))
	m.lease = nil
}

// step lets one of many things happen.
func (f *faulty) step(r *rand.Rand) {
	if r.IntN(2) == 0 {
		f.run(f.members[r.IntN(2)])
		f.take(f.members[r.IntN(2)])
	}
	i, what := r.IntN(2), r.IntN(10)
	m := f.members[i]
	f.log = append(f.log, fmt.Sprintf("%s %g %d %d", time.Now().Format("04:05.000"), f.value, i, what))
	switch what {
	case 0, 1, 2, 3:
		f.turn()
	case 4:
		f.store.broken.Store(!f.store.broken.Load())
	case 5:
		f.end(m)
	case 6:
		f.lose(m)
	case 7:
		f.give(m)
	case 8, 9:
		if m.lease == nil || f.store.broken.Load() {
			return
		}
		f.store.broken.Store(true)
		for range 1 + r.IntN(3) {
			f.turn()
			pass(time.Duration(r.IntN(4000)) * time.Millisecond)
		}
		f.end(m)
		f.store.broken.Store(false)
	}
	pass(time.Duration(r.IntN(4000)) * time.Millisecond)
}

// Whatever happens, an alarm is active if and only if the condition lasts, each excursion has one alarm, except for late ones, and nothing stays in a file.
func TestRandomKills(t *testing.T) {
	for seed := range uint64(30) {
		for _, change := range []func(*rules.Rule){nil, func(r *rules.Rule) { r.Latching = true }, func(r *rules.Rule) { r.OnDelay, r.OffDelay = 3*time.Second, 2*time.Second }} {
			synctest.Test(t, func(t *testing.T) {
				f := &faulty{shared: share(t, 0, rule(rules.High, change)), value: 60}
				defer func() { f.stop() }()
				for i := range f.members {
					f.members[i] = &member{kept: &shelfOfSignals{room: 100}}
					f.run(f.members[i])
				}
				f.set(f.value)
				r := rand.New(rand.NewPCG(seed, 1))
				for range 100 {
					f.step(r)
				}
				f.requireRight(fmt.Sprint("seed ", seed))
			})
		}
	}
}

func (f *faulty) requireRight(seed string) {
	f.t.Helper()
	f.store.broken.Store(false)
	pass(2 * time.Second)
	for _, m := range f.members {
		f.run(m)
	}
	f.take(f.members[0])
	for range 4 {
		pass(2 * time.Minute)
		lasting := slices.DeleteFunc(f.activeOnes(), func(o alarms.Occurrence) bool { return !o.ReturnedAt.IsZero() })
		require.Equal(f.t, f.value == 90, len(lasting) == 1, "%s %v", seed, f.log)
		f.turn()
	}
	for _, m := range f.members {
		require.Empty(f.t, m.kept.all(), "%s %v", seed, f.log)
	}
	page, err := f.engines[0].service.History(f.t.Context(), time.Unix(0, 0), time.Now(), alarms.ListQuery{Page: 1, PageSize: 500})
	require.NoError(f.t, err)
	require.NotEmpty(f.t, page.Occurrences)
	current := map[int]bool{}
	for _, o := range page.Occurrences {
		n := 0 // changes of the value up to then, odd during an excursion
		for n < len(f.turned) && !f.turned[n].After(o.RaisedAt) {
			n++
		}
		require.Equal(f.t, 1, n%2, "%s raised at %s while normal: %v", seed, o.RaisedAt, f.log)
		if o.Labels[alarms.LabelLate] == "" {
			require.False(f.t, current[n], "%s two alarms of an excursion: %s, %v", seed, o.RaisedAt, f.log)
			current[n] = true
		}
	}
}
