package tags_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// pushed makes an engine with a driver that pushes Int tags plc.a, plc.b, ...
func pushed(t *testing.T, names ...string) (*tags.Engine, *pushDevice) {
	t.Helper()
	d := newPushDevice()
	var list []tags.Tag
	for _, name := range names {
		list = append(list, intTag("plc."+name))
	}
	return online(t, d, tags.DriverOptions{RefreshInterval: time.Hour, Tags: list}), d
}

func (d *pushDevice) pushInt(t testing.TB, address string, v int64) {
	t.Helper()
	d.push(t, address, tags.Reading{Value: tags.IntValue(v), Quality: tags.Good})
}

func subscribe(t *testing.T, e *tags.Engine, o tags.SubscribeOptions) *tags.Subscription {
	t.Helper()
	s, err := e.Subscribe(o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

// next returns the next delivery as texts.
func next(t *testing.T, s *tags.Subscription, limit int) (texts []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour) // of fake time, which passes at once
	defer cancel()
	changes, err := s.Next(ctx, limit)
	require.NoError(t, err)
	for _, c := range changes {
		texts = append(texts, describe(c))
	}
	return texts
}

// nothing checks that nothing comes for a while.
func nothing(t *testing.T, s *tags.Subscription, wait time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	defer cancel()
	changes, err := s.Next(ctx, 0)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Empty(t, changes)
}

func TestInitialValuesAreOutsideTheThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d := pushed(t, "a", "b", "c")
		d.pushInt(t, "b", 5)
		s := subscribe(t, e, tags.SubscribeOptions{Names: []string{"plc.c", "plc.b", "plc.c", "plc.a"}, Throttle: time.Minute})
		start := time.Now()
		require.Equal(t, []string{"plc.c 0 Good"}, next(t, s, 1))
		d.pushInt(t, "a", 7) // is part of the initial values, as its newest value
		d.pushInt(t, "c", 9) // is a change already
		require.Equal(t, []string{"plc.b 5 Good", "plc.a 7 Good"}, next(t, s, 0))
		require.Equal(t, []string{"plc.c 9 Good"}, next(t, s, 0))
		require.Zero(t, time.Since(start), "the first change waits for nothing")
		d.pushInt(t, "c", 10)
		require.Equal(t, []string{"plc.c 10 Good"}, next(t, s, 0))
		require.Equal(t, time.Minute, time.Since(start))
		nothing(t, s, time.Hour)
	})
}

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d := pushed(t, "a", "b")
		s := subscribe(t, e, tags.SubscribeOptions{Names: []string{"plc.a", "plc.b"}, Throttle: 100 * time.Millisecond})
		next(t, s, 0)
		go func() {
			for i := range 1000 { // ten seconds of changes
				d.pushInt(t, "a", int64(i+1))
				d.pushInt(t, "b", int64(-i-1))
				time.Sleep(10 * time.Millisecond)
			}
		}()
		var last time.Time
		deliveries, awaited := 0, map[string]bool{"plc.a 1000 Good": true, "plc.b -1000 Good": true}
		for len(awaited) > 0 {
			got := next(t, s, 0)
			if !last.IsZero() {
				require.GreaterOrEqual(t, time.Since(last), 100*time.Millisecond)
			}
			last = time.Now()
			require.LessOrEqual(t, len(got), 2)
			for _, text := range got {
				delete(awaited, text)
			}
			deliveries++
		}
		require.InDelta(t, 100, deliveries, 2)
		require.Equal(t, "1000", sampleOf(t, e, "plc.a").Value.String())
	})
}

func TestTagsTakeFairTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d := pushed(t, "a", "b", "c")
		s := subscribe(t, e, tags.SubscribeOptions{Patterns: []string{"plc.%"}, Throttle: time.Second})
		next(t, s, 0)
		turns := map[string]int{}
		for i := range 300 {
			for range 10 { // a is far busier than the others
				d.pushInt(t, "a", int64(i+1)*1000)
				d.pushInt(t, "a", int64(i+1))
			}
			d.pushInt(t, "b", int64(i+1))
			d.pushInt(t, "c", int64(i+1))
			got := next(t, s, 1)
			require.Len(t, got, 1)
			turns[got[0][:5]]++
		}
		require.Equal(t, map[string]int{"plc.a": 100, "plc.b": 100, "plc.c": 100}, turns)
	})
}

func TestWithoutLimitEverythingPendingComesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d := pushed(t, "a", "b", "c")
		s := subscribe(t, e, tags.SubscribeOptions{Names: []string{"plc.a", "plc.b", "plc.c"}})
		next(t, s, 0)
		for i := range 5 {
			d.pushInt(t, "c", int64(i+1))
			d.pushInt(t, "a", int64(i+1))
		}
		require.Equal(t, []string{"plc.c 5 Good", "plc.a 5 Good"}, next(t, s, 0), "the newest of each, in the order of their first change")
		nothing(t, s, time.Second)
	})
}

func TestSlowReaderHoldsOneChangePerTag(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d := pushed(t, "a", "b")
		slow := subscribe(t, e, tags.SubscribeOptions{Names: []string{"plc.a", "plc.b"}})
		fast := subscribe(t, e, tags.SubscribeOptions{Names: []string{"plc.a"}})
		next(t, fast, 0)
		for i := range 10_000 {
			d.pushInt(t, "a", int64(i+1))
			if i%100 == 0 {
				require.Equal(t, []string{fmt.Sprintf("plc.a %d Good", i+1)}, next(t, fast, 0), "the slow one slows nobody")
			}
		}
		require.Equal(t, []string{"plc.a 10000 Good", "plc.b 0 Good"}, next(t, slow, 0))
		nothing(t, slow, time.Second)
	})
}

func TestSubscriptionDeadband(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d := pushed(t, "a")
		s := subscribe(t, e, tags.SubscribeOptions{Names: []string{"plc.a"}, Deadband: 10})
		next(t, s, 0)
		d.pushInt(t, "a", 9)
		nothing(t, s, time.Second)
		d.pushInt(t, "a", 10)
		require.Equal(t, []string{"plc.a 10 Good"}, next(t, s, 0))
		d.pushInt(t, "a", 1)
		nothing(t, s, time.Second)
		d.push(t, "a", tags.Reading{Err: errDevice})
		require.Equal(t, []string{"plc.a 1 Bad DeviceError"}, next(t, s, 0), "a change of quality always comes")
		e.RemoveTags("plc.a")
		require.Equal(t, []string{"plc.a 1 Bad Removed"}, next(t, s, 0), "and so does a change of its reason")
	})
}

func TestPatternsJoinNewTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d := pushed(t, "a1", "b1")
		s := subscribe(t, e, tags.SubscribeOptions{Patterns: []string{"plc.A%"}, Names: []string{"plc.b1"}})
		require.Equal(t, []string{"plc.b1 0 Good", "plc.a1 0 Good"}, next(t, s, 0))
		require.NoError(t, e.DefineTags(intTag("plc.a2"), intTag("plc.b2")))
		require.Equal(t, []string{"plc.a2 Bad WaitingForData"}, next(t, s, 0))
		after(time.Second)
		require.Equal(t, []string{"plc.a2 0 Good"}, next(t, s, 0))
		require.NoError(t, e.DefineTags(intTag("plc.a2", func(t *tags.Tag) { t.Unit = "m" })))
		after(time.Second)
		d.pushInt(t, "a2", 5)
		require.Equal(t, []string{"plc.a2 5 Good"}, next(t, s, 0), "defining it again does not make it come twice")
		nothing(t, s, time.Second)
		none := subscribe(t, e, tags.SubscribeOptions{Patterns: []string{"none.%"}})
		nothing(t, none, time.Second)
	})
}

func TestRemovedTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d := pushed(t, "a", "b")
		s := subscribe(t, e, tags.SubscribeOptions{Names: []string{"plc.a", "plc.b"}})
		next(t, s, 0)
		for i := range 3 { // also when it is defined and removed again and again
			e.RemoveTags("plc.a")
			require.Equal(t, []string{"plc.a 0 Bad Removed"}, next(t, s, 0))
			synctest.Wait()
			d.pushInt(t, "b", int64(i+1))
			require.Equal(t, []string{fmt.Sprintf("plc.b %d Good", i+1)}, next(t, s, 0))
			require.NoError(t, e.DefineTags(intTag("plc.a")))
			require.Equal(t, []string{"plc.a Bad WaitingForData"}, next(t, s, 0))
			after(time.Second)
			require.Equal(t, []string{"plc.a 0 Good"}, next(t, s, 0))
		}
		e.RemoveTags("plc.a")
		require.NoError(t, e.DefineTags(intTag("plc.a")))
		require.Equal(t, []string{"plc.a Bad WaitingForData"}, next(t, s, 0), "the newest of the name wins")
	})
}

