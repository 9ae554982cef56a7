package tags_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
)

// forwardDevice is a pushDevice that stores and forwards.
type forwardDevice struct {
	*pushDevice
	end chan error // ends Forward

	points []tags.Point // of the Forward in progress
	store  func(context.Context, []tags.Forwarded) error
	ctx    context.Context
	calls  int
	active int // calls of Forward and Subscribe in progress
}

func newForwardDevice() *forwardDevice {
	return &forwardDevice{pushDevice: newPushDevice(), end: make(chan error)}
}

func (d *forwardDevice) Read(context.Context, []tags.Point, []tags.Reading) error {
	panic("a Forwarder is never read")
}

func (d *forwardDevice) Subscribe(ctx context.Context, points []tags.Point, emit func(int, tags.Reading)) error {
	d.set(func(*device) { d.active++ })
	defer d.set(func(*device) { d.active-- })
	return d.pushDevice.Subscribe(ctx, points, emit)
}

func (d *forwardDevice) Forward(ctx context.Context, points []tags.Point, store func(context.Context, []tags.Forwarded) error) error {
	d.mu.Lock()
	if d.store != nil || d.active > 1 { // one may be the Subscribe that belongs to it
		panic("the call before has not ended")
	}
	d.points, d.store, d.ctx = slices.Clone(points), store, ctx
	d.calls++
	d.active++
	d.mu.Unlock()
	defer d.set(func(*device) { d.store = nil; d.active-- })
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-d.end:
		if errors.Is(err, errDevice) {
			panic(err)
		}
		return err
	}
}

// now returns the store of the Forward in progress, and its context.
func (d *forwardDevice) now() (func(context.Context, []tags.Forwarded) error, context.Context) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.store, d.ctx
}

func (d *forwardDevice) running() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.active
}

func (d *forwardDevice) forwards() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

// at is a reading for an address.
type at struct {
	address string
	tags.Reading
}

func good(address string, v int64, when time.Time) at {
	return at{address, tags.Reading{Value: tags.IntValue(v), Quality: tags.Good, Time: when}}
}

func late(a at) at {
	a.Late = true
	return a
}

// forward gives readings to the engine as the device would.
func (d *forwardDevice) forward(t testing.TB, readings ...at) error {
	t.Helper()
	d.mu.Lock()
	store, ctx := d.store, d.ctx
	list := make([]tags.Forwarded, len(readings))
	for i, r := range readings {
		list[i] = tags.Forwarded{Point: slices.IndexFunc(d.points, func(p tags.Point) bool { return p.Address == r.address }), Reading: r.Reading}
	}
	d.mu.Unlock()
	require.NotNil(t, store, "nothing is forwarded")
	return store(ctx, list)
}

// shelf is an Options.Store.
type shelf struct {
	mu   sync.Mutex
	list []tags.Change
	err  error
	on   func()
}

func (s *shelf) put(_ context.Context, changes []tags.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.on != nil {
		s.on()
	}
	if s.err != nil {
		return s.err
	}
	s.list = append(s.list, changes...)
	return nil
}

