package rules_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/tags"
)

// listed returns all pages of the list of active alarms.
func (p *plant) listed(size int) []alarms.Occurrence {
	p.t.Helper()
	synctest.Wait()
	var all []alarms.Occurrence
	for page := 1; ; page++ {
		got, err := p.service.List(p.t.Context(), alarms.ListQuery{Page: page, PageSize: size})
		require.NoError(p.t, err)
		all = append(all, got.Occurrences...)
		if len(got.Occurrences) < size {
			require.Equal(p.t, len(all), got.Total)
			return all
		}
	}
}

// coded returns the ids that the unpaged list of active alarms has.
func (p *plant) coded() []string {
	list, err := p.service.Active(p.t.Context())
	require.NoError(p.t, err)
	var ids []string
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	return ids
}

// requireTold asserts whom a subscription has told of since it was last asked.
func requireTold(t *testing.T, sub *alarms.Subscription, ids ...string) {
	t.Helper()
	synctest.Wait()
	var got []string
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		events, err := sub.Next(ctx, 0)
		cancel()
		if err != nil {
			break
		}
		for _, e := range events {
			got = append(got, e.Occurrence.ID)
		}
	}
	require.Equal(t, ids, got)
}

func TestAlarmIsListedAndToldWhileItCannotBeStored(t *testing.T) {
	for _, known := range []bool{true, false} {
		t.Run(fmt.Sprintf("code known %v", known), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlant(t, rule(rules.High, func(r *rules.Rule) { r.Severity = alarms.Critical }))
				defer p.stop()
				if known {
					_, err := p.service.Codes(t.Context(), []string{"rule:r"})
					require.NoError(t, err)
				}
				fresh, err := p.service.Subscribe(alarms.SubscribeOptions{})
				require.NoError(t, err)
				defer fresh.Close()
				journal, err := p.service.Subscribe(alarms.SubscribeOptions{All: true})
				require.NoError(t, err)
				defer journal.Close()
				changes, err := p.service.Subscribe(alarms.SubscribeOptions{Changes: true})
				require.NoError(t, err)
				defer changes.Close()
				p.store.broken.Store(true)
				began := time.Now()
				p.set(90)
				list := p.listed(10)
				require.Len(t, list, 1)
				o := list[0]
				require.True(t, o.Unjournaled)
				require.True(t, o.Active)
				require.Equal(t, alarms.Critical, o.Severity)
				require.True(t, began.Equal(o.RaisedAt))
				requireTold(t, fresh, o.ID)
				requireTold(t, changes, o.ID)
				requireTold(t, journal)
				count, since := p.service.Unjournaled()
				require.Equal(t, 1, count)
				require.True(t, began.Equal(since))
				if known {
					require.Equal(t, []string{o.ID}, p.coded())
					_, err = p.service.Acknowledge(t.Context(), alarms.ByCode(o.Code), "anna", "")
					require.ErrorIs(t, err, errDisk)
				} else {
					require.Zero(t, o.Code)
					require.Empty(t, p.coded())
				}
				p.store.broken.Store(false)
				_, err = p.service.Acknowledge(t.Context(), alarms.ByID(o.ID), "anna", "")
				require.ErrorIs(t, err, alarms.ErrNotJournaled)
				p.store.broken.Store(true)

				pass(10 * time.Minute) // is tried again and again
				require.Equal(t, list, p.listed(1))
				requireTold(t, fresh)
				p.store.broken.Store(false)
				pass(2 * time.Second)
				list = p.listed(10)
				require.Len(t, list, 1)
				require.Equal(t, o.ID, list[0].ID)
				require.False(t, list[0].Unjournaled)
				require.True(t, began.Equal(list[0].RaisedAt), "the time at which it began is kept")
				requireTold(t, fresh)
				requireTold(t, changes)
				requireTold(t, journal, o.ID)
				count, _ = p.service.Unjournaled()
				require.Zero(t, count)
				require.Equal(t, []string{o.ID}, p.coded())
				_, err = p.service.Acknowledge(t.Context(), alarms.ByID(o.ID), "anna", "")
				require.NoError(t, err)
				requireTold(t, changes, o.ID)
				p.set(70)
				require.Empty(t, p.listed(10))
				p.set(90)
				again := p.listed(10)
				requireTold(t, fresh, again[0].ID)
			})
		})
	}
}