func TestSubscribeRefuses(t *testing.T) {
	e := newEngine(t, tags.Options{})
	require.NoError(t, e.DefineTags(intTag("plc.a")))
	for name, c := range map[string]struct {
		o    tags.SubscribeOptions
		want error
	}{
		"nothing":           {tags.SubscribeOptions{}, tags.ErrInvalidRequest},
		"unknown name":      {tags.SubscribeOptions{Names: []string{"plc.a", "none"}}, tags.ErrTagNotFound},
		"negative throttle": {tags.SubscribeOptions{Names: []string{"plc.a"}, Throttle: -1}, tags.ErrInvalidRequest},
		"negative deadband": {tags.SubscribeOptions{Names: []string{"plc.a"}, Deadband: -1}, tags.ErrInvalidRequest},
		"NaN deadband":      {tags.SubscribeOptions{Names: []string{"plc.a"}, Deadband: math.NaN()}, tags.ErrInvalidRequest},
		"bad pattern":       {tags.SubscribeOptions{Patterns: []string{`\`}}, tags.ErrInvalidRequest},
	} {
		_, err := e.Subscribe(c.o)
		require.ErrorIs(t, err, c.want, name)
	}
	_, err := e.Subscribe(tags.SubscribeOptions{Names: []string{"none"}})
	require.ErrorContains(t, err, "none")
}

func TestNextEnds(t *testing.T) {
	for name, throttle := range map[string]time.Duration{"waiting for a change": 0, "waiting for the throttle": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, d := pushed(t, "a")
				wait := func(ctx context.Context) (*tags.Subscription, chan error) {
					s := subscribe(t, e, tags.SubscribeOptions{Names: []string{"plc.a"}, Throttle: throttle})
					next(t, s, 0)
					if throttle > 0 {
						d.pushInt(t, "a", sampleOf(t, e, "plc.a").Value.Int()+1)
						next(t, s, 0)
						d.pushInt(t, "a", sampleOf(t, e, "plc.a").Value.Int()+1)
					}
					done := make(chan error, 1)
					go func() {
						_, err := s.Next(ctx, 0)
						done <- err
					}()
					synctest.Wait()
					require.Empty(t, done)
					return s, done
				}
				s, done := wait(t.Context())
				s.Close()
				s.Close()
				require.ErrorIs(t, <-done, tags.ErrClosed)
				_, err := s.Next(t.Context(), 0)
				require.ErrorIs(t, err, tags.ErrClosed)
				d.pushInt(t, "a", 1000) // reaches nobody

				ctx, cancel := context.WithCancel(t.Context())
				_, done = wait(ctx)
				cancel()
				require.ErrorIs(t, <-done, context.Canceled)

				_, done = wait(t.Context())
				require.NoError(t, e.Close(t.Context()))
				require.ErrorIs(t, <-done, tags.ErrClosed, "the engine's Close ends subscriptions")
			})
		})
	}
}

// Every subscriber sees the last value of every tag in the end, and each tag's values only forwards.
func TestManySubscribers(t *testing.T) {
	const subscribers, tagCount, rounds = 100, 20, 50
	e, err := tags.New(tags.Options{})
	require.NoError(t, err)
	d := newPushDevice()
	var list []tags.Tag
	for i := range tagCount {
		d.has(fmt.Sprint(i), tags.IntValue(-1))
		list = append(list, intTag(fmt.Sprintf("plc.%d", i)))
	}
	require.NoError(t, e.AddDriver("plc", d, tags.DriverOptions{RefreshInterval: time.Hour, Tags: list}))
	require.Eventually(t, func() bool { return d.readsOf("0") > 0 }, time.Minute, time.Millisecond)
	var wg sync.WaitGroup
	for n := range subscribers {
		s, err := e.Subscribe(tags.SubscribeOptions{Patterns: []string{"plc.%"}, Throttle: time.Duration(n%3) * time.Millisecond})
		require.NoError(t, err)
		wg.Go(func() {
			defer s.Close()
			newest := map[string]int64{}
			for finished := 0; finished < tagCount; {
				changes, err := s.Next(t.Context(), n%4*5)
				if err != nil {
					t.Error(err)
					return
				}
				for _, c := range changes {
					if was, seen := newest[c.Tag.Name]; seen && c.Value.Int() < was {
						t.Errorf("%s went back from %d to %d", c.Tag.Name, was, c.Value.Int())
					}
					newest[c.Tag.Name] = c.Value.Int()
					if c.Value.Int() == rounds {
						finished++
					}
				}
			}
		})
	}
	for i := range rounds {
		for n := range tagCount {
			d.pushInt(t, fmt.Sprint(n), int64(i+1))
		}
	}
	wg.Wait()
	require.NoError(t, e.Close(t.Context()))
}

// While a subscription of all tags is made, tags can be defined and read.
func TestNobodyWaitsForASubscriptionOfAllTags(t *testing.T) {
	e := newEngine(t, tags.Options{})
	require.NoError(t, e.DefineTags(manyTags(100_000)...))
	between := false
	for i := 0; i < 100 && !between; i++ {
		made := make(chan *tags.Subscription)
		go func() {
			s, err := e.Subscribe(tags.SubscribeOptions{Patterns: []string{"%"}})
			if err != nil {
				t.Error(err)
			}
			made <- s
		}()
		name := fmt.Sprintf("late.%d", i)
		require.NoError(t, e.DefineTags(intTag(name)))
		_, err := e.Read(name)
		require.NoError(t, err)
		var s *tags.Subscription
		select {
		case s = <-made:
		default:
			between = true
			s = <-made
		}
		changes, err := s.Next(t.Context(), 0)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(changes), 100_000)
		s.Close()
	}
	require.True(t, between, "each time, the subscription was made first")
}

// A driver whose connection is lost while its tags are removed and defined again tells nothing of those that are gone:
// their places in subscriptions may belong to others, or to none.
func TestRemovedTagStaysRemoved(t *testing.T) {
	e := newEngine(t, tags.Options{})
	require.NoError(t, e.DefineTags(intTag("plc.a"), intTag("plc.b")))
	s, err := e.Subscribe(tags.SubscribeOptions{Patterns: []string{"%"}})
	require.NoError(t, err)
	defer s.Close()
	next := func() []tags.Change {
		changes, err := s.Next(t.Context(), 0)
		require.NoError(t, err)
		return changes
	}
	require.Len(t, next(), 2)
	lose := e.Lose("plc.a")
	e.RemoveTags("plc.a")
	require.NoError(t, e.DefineTags(intTag("plc.a"))) // in the place of the removed one
	require.Len(t, next(), 1)
	e.RemoveTags("plc.a")
	require.Equal(t, tags.ReasonRemoved, next()[0].Reason) // and the place is free
	require.False(t, lose())
	require.NoError(t, e.DefineTags(intTag("plc.b", ofType(tags.Float))))
	require.Equal(t, "plc.b", next()[0].Tag.Name)
}

// A subscription by a pattern lets go of tags that are removed, and takes what is defined again.
func TestSubscriptionLetsGoOfRemovedTags(t *testing.T) {
	e := newEngine(t, tags.Options{})
	require.NoError(t, e.DefineTags(intTag("plc.stays")))
	s, err := e.Subscribe(tags.SubscribeOptions{Patterns: []string{"%"}, Names: []string{"plc.stays"}})
	require.NoError(t, err)
	defer s.Close()
	next := func() map[string]tags.Reason {
		changes, err := s.Next(t.Context(), 0)
		require.NoError(t, err)
		out := map[string]tags.Reason{}
		for _, c := range changes {
			out[c.Tag.Name] = c.Reason
		}
		return out
	}
	require.Equal(t, map[string]tags.Reason{"plc.stays": tags.ReasonNoDriver}, next())
	for i := range 500 {
		name := fmt.Sprintf("plc.goes%d", i)
		require.NoError(t, e.DefineTags(intTag(name)))
		require.Equal(t, map[string]tags.Reason{name: tags.ReasonNoDriver}, next())
		e.RemoveTags(name)
		require.Equal(t, map[string]tags.Reason{name: tags.ReasonRemoved}, next())
	}
	require.LessOrEqual(t, s.Held(), 2)
	e.RemoveTags("plc.stays")
	require.Equal(t, map[string]tags.Reason{"plc.stays": tags.ReasonRemoved}, next())
	require.NoError(t, e.DefineTags(intTag("plc.stays")))
	require.Equal(t, map[string]tags.Reason{"plc.stays": tags.ReasonNoDriver}, next())
}
