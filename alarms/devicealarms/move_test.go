package devicealarms_test

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms/devicealarms"
	"github.com/otkit/otkit/devices"
)

// engines are two that share a hall. Each has the devices as it knows them.
type engines struct {
	*hall
	owner atomic.Value // name of the one that has the devices
	b     fleet
}

// share runs a test with two engines, a and b, of which a has the devices.
func share(t *testing.T, test func(t *testing.T, e *engines)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e := &engines{}
		e.owner.Store("a")
		o := func(name string) devicealarms.Options {
			return devicealarms.Options{Engine: name, Owns: func() bool { return e.owner.Load() == name }}
		}
		e.hall = newHall(t, o("a"))
		m, err := devicealarms.New(&e.b, e.service, func() devicealarms.Options {
			o := o("b")
			o.Logger = slog.New(slog.DiscardHandler)
			return o
		}())
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); m.Run(ctx) }()
		defer func() { cancel(); <-done; e.end() }()
		e.both("agv-1", devices.Telemetry{})
		e.both("agv-2", devices.Telemetry{})
		pass(time.Second)
		test(t, e)
	})
}

// both lets both engines know of a report.
func (e *engines) both(id string, t devices.Telemetry) {
	e.report(id, t)
	e.b.report(id, t)
}

// move moves the devices to b, which waits for reports of them, and has the last ones from the store.
func (e *engines) move(stored devices.Telemetry) {
	for _, id := range []string{"agv-1", "agv-2"} {
		e.b.set(id, func(d *devices.Device) {
			d.State = devices.Offline
			if d.ID == "agv-1" {
				d.Telemetry = &stored
			}
		})
		e.set(id, func(d *devices.Device) { d.State, d.Unheard = devices.Unknown, true })
	}
	e.owner.Store("b")
}

func (e *engines) labels() (labels []string) {
	list, err := e.service.Active(e.t.Context())
	require.NoError(e.t, err)
	for _, o := range list {
		labels = append(labels, o.Labels["engine"])
	}
	return labels
}

// Alarms move with the devices: they are not cleared and raised again, and have their engine as a label.
func TestDeviceAlarmsMove(t *testing.T) {
	share(t, func(t *testing.T, e *engines) {
		e.both("agv-1", devices.Telemetry{Faults: []string{"drive blocked"}, Stop: devices.LocalStop})
		pass(2 * time.Second)
		raised := []string{"Raised device-fault:agv-1", "Raised device-stop:agv-1"}
		require.ElementsMatch(t, raised, e.journal(), "one engine raises them")
		require.Equal(t, []string{"a", "a"}, e.labels())
		e.move(devices.Telemetry{}) // the faults are not stored yet
		pass(10 * time.Second)
		require.ElementsMatch(t, append(raised, "Updated device-fault:agv-1", "Updated device-stop:agv-1"), e.journal())
		require.Equal(t, []string{"b", "b"}, e.labels())

		e.b.report("agv-1", devices.Telemetry{Faults: []string{"drive blocked", "laser dirty"}})
		e.b.report("agv-2", devices.Telemetry{})
		e.report("agv-2", devices.Telemetry{Faults: []string{"of an engine that is late"}})
		pass(2 * time.Second)
		require.ElementsMatch(t, []string{"Updated device-fault:agv-1"}, e.journal()[4:])
		e.b.set("agv-1", func(d *devices.Device) { d.StopLatched, d.Telemetry = false, &devices.Telemetry{} })
		pass(2 * time.Second)
		require.ElementsMatch(t, []string{"Cleared device-fault:agv-1", "Cleared device-stop:agv-1"}, e.journal()[5:])
		require.Empty(t, e.active())
	})
}

// A device that was silent before the move has its alarm when it would have had it, one that does not report to the new engine a delay later.
func TestTheDelayOfASilentDeviceGoesOnWhenItMoves(t *testing.T) {
	share(t, func(t *testing.T, e *engines) {
		e.state("agv-1", devices.Offline)
		e.b.state("agv-1", devices.Offline)
		pass(20 * time.Second)
		e.move(devices.Telemetry{})
		pass(9 * time.Second)
		require.Empty(t, e.journal())
		pass(3 * time.Second)
		require.Equal(t, []string{"Raised device-offline:agv-1"}, e.journal())
		pass(15 * time.Second)
		require.Len(t, e.journal(), 1)
		pass(6 * time.Second)
		require.Equal(t, []string{"Raised device-offline:agv-1", "Raised device-offline:agv-2"}, e.journal())
		require.Equal(t, []string{"b", "b"}, e.labels())
	})
}

// What an engine could not store before it lost the devices is not stored or shown by it any more.
func TestDeviceAlarmsThatAreNotStoredBeforeTheMove(t *testing.T) {
	share(t, func(t *testing.T, e *engines) {
		e.store.broken.Store(true)
		e.both("agv-1", devices.Telemetry{Faults: []string{"drive blocked"}})
		pass(2 * time.Second)
		require.Len(t, e.active(), 1, "it is shown")
		e.move(devices.Telemetry{Faults: []string{"drive blocked"}})
		pass(2 * time.Second)
		require.Empty(t, e.active(), "nobody knows whether it still is so")
		e.store.broken.Store(false)
		pass(2 * time.Second)
		require.Empty(t, e.journal())
		e.b.report("agv-1", devices.Telemetry{Faults: []string{"drive blocked"}})
		pass(2 * time.Second)
		require.Equal(t, []string{"Raised device-fault:agv-1"}, e.journal())
	})
}

// Engines that are to raise no alarms clear them once.
func TestDisabledDeviceAlarmsOfEnginesThatShareDevices(t *testing.T) {
	share(t, func(t *testing.T, e *engines) {
		e.both("agv-1", devices.Telemetry{Faults: []string{"drive blocked"}})
		pass(2 * time.Second)
		e.end()
		owns := atomic.Bool{}
		e.owner.Store("c")
		pass(2 * time.Second)
		m, err := devicealarms.New(e.hall, e.service, devicealarms.Options{Disabled: true, Engine: "c", Owns: owns.Load})
		require.NoError(t, err)
		done := make(chan struct{})
		go func() { defer close(done); m.Run(t.Context()) }()
		pass(10 * time.Second)
		require.Len(t, e.active(), 1)
		owns.Store(true)
		pass(2 * time.Second)
		<-done
		require.Empty(t, e.active())
		e.end = func() {}
	})
}