func (s *shelf) fails(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// take returns what was stored since the last call.
func (s *shelf) take() (texts []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.list {
		texts = append(texts, describe(c))
	}
	s.list = nil
	return texts
}

func forwarding(t testing.TB, o tags.DriverOptions) (*tags.Engine, *forwardDevice, *shelf) {
	t.Helper()
	d, s := newForwardDevice(), &shelf{}
	e := newEngine(t, tags.Options{Store: s.put})
	require.NoError(t, e.AddDriver("plc", d, o))
	after(time.Second)
	return e, d, s
}

func TestForwardStoresEverythingAndAppliesDeadbands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d, s := forwarding(t, tags.DriverOptions{Tags: []tags.Tag{
			intTag("plc.a", func(t *tags.Tag) { t.Deadband.Absolute = 10 }), intTag("plc.b", scaled(2, 1), between(0, 100))}})
		log := observe(e)
		sub := subscribe(t, e, tags.SubscribeOptions{Names: []string{"plc.a", "plc.b"}})
		next(t, sub, 0)
		now := time.Now()
		require.NoError(t, d.forward(t, good("a", 100, now), good("a", 105, now.Add(1)), good("b", 10, now), good("a", 111, now.Add(2)),
			good("b", 60, now.Add(time.Second)), at{"b", tags.Reading{Value: tags.StringValue("x"), Quality: tags.Good, Time: now.Add(2 * time.Second)}},
			at{"a", tags.Reading{Value: tags.IntValue(111), Quality: tags.Bad, Reason: tags.ReasonTimeout, Time: now.Add(3)}}))
		require.Equal(t, []string{"plc.a 100 Good", "plc.a 105 Good", "plc.b 21 Good", "plc.a 111 Good", "plc.b 121 Uncertain OutOfRange",
			"plc.b Bad TypeMismatch", "plc.a 111 Bad Timeout"}, s.take())
		require.Equal(t, []string{"plc.a 100 Good", "plc.b 21 Good", "plc.a 111 Good", "plc.b 121 Uncertain OutOfRange",
			"plc.b 121 Bad TypeMismatch", "plc.a 111 Bad Timeout"}, log.take())
		require.Equal(t, []string{"plc.a 111 Bad Timeout", "plc.b 121 Bad TypeMismatch"}, next(t, sub, 0))
		st := status(t, e, "plc")
		require.Equal(t, []uint64{7, 6}, []uint64{st.Samples, st.Changes})
	})
}

func TestForwardedTimes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d, s := forwarding(t, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
		now := time.Now()
		past := now.Add(-time.Hour)
		require.NoError(t, d.forward(t, good("a", 1, now), good("a", 2, past), good("a", 3, now.Add(25*time.Hour)), good("a", 4, time.Time{}),
			at{"a", tags.Reading{Err: tags.ErrTimeout, Time: past.Add(time.Second)}}))
		require.Equal(t, past, s.list[1].Time(), "the clock of the device was set back: its value is current")
		require.Equal(t, []time.Time{now, now.Add(time.Microsecond)}, []time.Time{s.list[2].Time(), s.list[3].Time()}, "history has room for both")
		require.Equal(t, past.Add(time.Second), s.list[4].Time(), "history has the time of the failure, not that of the value")
		requireSample(t, e, "plc.a", tags.IntValue(4), tags.Bad, tags.ReasonTimeout)
		require.Equal(t, now.Add(time.Microsecond), sampleOf(t, e, "plc.a").SourceTime)

		require.NoError(t, d.forward(t, good("a", 5, past)))
		requireSample(t, e, "plc.a", tags.IntValue(5), tags.Good, tags.ReasonNone)
		require.Equal(t, past, sampleOf(t, e, "plc.a").SourceTime)
	})
}

func TestWhatCannotBeStoredIsForwardedAgainAndToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d, s := forwarding(t, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
		log := observe(e)
		s.on = func() {
			require.NotEqual(t, "1", sampleOf(t, e, "plc.a").Value.String(), "nothing is told that is not stored")
		}
		s.fails(errDevice)
		batch := []at{good("a", 1, time.Now()), good("a", 1, time.Now().Add(1))}
		require.ErrorIs(t, d.forward(t, batch...), errDevice)
		requireSample(t, e, "plc.a", tags.Value{}, tags.Bad, tags.ReasonWaiting)
		require.Empty(t, log.take())
		require.Equal(t, tags.DriverOnline, status(t, e, "plc").State, "the connection is not to blame")
		s.fails(nil)
		require.NoError(t, d.forward(t, batch...))
		require.Equal(t, []string{"plc.a 1 Good"}, log.take())
		require.Equal(t, []string{"plc.a 1 Good", "plc.a 1 Good"}, s.take())
	})
}

func TestLateForwardedReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d, s := forwarding(t, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
		now := time.Now()
		d.push(t, "a", good("a", 5, now).Reading) // goes ahead
		log := observe(e)
		require.NoError(t, d.forward(t, late(good("a", 3, now.Add(-2))), late(good("a", 4, now.Add(-1))), late(good("a", 5, now))))
		require.Equal(t, []string{"plc.a 3 Good late", "plc.a 4 Good late", "plc.a 5 Good late"}, log.take())
		require.Equal(t, []string{"plc.a 3 Good late", "plc.a 4 Good late", "plc.a 5 Good late"}, s.take())
		requireSample(t, e, "plc.a", tags.IntValue(5), tags.Good, tags.ReasonNone)
		require.NoError(t, d.forward(t, late(good("a", 2, now.Add(time.Hour)))))
		require.Equal(t, []string{"plc.a 2 Good late"}, log.take(), "the clock of the device was set back before 5 went ahead")
		requireSample(t, e, "plc.a", tags.IntValue(5), tags.Good, tags.ReasonNone)

		d.end <- tags.ErrNotConnected
		after(2 * time.Second)
		log.take()
		require.NoError(t, d.forward(t, late(good("a", 6, now.Add(1))), late(good("a", 7, now.Add(2)))))
		require.Equal(t, []string{"plc.a 6 Good", "plc.a 7 Good"}, log.take(), "nothing has gone ahead yet")
		d.push(t, "a", good("a", 8, now.Add(-time.Hour)).Reading)
		requireSample(t, e, "plc.a", tags.IntValue(8), tags.Good, tags.ReasonNone)
	})
}

// A device that is away has no value that could go ahead, just that it is Bad.
func TestLateForwardedReadingsOfATagWithoutAValue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d, _ := forwarding(t, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
		now := time.Now()
		d.push(t, "a", tags.Reading{Quality: tags.Bad, Reason: tags.ReasonNotConnected, Time: now})
		log := observe(e)
		require.NoError(t, d.forward(t, late(good("a", 3, now.Add(-2))), late(good("a", 4, now.Add(-1)))))
		require.Equal(t, []string{"plc.a 3 Good late", "plc.a 4 Good late"}, log.take())
		requireSample(t, e, "plc.a", tags.Value{}, tags.Bad, tags.ReasonNotConnected)
	})
}

// Whoever records changes must skip those of a Forwarder, of which history has the device's own account.
func TestChangesOfAForwarderAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d, s := forwarding(t, tags.DriverOptions{Tags: []tags.Tag{
			intTag("plc.a"), intTag("plc.own", func(t *tags.Tag) { t.StaleAfter = time.Minute })}})
		require.NoError(t, e.DefineTags(intTag("new.a")))
		log := observe(e)
		sub := subscribe(t, e, tags.SubscribeOptions{Names: []string{"plc.a"}})
		changes, err := sub.Next(t.Context(), 0)
		require.NoError(t, err)
		require.True(t, changes[0].Recorded)
		require.NoError(t, d.forward(t, good("a", 1, time.Now()), late(good("a", 0, time.Now().Add(-1))), good("own", 2, time.Now())))
		d.push(t, "a", good("a", 2, time.Now().Add(1)).Reading)
		after(time.Hour)
		d.end <- tags.ErrNotConnected
		after(time.Minute)
		d.push(t, "a", good("a", 3, time.Now()).Reading)
		require.NoError(t, e.DefineTags(intTag("plc.a", scaled(2, 0))))
		after(time.Second)
		require.NoError(t, e.AddDriver("new", newForwardDevice(), tags.DriverOptions{}))
		e.RemoveTags("plc.own")
		require.NoError(t, e.RemoveDriver(t.Context(), "plc"))
		require.Equal(t, []string{"plc.a 1 Good", "plc.a 0 Good late", "plc.own 2 Good", "plc.a 2 Good", "plc.own 2 Uncertain Stale",
			"plc.own 2 Bad Stale"}, clone(log)[:6])
		require.Subset(t, clone(log), []string{"plc.a 2 Bad NotConnected", "plc.a Bad WaitingForData", "new.a Bad WaitingForData",
			"plc.own 2 Bad Removed", "plc.a Bad NoDriver"})
		for _, c := range log.list {
			require.True(t, c.Recorded, describe(c))
		}
		require.Len(t, s.take(), 3, "only what was forwarded")

		log.take()
		require.NoError(t, e.AddDriver("plc", newDevice(), tags.DriverOptions{}))
		after(time.Second)
		require.Equal(t, []string{"plc.a Bad WaitingForData", "plc.a 0 Good"}, clone(log))
		for _, c := range log.list {
			require.False(t, c.Recorded, "the driver is another one now")
		}
		log.take()
		require.NoError(t, e.DefineTags(intTag("plc.a", func(t *tags.Tag) { t.Driver = "new" })))
		require.Equal(t, []string{"plc.a Bad WaitingForData"}, clone(log))
		require.True(t, log.list[0].Recorded, "and another one again")
	})
}

