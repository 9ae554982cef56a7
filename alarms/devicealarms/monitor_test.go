package devicealarms_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/devicealarms"
	"github.com/otkit/otkit/devices"
)

// run runs a test with devices and a monitor within a bubble.
func run(t *testing.T, o devicealarms.Options, test func(t *testing.T, h *hall)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := newHall(t, o)
		defer func() { h.end() }()
		test(t, h)
	})
}

func TestFaultsOfADeviceAreAnAlarmThatFollowsThem(t *testing.T) {
	run(t, devicealarms.Options{}, func(t *testing.T, h *hall) {
		pass(time.Minute)
		require.Empty(t, h.journal(), "it is well")
		h.report("agv-1", devices.Telemetry{State: devices.Error, Faults: []string{"drive blocked"}})
		pass(time.Second)
		list, err := h.service.Active(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 1)
		o := list[0]
		require.Equal(t, alarms.Error, o.Severity)
		require.Equal(t, "Equipment", o.SourceType)
		require.Equal(t, "agv-1", o.Source)
		require.Equal(t, map[string]string{"deviceId": "agv-1"}, o.Labels)
		require.Equal(t, "Device agv-1 reports a fault: drive blocked", o.Message)
		require.WithinDuration(t, time.Now(), o.RaisedAt, 2*time.Second)

		h.report("agv-1", devices.Telemetry{State: devices.Error, Faults: []string{"laser dirty", "drive blocked"}})
		pass(time.Second)
		require.Equal(t, []string{"Device agv-1 reports 2 faults: drive blocked; laser dirty"}, h.active())
		h.report("agv-1", devices.Telemetry{State: devices.Error, Faults: []string{"drive blocked", "laser dirty"}})
		pass(time.Second)
		h.report("agv-1", devices.Telemetry{State: devices.Error})
		pass(time.Second)
		require.Equal(t, []string{"Device agv-1 reports an error"}, h.active())
		h.report("agv-1", devices.Telemetry{})
		pass(time.Second)
		key := " device-fault:agv-1"
		require.Equal(t, []string{"Raised" + key, "Updated" + key, "Updated" + key, "Cleared" + key}, h.journal(), "another order is no change")
	})
}

func TestAnEmergencyStopIsAnAlarmUntilItIsReset(t *testing.T) {
	run(t, devicealarms.Options{}, func(t *testing.T, h *hall) {
		h.report("agv-1", devices.Telemetry{State: devices.Error, Stop: devices.LocalStop})
		pass(time.Second)
		list, err := h.service.Active(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 1, "the state Error is that of the stop")
		require.Equal(t, alarms.Critical, list[0].Severity)
		require.Equal(t, "device-stop:agv-1", list[0].Key)
		h.report("agv-1", devices.Telemetry{})
		pass(time.Minute)
		require.Len(t, h.active(), 1, "it is latched")
		h.set("agv-1", func(d *devices.Device) { d.StopLatched = false })
		pass(time.Second)
		require.Equal(t, []string{"Raised device-stop:agv-1", "Cleared device-stop:agv-1"}, h.journal())
	})
}

