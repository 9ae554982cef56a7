package rules_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
)

// setClock is the bubble's clock, set forward or back.
type setClock struct{ by atomic.Int64 }

func (c *setClock) now() time.Time { return time.Now().Add(time.Duration(c.by.Load())).Round(0) }

func (c *setClock) set(by time.Duration) { c.by.Add(int64(by)) }

// newClockPlant is a plant whose service and rules have a clock that can be set.
func newClockPlant(t *testing.T, store *flaky, c *setClock) *plant {
	p := &plant{t: t, store: store}
	var err error
	p.service, err = alarms.New(t.Context(), store, alarms.Options{Now: c.now})
	require.NoError(t, err)
	p.rules, err = rules.New(t.Context(), store, p.service, rules.Options{Now: c.now})
	require.NoError(t, err)
	return p
}

// TestAClockThatIsSetBackKeepsTheOrder raises an alarm again and again while the clock is set back an hour.
func TestAClockThatIsSetBackKeepsTheOrder(t *testing.T) {
	for name, restart := range map[string]bool{"running": false, "restarted": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, store := &setClock{}, &flaky{memory: newMemory()}
				require.NoError(t, store.AddRule(t.Context(), rule(rules.High, nil)))
				p := newClockPlant(t, store, c)
				defer func() { p.stop() }()
				began := time.Now()
				blink := func() {
					pass(time.Minute)
					p.set(90)
					pass(time.Minute)
					p.set(70)
					synctest.Wait()
				}
				blink()
				blink()
				if restart {
					p.stop()
				}
				c.set(-time.Hour)
				if restart {
					p = newClockPlant(t, store, c)
				}
				for range 70 {
					blink()
				}
				page, err := p.service.History(t.Context(), began.Add(-24*time.Hour), began.Add(24*time.Hour), alarms.ListQuery{Page: 1, PageSize: 500})
				require.NoError(t, err)
				require.Len(t, page.Occurrences, 72)
				for i, o := range page.Occurrences {
					require.False(t, o.ClearedAt.Before(o.RaisedAt))
					if i > 0 {
						require.Less(t, o.Seq, page.Occurrences[i-1].Seq, "newest first")
						require.False(t, o.ClearedAt.After(page.Occurrences[i-1].RaisedAt))
					}
				}
				require.Zero(t, p.service.Ahead(), "the clock has caught up")
				require.WithinDuration(t, c.now(), page.Occurrences[0].RaisedAt, 2*time.Minute)
			})
		})
	}
}

// A clock that was years ahead does not keep its years.
func TestAClockThatWasWrongAltogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &setClock{}
		c.set(10 * 365 * 24 * time.Hour)
		s, err := alarms.New(t.Context(), newMemory(), alarms.Options{Now: c.now})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close(context.Background())) }()
		raise(t, s, pump("a"))
		c.set(-10 * 365 * 24 * time.Hour)
		require.True(t, c.now().Equal(raise(t, s, pump("b")).RaisedAt))
	})
}

func TestShelvingEndsInTimeThoughTheClockIsSet(t *testing.T) {
	for name, by := range map[string]time.Duration{"back": -time.Hour, "not set": 0} {
		for _, restart := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c, store := &setClock{}, newMemory()
					open := func() *alarms.Service {
						s, err := alarms.New(t.Context(), store, alarms.Options{Now: c.now})
						require.NoError(t, err)
						return s
					}
					s := open()
					defer func() { require.NoError(t, s.Close(context.Background())) }()
					raise(t, s, pump("a"))
					_, err := s.Shelve(t.Context(), alarms.ByKey("a"), 30*time.Minute, "anna", "")
					require.NoError(t, err)
					pass(time.Second)
					if restart {
						require.NoError(t, s.Close(context.Background()))
					}
					c.set(by)
					if restart {
						s = open()
					}
					state := func() alarms.State {
						synctest.Wait()
						condition, err := s.Condition(t.Context(), alarms.ByKey("a"))
						require.NoError(t, err)
						return condition.State()
					}
					pass(29 * time.Minute)
					require.Equal(t, alarms.StateShelved, state())
					pass(time.Minute + time.Second)
					require.Equal(t, alarms.StateUnacknowledged, state())
				})
			})
		}
	}
}

// Shelving again counts from then on.
func TestShelvingAnewAfterTheClockWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &setClock{}
		s, err := alarms.New(t.Context(), newMemory(), alarms.Options{Now: c.now})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close(context.Background())) }()
		raise(t, s, pump("a"))
		shelve := func() {
			t.Helper()
			_, err := s.Shelve(t.Context(), alarms.ByKey("a"), 30*time.Minute, "anna", "")
			require.NoError(t, err)
			synctest.Wait()
		}
		shelve()
		pass(20 * time.Minute)
		c.set(-time.Hour)
		shelve()
		pass(29 * time.Minute)
		condition, err := s.Condition(t.Context(), alarms.ByKey("a"))
		require.NoError(t, err)
		require.Equal(t, alarms.StateShelved, condition.State())
		pass(2 * time.Minute)
		condition, err = s.Condition(t.Context(), alarms.ByKey("a"))
		require.NoError(t, err)
		require.Equal(t, alarms.StateUnacknowledged, condition.State())
	})
}