func clone(l *changeLog) (texts []string) {
	for _, c := range l.list {
		texts = append(texts, describe(c))
	}
	return texts
}

func TestWithoutAStoreChangesAreForARecorder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newForwardDevice()
		e := online(t, d, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
		log := observe(e)
		require.NoError(t, d.forward(t, good("a", 1, time.Now())))
		require.Len(t, log.list, 1)
		require.False(t, log.list[0].Recorded)
	})
}

func TestTagsOfAForwarderAreNeitherReadNorStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d, _ := forwarding(t, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a", every(time.Second)),
			intTag("plc.own", func(t *tags.Tag) { t.StaleAfter = time.Minute })}})
		require.NoError(t, d.forward(t, good("a", 1, time.Now()), good("own", 1, time.Now())))
		after(2 * time.Minute)
		requireSample(t, e, "plc.own", tags.IntValue(1), tags.Uncertain, tags.ReasonStale)
		after(48 * time.Hour)
		requireSample(t, e, "plc.a", tags.IntValue(1), tags.Good, tags.ReasonNone)
		st := status(t, e, "plc")
		require.Equal(t, tags.DriverOnline, st.State)
		require.Zero(t, st.Reads)
		require.Empty(t, st.Cycles)

		require.NoError(t, e.RemoveDriver(t.Context(), "plc"))
		other := newDevice()
		other.has("a", tags.IntValue(2))
		require.NoError(t, e.AddDriver("plc", other, tags.DriverOptions{}))
		after(time.Second)
		freeze(t, other)
		after(time.Minute)
		requireSample(t, e, "plc.a", tags.IntValue(2), tags.Bad, tags.ReasonStale)
	})
}

func TestForwardFollowsTheTags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d, s := forwarding(t, tags.DriverOptions{})
		require.Equal(t, 1, d.forwards(), "it has to get rid of what it keeps")
		require.NoError(t, d.forward(t, good("gone", 1, time.Now())))
		require.Empty(t, s.take())
		require.NoError(t, e.DefineTags(intTag("plc.a"), intTag("plc.b")))
		after(time.Second)
		require.Equal(t, []string{"a b"}, d.subscriptions())
		require.NoError(t, d.forward(t, good("a", 1, time.Now()), good("gone", 1, time.Now())))
		require.Equal(t, []string{"plc.a 1 Good"}, s.take())
		e.RemoveTags("plc.a")
		after(time.Second)
		require.Equal(t, 3, d.forwards())
		require.EqualValues(t, 1, status(t, e, "plc").Connects, "none of this is a lost connection")
	})
}

// Each subscription begins with the newest reading of every point, so that one for each portion of many tags would
// cost a lot.
func TestManyTagsAreSubscribedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d, _ := forwarding(t, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
		for i := range 1000 {
			require.NoError(t, e.DefineTags(intTag(fmt.Sprint("plc.", i))))
			synctest.Wait()
		}
		after(time.Second)
		require.Equal(t, 3, d.forwards(), "the first, one for the first tag, one for the rest")
		require.Len(t, strings.Fields(d.subscriptions()[2]), 1001)
	})
}

