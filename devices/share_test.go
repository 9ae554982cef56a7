package devices_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

// plant is engines that share devices, and the robots, which hear whoever sends to them.
type plant struct {
	t     *testing.T
	store *faultyStore
	robot *robot // all devices

	mu    sync.Mutex
	owner *engine
	epoch uint64
}

// engine is one of the plant.
type engine struct {
	*devices.Service
	p    *plant
	name string

	mu      sync.Mutex
	cut     bool        // the engine reaches no other
	lost    atomic.Bool // its lease
	moves   context.CancelFunc
	ended   chan struct{} // the last Run has returned
	tell    func(ctx context.Context, id string) error
	follows context.CancelFunc
}

func newPlant(t *testing.T, do func(context.Context, devices.Order) (map[string]any, error)) *plant {
	return &plant{t: t, store: newFaultyStore(), robot: &robot{do: do}}
}

// engine starts an engine, which is not the owner.
func (p *plant) engine(name string, change ...func(*devices.Options)) *engine {
	p.t.Helper()
	e := &engine{p: p, name: name, ended: make(chan struct{})}
	close(e.ended)
	o := devices.Options{Safety: testSafety{}, Timeout: time.Minute, QueueLimit: 4, Executor: func(string) devices.Executor { return sender{e} },
		Shared: &devices.Shared{Owner: link{e}, Stop: func(ctx context.Context, id string) error { return e.tellDirectly(ctx, id) }}}
	for _, c := range change {
		c(&o)
	}
	var err error
	e.Service, err = devices.New(p.t.Context(), p.store, o)
	require.NoError(p.t, err)
	ctx, cancel := context.WithCancel(p.t.Context())
	e.follows = cancel
	go e.Follow(ctx)
	return e
}

// sender is the executor of an engine. Only the owner may use it.
type sender struct{ e *engine }

func (s sender) Execute(ctx context.Context, o devices.Order) (map[string]any, error) {
	require.False(s.e.p.t, s.e.lost.Load(), "%s sends %s and is not the owner", s.e.name, o.ID)
	return s.e.p.robot.Execute(ctx, o)
}

func (s sender) Stop(ctx context.Context, id string) error {
	require.False(s.e.p.t, s.e.lost.Load(), "%s stops %s and is not the owner", s.e.name, id)
	return s.e.p.robot.Stop(ctx, id)
}

func (e *engine) tellDirectly(ctx context.Context, id string) error {
	if e.tell == nil {
		return errors.New("no way to it")
	}
	return e.tell(ctx, id)
}

func (e *engine) setCut(cut bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cut = cut
}

func (e *engine) isCut() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.cut
}

// own gives an engine the lease.
func (e *engine) own() {
	e.p.t.Helper()
	<-e.ended
	e.p.mu.Lock()
	e.p.epoch++
	epoch := e.p.epoch
	e.p.owner = e
	e.p.mu.Unlock()
	e.lost.Store(false)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	e.moves, e.ended = cancel, ended
	go func() {
		defer close(ended)
		err := e.Run(ctx, epoch, func() bool { return !e.lost.Load() }, func() error { return nil })
		if !e.lost.Load() {
			require.NoError(e.p.t, err)
		}
		e.p.mu.Lock()
		defer e.p.mu.Unlock()
		if e.p.owner == e && e.p.epoch == epoch {
			e.p.owner = nil
		}
	}()
	synctest.Wait()
}

// lose ends the lease of an engine that has not given it up.
func (e *engine) lose() {
	e.lost.Store(true)
	e.p.mu.Lock()
	if e.p.owner == e {
		e.p.owner = nil
	}
	e.p.mu.Unlock()
}

// move gives the lease up.
func (e *engine) move() {
	e.moves()
	<-e.ended
}

func (e *engine) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	e.follows()
	require.NoError(e.p.t, e.Close(ctx))
	require.NoError(e.p.t, e.Close(ctx))
}

// link is how an engine reaches the owner.
type link struct{ e *engine }