func TestADeviceThatIsSilentIsAnAlarm(t *testing.T) {
	run(t, devicealarms.Options{}, func(t *testing.T, h *hall) {
		h.set("new", func(*devices.Device) {})
		h.state("put back", devices.Provisioned)
		h.state("gone", devices.Decommissioned)
		h.report("in repair", devices.Telemetry{})
		h.set("in repair", func(d *devices.Device) { d.State, d.Held = devices.Maintenance, true })
		h.state("agv-1", devices.Offline)
		pass(30 * time.Second)
		require.Empty(t, h.journal(), "the look that saw it offline first was after the state began")
		pass(time.Second)
		require.Equal(t, []string{"Raised device-offline:agv-1"}, h.journal())
		require.Contains(t, h.active()[0], "Device agv-1 is offline; it was heard from last at 2000-01-01T00:00:00Z")
		pass(time.Hour)
		h.report("agv-1", devices.Telemetry{})
		pass(time.Second)
		require.Equal(t, []string{"Raised device-offline:agv-1", "Cleared device-offline:agv-1"}, h.journal())

		for range 5 {
			h.state("agv-1", devices.Offline)
			pass(29 * time.Second)
			h.report("agv-1", devices.Telemetry{})
			pass(2 * time.Second)
		}
		require.Len(t, h.journal(), 2, "short silences are none")
		h.state("in repair", devices.Offline)
		pass(31 * time.Second)
		require.Equal(t, "Raised device-offline:in repair", h.journal()[2], "its maintenance has ended and it is still silent")
		h.state("in repair", devices.Maintenance)
		pass(time.Second)
		require.Equal(t, "Cleared device-offline:in repair the device is in maintenance", h.journal()[3])
		h.state("put back", devices.Offline)
		pass(time.Hour)
		require.Len(t, h.journal(), 4, "nobody has heard from it")
	})
}

func TestADeviceThatIsDecommissionedHasNoAlarms(t *testing.T) {
	run(t, devicealarms.Options{}, func(t *testing.T, h *hall) {
		h.report("agv-1", devices.Telemetry{State: devices.Error, Faults: []string{"drive blocked"}, Stop: devices.LocalStop})
		h.state("agv-1", devices.Offline)
		pass(32 * time.Second)
		require.Len(t, h.active(), 3)
		h.state("agv-1", devices.Decommissioned)
		pass(time.Second)
		why := " the device was decommissioned"
		require.ElementsMatch(t, []string{"Cleared device-fault:agv-1" + why, "Cleared device-stop:agv-1" + why, "Cleared device-offline:agv-1" + why}, h.journal()[3:])
		h.state("agv-1", devices.Provisioned)
		pass(time.Hour)
		require.Len(t, h.active(), 2, "what it reported last counts again, its silence does not")
	})
}

func TestDeviceAlarmsOverARestart(t *testing.T) {
	run(t, devicealarms.Options{}, func(t *testing.T, h *hall) {
		for _, id := range []string{"agv-1", "agv-2", "agv-3"} {
			h.report(id, devices.Telemetry{Faults: []string{"drive blocked"}})
			h.state(id, devices.Offline)
		}
		pass(32 * time.Second)
		require.Len(t, h.journal(), 6)
		h.end()

		h.report("agv-2", devices.Telemetry{Faults: []string{"laser dirty"}})
		h.remove("agv-3")
		h.start(devicealarms.Options{})
		require.ElementsMatch(t, []string{"Updated device-fault:agv-2", "Cleared device-offline:agv-2"}, h.journal()[6:])
		pass(29 * time.Second)
		require.Len(t, h.journal(), 8, "what stands is not raised again; one that is missing may come")
		pass(2 * time.Second)
		require.ElementsMatch(t, []string{"Cleared device-fault:agv-3 the device is not known", "Cleared device-offline:agv-3 the device is not known"}, h.journal()[8:])
		h.report("agv-1", devices.Telemetry{})
		pass(time.Second)
		require.ElementsMatch(t, []string{"Cleared device-fault:agv-1", "Cleared device-offline:agv-1"}, h.journal()[10:])

		h.restart(devicealarms.Options{Disabled: true})
		require.Equal(t, []string{"Cleared device-fault:agv-2 devices are no longer monitored"}, h.journal()[12:])
		require.Empty(t, h.active())
	})
}

// unreadable is a target whose alarms cannot be read for a while.
type unreadable struct {
	alarms.Target
	since time.Time
}

func (u unreadable) EachActive(ctx context.Context) iter.Seq2[alarms.Occurrence, error] {
	if time.Since(u.since) < 5*time.Second {
		return func(yield func(alarms.Occurrence, error) bool) { yield(alarms.Occurrence{}, errDisk) }
	}
	return u.Target.EachActive(ctx)
}