// What was forwarded while tags are defined anew counts by the new definition, or for no tag.
func TestForwardedWhileTagsAreDefined(t *testing.T) {
	for name, change := range map[string]func(e *tags.Engine){
		"defined": func(e *tags.Engine) { _ = e.DefineTags(intTag("plc.a", scaled(10, 0))) },
		"removed": func(e *tags.Engine) { e.RemoveTags("plc.a") },
		"moved":   func(e *tags.Engine) { _ = e.DefineTags(intTag("plc.a", func(t *tags.Tag) { t.Driver = "other" })) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, d, s := forwarding(t, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a", scaled(2, 0)), intTag("plc.b"), intTag("plc.w")}})
				hold := make(chan struct{})
				d.set(func(d *device) { d.holdWrite = hold }) // keeps the runner from seeing that the tags changed
				write(t, e, "plc.w", 1)
				synctest.Wait()
				change(e)
				batch := []at{good("b", 1, time.Now()), good("a", 1, time.Now())}
				done := make(chan error, 1)
				go func() { done <- d.forward(t, batch...) }()
				synctest.Wait()
				require.Empty(t, done)
				close(hold)
				require.Error(t, <-done)
				require.Empty(t, s.take())
				after(time.Second)
				require.NoError(t, d.forward(t, batch...))
				want := []string{"plc.b 1 Good", "plc.a 10 Good"}
				if name != "defined" {
					want = want[:1]
				}
				require.Equal(t, want, s.take())
			})
		})
	}
}

func TestEndOfForwardReconnects(t *testing.T) {
	for name, err := range map[string]error{"reports it": tags.ErrNotConnected, "just ends": nil, "panics": errDevice} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, d, s := forwarding(t, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a")}})
				require.NoError(t, d.forward(t, good("a", 1, time.Now())))
				store, ctx := d.now()
				d.end <- err
				synctest.Wait()
				requireSample(t, e, "plc.a", tags.IntValue(1), tags.Bad, tags.ReasonNotConnected)
				require.Zero(t, d.running(), "neither Forward nor Subscribe is left")
				require.Error(t, store(ctx, []tags.Forwarded{{Reading: good("a", 9, time.Now()).Reading}}), "its time is over")
				after(2 * time.Second)
				require.EqualValues(t, 2, status(t, e, "plc").Connects)
				require.Equal(t, 2, d.running())
				s.take()
				require.NoError(t, d.forward(t, good("a", 2, time.Now())))
				requireSample(t, e, "plc.a", tags.IntValue(2), tags.Good, tags.ReasonNone)
				d.dead <- nil // and the subscription takes Forward with it
				synctest.Wait()
				require.Zero(t, d.running())
			})
		})
	}
}

// A connection over which something came was a good one: the next does not wait as after a failure.
func TestBackoffOfAForwarderStartsAnewAfterReadings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, d, _ := forwarding(t, tags.DriverOptions{MinBackoff: time.Second, MaxBackoff: time.Hour, Tags: []tags.Tag{intTag("plc.a")}})
		for range 10 {
			require.NoError(t, d.forward(t, good("a", 1, time.Now())))
			d.end <- tags.ErrNotConnected
			after(2 * time.Second)
		}
		require.Equal(t, 11, d.forwards())
	})
}

func TestWritesToAForwarder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, d, _ := forwarding(t, tags.DriverOptions{Tags: []tags.Tag{intTag("plc.a", scaled(2, 0))}})
		w, err := e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(8)})
		require.NoError(t, err)
		synctest.Wait()
		requireOutcome(t, e, w, tags.WriteDone)

		w, err = e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(10), Confirm: true})
		require.NoError(t, err)
		after(300 * time.Millisecond)
		requireOutcome(t, e, w, tags.WriteQueued)
		require.NoError(t, d.forward(t, good("a", 5, time.Now())))
		after(time.Second)
		requireOutcome(t, e, w, tags.WriteConfirmed)

		w, err = e.Write(t.Context(), tags.WriteRequest{Tag: "plc.a", Value: tags.IntValue(12), Confirm: true})
		require.NoError(t, err)
		after(2 * time.Second)
		requireOutcome(t, e, w, tags.WriteUnconfirmed)
	})
}