// to returns the owner, or an error.
func (l link) to(ctx context.Context) (devices.Owner, error) {
	l.e.p.mu.Lock()
	owner := l.e.p.owner
	l.e.p.mu.Unlock()
	switch {
	case owner == nil:
		return nil, devices.ErrNotOwner
	case l.e.isCut() || owner.isCut():
		<-ctx.Done()
		return nil, devices.ErrUnanswered
	}
	return owner.Owner(), nil
}

// over calls the owner. The answer is lost if the link is cut meanwhile.
func over[T any](ctx context.Context, l link, call func(devices.Owner) (T, error)) (answer T, err error) {
	to, err := l.to(ctx)
	if err != nil {
		return answer, err
	}
	type result struct {
		answer T
		err    error
	}
	done := make(chan result, 1)
	go func() {
		answer, err := call(to)
		done <- result{answer, err}
	}()
	select {
	case r := <-done:
		l.e.p.mu.Lock()
		owner := l.e.p.owner
		l.e.p.mu.Unlock()
		if !l.e.isCut() && (owner == nil || !owner.isCut()) {
			return r.answer, r.err
		}
		<-ctx.Done()
	case <-ctx.Done():
	}
	return answer, devices.ErrUnanswered
}

func (l link) Create(ctx context.Context, id, name, description string) (devices.Device, error) {
	return over(ctx, l, func(o devices.Owner) (devices.Device, error) { return o.Create(ctx, id, name, description) })
}

func (l link) Change(ctx context.Context, id string, e devices.Event) (devices.Device, error) {
	return over(ctx, l, func(o devices.Owner) (devices.Device, error) { return o.Change(ctx, id, e) })
}

func (l link) Submit(ctx context.Context, c devices.Command, by string) (devices.Record, error) {
	return over(ctx, l, func(o devices.Owner) (devices.Record, error) { return o.Submit(ctx, c, by) })
}

func (l link) Cancel(ctx context.Context, id, by string) (devices.Record, error) {
	return over(ctx, l, func(o devices.Owner) (devices.Record, error) { return o.Cancel(ctx, id, by) })
}

func (l link) Report(ctx context.Context, id string, t devices.Telemetry) error {
	_, err := over(ctx, l, func(o devices.Owner) (struct{}, error) { return struct{}{}, o.Report(ctx, id, t) })
	return err
}

func (l link) Changes(ctx context.Context, after devices.Position, limit int) ([]devices.Device, devices.Position, error) {
	type page struct {
		list []devices.Device
		next devices.Position
	}
	found, err := over(ctx, l, func(o devices.Owner) (page, error) {
		list, next, err := o.Changes(ctx, after, limit)
		return page{list, next}, err
	})
	return found.list, found.next, err
}

// journal returns the commands of the store, oldest first.
func (p *plant) journal() (all []string) {
	p.t.Helper()
	found, err := p.store.Commands(p.t.Context(), devices.CommandQuery{Limit: 1000})
	require.NoError(p.t, err)
	for _, c := range found {
		all = append([]string{c.ID + " " + string(c.Phase)}, all...)
	}
	return all
}

func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func idle() devices.Telemetry {
	return devices.Telemetry{State: devices.Idle, Pose: &devices.Pose{Map: "hall", X: 1, Y: 2}}
}

