package devices_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

// robot is an executor whose orders take what the test says.
type robot struct {
	mu      sync.Mutex
	orders  []string
	stopped []string
	// stopTakes is how long a stop takes.
	stopTakes time.Duration
	do        func(ctx context.Context, o devices.Order) (map[string]any, error)
}

func (r *robot) Execute(ctx context.Context, o devices.Order) (map[string]any, error) {
	r.mu.Lock()
	r.orders = append(r.orders, o.ID)
	r.mu.Unlock()
	return r.do(ctx, o)
}

func (r *robot) Stop(_ context.Context, id string) error {
	time.Sleep(r.stopTakes)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopped = append(r.stopped, id)
	return nil
}

func (r *robot) had() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.orders...)
}

// drive takes a second for each order.
func drive(ctx context.Context, o devices.Order) (map[string]any, error) {
	select {
	case <-time.After(time.Second):
		return map[string]any{"done": o.ID}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// testSafety refuses what is stopped, and a target that is taken.
type testSafety struct{}

func (testSafety) Check(s devices.Situation) devices.Decision {
	refuse := func(why string) devices.Decision {
		return devices.Decision{Policy: "test", Reason: "test: " + why, Time: s.Now}
	}
	if s.Device.StopLatched && s.Command.Type != devices.ResetEmergencyStop {
		return refuse("latched")
	}
	for _, o := range s.Others {
		if s.Move != nil && o.Path != nil && o.Path.ToX == s.Move.X && o.Path.ToY == s.Move.Y {
			return refuse("the target is taken by " + o.ID)
		}
	}
	return devices.Decision{Allowed: true, MaxSpeed: 1.5, Time: s.Now}
}

type rig struct {
	*devices.Service
	t     *testing.T
	store *devices.Memory
	robot *robot
}

func newRig(t *testing.T, store *devices.Memory, do func(context.Context, devices.Order) (map[string]any, error), ids ...string) *rig {
	t.Helper()
	r := &rig{t: t, store: store, robot: &robot{do: do}}
	service, err := devices.New(t.Context(), store, devices.Options{Safety: testSafety{}, Timeout: time.Minute, QueueLimit: 4,
		Executor: func(string) devices.Executor { return r.robot }})
	require.NoError(t, err)
	r.Service = service
	for _, id := range ids {
		_, err := r.Create(t.Context(), id, "robot "+id, "")
		require.NoError(t, err)
		r.report(id, devices.Idle)
	}
	return r
}

func (r *rig) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	require.NoError(r.t, r.Close(ctx))
	require.NoError(r.t, r.Close(ctx))
}

func (r *rig) report(id string, state devices.State) {
	r.t.Helper()
	require.NoError(r.t, r.Report(id, devices.Telemetry{State: state, Pose: &devices.Pose{Map: "hall", X: 1, Y: 2}}))
}

func command(id, device, kind string, parameters map[string]any) devices.Command {
	return devices.Command{ID: id, DeviceID: device, Type: kind, Parameters: parameters}
}

func move(id, device string, x, y float64) devices.Command {
	return command(id, device, devices.MoveTo, map[string]any{"x": x, "y": y})
}

// phases returns the journal of a device, oldest first.
func (r *rig) phases(device string) (all []string) {
	r.t.Helper()
	found, err := r.Commands(r.t.Context(), devices.CommandQuery{DeviceID: device, Limit: 100})
	require.NoError(r.t, err)
	for _, c := range found {
		all = append([]string{c.ID + " " + string(c.Phase)}, all...)
	}
	return all
}

func TestCommandsRunOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, devices.NewMemory(), drive, "agv")
		defer r.close()
		var wg sync.WaitGroup
		for i, priority := range []int{0, 0, 5, 0} {
			wg.Go(func() {
				c := move(fmt.Sprint(i), "agv", float64(i), 0)
				c.Priority = priority
				got, err := r.Submit(t.Context(), c, "anna")
				require.NoError(t, err)
				require.Equal(t, devices.Succeeded, got.Phase)
				require.Equal(t, map[string]any{"done": c.ID}, got.Result.Data)
				require.Equal(t, "anna", got.By)
			})
			synctest.Wait()
		}
		wg.Wait()
		require.Equal(t, []string{"0", "2", "1", "3"}, r.robot.had())
	})
}

func TestCommandIsRepeatedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, devices.NewMemory(), drive, "agv", "b")
		defer r.close()
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				got, err := r.Submit(t.Context(), move("1", "agv", 5, 5), "anna")
				require.NoError(t, err)
				require.Equal(t, devices.Succeeded, got.Phase)
			})
		}
		wg.Wait()
		again, err := r.Submit(t.Context(), move("1", "agv", 5, 5), "bob")
		require.NoError(t, err)
		require.Equal(t, "anna", again.By)
		require.Equal(t, []string{"1"}, r.robot.had())
		for _, other := range []devices.Command{move("1", "agv", 5, 6), move("1", "b", 5, 5), command("1", "agv", devices.EmergencyStop, nil)} {
			_, err = r.Submit(t.Context(), other, "anna")
			require.ErrorIs(t, err, devices.ErrCommandReused)
		}
		require.Equal(t, []string{"1"}, r.robot.had())
	})
}

