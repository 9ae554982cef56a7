package driveralarms_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
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

// machines are drivers whose states a test sets.
type machines struct {
	mu   sync.Mutex
	list []tags.DriverStatus
}

func (m *machines) Drivers() []tags.DriverStatus {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list)
}

// set puts a driver into a state; one that is Online gives a reading each time that it is looked at.
func (m *machines) set(id string, state tags.DriverState, change func(*tags.DriverStatus)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.list, func(s tags.DriverStatus) bool { return s.ID == id })
	if i < 0 {
		i = len(m.list)
		m.list = append(m.list, tags.DriverStatus{ID: id, Type: "Modbus", Tags: 3})
	}
	m.list[i].State = state
	if state == tags.DriverOnline {
		m.list[i].Samples++
	}
	if change != nil {
		change(&m.list[i])
	}
}

func (m *machines) remove(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = slices.DeleteFunc(m.list, func(s tags.DriverStatus) bool { return s.ID == id })
}

// hall is the machines with their alarms. It is for use within a bubble.
type hall struct {
	t *testing.T
	machines
	store   *flaky
	service *alarms.Service
	log     bytes.Buffer
	end     func()
}

func newHall(t *testing.T, o driveralarms.Options) *hall {
	h := &hall{t: t, store: &flaky{Memory: alarms.NewMemory()}}
	h.service = service(t, h.store, alarms.Options{})
	h.set("plc1", tags.DriverOnline, nil)
	h.start(o)
	return h
}

func (h *hall) start(o driveralarms.Options) {
	h.t.Helper()
	o.Logger = slog.New(slog.NewTextHandler(&h.log, nil))
	d, err := driveralarms.New(h, h.service, o)
	require.NoError(h.t, err)
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Run(ctx)
	}()
	h.end = func() {
		cancel()
		<-done
	}
	time.Sleep(time.Millisecond) // looks come a moment before the whole seconds that tests wait for
	synctest.Wait()
}

// journal returns what has happened to the alarms, as "Raised plc1".
func (h *hall) journal() []string {
	h.t.Helper()
	events, err := h.service.Events(h.t.Context(), 0, 10_000)
	require.NoError(h.t, err)
	var list []string
	for _, e := range events {
		list = append(list, strings.TrimSpace(string(e.Kind)+" "+e.Occurrence.Source+" "+e.Comment))
	}
	return list
}

func TestADriverThatIsOfflineRaisesAnAlarm(t *testing.T) {
	for _, state := range []tags.DriverState{tags.DriverBackoff, tags.DriverConnecting, tags.DriverNotResponding} {
		t.Run(string(state), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHall(t, driveralarms.Options{})
				defer h.end()
				pass(time.Minute)
				require.Empty(t, h.journal(), "it is online")
				h.set("plc1", state, func(s *tags.DriverStatus) { s.LastError = "dial tcp 10.0.0.7:502: connection refused" })
				pass(30 * time.Second)
				require.Empty(t, h.journal(), "the look that saw it offline first was after the state began")
				pass(time.Second)
				require.Equal(t, []string{"Raised plc1"}, h.journal())
				list, err := h.service.Active(t.Context())
				require.NoError(t, err)
				o := list[0]
				require.Equal(t, alarms.Error, o.Severity)
				require.Equal(t, "Equipment", o.SourceType)
				require.Equal(t, map[string]string{"driverId": "plc1"}, o.Labels)
				require.Contains(t, o.Message, "Driver plc1 (Modbus) is offline: the device ")
				require.Contains(t, o.Message, string(state))
				require.Contains(t, o.Message, "last error: dial tcp 10.0.0.7:502: connection refused")
				pass(time.Hour)
				h.set("plc1", tags.DriverOnline, nil)
				pass(time.Second)
				require.Equal(t, []string{"Raised plc1", "Cleared plc1"}, h.journal())
			})
		})
	}
}

func TestAShortOutageOfADriverIsNoAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, driveralarms.Options{})
		defer h.end()
		for range 5 {
			h.set("plc1", tags.DriverBackoff, nil)
			pass(29 * time.Second)
			h.set("plc1", tags.DriverOnline, nil)
			pass(2 * time.Second)
		}
		require.Empty(t, h.journal())
	})
}

func TestADeviceThatConnectsAndGivesNothingIsOffline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, driveralarms.Options{})
		defer h.end()
		mute := func(s *tags.DriverStatus) { s.Samples-- }
		for range 3 {
			h.set("plc1", tags.DriverBackoff, nil)
			pass(10 * time.Second)
			h.set("plc1", tags.DriverOnline, mute)
			pass(15 * time.Second)
		}
		require.Equal(t, []string{"Raised plc1"}, h.journal())
		pass(16 * time.Second)
		require.Equal(t, []string{"Raised plc1", "Cleared plc1"}, h.journal(), "it stays online, though it has nothing to tell")

		h.set("idle", tags.DriverBackoff, func(s *tags.DriverStatus) { s.Tags = 0 })
		pass(time.Minute)
		h.set("idle", tags.DriverOnline, mute)
		pass(time.Second)
		require.Equal(t, []string{"Raised idle", "Cleared idle"}, h.journal()[2:], "a driver without tags has no readings")
	})
}