// Every engine answers and takes calls, one carries them out.
func TestEnginesShareDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, drive)
		a, b := p.engine("a"), p.engine("b")
		defer b.close()
		defer a.close()
		_, err := b.Create(t.Context(), "agv", "AGV", "")
		require.ErrorIs(t, err, devices.ErrNotOwner)
		a.own()
		require.True(t, a.Owns())
		require.False(t, b.Owns())

		_, err = b.Create(t.Context(), "agv", "AGV", "")
		require.NoError(t, err)
		for _, e := range []*engine{a, b} { // at once where it was created, too
			d, err := e.Get("agv")
			require.NoError(t, err, e.name)
			require.Equal(t, devices.Offline, d.State)
		}
		_, err = b.Create(t.Context(), "agv", "AGV", "")
		require.ErrorIs(t, err, devices.ErrExists)
		_, err = a.Create(t.Context(), "arm", "Arm", "")
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.Equal(t, []string{"agv", "arm"}, ids(b.List()))

		require.ErrorIs(t, b.Report("agv", idle()), devices.ErrNotOwner, "an executor of b has nothing to report")
		_, position, err := b.Changes(t.Context(), 0)
		require.NoError(t, err)
		require.NoError(t, b.Relay(t.Context(), "agv", idle()))
		changed, _, err := b.Changes(t.Context(), position)
		require.NoError(t, err)
		require.Equal(t, []string{"agv"}, ids(changed))
		require.Equal(t, devices.Idle, changed[0].State)
		require.False(t, changed[0].Unheard)
		require.Equal(t, a.List(), b.List())

		got, err := b.Submit(t.Context(), move("1", "agv", 5, 5), "anna")
		require.NoError(t, err)
		require.Equal(t, devices.Succeeded, got.Phase)
		require.Equal(t, map[string]any{"done": "1"}, got.Result.Data)
		require.Equal(t, "anna", got.By)
		again, err := a.Submit(t.Context(), move("1", "agv", 5, 5), "anna")
		require.NoError(t, err)
		require.Equal(t, got, again)
		_, err = b.Submit(t.Context(), move("1", "agv", 6, 6), "anna")
		require.ErrorIs(t, err, devices.ErrCommandReused)

		runs, err := b.Submit(ended(), move("2", "agv", 7, 7), "anna")
		require.NoError(t, err)
		require.Equal(t, devices.Running, runs.Phase)
		synctest.Wait()
		refused, err := b.Submit(t.Context(), move("3", "arm", 7, 7), "anna")
		require.ErrorIs(t, err, devices.ErrRefused)
		require.Equal(t, "test: the target is taken by agv", refused.Decision.Reason)
		canceled, err := b.Cancel(t.Context(), "2", "bob")
		require.NoError(t, err)
		require.Equal(t, devices.Canceled, canceled.Phase)
		_, err = b.Cancel(t.Context(), "2", "bob")
		require.ErrorIs(t, err, devices.ErrCommandDone)
		require.Equal(t, []string{"1", "2"}, p.robot.had())

		d, err := b.Change(t.Context(), "arm", devices.MaintenanceBegins)
		require.NoError(t, err)
		require.Equal(t, devices.Maintenance, d.State)
		d, err = b.Get("arm")
		require.NoError(t, err)
		require.Equal(t, devices.Maintenance, d.State, "who has changed it finds it changed")
		_, err = b.Change(t.Context(), "none", devices.MaintenanceBegins)
		require.ErrorIs(t, err, devices.ErrNotFound)
		_, err = b.Submit(t.Context(), move("4", "none", 1, 1), "anna")
		require.ErrorIs(t, err, devices.ErrNotFound)
		_, err = b.Submit(t.Context(), command("5", "none", devices.EmergencyStop, nil), "anna")
		require.ErrorIs(t, err, devices.ErrNotFound)
	})
}

