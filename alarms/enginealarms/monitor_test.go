package enginealarms_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/enginealarms"
	"github.com/otkit/otkit/cluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// plant is what engines know of each other.
type plant struct {
	mu    sync.Mutex
	alive []string
	lost  []cluster.Loss
}

func (p *plant) Forget(_ context.Context, session string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lost = slices.DeleteFunc(slices.Clone(p.lost), func(l cluster.Loss) bool { return l.ID == session })
	return nil
}

func (p *plant) Alive() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.alive
}

func (p *plant) Lost() []cluster.Loss {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// have says which engines run from now on, and who was lost.
func (p *plant) have(alive []string, lost ...cluster.Loss) {
	p.mu.Lock()
	for _, l := range lost {
		p.lost = append(slices.DeleteFunc(slices.Clone(p.lost), func(old cluster.Loss) bool { return old.Engine == l.Engine }), l)
	}
	p.alive = alive
	p.mu.Unlock()
	time.Sleep(3 * time.Second)
	synctest.Wait()
}

func loss(engine, session string) cluster.Loss {
	return cluster.Loss{Session: cluster.Session{ID: session, Engine: engine, Name: "name of " + engine, Host: "hall"}, At: time.Now()}
}

// store is a memory whose reads and writes fail while it is told so.
type store struct {
	*alarms.Memory
	broken   atomic.Bool
	readOnly atomic.Bool // writes fail
}

var errDisk = errors.New("disk is full")

func (s *store) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	if s.broken.Load() || s.readOnly.Load() {
		return errDisk
	}
	return s.Memory.Write(ctx, refs, change)
}

func (s *store) Condition(ctx context.Context, ref alarms.Ref) (alarms.Condition, error) {
	if s.broken.Load() {
		return alarms.Condition{}, errDisk
	}
	return s.Memory.Condition(ctx, ref)
}

const goneAfter = time.Hour

type rig struct {
	t       *testing.T
	store   *store
	service *alarms.Service
}

func newRig(t *testing.T) *rig {
	r := &rig{t: t, store: &store{Memory: alarms.NewMemory()}}
	var err error
	r.service, err = alarms.New(t.Context(), r.store, alarms.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.service.Close(context.Background())) })
	return r
}

// monitor runs a monitor until the function that it returns is called.
func (r *rig) monitor(p *plant) (stop func()) {
	m, err := enginealarms.New(p, r.service, enginealarms.Options{GoneAfter: goneAfter})
	require.NoError(r.t, err)
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(ctx)
	}()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			<-done
		})
	}
	r.t.Cleanup(stop)
	return stop
}

// journal returns what has become of alarms, in order.
func (r *rig) journal() (list []string) {
	events, err := r.service.Events(r.t.Context(), 0, 100)
	require.NoError(r.t, err)
	for i := range events {
		list = append(list, string(events[i].Kind)+" "+events[i].Occurrence.Key+" "+events[i].Occurrence.Labels[enginealarms.LabelSession])
	}
	return list
}

func (r *rig) acknowledge(engine string) {
	_, err := r.service.Acknowledge(r.t.Context(), alarms.ByKey(enginealarms.LostKey+engine), "mina", "taken away")
	require.NoError(r.t, err)
	time.Sleep(2 * time.Second)
	synctest.Wait()
}