func TestADriverThatIsStoppedOrRemovedHasNoAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, driveralarms.Options{})
		defer h.end()
		h.set("stopped", tags.DriverStopped, nil)
		pass(time.Minute)
		require.Empty(t, h.journal())
		h.set("plc1", tags.DriverBackoff, nil)
		pass(32 * time.Second)
		h.set("plc1", tags.DriverStopped, nil)
		pass(time.Second)
		cleared := "Cleared plc1 the driver was stopped or removed"
		require.Equal(t, []string{"Raised plc1", cleared}, h.journal())
		h.set("plc1", tags.DriverBackoff, nil)
		pass(32 * time.Second)
		h.remove("plc1")
		pass(30 * time.Second)
		require.Equal(t, []string{"Raised plc1", cleared, "Raised plc1"}, h.journal(), "it may come back with other settings")
		pass(time.Second)
		require.Equal(t, []string{"Raised plc1", cleared, "Raised plc1", cleared}, h.journal())
	})
}

// TestADriverThatIsAddedAgainKeepsItsAlarm removes a driver and adds it again, as a change of its settings does.
func TestADriverThatIsAddedAgainKeepsItsAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, driveralarms.Options{})
		defer h.end()
		h.set("plc1", tags.DriverBackoff, func(s *tags.DriverStatus) { s.Samples = 57 })
		pass(32 * time.Second)
		for range 3 {
			h.remove("plc1")
			pass(20 * time.Second)
			h.set("plc1", tags.DriverOnline, func(s *tags.DriverStatus) { s.Samples = 0 })
			pass(20 * time.Second)
		}
		require.Equal(t, []string{"Raised plc1"}, h.journal(), "it has given no reading since")
		h.set("plc1", tags.DriverOnline, nil)
		pass(time.Second)
		require.Equal(t, []string{"Raised plc1", "Cleared plc1"}, h.journal())
	})
}

// TestDriverAlarmsWhoseStoringIsInDoubt has a raise and a clear stored and the word of it lost.
func TestDriverAlarmsWhoseStoringIsInDoubt(t *testing.T) {
	for name, c := range map[string]struct{ stored, again bool }{
		"stored": {true, false}, "stored, and raised again": {true, true},
		"not stored": {false, false}, "not stored, and raised again": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHall(t, driveralarms.Options{})
				h.end()
				store := &doubtful{Memory: h.store.Memory}
				h.service = service(t, store, alarms.Options{})
				h.set("plc1", tags.DriverBackoff, nil)
				h.start(driveralarms.Options{})
				defer h.end()
				store.dead.Store(true)
				pass(32 * time.Second)
				h.set("plc1", tags.DriverOnline, nil)
				pass(2 * time.Second)
				store.loseOne(c.stored)
				pass(5 * time.Second)
				want := []string{"Raised plc1", "Cleared plc1"}
				if c.again { // before anything is known of the first
					h.set("plc1", tags.DriverBackoff, nil)
					want = append(want, "Raised plc1")
				}
				pass(32 * time.Second)
				store.dead.Store(false)
				pass(2 * time.Second)
				require.Equal(t, want, h.journal())
			})
		})
	}
}

func TestDriverAlarmsOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, driveralarms.Options{})
		for _, id := range []string{"plc1", "plc2", "plc3"} {
			h.set(id, tags.DriverBackoff, nil)
		}
		pass(32 * time.Second)
		raised := []string{"Raised plc1", "Raised plc2", "Raised plc3"}
		require.Equal(t, raised, h.journal())
		h.end()

		h.remove("plc3")
		h.set("plc1", tags.DriverConnecting, nil)
		h.set("plc4", tags.DriverConnecting, nil)
		h.set("plc2", tags.DriverOnline, nil)
		h.start(driveralarms.Options{})
		now := append(raised, "Cleared plc2")
		require.Equal(t, now, h.journal())
		pass(29 * time.Second)
		require.Equal(t, now, h.journal(), "the delay counts anew, also for one that is no more")
		pass(2 * time.Second)
		now = append(now, "Raised plc4", "Cleared plc3 the driver was stopped or removed")
		require.ElementsMatch(t, now, h.journal(), "what stands is not raised twice")
		h.end()

		h.start(driveralarms.Options{Disabled: true})
		off := " drivers are no longer monitored"
		require.ElementsMatch(t, append(now, "Cleared plc1"+off, "Cleared plc4"+off), h.journal())
		pass(time.Minute)
		require.Len(t, h.journal(), 8, "nothing is raised")
		h.end()
	})
}