// TestEveryListHasWhatIsPending has an alarm return unseen and come again while nothing can be stored: what has
// returned stays to be seen, and is acknowledged when it is stored.
func TestEveryListHasWhatIsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.High, nil))
		defer p.stop()
		lists := func(state alarms.ListState) (ids []string) {
			t.Helper()
			synctest.Wait()
			page, err := p.service.List(t.Context(), alarms.ListQuery{State: state, Page: 1, PageSize: 10})
			require.NoError(t, err)
			require.Equal(t, len(page.Occurrences), page.Total)
			for i := range page.Occurrences {
				ids = append(ids, page.Occurrences[i].ID)
			}
			return ids
		}
		p.set(90)
		first := p.listed(10)[0].ID
		pass(time.Second)
		p.set(50)
		require.Equal(t, []string{first}, lists(alarms.ListReturned))
		p.store.broken.Store(true)
		pass(time.Second)
		p.set(90)
		second := lists(alarms.ListActive)[0]
		require.NotEqual(t, first, second)
		require.Equal(t, []string{first}, lists(alarms.ListReturned), "it has not been acknowledged")
		require.Equal(t, []string{second, first}, lists(alarms.ListAll))
		p.store.broken.Store(false)
		pass(2 * time.Second)
		require.Equal(t, []string{second, first}, lists(alarms.ListAll))

		p.store.broken.Store(true)
		pass(time.Second)
		p.set(50)
		pass(time.Second)
		p.set(90)
		third := lists(alarms.ListActive)
		require.Len(t, third, 1)
		require.NotEqual(t, second, third[0])
		require.Equal(t, []string{second, first}, lists(alarms.ListReturned), "the second has ended")
		require.Equal(t, []string{third[0], second, first}, lists(alarms.ListAll))
		p.set(50)
		require.Equal(t, []string{third[0], second, first}, lists(alarms.ListReturned))
		p.store.broken.Store(false)
		_, err := p.service.Acknowledge(t.Context(), alarms.ByID(third[0]), "anna", "")
		require.ErrorIs(t, err, alarms.ErrNotJournaled)
		results, err := p.service.AcknowledgeMany(t.Context(), []string{third[0]}, "anna", "")
		require.NoError(t, err)
		require.ErrorIs(t, results[0], alarms.ErrNotJournaled)
		pass(2 * time.Second)
		require.Equal(t, []string{third[0], second, first}, lists(alarms.ListReturned))
		_, err = p.service.Acknowledge(t.Context(), alarms.ByID(third[0]), "anna", "")
		require.NoError(t, err)
	})
}

func TestWhatIsPendingChangesTheList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.High, nil), rule(rules.Low, func(r *rules.Rule) { r.ID, r.Limit = "low", 10 }))
		defer p.stop()
		fresh, err := p.service.Subscribe(alarms.SubscribeOptions{})
		require.NoError(t, err)
		defer fresh.Close()
		p.set(90)
		stored := p.listed(10)[0]
		requireTold(t, fresh, stored.ID)
		p.store.broken.Store(true)
		pass(time.Second)
		p.set(50)
		require.Empty(t, p.listed(10), "it is over, and that cannot be stored")
		var told []string
		for range 20 { // more than may wait
			pass(time.Second)
			p.set(90)
			list := p.listed(10)
			require.Len(t, list, 1)
			told = append(told, list[0].ID)
			pass(time.Second)
			p.set(5)
			list = p.listed(10)
			require.Len(t, list, 1)
			told = append(told, list[0].ID)
		}
		last := told[len(told)-1]
		seen := make(map[string]bool)
		var once []string
		for _, id := range told {
			if !seen[id] {
				once = append(once, id)
			}
			seen[id] = true
		}
		requireTold(t, fresh, once...)
		count, _ := p.service.Unjournaled()
		require.Equal(t, 2, count)
		require.Positive(t, p.rules.Stats().Coalesced)
		p.store.broken.Store(false)
		pass(3 * time.Second)
		require.Equal(t, last, p.active().ID)
		requireTold(t, fresh)
	})
}

func TestShelvedAlarmIsNotShownBeforeItIsStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.High, nil))
		defer p.stop()
		fresh, err := p.service.Subscribe(alarms.SubscribeOptions{})
		require.NoError(t, err)
		defer fresh.Close()
		_, err = p.service.Shelve(t.Context(), alarms.ByKey("rule:r"), time.Hour, "anna", "")
		require.NoError(t, err)
		p.store.broken.Store(true)
		p.set(90)
		require.Empty(t, p.listed(10))
		requireTold(t, fresh)
		p.store.broken.Store(false)
	})
}

// TestAlarmIsShownWhileTheStoreHangs has a store that takes half a minute: what is raised meanwhile is shown within a second.
func TestAlarmIsShownWhileTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, rule(rules.High, func(r *rules.Rule) { r.OnDelay = 5 * time.Second }), rule(rules.High, func(r *rules.Rule) { r.ID = "now" }))
		defer p.stop()
		p.store.hold = make(chan struct{})
		p.set(90)
		require.Empty(t, p.listed(10))
		pass(time.Second)
		require.Len(t, p.listed(10), 1)
		pass(4 * time.Second)
		require.Len(t, p.listed(10), 2, "delays end as well")
		close(p.store.hold)
		pass(2 * time.Second)
		list := p.listed(10)
		require.Len(t, list, 2)
		require.False(t, list[0].Unjournaled || list[1].Unjournaled)
	})
}