func TestAnEngineThatIsLostHasAnAlarmUntilItIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := newRig(t), &plant{}
		r.monitor(p)
		p.have([]string{"a", "b"})
		require.Empty(t, r.journal())
		before := time.Now()
		p.have([]string{"a"}, loss("b", "b1"))
		active, err := r.service.Active(t.Context())
		require.NoError(t, err)
		require.Len(t, active, 1)
		a := active[0]
		require.Equal(t, "name of b", a.Source)
		require.Equal(t, "Equipment", a.SourceType)
		require.Equal(t, alarms.Error, a.Severity)
		require.Equal(t, "Engine name of b on hall is lost: it was killed, hangs or does not reach the database", a.Message)
		require.Contains(t, a.Cause.Instructions, "acknowledge")
		require.Equal(t, map[string]string{"engineId": "b", "session": "b1", "host": "hall"}, a.Labels)
		require.Equal(t, before.UTC(), a.RaisedAt)

		time.Sleep(time.Hour)
		require.Equal(t, []string{"Raised engine-lost:b b1"}, r.journal())
		p.have([]string{"a", "b"})
		require.Equal(t, []string{"Raised engine-lost:b b1", "Cleared engine-lost:b b1"}, r.journal())
		require.Empty(t, p.Lost())

		p.have([]string{"a"}, loss("b", "b2"), loss("c", "c1"))
		require.ElementsMatch(t, []string{"Raised engine-lost:b b2", "Raised engine-lost:c c1"}, r.journal()[2:])
	})
}

func TestAnAcknowledgedAlarmOfAnEngineThatIsGoneEndsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := newRig(t), &plant{}
		stop := r.monitor(p)
		p.have([]string{"a"}, loss("b", "b1"))
		time.Sleep(time.Hour)
		r.acknowledge("b")
		time.Sleep(goneAfter - time.Minute)
		story := []string{"Raised engine-lost:b b1", "Acknowledged engine-lost:b b1"}
		require.Equal(t, story, r.journal(), "the next shift sees it")
		stop() // another engine goes on
		r.monitor(p)
		time.Sleep(2 * time.Minute)
		story = append(story, "Cleared engine-lost:b b1")
		require.Equal(t, story, r.journal())
		require.Empty(t, p.Lost())
		p.have([]string{"a"}, loss("b", "b2"))
		require.Equal(t, append(story, "Raised engine-lost:b b2"), r.journal())
	})
}

func TestTheNextEngineGoesOnWithTheAlarms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := newRig(t), &plant{}
		stop := r.monitor(p)
		p.have([]string{"a", "d"}, loss("b", "b1"), loss("c", "c1"))
		stop()
		require.Len(t, r.journal(), 2)
		r.monitor(p)
		p.have([]string{"d"})
		require.Len(t, r.journal(), 2, "what is lost stays so")
		p.have([]string{"d", "c"})
		require.Equal(t, "Cleared engine-lost:c c1", r.journal()[2])
	})
}

func TestAnEngineThatIsLostTwiceBetweenLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := newRig(t), &plant{}
		stop := r.monitor(p)
		p.have([]string{"a"}, loss("b", "b1"))
		stop()
		p.have([]string{"a"}, loss("b", "b2"))
		r.monitor(p)
		p.have([]string{"a"})
		require.Equal(t, []string{"Raised engine-lost:b b1", "Cleared engine-lost:b b1", "Raised engine-lost:b b2"}, r.journal())
	})
}

// As after a crash, when a service manager starts the engine again.
func TestALossThatIsOverWhenItIsNoticedIsJournaledOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := newRig(t), &plant{}
		r.monitor(p)
		p.have([]string{"a", "b"}, loss("b", "b1"))
		time.Sleep(10 * time.Second)
		require.Equal(t, []string{"Raised engine-lost:b b1", "Cleared engine-lost:b b1"}, r.journal())
		require.Empty(t, p.Lost())
	})
}

func TestALossIsStoredWhenTheStoreIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := newRig(t), &plant{}
		r.monitor(p)
		p.have([]string{"a", "b"})
		r.store.broken.Store(true)
		at := time.Now()
		p.have([]string{"a"}, loss("b", "b1"))
		time.Sleep(time.Minute)
		r.store.broken.Store(false)
		p.have([]string{"a"})
		require.Equal(t, []string{"Raised engine-lost:b b1"}, r.journal())
		active, err := r.service.Active(t.Context())
		require.NoError(t, err)
		require.Equal(t, at.UTC(), active[0].RaisedAt, "when it was lost")

		r.store.broken.Store(true)
		p.have([]string{"a", "b"})
		p.have([]string{"a"}, loss("b", "b2"))
		r.store.broken.Store(false)
		p.have([]string{"a"})
		require.Equal(t, []string{"Cleared engine-lost:b b1", "Raised engine-lost:b b2"}, r.journal()[1:])
	})
}