func TestADriverThatHasJustConnectedEndsNoAlarm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, driveralarms.Options{})
		h.set("plc1", tags.DriverBackoff, nil)
		pass(32 * time.Second)
		h.end()
		h.set("plc1", tags.DriverOnline, func(s *tags.DriverStatus) { s.Samples = 0 })
		h.start(driveralarms.Options{})
		defer h.end()
		pass(10 * time.Second)
		require.Equal(t, []string{"Raised plc1"}, h.journal(), "it has given no reading since the restart")
		h.set("plc1", tags.DriverOnline, nil)
		pass(time.Second)
		require.Equal(t, []string{"Raised plc1", "Cleared plc1"}, h.journal())
	})
}

func TestEnginesLeaveTheDriversOfOthersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, driveralarms.Options{Engine: "a"})
		h.set("plc1", tags.DriverBackoff, nil)
		pass(32 * time.Second)
		h.end()
		h.remove("plc1")
		h.start(driveralarms.Options{Engine: "b"})
		require.Equal(t, []string{"Raised plc1"}, h.journal(), "it is of the engine a, which runs on another machine")
		h.end()
		h.start(driveralarms.Options{Engine: "a"})
		defer h.end()
		pass(31 * time.Second)
		require.Equal(t, []string{"Raised plc1", "Cleared plc1 the driver was stopped or removed"}, h.journal())
	})
}

func TestDriverAlarmsWaitForTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, driveralarms.Options{})
		defer h.end()
		h.store.broken.Store(true)
		began := time.Now()
		h.set("plc1", tags.DriverBackoff, nil)
		pass(40 * time.Second)
		h.set("plc1", tags.DriverOnline, nil)
		pass(20 * time.Second)
		require.Empty(t, h.journal())
		h.store.broken.Store(false)
		pass(time.Second)
		require.Equal(t, []string{"Raised plc1", "Cleared plc1"}, h.journal(), "also what was over before it could be stored")
		list, err := h.service.RecentHistory(t.Context(), 1)
		require.NoError(t, err)
		require.WithinDuration(t, began.Add(31*time.Second), list[0].RaisedAt, time.Second)
		require.WithinDuration(t, began.Add(41*time.Second), list[0].ClearedAt, time.Second)

		h.store.broken.Store(true)
		for range 2 { // the pause between the two cannot be told any more
			h.set("plc1", tags.DriverBackoff, nil)
			pass(40 * time.Second)
			h.set("plc1", tags.DriverOnline, nil)
			pass(2 * time.Second)
		}
		h.store.broken.Store(false)
		pass(time.Second)
		require.Equal(t, []string{"Raised plc1", "Cleared plc1"}, h.journal()[2:])
		require.Equal(t, 2, strings.Count(h.log.String(), "failed to store"), "once for each time: %s", h.log.String())
		require.Equal(t, 2, strings.Count(h.log.String(), "storing driver alarms resumed"), "%s", h.log.String())
	})
}

func TestDriverAlarmsRefuseBadOptions(t *testing.T) {
	s, none := service(t, alarms.NewMemory(), alarms.Options{}), alarms.Severity(9)
	for _, bad := range []struct {
		o    driveralarms.Options
		text string
	}{{driveralarms.Options{Delay: -1}, "Delay"}, {driveralarms.Options{Severity: &none}, "Severity"}} {
		_, err := driveralarms.New(&machines{}, s, bad.o)
		require.ErrorContains(t, err, bad.text)
	}
	_, err := driveralarms.New(nil, s, driveralarms.Options{})
	require.ErrorContains(t, err, "source")
}

func TestAlarmOfADriverIsShownWhileItCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, driveralarms.Options{})
		defer h.end()
		h.set("line", tags.DriverBackoff, nil)
		h.store.broken.Store(true)
		pass(40 * time.Second)
		page, err := h.service.List(t.Context(), alarms.ListQuery{Page: 1, PageSize: 10})
		require.NoError(t, err)
		require.Len(t, page.Occurrences, 1)
		require.True(t, page.Occurrences[0].Unjournaled)
		h.store.broken.Store(false)
		pass(5 * time.Second)
		again, err := h.service.List(t.Context(), alarms.ListQuery{Page: 1, PageSize: 10})
		require.NoError(t, err)
		require.Equal(t, page.Occurrences[0].ID, again.Occurrences[0].ID)
		require.False(t, again.Occurrences[0].Unjournaled)
		count, _ := h.service.Unjournaled()
		require.Zero(t, count)
	})
}

func TestDriversOfExcludedTypesHaveNoAlarms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, driveralarms.Options{})
		bridge := func(s *tags.DriverStatus) { s.Type = "Bridge" }
		h.set("bridge1", tags.DriverBackoff, bridge)
		h.set("plc1", tags.DriverBackoff, nil)
		pass(time.Minute)
		require.ElementsMatch(t, []string{"Raised bridge1", "Raised plc1"}, h.journal())
		h.end()

		h.start(driveralarms.Options{ExcludeTypes: []string{"Bridge"}})
		defer h.end()
		h.set("bridge2", tags.DriverBackoff, bridge)
		pass(2 * time.Second)
		require.Contains(t, h.journal(), "Cleared bridge1 drivers of this type are not monitored", "without the delay")
		pass(time.Hour)
		require.Len(t, h.journal(), 3, "nothing of bridge2, and plc1 is still offline")
	})
}