func TestPagesOfStoredAndPendingAlarms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 24
		var all []rules.Rule
		for i := range n {
			all = append(all, rule(rules.High, func(r *rules.Rule) { r.ID, r.Tag = fmt.Sprintf("r%02d", i), fmt.Sprintf("t%02d", i) }))
		}
		p := newPlant(t, all...)
		defer p.stop()
		set := func(i int, v float64) {
			pass(time.Second)
			p.sample(fmt.Sprintf("t%02d", i), tags.FloatValue(v), tags.Good, tags.ReasonNone)
			synctest.Wait()
		}
		for i := range 16 {
			set(i, 90)
		}
		p.store.broken.Store(true)
		for _, i := range []int{0, 3, 7, 15} {
			set(i, 10)
		}
		for i := 16; i < n; i++ {
			set(i, 90)
		}
		set(3, 90)
		set(20, 10)
		var want []string
		for _, i := range []int{3, 23, 22, 21, 19, 18, 17, 16, 14, 13, 12, 11, 10, 9, 8, 6, 5, 4, 2, 1} {
			want = append(want, fmt.Sprintf("t%02d", i))
		}
		for size := 1; size <= n+1; size++ {
			var got []string
			for _, o := range p.listed(size) {
				got = append(got, o.Source)
			}
			require.Equal(t, want, got, "pages of %d", size)
		}
		p.store.broken.Store(false)
		pass(2 * time.Second)
		require.Len(t, p.listed(500), len(want))
	})
}

// shelfOfSignals is a PendingStore that outlives its Rules.
type shelfOfSignals struct {
	mu      sync.Mutex
	signals []rules.Pending
	room    int
	fails   bool // it cannot be written
}

func (s *shelfOfSignals) LoadPending() ([]rules.Pending, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.signals, nil
}

func (s *shelfOfSignals) SavePending(signals []rules.Pending) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fails {
		return 0, errDisk
	}
	s.signals = append([]rules.Pending(nil), signals[:min(len(signals), s.room)]...)
	return len(s.signals), nil
}

func TestPendingAlarmsSurviveARestart(t *testing.T) {
	for name, stored := range map[string]bool{"not stored": false, "stored before the end": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, kept := &flaky{memory: newMemory()}, &shelfOfSignals{room: 100}
				require.NoError(t, store.AddRule(t.Context(), rule(rules.High, nil)))
				require.NoError(t, store.AddRule(t.Context(), rule(rules.Low, func(r *rules.Rule) { r.ID, r.Limit = "low", 10 })))
				require.NoError(t, store.AddRule(t.Context(), rule(rules.High, func(r *rules.Rule) { r.ID, r.Limit = "gone", 85 })))
				p := &plant{t: t, store: store}
				open := func() {
					p.service = service(t, store, alarms.Options{})
					var err error
					p.rules, err = rules.New(t.Context(), store, p.service, rules.Options{Pending: kept})
					require.NoError(t, err)
				}
				open()
				store.broken.Store(true)
				p.set(5)
				pass(time.Minute)
				began := time.Now()
				p.set(90)
				pass(2 * time.Second)
				var ids []string
				for _, o := range p.listed(10) {
					ids = append(ids, o.ID)
				}
				require.Len(t, ids, 2)
				require.Len(t, kept.signals, 4)
				last := append([]rules.Pending(nil), kept.signals...)
				if stored { // and the process ends before it can forget it
					store.broken.Store(false)
					pass(2 * time.Second)
					require.Empty(t, kept.signals)
					kept.signals = last
				}
				_ = p.rules.Close(t.Context()) // it cannot store what waits
				require.NoError(t, p.service.Close(context.Background()))
				kept.signals = last
				require.NoError(t, store.memory.RemoveRule(t.Context(), "gone", nil))
				store.broken.Store(false)
				pass(time.Hour)
				open()
				defer p.stop()
				pass(time.Second)
				page, err := p.service.History(t.Context(), began.Add(-time.Hour), time.Now(), alarms.ListQuery{Page: 1, PageSize: 10})
				require.NoError(t, err)
				require.Equal(t, 3, page.Total, "that of the low rule, which came and went, too")
				list := p.listed(10)
				require.Len(t, list, 1)
				require.Contains(t, ids, list[0].ID)
				require.True(t, began.Equal(list[0].RaisedAt))
				require.Equal(t, "t is 90 °C, above 80", list[0].Message)
				require.Empty(t, kept.signals)
				p.set(91)
				require.Len(t, p.listed(10), 1)
				p.set(50)
				require.Empty(t, p.listed(10))
			})
		})
	}
}

// Signals that are stored and stay would be stored again by the next run.
func TestPendingSignalsThatCannotBeRemovedAreRemovedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, kept := &flaky{memory: newMemory()}, &shelfOfSignals{room: 100}
		require.NoError(t, store.AddRule(t.Context(), rule(rules.High, nil)))
		p := &plant{t: t, store: store}
		p.service = service(t, store, alarms.Options{})
		var err error
		p.rules, err = rules.New(t.Context(), store, p.service, rules.Options{Pending: kept})
		require.NoError(t, err)
		p.set(90)
		pass(time.Second)
		store.broken.Store(true)
		p.set(70)
		pass(time.Second)
		require.Len(t, kept.signals, 1)
		kept.fails = true
		store.broken.Store(false)
		pass(2 * time.Second)
		require.Empty(t, p.listed(10))
		kept.fails = false
		p.set(91)
		pass(2 * time.Second)
		require.Empty(t, kept.signals)
		require.NoError(t, p.rules.Close(t.Context()))
	})
}