// When an engine is killed or hangs, the commands that it leaves are lost as soon as another has the lease. Nothing is carried out twice, and
// what the first does later counts for nothing.
func TestALateOwnerIsNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		p := newPlant(t, func(ctx context.Context, o devices.Order) (map[string]any, error) {
			if o.ID == "runs" {
				<-release // an engine that hangs does not see its context end
			}
			return nil, nil
		})
		a, b, c := p.engine("a"), p.engine("b"), p.engine("c")
		defer c.close()
		defer b.close()
		defer a.close()
		a.own()
		for _, id := range []string{"agv", "arm", "cart"} {
			_, err := a.Create(t.Context(), id, id, "")
			require.NoError(t, err)
			require.NoError(t, a.Report(id, idle()))
		}
		_, err := a.Submit(t.Context(), command("stop", "cart", devices.EmergencyStop, nil), "anna")
		require.NoError(t, err)
		time.Sleep(time.Second)
		outcome := make(chan devices.Record, 2)
		for _, e := range []*engine{a, c} {
			go func() {
				got, err := e.Submit(t.Context(), move("runs", "agv", 5, 5), "anna")
				require.NoError(t, err, e.name)
				outcome <- got
			}()
			synctest.Wait()
		}
		_, err = c.Submit(ended(), move("waits", "agv", 6, 6), "anna")
		require.NoError(t, err)

		a.lose()
		b.own()
		time.Sleep(time.Second)
		require.Equal(t, []string{"stop Succeeded", "runs Lost", "waits Canceled"}, p.journal())
		require.NoError(t, b.Report("arm", idle()))
		refused, err := b.Submit(t.Context(), move("taken", "arm", 5, 5), "anna")
		require.ErrorIs(t, err, devices.ErrRefused, "the way is reserved")
		require.Equal(t, "test: the target is taken by agv", refused.Decision.Reason)
		_, err = b.Submit(t.Context(), move("stopped", "cart", 7, 7), "anna")
		require.ErrorIs(t, err, devices.ErrRefused, "the stop is latched")
		for range 2 {
			got := <-outcome
			require.Equal(t, devices.Lost, got.Phase, "that is what the journal has")
		}

		before := p.robot.had()
		_, err = a.Submit(ended(), move("late", "arm", 8, 8), "anna") // it does not know yet
		require.NoError(t, err)
		time.Sleep(time.Second)
		require.Equal(t, append(before, "late"), p.robot.had())
		require.Contains(t, p.journal(), "late Succeeded", "b has carried it out")
		require.ErrorIs(t, a.Report("arm", idle()), devices.ErrNotOwner)
		close(release)
		a.moves()
		<-a.ended
		require.Contains(t, p.journal(), "runs Lost", "its end comes too late")
		require.NoError(t, b.Report("arm", idle()))
		time.Sleep(3 * time.Second)
		require.Equal(t, b.List(), a.List())
		d, err := a.Get("arm")
		require.NoError(t, err)
		require.Equal(t, devices.Idle, d.State)
	})
}

// Commands that run have 5 s to end when the devices move, and are not begun again.
func TestDevicesMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, func(ctx context.Context, o devices.Order) (map[string]any, error) {
			select {
			case <-time.After(map[string]time.Duration{"short": 3 * time.Second, "long": time.Hour}[o.ID]):
				return nil, nil
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		})
		a, b := p.engine("a"), p.engine("b")
		defer b.close()
		defer a.close()
		a.own()
		for _, id := range []string{"agv", "arm"} {
			_, err := a.Create(t.Context(), id, id, "")
			require.NoError(t, err)
			require.NoError(t, a.Report(id, idle()))
		}
		_, position, err := b.Changes(t.Context(), 0)
		require.NoError(t, err)
		_, _ = a.Submit(ended(), move("short", "agv", 5, 5), "anna")
		_, _ = a.Submit(ended(), move("long", "arm", 9, 9), "anna")
		_, _ = a.Submit(ended(), move("waits", "arm", 8, 8), "anna")
		synctest.Wait()
		go a.moves()
		time.Sleep(time.Second)
		_, err = b.Submit(t.Context(), move("refused", "agv", 6, 6), "anna")
		require.ErrorIs(t, err, devices.ErrNotOwner, "nothing is begun while they move")
		stopped, err := b.Submit(t.Context(), command("stop", "agv", devices.EmergencyStop, nil), "anna")
		require.NoError(t, err)
		require.True(t, stopped.Result.Success, "an emergency stop is carried out all the same")
		<-a.ended
		b.own()
		require.ElementsMatch(t, []string{"short Canceled", "long Lost", "waits Canceled", "stop Succeeded"}, p.journal())
		require.ElementsMatch(t, []string{"short", "long"}, p.robot.had())
		found, err := b.Commands(t.Context(), devices.CommandQuery{ID: "long", Limit: 1})
		require.NoError(t, err)
		require.Contains(t, found[0].Result.Message, "moved to another engine")

		changed, next, err := b.Changes(t.Context(), position)
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"agv", "arm"}, ids(changed), "who follows the changes goes on with its position")
		require.Greater(t, next, position)
		for _, e := range []*engine{a, b} {
			time.Sleep(time.Second)
			d, err := e.Get("agv")
			require.NoError(t, err)
			require.True(t, d.StopLatched, e.name)
		}
	})
}