func TestAlarmsThatCannotBeReadAtTheStart(t *testing.T) {
	run(t, devicealarms.Options{}, func(t *testing.T, h *hall) {
		h.report("agv-1", devices.Telemetry{Faults: []string{"drive blocked"}})
		h.report("agv-2", devices.Telemetry{Faults: []string{"drive blocked"}})
		pass(time.Second)
		h.end()
		h.report("agv-1", devices.Telemetry{})
		m, err := devicealarms.New(h, unreadable{h.service, time.Now()}, devicealarms.Options{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); m.Run(ctx) }()
		h.end = func() { cancel(); <-done }
		pass(4 * time.Second)
		require.Len(t, h.journal(), 2, "nothing is known yet")
		pass(2 * time.Second)
		require.Equal(t, []string{"Cleared device-fault:agv-1"}, h.journal()[2:], "the other one is not raised twice")
	})
}

func TestEnginesLeaveTheDevicesOfOthersAlone(t *testing.T) {
	run(t, devicealarms.Options{Engine: "a"}, func(t *testing.T, h *hall) {
		h.report("agv-1", devices.Telemetry{Faults: []string{"drive blocked"}})
		pass(time.Second)
		h.report("agv-2", devices.Telemetry{})
		pass(time.Second)
		h.state("agv-2", devices.Offline)
		pass(32 * time.Second)
		require.Equal(t, []string{"Raised device-fault:agv-1", "Raised device-offline:agv-2"}, h.journal())
		h.end()

		// The other engine has the devices from the store and hears from none of them.
		h.set("agv-1", func(d *devices.Device) { d.State, d.Telemetry = devices.Offline, &devices.Telemetry{} })
		h.start(devicealarms.Options{Engine: "b"})
		pass(time.Hour)
		require.Len(t, h.journal(), 2, "they are of the engine a, which runs on another machine")

		h.restart(devicealarms.Options{Engine: "a"})
		pass(time.Hour)
		require.Len(t, h.journal(), 2, "it has not heard from them either")
		h.report("agv-1", devices.Telemetry{})
		h.report("agv-2", devices.Telemetry{})
		pass(time.Second)
		require.Empty(t, h.active())
	})
}

func TestAnEngineHearsFromADeviceInManualMode(t *testing.T) {
	run(t, devicealarms.Options{Engine: "a"}, func(t *testing.T, h *hall) {
		h.report("agv-9", devices.Telemetry{State: devices.Maintenance})
		pass(time.Second)
		h.state("agv-9", devices.Offline)
		pass(32 * time.Second)
		require.Equal(t, []string{"Raised device-offline:agv-9"}, h.journal())
	})
}

func TestDeviceAlarmsWaitForTheStore(t *testing.T) {
	run(t, devicealarms.Options{}, func(t *testing.T, h *hall) {
		fault := func(text ...string) { h.report("agv-1", devices.Telemetry{Faults: text}); pass(2 * time.Second) }
		began := time.Now()
		h.store.broken.Store(true)
		fault("drive blocked")
		require.Equal(t, []string{"Device agv-1 reports a fault: drive blocked"}, h.active(), "it is shown")
		fault("drive blocked", "laser dirty")
		require.Equal(t, []string{"Device agv-1 reports 2 faults: drive blocked; laser dirty"}, h.active())
		fault()
		require.Empty(t, h.active())
		h.store.broken.Store(false)
		pass(time.Second)
		require.Equal(t, []string{"Raised device-fault:agv-1", "Cleared device-fault:agv-1"}, h.journal())
		list, err := h.service.RecentHistory(t.Context(), 1)
		require.NoError(t, err)
		require.WithinDuration(t, began, list[0].RaisedAt, time.Second)
		require.Equal(t, "Device agv-1 reports 2 faults: drive blocked; laser dirty", list[0].Message)

		h.store.broken.Store(true)
		fault("drive blocked")
		fault()
		fault("laser dirty") // the pause between the two cannot be told any more
		require.Equal(t, []string{"Device agv-1 reports a fault: laser dirty"}, h.active())
		h.store.broken.Store(false)
		pass(time.Second)
		require.Equal(t, []string{"Device agv-1 reports a fault: laser dirty"}, h.active())
		h.store.broken.Store(true)
		fault("drive blocked")
		fault()
		fault("oil low")
		h.store.broken.Store(false)
		pass(time.Second)
		require.Equal(t, []string{"Device agv-1 reports a fault: oil low"}, h.active())
		require.Equal(t, 3, strings.Count(h.log.String(), "failed to store device alarms; retrying"), "%s", h.log.String())
	})
}

