package devices_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

func stop(id string) devices.Command { return command(id, "agv", devices.EmergencyStop, nil) }

func TestStopDuringAndAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newFaultyRig(t, drive, testSafety{})
		_, err := r.Submit(r.submitted(), move("runs", "agv", 5, 5), "anna")
		require.NoError(t, err)
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- r.Close(context.Background()) }()
		synctest.Wait()
		require.Empty(t, closed)
		got, err := r.Submit(t.Context(), stop("during"), "anna")
		require.NoError(t, err)
		require.True(t, got.Result.Success)
		require.NoError(t, <-closed)
		require.Equal(t, []string{"agv"}, r.robot.stopped)
		all, err := r.store.Devices(t.Context())
		require.NoError(t, err)
		require.True(t, all[0].StopLatched)
		require.ElementsMatch(t, []string{"runs Canceled", "during Succeeded"}, r.phases("agv"))

		time.Sleep(time.Minute)
		_, _ = r.Submit(t.Context(), stop("after"), "anna")
		require.Equal(t, []string{"agv", "agv"}, r.robot.stopped)
		_, err = r.Submit(t.Context(), move("move", "agv", 5, 5), "anna")
		require.ErrorIs(t, err, devices.ErrClosed)
		_, err = r.Submit(t.Context(), command("unknown", "none", devices.EmergencyStop, nil), "anna")
		require.ErrorIs(t, err, devices.ErrNotFound)
	})
}

// What waits for the journal has a bound, but every stop reaches the device.
func TestManyStopsWhileTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store := newFaultyRig(t, drive, testSafety{})
		defer r.close()
		store.set(every(hang), nil)
		const stops = 500
		for i := range stops {
			_, _ = r.Submit(t.Context(), stop(fmt.Sprint(i)), "anna")
		}
		require.Len(t, r.robot.stopped, stops)
		store.set(nil, nil)
		time.Sleep(5 * time.Minute)
		require.Less(t, len(r.phases("agv")), 100)
		require.NotEmpty(t, r.phases("agv"))
		memory, stored := r.latched()
		require.True(t, memory && stored)
	})
}

// resettable is a robot that must be told of a reset.
type resettable struct {
	*robot
	resets chan struct{} // a reset takes until it has an item

	mu   sync.Mutex
	told []string
}

func (r *resettable) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.told = append(r.told, what)
}

func (r *resettable) Stop(context.Context, string) error {
	r.note("stop")
	return nil
}

func (r *resettable) Reset(context.Context, string) error {
	<-r.resets
	r.note("reset")
	return nil
}

func TestStopThatAResetOvertakesIsRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		executor := &resettable{robot: &robot{do: drive}, resets: make(chan struct{})}
		s, err := devices.New(t.Context(), devices.NewMemory(), devices.Options{Safety: testSafety{}, Executor: func(string) devices.Executor { return executor }})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close(t.Context())) }()
		_, err = s.Create(t.Context(), "agv", "AGV", "")
		require.NoError(t, err)
		_, err = s.Submit(t.Context(), stop("1"), "anna")
		require.NoError(t, err)
		reset := make(chan devices.Record, 1)
		go func() {
			got, err := s.Submit(t.Context(), command("reset", "agv", devices.ResetEmergencyStop, nil), "anna")
			require.NoError(t, err)
			reset <- got
		}()
		synctest.Wait() // the reset is on its way to the device
		_, err = s.Submit(t.Context(), stop("2"), "bob")
		require.NoError(t, err)
		executor.resets <- struct{}{}
		require.False(t, (<-reset).Result.Success)
		require.Equal(t, []string{"stop", "stop", "reset", "stop"}, executor.told)
		d, err := s.Get("agv")
		require.NoError(t, err)
		require.True(t, d.StopLatched)
	})
}

// It takes real time: who waits for a lock keeps the time of synctest from passing.
func TestStopWhilePoliciesHang(t *testing.T) {
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	r, _ := newFaultyRig(t, drive, safetyFunc(func(devices.Situation) devices.Decision {
		asked <- struct{}{}
		<-answer
		return devices.Decision{Allowed: true}
	}))
	defer r.close()
	refused := make(chan error, 1)
	go func() {
		_, err := r.Submit(t.Context(), command("1", "agv", "read", nil), "anna")
		refused <- err
	}()
	<-asked
	_, err := r.Submit(t.Context(), stop("stop"), "anna")
	require.NoError(t, err)
	require.Equal(t, []string{"agv"}, r.robot.stopped)
	require.ErrorIs(t, <-refused, devices.ErrRefused)
	_, err = r.Submit(t.Context(), command("2", "agv", "read", nil), "anna")
	require.ErrorIs(t, err, devices.ErrRefused)
	require.Empty(t, asked, "policies that hang are not asked again")
	close(answer)
	require.Eventually(t, func() bool {
		_, err := r.Submit(t.Context(), command(fmt.Sprint(time.Now()), "agv", devices.ResetEmergencyStop, nil), "anna")
		return err == nil
	}, time.Minute, 10*time.Millisecond)
}

