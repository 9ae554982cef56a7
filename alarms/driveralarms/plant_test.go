package driveralarms_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/driveralarms"
	"github.com/otkit/otkit/tags"
)

// site is two engines, a and b, that share the driver press over one store. It is for use within a bubble.
type site struct {
	t       *testing.T
	mu      sync.Mutex
	owner   string
	state   tags.DriverState // of the driver at its owner
	samples uint64
	unheard bool // the engines do not hear of each other
	spare   string
	engines map[string]*alarms.Service
}

// view is what an engine knows of the site.
type view struct {
	*site
	engine string
}

func (v view) Drivers() []tags.DriverStatus {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := tags.DriverStatus{ID: "press", Type: "Modbus", Tags: 3, State: tags.DriverStopped}
	switch {
	case v.owner == v.engine:
		s.State = v.state
	case v.owner != "" && !v.unheard:
		s.State, s.Engine = v.state, v.owner
	default:
		return []tags.DriverStatus{s}
	}
	if v.state == tags.DriverOnline {
		v.samples++
	}
	s.Samples = v.samples
	return []tags.DriverStatus{s}
}

func (v view) Owner(string) (string, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.owner, v.owner != ""
}

func (v view) Spare() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.spare == v.engine
}

func (v view) Why(string) string { return "a: the driver type is not known" }

func newSite(t *testing.T) *site {
	s := &site{t: t, owner: "a", state: tags.DriverOnline, spare: "b", engines: map[string]*alarms.Service{}}
	store := alarms.NewMemory()
	for _, engine := range []string{"a", "b"} {
		s.engines[engine] = service(t, store, alarms.Options{PollInterval: 100 * time.Millisecond})
		m, err := driveralarms.New(view{s, engine}, s.engines[engine], driveralarms.Options{Engine: engine, Plant: view{s, engine}})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); m.Run(ctx) }()
		t.Cleanup(func() { cancel(); <-done })
	}
	pass(time.Minute + 500*time.Millisecond)
	require.Empty(t, s.journal())
	return s
}

// is puts the driver into a state at an engine, which may be none.
func (s *site) is(owner string, state tags.DriverState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if owner != s.owner {
		s.samples = 7 // the new one has counters of its own
	}
	s.owner, s.state = owner, state
}

func (s *site) journal() (list []string) {
	s.t.Helper()
	events, err := s.engines["a"].Events(s.t.Context(), 0, 10_000)
	require.NoError(s.t, err)
	for _, e := range events {
		list = append(list, strings.TrimSpace(string(e.Kind)+" "+e.Occurrence.Labels["engine"]+" "+e.Comment))
	}
	return list
}

func (s *site) message() string {
	s.t.Helper()
	list, err := s.engines["a"].Active(s.t.Context())
	require.NoError(s.t, err)
	require.Len(s.t, list, 1)
	return list[0].Message
}

func TestAlarmOfADriverStaysWhileItMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.is("a", tags.DriverBackoff)
		pass(32 * time.Second)
		require.Equal(t, []string{"Raised a"}, s.journal())
		s.is("", "")
		pass(4 * time.Second)
		s.is("b", tags.DriverConnecting)
		pass(time.Second)
		s.is("b", tags.DriverBackoff)
		pass(20 * time.Second)
		require.Equal(t, []string{"Raised a"}, s.journal())
		pass(20 * time.Second)
		require.Equal(t, []string{"Raised a", "Updated b"}, s.journal(), "the new engine has the device offline, too")
		pass(time.Hour)
		s.is("b", tags.DriverOnline)
		pass(2 * time.Second)
		require.Equal(t, []string{"Raised a", "Updated b", "Cleared b"}, s.journal())
		s.is("a", tags.DriverOnline)
		pass(time.Hour)
		require.Len(t, s.journal(), 3)
	})
}

func TestDelayOfADriverAlarmGoesOnWhileItMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.is("a", tags.DriverBackoff)
		pass(20 * time.Second)
		s.is("", "")
		pass(4 * time.Second)
		s.is("b", tags.DriverBackoff)
		pass(5 * time.Second)
		require.Empty(t, s.journal())
		pass(2 * time.Second)
		require.Equal(t, []string{"Raised b"}, s.journal())
	})
}

func TestDriverThatMovesAndIsWellHasNoAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		for _, to := range []string{"b", "a"} {
			s.is("", "")
			pass(4 * time.Second)
			s.is(to, tags.DriverConnecting)
			pass(2 * time.Second)
			s.is(to, tags.DriverOnline)
			pass(time.Minute)
		}
		s.is("b", tags.DriverOnline) // at once
		pass(time.Minute)
		require.Empty(t, s.journal())
	})
}

func TestDriverThatNoEngineRunsHasAnAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.is("", "")
		pass(32 * time.Second)
		require.Equal(t, []string{"Raised"}, s.journal(), "by the engine that is there for it")
		require.Equal(t, "Driver press (Modbus) is offline: no engine runs it (a: the driver type is not known)", s.message())
		s.mu.Lock()
		s.spare = "a"
		s.mu.Unlock()
		pass(time.Hour)
		require.Len(t, s.journal(), 1)
		s.is("b", tags.DriverOnline)
		pass(2 * time.Second)
		require.Equal(t, []string{"Raised", "Cleared"}, s.journal())
		s.is("b", tags.DriverBackoff)
		pass(32 * time.Second)
		s.is("", "")
		pass(time.Hour)
		require.Equal(t, []string{"Raised", "Cleared", "Raised b", "Updated"}, s.journal())
		require.Contains(t, s.message(), "no engine runs it")
	})
}

func TestEnginesThatDoNotHearOfEachOtherRaiseNoFalseAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.mu.Lock()
		s.unheard = true
		s.mu.Unlock()
		pass(time.Hour)
		s.is("b", tags.DriverConnecting)
		pass(10 * time.Second)
		s.is("b", tags.DriverOnline)
		pass(time.Hour)
		require.Empty(t, s.journal())
	})
}

// An engine may store something in the moment in which it loses a driver.
func TestWhatAnEngineStoresLateIsPutRight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t)
		s.is("b", tags.DriverOnline)
		pass(5 * time.Second)
		const key = "driver-offline:press"
		_, err := s.engines["a"].Raise(t.Context(), alarms.Alarm{Key: key, Source: "press", Message: "late", Severity: alarms.Error, Labels: map[string]string{"engine": "a"}})
		require.NoError(t, err)
		pass(62 * time.Second)
		require.Equal(t, []string{"Raised a", "Cleared a"}, s.journal())
		s.is("b", tags.DriverBackoff)
		pass(32 * time.Second)
		require.Equal(t, []string{"Raised b"}, s.journal()[2:])
		_, err = s.engines["a"].Apply(t.Context(), []alarms.Signal{{Key: key, Comment: "late"}})
		require.NoError(t, err)
		pass(62 * time.Second)
		require.Equal(t, []string{"Raised b", "Cleared b late", "Raised b"}, s.journal()[2:])
	})
}