func TestOfTwoThatRaceIntoOneSpotOneIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, devices.NewMemory(), drive, "a", "b")
		defer r.close()
		var wg sync.WaitGroup
		errs := make([]error, 2)
		for i, id := range []string{"a", "b"} {
			wg.Go(func() { _, errs[i] = r.Submit(t.Context(), move(id, id, 9, 9), "anna") })
		}
		wg.Wait()
		failed := errors.Join(errs...)
		require.ErrorIs(t, failed, devices.ErrRefused)
		require.True(t, errs[0] == nil || errs[1] == nil, "both were refused")
		require.Len(t, r.robot.had(), 1)
		r.report("a", devices.Idle)
		_, err := r.Submit(t.Context(), move("later", "b", 9, 9), "anna")
		require.NoError(t, err, "the spot is free again")
	})
}

func TestEmergencyStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := devices.NewMemory()
		r := newRig(t, store, drive, "agv")
		var wg sync.WaitGroup
		for _, id := range []string{"runs", "waits"} {
			wg.Go(func() {
				got, err := r.Submit(t.Context(), move(id, "agv", 5, 5), "anna")
				require.NoError(t, err)
				require.Equal(t, devices.Canceled, got.Phase)
				require.Equal(t, "emergency stop", got.Result.Message)
			})
			synctest.Wait()
		}
		got, err := r.Submit(t.Context(), command("stop", "agv", devices.EmergencyStop, nil), "anna")
		require.NoError(t, err)
		require.True(t, got.Result.Success)
		wg.Wait()
		require.Equal(t, []string{"agv"}, r.robot.stopped)
		require.Equal(t, []string{"runs"}, r.robot.had())
		got, err = r.Submit(t.Context(), move("after", "agv", 5, 5), "anna")
		require.ErrorIs(t, err, devices.ErrRefused)
		require.Equal(t, "test: latched", got.Decision.Reason)
		r.close()

		r = newRig(t, store, drive)
		defer r.close()
		r.report("agv", devices.Idle)
		_, err = r.Submit(t.Context(), move("restarted", "agv", 5, 5), "anna")
		require.ErrorIs(t, err, devices.ErrRefused, "a restart ends no emergency stop")
		_, err = r.Submit(t.Context(), command("reset", "agv", devices.ResetEmergencyStop, nil), "anna")
		require.NoError(t, err)
		_, err = r.Submit(t.Context(), move("free", "agv", 5, 5), "anna")
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"runs Canceled", "waits Canceled", "stop Succeeded", "after Refused", "restarted Refused", "reset Succeeded", "free Succeeded"}, r.phases("agv"))
	})
}

func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := make(chan struct{})
		r := newRig(t, devices.NewMemory(), func(ctx context.Context, o devices.Order) (map[string]any, error) {
			switch o.Type {
			case "fail":
				return nil, errors.New("the gripper is empty")
			case "panic":
				panic("broken")
			case "lose":
				return nil, devices.ErrUnknownOutcome
			case "hang":
				<-hang
				return nil, nil
			}
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}, "agv")
		defer r.close()
		for kind, want := range map[string]devices.Phase{"fail": devices.Failed, "panic": devices.Lost, "lose": devices.Lost, "wait": devices.TimedOut} {
			got, err := r.Submit(t.Context(), command(kind, "agv", kind, nil), "anna")
			require.NoError(t, err)
			require.Equal(t, want, got.Phase, kind)
			require.False(t, got.Result.Success)
			require.NotEmpty(t, got.Result.Message)
			require.False(t, got.Result.CompletedAt.IsZero())
		}
		// An executor that does not return: the outcome is journaled, and the device gets nothing else.
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		hung, err := r.Submit(ctx, command("hang", "agv", "hang", nil), "anna")
		require.NoError(t, err)
		require.NoError(t, ctx.Err())
		require.Equal(t, devices.TimedOut, hung.Phase)
		require.Contains(t, r.phases("agv"), "hang TimedOut")
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		got, err := r.Submit(short, command("next", "agv", "fail", nil), "anna")
		require.NoError(t, err)
		require.Equal(t, devices.Queued, got.Phase)
		close(hang)
		synctest.Wait()
		require.Contains(t, r.phases("agv"), "next Failed")
	})
}

func TestCommandsOfAKilledProcessAreNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := devices.NewMemory()
		r := newRig(t, store, drive, "agv", "b")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, id := range []string{"runs", "waits"} {
			_, err := r.Submit(ctx, move(id, "agv", 5, 5), "anna")
			require.NoError(t, err)
		}
		second := newRig(t, store, drive) // as after a kill -9
		require.Equal(t, []string{"runs Lost", "waits Canceled"}, second.phases("agv"))
		require.Empty(t, second.robot.had())
		second.report("b", devices.Idle)
		_, err := second.Submit(t.Context(), move("other", "b", 5, 5), "anna")
		require.ErrorIs(t, err, devices.ErrRefused, "it may still be driving there")
		second.report("agv", devices.Idle)
		_, err = second.Submit(t.Context(), move("again", "b", 5, 5), "anna")
		require.NoError(t, err)
		r.close()
		second.close()
	})
}

func TestCancelAndBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, devices.NewMemory(), drive, "agv")
		defer r.close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for i := range 5 { // one runs, four wait
			_, err := r.Submit(ctx, move(fmt.Sprint(i), "agv", 5, 5), "anna")
			require.NoError(t, err)
			synctest.Wait()
		}
		_, err := r.Submit(ctx, move("more", "agv", 5, 5), "anna")
		require.ErrorIs(t, err, devices.ErrBusy)
		for _, id := range []string{"0", "2"} {
			got, err := r.Cancel(t.Context(), id, "bob")
			require.NoError(t, err)
			require.Equal(t, devices.Canceled, got.Phase)
			require.Equal(t, "canceled by bob", got.Result.Message)
		}
		_, err = r.Cancel(t.Context(), "0", "bob")
		require.ErrorIs(t, err, devices.ErrCommandDone)
		_, err = r.Cancel(t.Context(), "none", "bob")
		require.ErrorIs(t, err, devices.ErrNoCommand)
		time.Sleep(time.Minute)
		require.Equal(t, []string{"0 Canceled", "1 Succeeded", "2 Canceled", "3 Succeeded", "4 Succeeded"}, r.phases("agv"))
		require.Equal(t, []string{"0", "1", "3", "4"}, r.robot.had())
	})
}

func TestBadCommands(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, devices.NewMemory(), drive, "agv")
		defer r.close()
		for field, c := range map[string]devices.Command{
			"commandId":         command("", "agv", "x", nil),
			"commandType":       command("1", "agv", "", nil),
			"parameters.x":      command("1", "agv", devices.MoveTo, map[string]any{"y": 1.0}),
			"parameters.y":      command("1", "agv", devices.MoveTo, map[string]any{"x": 1.0, "y": "1"}),
			"parameters.speed":  command("1", "agv", devices.MoveTo, map[string]any{"x": 1.0, "y": 1.0, "speed": -1.0}),
			"parameters.map":    command("1", "agv", devices.MoveTo, map[string]any{"x": 1.0, "y": 1.0, "map": 7.0}),
			"parameters.target": command("1", "agv", devices.PickUp, map[string]any{"target": 7.0}),
		} {
			_, err := r.Submit(t.Context(), c, "anna")
			require.ErrorIs(t, err, devices.ErrInvalid)
			require.ErrorContains(t, err, field+" ")
		}
		_, err := r.Submit(t.Context(), move("1", "none", 1, 1), "anna")
		require.ErrorIs(t, err, devices.ErrNotFound)
		require.Empty(t, r.robot.had())
	})
}

func TestLifeOfADevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, devices.NewMemory(), drive)
		defer r.close()
		d, err := r.Create(t.Context(), "agv", "AGV", "")
		require.NoError(t, err)
		require.Equal(t, devices.Offline, d.State)
		_, err = r.Create(t.Context(), "agv", "AGV", "")
		require.ErrorIs(t, err, devices.ErrExists)
		state := func() devices.State {
			d, err := r.Get("agv")
			require.NoError(t, err)
			return d.State
		}
		change := func(e devices.Event) error {
			_, err := r.Change(t.Context(), "agv", e)
			return err
		}
		require.NoError(t, r.Connected("agv"))
		require.Equal(t, devices.Online, state())
		for _, s := range []devices.State{devices.Working, devices.Error, devices.Maintenance, devices.Idle} {
			r.report("agv", s)
			require.Equal(t, s, state())
		}
		require.NoError(t, change(devices.MaintenanceBegins))
		r.report("agv", devices.Idle)
		require.Equal(t, devices.Maintenance, state(), "what a person began, a report does not end")
		require.NoError(t, change(devices.MaintenanceEnds))
		r.report("agv", devices.Idle)
		require.Equal(t, devices.Idle, state())
		time.Sleep(time.Minute)
		require.Equal(t, devices.Offline, state(), "it is silent")
		require.NoError(t, change(devices.Decommission))
		r.report("agv", devices.Idle)
		require.Equal(t, devices.Decommissioned, state())
		require.ErrorIs(t, change(devices.MaintenanceBegins), devices.ErrState)
		require.NoError(t, change(devices.Provision))
		require.Equal(t, devices.Provisioned, state())
		r.report("agv", devices.Working)
		require.ErrorIs(t, change(devices.Decommission), devices.ErrState)
	})
}

// Each call of Close waits for the commands that run.
func TestCloseAgainWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, devices.NewMemory(), drive, "a")
		submitted := make(chan error, 1)
		go func() {
			_, err := r.Submit(t.Context(), move("c1", "a", 3, 4), "anna")
			submitted <- err
		}()
		synctest.Wait()
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- r.Close(context.Background()) }()
		}
		synctest.Wait()
		require.Empty(t, done)
		require.NoError(t, <-done)
		require.NoError(t, <-done)
		require.NoError(t, <-submitted)
	})
}