// A button that is pressed after the reset of a remote stop is a stop of its own.
func TestStopThatBecomesAnotherIsLatchedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newFaultyRig(t, drive, testSafety{})
		defer r.close()
		require.NoError(t, r.Report("agv", devices.Telemetry{Stop: devices.RemoteStop}))
		_, err := r.Submit(t.Context(), command("reset", "agv", devices.ResetEmergencyStop, nil), "anna")
		require.NoError(t, err)
		require.NoError(t, r.Report("agv", devices.Telemetry{Stop: devices.LocalStop}))
		r.report("agv", devices.Idle)
		memory, _ := r.latched()
		require.True(t, memory)
	})
}

func TestCommandWhileADeviceIsDecommissionedDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inUse := safetyFunc(func(s devices.Situation) devices.Decision {
			return devices.Decision{Allowed: s.Device.State != devices.Decommissioned, Reason: "decommissioned"}
		})
		r, store := newFaultyRig(t, drive, inUse)
		defer r.close()
		store.set(only("UpdateDevice", func(context.Context) error { time.Sleep(time.Second); return nil }), nil)
		changed := make(chan devices.State, 1)
		go func() {
			d, err := r.Change(t.Context(), "agv", devices.Decommission)
			require.NoError(t, err)
			changed <- d.State
		}()
		synctest.Wait() // it is being stored
		_, err := r.Submit(t.Context(), move("1", "agv", 5, 5), "anna")
		require.ErrorIs(t, err, devices.ErrRefused)
		require.Equal(t, devices.Decommissioned, <-changed)
		require.False(t, slices.Contains(r.robot.had(), "1"))
	})
}

// The device would go on with its order when the button is released.
func TestReportOfAStopCancelsTheCommandsOfTheDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newFaultyRig(t, drive, testSafety{})
		defer r.close()
		for _, id := range []string{"runs", "waits"} {
			_, err := r.Submit(r.submitted(), move(id, "agv", 5, 5), "anna")
			require.NoError(t, err)
		}
		_, err := r.Submit(r.submitted(), move("other", "b", 9, 9), "anna")
		require.NoError(t, err)
		synctest.Wait()
		require.NoError(t, r.Report("agv", devices.Telemetry{Stop: devices.LocalStop}))
		synctest.Wait()
		require.ElementsMatch(t, []string{"runs Canceled", "waits Canceled"}, r.phases("agv"))
		time.Sleep(time.Minute)
		require.Equal(t, []string{"other Succeeded"}, r.phases("b"))
		require.ElementsMatch(t, []string{"runs", "other"}, r.robot.had())
	})
}

func TestLateReportOfAStopIsAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store := newFaultyRig(t, drive, testSafety{})
		defer r.close()
		time.Sleep(time.Minute) // all is stored
		r.report("agv", devices.Idle)
		_, position, err := r.Changes(t.Context(), 0)
		require.NoError(t, err)
		time.Sleep(time.Minute)
		store.set(only("UpdateDevices", full), nil)
		require.NoError(t, r.Report("agv", devices.Telemetry{Time: time.Now().Add(-time.Hour), Stop: devices.LocalStop}))
		synctest.Wait()
		store.set(nil, nil)
		time.Sleep(time.Minute)
		memory, stored := r.latched()
		require.True(t, memory)
		require.True(t, stored, "it is tried again")
		changed, _, err := r.Changes(r.submitted(), position)
		require.NoError(t, err)
		require.True(t, changed[0].StopLatched)
	})
}

// The store has the reset although it reported an error, and fails for a while.
func TestStopWhoseResetFailedIsStoredAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store := newFaultyRig(t, drive, testSafety{})
		defer r.close()
		_, err := r.Submit(t.Context(), stop("stop"), "anna")
		require.NoError(t, err)
		time.Sleep(time.Minute) // all is stored
		require.NoError(t, store.Memory.UpdateDevice(t.Context(), "agv", func(d *devices.Device) error { d.StopLatched = false; return nil }))
		store.set(func(_ context.Context, call string) error {
			if call == "UpdateDevice" || call == "UpdateDevices" {
				return full(t.Context())
			}
			return nil
		}, nil)
		got, err := r.Submit(t.Context(), command("reset", "agv", devices.ResetEmergencyStop, nil), "anna")
		require.NoError(t, err)
		require.False(t, got.Result.Success)
		synctest.Wait()
		store.set(nil, nil)
		time.Sleep(time.Minute)
		memory, stored := r.latched()
		require.True(t, memory)
		require.True(t, stored)
	})
}