// Somebody else may clear an alarm. The loss is known then.
func TestAnAlarmThatSomebodyClears(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := newRig(t), &plant{}
		r.monitor(p)
		p.have([]string{"a"}, loss("b", "b1"))
		_, err := r.service.Clear(t.Context(), alarms.ByKey("engine-lost:b"), "mina", "")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		p.have([]string{"a", "b"})
		require.Equal(t, []string{"Raised engine-lost:b b1", "Cleared engine-lost:b b1"}, r.journal())
	})
}

// An engine that had the job before, and was slow, may have stored the alarm since.
func TestAnAlarmThatAnotherEngineStoresLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := newRig(t), &plant{}
		r.monitor(p)
		p.have([]string{"a", "b"})
		_, err := r.service.Raise(t.Context(), alarms.Alarm{Key: "engine-lost:b", Source: "b", Severity: alarms.Error, Labels: map[string]string{"session": "b1"}})
		require.NoError(t, err)
		p.have([]string{"a"}, loss("b", "b1"))
		require.Equal(t, []string{"Raised engine-lost:b b1"}, r.journal())
		p.have([]string{"a", "b"})
		require.Equal(t, []string{"Raised engine-lost:b b1", "Cleared engine-lost:b b1"}, r.journal())
	})
}

// Another engine stores it then: this one must not list it for ever.
func TestWhatIsNotStoredIsNotListedWhenAnotherEngineGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := newRig(t), &plant{}
		stop := r.monitor(p)
		p.have([]string{"a", "b"})
		r.store.readOnly.Store(true)
		p.have([]string{"a"}, loss("b", "b1"))
		list := func() []alarms.Occurrence {
			page, err := r.service.List(t.Context(), alarms.ListQuery{Page: 1, PageSize: 10})
			require.NoError(t, err)
			return page.Occurrences
		}
		require.Len(t, list(), 1)
		require.True(t, list()[0].Unjournaled)
		stop()
		require.Empty(t, list())
		count, _ := r.service.Unjournaled()
		require.Zero(t, count)
	})
}

func TestALossIsJournaledWhileItsAlarmIsShelved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := newRig(t), &plant{}
		_, err := r.service.Shelve(t.Context(), alarms.ByKey("engine-lost:b"), time.Hour, "mina", "")
		require.NoError(t, err)
		r.monitor(p)
		p.have([]string{"a"}, loss("b", "b1"))
		p.have([]string{"a", "b"})
		p.have([]string{"a"}, loss("b", "b2"))
		p.have([]string{"a", "b"})
		require.Equal(t, []string{"Shelved engine-lost:b ", "Raised engine-lost:b b1", "Cleared engine-lost:b b1", "Raised engine-lost:b b2", "Cleared engine-lost:b b2"}, r.journal())
	})
}

func TestANameThatAlarmsDoNotTakeHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, p := newRig(t), &plant{}
		r.monitor(p)
		l := loss("b", "b1")
		l.Name = string(make([]byte, 600)) + "\xff"
		l.Host = "\xff"
		p.have([]string{"a"}, l, loss("c", "c1"))
		require.Len(t, r.journal(), 2)
	})
}

func TestNewNamesTheWrongOption(t *testing.T) {
	wrong := alarms.Severity(9)
	service := newRig(t).service
	_, err := enginealarms.New(nil, service, enginealarms.Options{})
	require.ErrorContains(t, err, "plant is required")
	_, err = enginealarms.New(&plant{}, nil, enginealarms.Options{})
	require.ErrorContains(t, err, "target is required")
	_, err = enginealarms.New(&plant{}, service, enginealarms.Options{Severity: &wrong})
	require.ErrorContains(t, err, "Options.Severity")
	_, err = enginealarms.New(&plant{}, service, enginealarms.Options{GoneAfter: -1})
	require.ErrorContains(t, err, "Options.GoneAfter")
}