// A raise is stored, or not, and the word of it lost; the faults change before anything is known.
func TestDeviceAlarmsWhoseStoringIsInDoubt(t *testing.T) {
	for _, stored := range []bool{true, false} {
		t.Run(fmt.Sprint("stored=", stored), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &doubtful{Memory: alarms.NewMemory()}
				h := newHallOn(t, store, devicealarms.Options{})
				defer func() { h.end() }()
				store.stores.Store(stored)
				store.commits.Store(1)
				h.report("agv-1", devices.Telemetry{Faults: []string{"drive blocked"}})
				pass(2 * time.Second)
				require.True(t, store.dead.Load())
				h.report("agv-1", devices.Telemetry{Faults: []string{"laser dirty"}})
				pass(2 * time.Second)
				store.dead.Store(false)
				pass(2 * time.Second)
				require.Equal(t, []string{"Device agv-1 reports a fault: laser dirty"}, h.active())
				require.Equal(t, []string{"Raised device-fault:agv-1", "Updated device-fault:agv-1"}, h.journal())
				h.report("agv-1", devices.Telemetry{})
				pass(time.Second)
				require.Equal(t, "Cleared device-fault:agv-1", h.journal()[2])
			})
		})
	}
}

func TestDeviceAlarmsRefuseBadOptions(t *testing.T) {
	s, err := alarms.New(t.Context(), alarms.NewMemory(), alarms.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	_, err = devicealarms.New(&fleet{}, s, devicealarms.Options{Delay: -1})
	require.ErrorContains(t, err, "Delay")
	_, err = devicealarms.New(nil, s, devicealarms.Options{})
	require.ErrorContains(t, err, "source")
	_, err = devicealarms.New(&fleet{}, nil, devicealarms.Options{})
	require.ErrorContains(t, err, "target")
}

// nobody is a safety that is never asked.
type nobody struct{}

func (nobody) Check(devices.Situation) devices.Decision { return devices.Decision{} }

// The service of the package devices is a Source.
func TestAlarmsOfTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, err := devices.New(t.Context(), devices.NewMemory(), devices.Options{Safety: nobody{}})
		require.NoError(t, err)
		defer func() { require.NoError(t, service.Close(t.Context())) }()
		_, err = service.Create(t.Context(), "agv-1", "Robot", "")
		require.NoError(t, err)
		target, err := alarms.New(t.Context(), alarms.NewMemory(), alarms.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, target.Close(t.Context())) }()
		m, err := devicealarms.New(service, target, devicealarms.Options{})
		require.NoError(t, err)
		done := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { defer close(done); m.Run(ctx) }()
		defer func() { cancel(); <-done }()

		active := func() int {
			list, err := target.Active(t.Context())
			require.NoError(t, err)
			return len(list)
		}
		pass(time.Hour)
		require.Zero(t, active(), "nobody has heard from it")
		require.NoError(t, service.Report("agv-1", devices.Telemetry{State: devices.Error, Faults: []string{"drive blocked"}}))
		pass(2 * time.Second)
		require.Equal(t, 1, active())
		pass(2 * time.Minute)
		require.Equal(t, 2, active(), "and now it is silent")
		require.NoError(t, service.Report("agv-1", devices.Telemetry{State: devices.Idle}))
		pass(2 * time.Second)
		require.Zero(t, active())
	})
}