// An owner that is not heard is shown as that, and its devices as they are once it is heard again.
func TestDevicesOfAnOwnerThatIsNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, drive)
		a, b := p.engine("a"), p.engine("b")
		defer b.close()
		defer a.close()
		a.own()
		for _, id := range []string{"agv", "arm", "gone"} {
			_, err := a.Create(t.Context(), id, id, "")
			require.NoError(t, err)
			require.NoError(t, a.Report(id, idle()))
		}
		_, err := a.Change(t.Context(), "arm", devices.MaintenanceBegins)
		require.NoError(t, err)
		_, err = a.Change(t.Context(), "gone", devices.Decommission)
		require.NoError(t, err)
		time.Sleep(time.Second)
		states := func() (all []string) {
			for _, d := range b.List() {
				all = append(all, fmt.Sprint(d.ID, " ", d.State, " ", d.Unheard))
			}
			return all
		}
		heard := []string{"agv Idle false", "arm Maintenance false", "gone Decommissioned false"}
		require.Equal(t, heard, states())
		b.setCut(true)
		time.Sleep(1300 * time.Millisecond) // the last answer may be half a second old
		require.Equal(t, heard, states())
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"agv Unknown true", "arm Maintenance true", "gone Decommissioned true"}, states(), "what people decide is known")
		_, err = b.Submit(t.Context(), move("1", "agv", 5, 5), "anna")
		require.ErrorIs(t, err, devices.ErrUnanswered)
		require.ErrorContains(t, err, "1")

		_, err = a.Create(t.Context(), "new", "new", "")
		require.NoError(t, err)
		time.Sleep(21 * time.Second)
		require.Contains(t, states(), "new Unknown true", "the store tells of it")
		b.setCut(false)
		time.Sleep(2 * time.Second)
		require.Equal(t, []string{"agv Idle false", "arm Maintenance false", "gone Decommissioned false", "new Offline false"}, states())
	})
}

// A command whose answer is lost is found in the journal, by its id.
func TestCommandWhoseAnswerIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, drive)
		a, b := p.engine("a"), p.engine("b")
		defer b.close()
		defer a.close()
		a.own()
		_, err := a.Create(t.Context(), "agv", "agv", "")
		require.NoError(t, err)
		require.NoError(t, a.Report("agv", idle()))
		p.store.set(only("AddCommand", func(context.Context) error { time.Sleep(time.Second); return nil }), nil)
		go func() {
			time.Sleep(500 * time.Millisecond)
			b.setCut(true)
		}()
		got, err := b.Submit(t.Context(), move("1", "agv", 5, 5), "anna")
		require.NoError(t, err)
		require.Equal(t, devices.Succeeded, got.Phase)
		_, err = b.Cancel(t.Context(), "1", "anna")
		require.ErrorIs(t, err, devices.ErrUnanswered)
		_, err = b.Create(t.Context(), "arm", "arm", "")
		require.ErrorIs(t, err, devices.ErrUnanswered)
		require.ErrorContains(t, err, "arm")
		require.Equal(t, []string{"1"}, p.robot.had())
	})
}

// An engine that cannot take over says why, and leaves the devices to the others.
func TestRunThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, drive)
		a := p.engine("a")
		defer a.close()
		always := func() bool { return true }
		broken := errors.New("no broker")
		require.ErrorIs(t, a.Run(t.Context(), 3, always, func() error { return broken }), broken)
		require.False(t, a.Owns())
		require.ErrorIs(t, a.Run(t.Context(), 2, always, func() error { return nil }), devices.ErrNotOwner, "another had it later")
		require.NoError(t, a.Run(ended(), 4, always, func() error { return nil }))

		p.store.set(nil, nil)
		ctx, cancel := context.WithCancel(t.Context())
		running := make(chan error, 1)
		go func() { running <- a.Run(ctx, 5, always, func() error { return nil }) }()
		synctest.Wait()
		require.True(t, a.Owns())
		require.Error(t, a.Run(t.Context(), 6, always, func() error { return nil }), "it runs")
		cancel()
		require.NoError(t, <-running)

		alone, err := devices.New(t.Context(), devices.NewMemory(), devices.Options{Safety: testSafety{}})
		require.NoError(t, err)
		defer func() { require.NoError(t, alone.Close(t.Context())) }()
		require.ErrorContains(t, alone.Run(t.Context(), 1, always, nil), "Shared")
		require.True(t, alone.Owns())
		_, err = devices.New(t.Context(), devices.NewMemory(), devices.Options{Safety: testSafety{}, Shared: &devices.Shared{}})
		require.ErrorContains(t, err, "Owner")
		_, err = devices.New(t.Context(), struct{ devices.Store }{devices.NewMemory()}, devices.Options{Safety: testSafety{}, Shared: &devices.Shared{Owner: link{}}})
		require.ErrorContains(t, err, "SharedStore")
	})
}

// What the store does not have yet of an owner that is gone is known from what it has reported to the others.
func TestTakeOverOfWhatIsNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := stopRig(t)
		defer b.close()
		defer a.close()
		p.store.set(every(full), nil)
		require.NoError(t, a.Report("agv", devices.Telemetry{State: devices.Idle, Stop: devices.LocalStop, Faults: []string{"blocked"}}))
		time.Sleep(time.Second)
		a.lose()
		p.store.set(nil, nil)
		b.own()
		d, err := b.Get("agv")
		require.NoError(t, err)
		require.True(t, d.StopLatched)
		require.Equal(t, []string{"blocked"}, d.Telemetry.Faults)
		time.Sleep(11 * time.Second)
		all, err := p.store.Devices(t.Context())
		require.NoError(t, err)
		require.True(t, all[0].StopLatched, "it is stored now")
		a.move()
	})
}

// The clocks of engines differ: the last way of a device is that which was begun last.
func TestTakeOverWithAnotherClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, func(_ context.Context, o devices.Order) (map[string]any, error) {
			if o.ID == "lost" {
				return nil, devices.ErrUnknownOutcome
			}
			return nil, nil
		})
		a := p.engine("a", func(o *devices.Options) { o.Now = func() time.Time { return time.Now().Add(time.Minute) } })
		b := p.engine("b")
		defer b.close()
		defer a.close()
		a.own()
		for _, id := range []string{"agv", "arm"} {
			_, err := a.Create(t.Context(), id, id, "")
			require.NoError(t, err)
			require.NoError(t, a.Report(id, idle()))
		}
		_, err := a.Submit(t.Context(), move("first", "agv", 1, 2), "anna")
		require.NoError(t, err)
		a.move()
		b.own()
		require.NoError(t, b.Report("agv", idle()))
		got, err := b.Submit(t.Context(), move("lost", "agv", 9, 9), "anna")
		require.NoError(t, err)
		require.Equal(t, devices.Lost, got.Phase)
		b.move()
		a.own()
		require.NoError(t, a.Report("arm", idle()))
		_, err = a.Submit(t.Context(), move("taken", "arm", 9, 9), "anna")
		require.ErrorIs(t, err, devices.ErrRefused)
	})
}

// An engine that has lost its lease is done at once, whatever it was doing.
func TestAnOwnerWithoutItsLeaseIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := stopRig(t)
		defer b.close()
		defer a.close()
		p.robot.do = func(ctx context.Context, _ devices.Order) (map[string]any, error) {
			<-ctx.Done()
			require.ErrorIs(t, context.Cause(ctx), devices.ErrClosed, "the robot is left as it is")
			return nil, context.Cause(ctx)
		}
		for _, id := range []string{"runs", "waits"} {
			_, err := a.Submit(ended(), move(id, "agv", 5, 5), "anna")
			require.NoError(t, err)
		}
		require.Equal(t, 2, a.Active())
		synctest.Wait()
		a.lose()
		at := time.Now()
		a.move()
		require.Less(t, time.Since(at), 100*time.Millisecond)
		require.Equal(t, []string{"runs Running", "waits Queued"}, p.journal(), "that is for the next owner")
		b.own()
		require.Equal(t, []string{"runs Lost", "waits Canceled"}, p.journal())
		require.Zero(t, b.Active())
	})
}

// A new owner goes by what the owner before it has reported, not by what it heard of an earlier one.
func TestTakeOverAfterAnotherOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := stopRig(t)
		c := p.engine("c")
		defer c.close()
		defer b.close()
		defer a.close()
		_, err := a.Submit(t.Context(), stop("1"), "anna")
		require.NoError(t, err)
		time.Sleep(2 * time.Second)
		c.setCut(true)
		a.move()
		b.own()
		require.NoError(t, b.Report("agv", idle()))
		_, err = b.Submit(t.Context(), command("2", "agv", devices.ResetEmergencyStop, nil), "anna")
		require.NoError(t, err)
		require.True(t, c.latched())
		b.move()
		c.own()
		require.False(t, c.latched())
	})
}

// Who follows the devices of an engine misses nothing when it becomes the owner.
func TestChangesGoOnWhenAnEngineTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := stopRig(t)
		defer b.close()
		defer a.close()
		ctx, cancel := context.WithCancel(t.Context())
		seen := map[string]devices.Device{}
		var wg sync.WaitGroup
		wg.Go(func() {
			for position := uint64(0); ; {
				changed, next, err := b.Changes(ctx, position)
				if err != nil {
					return
				}
				position = next
				for _, d := range changed {
					seen[d.ID] = d
				}
			}
		})
		report := func() {
			for i := range 20 {
				state := devices.Idle
				if i%2 == 0 {
					state = devices.Working
				}
				_ = a.Owner().Report(t.Context(), "agv", devices.Telemetry{State: state, Faults: []string{fmt.Sprint(i)}})
				time.Sleep(100 * time.Millisecond)
			}
		}
		p.store.set(only("Fence", func(context.Context) error { report(); return nil }), nil)
		ended := make(chan error, 1)
		running, stop := context.WithCancel(t.Context())
		go func() { ended <- b.Run(running, 9, func() bool { return true }, func() error { return nil }) }()
		time.Sleep(3 * time.Second)
		require.True(t, b.Owns())
		time.Sleep(time.Second)
		stop()
		require.NoError(t, <-ended)
		time.Sleep(time.Second)
		cancel()
		wg.Wait()
		require.Len(t, b.List(), 1)
		require.Equal(t, b.List()[0], seen["agv"])
	})
}

// An engine that hangs may hold what is to be recorded of its commands: the devices do not wait for that.
func TestTakeOverWhileAHungEngineHoldsItsCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, a, b := stopRig(t)
		defer b.close()
		defer a.close()
		_, err := a.Create(t.Context(), "arm", "Arm", "")
		require.NoError(t, err)
		_, err = a.Submit(ended(), move("runs", "agv", 5, 5), "anna")
		require.NoError(t, err)
		synctest.Wait()
		a.lose()
		p.store.set(only("UpdateCommand", hang), nil)
		b.own()
		time.Sleep(1100 * time.Millisecond)
		require.NoError(t, b.Report("arm", idle()))
		_, err = b.Submit(t.Context(), move("taken", "arm", 5, 5), "anna")
		require.ErrorIs(t, err, devices.ErrRefused, "the way is reserved")
		again, err := b.Submit(t.Context(), move("runs", "agv", 5, 5), "anna")
		require.NoError(t, err)
		require.Equal(t, devices.Lost, again.Phase, "it is not carried out again")
		require.Contains(t, p.journal(), "runs Running")
		p.store.set(nil, nil)
		time.Sleep(3 * time.Second)
		require.Contains(t, p.journal(), "runs Lost")
		require.Equal(t, []string{"runs"}, p.robot.had())
		a.move()
	})
}
