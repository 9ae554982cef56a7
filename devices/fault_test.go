package devices_test

import (
	"context"
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

// faultyStore is a store whose calls a test delays or lets fail.
type faultyStore struct {
	*devices.Memory
	to devices.Store // of writes: the Memory, as an owner has it or not
	*faults
}

// faults are what happens to the calls of a store.
type faults struct {
	mu     sync.Mutex
	before func(ctx context.Context, call string) error // nil: nothing happens
	after  func(call string)
}

func newFaultyStore() *faultyStore {
	memory := devices.NewMemory()
	return &faultyStore{Memory: memory, to: memory, faults: &faults{}}
}

func (s *faultyStore) Fence(ctx context.Context, epoch uint64) (devices.Store, error) {
	var fenced devices.Store
	err := s.call(ctx, "Fence", func() (err error) {
		fenced, err = s.Memory.Fence(ctx, epoch)
		return err
	})
	return &faultyStore{Memory: s.Memory, to: fenced, faults: s.faults}, err
}

func (s *faults) set(before func(context.Context, string) error, after func(string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before, s.after = before, after
}

func (s *faults) call(ctx context.Context, name string, do func() error) error {
	s.mu.Lock()
	before, after := s.before, s.after
	s.mu.Unlock()
	if before != nil {
		if err := before(ctx, name); err != nil {
			return err
		}
	}
	err := do()
	if after != nil {
		after(name)
	}
	return err
}

func (s *faultyStore) AddDevice(ctx context.Context, d devices.Device) error {
	return s.call(ctx, "AddDevice", func() error { return s.to.AddDevice(ctx, d) })
}

func (s *faultyStore) UpdateDevice(ctx context.Context, id string, change func(*devices.Device) error) error {
	return s.call(ctx, "UpdateDevice", func() error { return s.to.UpdateDevice(ctx, id, change) })
}

func (s *faultyStore) UpdateDevices(ctx context.Context, ids []string, change func(*devices.Device)) error {
	return s.call(ctx, "UpdateDevices", func() error { return s.to.UpdateDevices(ctx, ids, change) })
}

func (s *faultyStore) AddCommand(ctx context.Context, r devices.Record) (stored devices.Record, added bool, err error) {
	err = s.call(ctx, "AddCommand", func() error {
		stored, added, err = s.to.AddCommand(ctx, r)
		return err
	})
	return stored, added, err
}

func (s *faultyStore) UpdateCommand(ctx context.Context, r devices.Record) error {
	return s.call(ctx, "UpdateCommand", func() error { return s.to.UpdateCommand(ctx, r) })
}

// newFaultyRig is newRig with a store that a test lets fail. Its device is agv.
func newFaultyRig(t *testing.T, do func(context.Context, devices.Order) (map[string]any, error), safety devices.Safety) (*rig, *faultyStore) {
	t.Helper()
	store := newFaultyStore()
	r := &rig{t: t, store: store.Memory, robot: &robot{do: do}}
	service, err := devices.New(t.Context(), store, devices.Options{Safety: safety, Timeout: time.Minute,
		Executor: func(string) devices.Executor { return r.robot }})
	require.NoError(t, err)
	r.Service = service
	for _, id := range []string{"agv", "b"} {
		_, err = r.Create(t.Context(), id, id, "")
		require.NoError(t, err)
		r.report(id, devices.Idle)
	}
	return r, store
}

// hang is a call of a store that does not answer.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return context.Cause(ctx)
}

// only lets one method of a store do something.
func only(name string, do func(ctx context.Context) error) func(context.Context, string) error {
	return func(ctx context.Context, call string) error {
		if call != name {
			return nil
		}
		return do(ctx)
	}
}

// every lets all methods of a store do something.
func every(do func(ctx context.Context) error) func(context.Context, string) error {
	return func(ctx context.Context, _ string) error { return do(ctx) }
}

func full(context.Context) error { return errors.New("disk full") }

func (r *rig) submitted() context.Context {
	ctx, cancel := context.WithCancel(r.t.Context())
	cancel()
	return ctx
}

func (r *rig) latched() (memory, stored bool) {
	d, err := r.Get("agv")
	require.NoError(r.t, err)
	all, err := r.store.Devices(r.t.Context())
	require.NoError(r.t, err)
	return d.StopLatched, all[0].StopLatched
}

func TestStopDuringAResetRemains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store := newFaultyRig(t, drive, testSafety{})
		defer r.close()
		_, err := r.Submit(t.Context(), command("stop", "agv", devices.EmergencyStop, nil), "anna")
		require.NoError(t, err)
		committed := make(chan struct{})
		store.set(nil, func(call string) {
			if call == "UpdateDevice" { // the reset is stored, and not known to be
				close(committed)
				time.Sleep(time.Second)
			}
		})
		go func() {
			got, err := r.Submit(t.Context(), command("reset", "agv", devices.ResetEmergencyStop, nil), "anna")
			require.NoError(t, err)
			require.False(t, got.Result.Success)
		}()
		<-committed
		store.set(nil, nil)
		_, err = r.Submit(t.Context(), command("again", "agv", devices.EmergencyStop, nil), "bob")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		memory, stored := r.latched()
		require.True(t, memory)
		require.True(t, stored)
	})
}

func TestStopIsStoredWhileTheDeviceIsNotReached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newFaultyRig(t, drive, testSafety{})
		defer r.close()
		r.robot.stopTakes = 5 * time.Second
		_, err := r.Submit(r.submitted(), command("stop", "agv", devices.EmergencyStop, nil), "anna")
		require.NoError(t, err)
		time.Sleep(time.Second)
		_, stored := r.latched()
		require.True(t, stored)
	})
}

func TestStopReachesTheDeviceWhateverTheStoreDoes(t *testing.T) {
	for name, fault := range map[string]func(context.Context, string) error{"hangs": every(hang), "is full": every(full)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, store := newFaultyRig(t, drive, testSafety{})
				for _, id := range []string{"runs", "waits"} {
					_, err := r.Submit(r.submitted(), move(id, "agv", 5, 5), "anna")
					require.NoError(t, err)
				}
				store.set(fault, nil)
				began := time.Now()
				got, err := r.Submit(t.Context(), command("stop", "agv", devices.EmergencyStop, nil), "anna") // it is not stored
				require.NoError(t, err)
				require.True(t, got.Result.Success)
				require.Equal(t, "the device was told to stop, but this is not stored yet: a restart would forget it", got.Result.Message)
				require.LessOrEqual(t, time.Since(began), 500*time.Millisecond)
				require.Equal(t, []string{"agv"}, r.robot.stopped)
				time.Sleep(2 * time.Minute)
				store.set(nil, nil)
				time.Sleep(2 * time.Minute)
				memory, stored := r.latched()
				require.True(t, memory && stored)
				require.ElementsMatch(t, []string{"runs Canceled", "waits Canceled", "stop Succeeded"}, r.phases("agv"))
				r.close()
			})
		})
	}
}

func TestStopWithTheIDOfAnotherCommandStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newFaultyRig(t, drive, testSafety{})
		defer r.close()
		_, err := r.Submit(r.submitted(), move("1", "agv", 5, 5), "anna")
		require.NoError(t, err)
		_, err = r.Submit(t.Context(), command("1", "agv", devices.EmergencyStop, nil), "bob")
		require.ErrorIs(t, err, devices.ErrCommandReused)
		require.Equal(t, []string{"agv"}, r.robot.stopped)
		memory, _ := r.latched()
		require.True(t, memory)
	})
}

func TestLateReportOfAStopLatchesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newFaultyRig(t, drive, testSafety{})
		defer r.close()
		require.NoError(t, r.Report("agv", devices.Telemetry{Time: time.Now().Add(-time.Second), Stop: devices.LocalStop}))
		synctest.Wait()
		memory, stored := r.latched()
		require.True(t, memory && stored)
	})
}

// A person who has put a device into maintenance walks up to it.
func TestWhatIsBeingJournaledDoesNotBeginAfterwards(t *testing.T) {
	for name, interfere := range map[string]func(t *testing.T, r *rig){
		"maintenance": func(t *testing.T, r *rig) {
			_, err := r.Change(t.Context(), "agv", devices.MaintenanceBegins)
			require.NoError(t, err)
		},
		"stop and reset": func(t *testing.T, r *rig) {
			_, err := r.Submit(t.Context(), command("stop", "agv", devices.EmergencyStop, nil), "anna")
			require.NoError(t, err)
			_, err = r.Submit(r.submitted(), command("reset", "agv", devices.ResetEmergencyStop, nil), "anna")
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refuseMaintenance := safetyFunc(func(s devices.Situation) devices.Decision {
					return devices.Decision{Allowed: s.Device.State != devices.Maintenance, Reason: "maintenance"}
				})
				r, store := newFaultyRig(t, drive, refuseMaintenance)
				defer r.close()
				var slow atomic.Bool
				store.set(only("AddCommand", func(context.Context) error {
					if !slow.Swap(true) {
						time.Sleep(10 * time.Second)
					}
					return nil
				}), nil)
				go func() { _, _ = r.Submit(t.Context(), move("1", "agv", 5, 5), "anna") }() // the journal has its outcome
				synctest.Wait()
				interfere(t, r)
				time.Sleep(time.Minute)
				require.NotContains(t, r.robot.had(), "1")
			})
		})
	}
}

type safetyFunc func(devices.Situation) devices.Decision

func (f safetyFunc) Check(s devices.Situation) devices.Decision { return f(s) }

func TestPolicyThatPanicsRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newFaultyRig(t, drive, safetyFunc(func(devices.Situation) devices.Decision { panic("broken") }))
		defer r.close()
		_, err := r.Submit(t.Context(), move("1", "agv", 5, 5), "anna")
		require.ErrorIs(t, err, devices.ErrRefused)
		require.Empty(t, r.robot.had())
	})
}

func TestFiguresThatNoStoreKeepsDoNotBlockTheDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		allow := safetyFunc(func(devices.Situation) devices.Decision {
			return devices.Decision{Allowed: true, Verdicts: []devices.Verdict{{Policy: "p", Allowed: true, Figures: []devices.Figure{{Name: "n", Value: math.NaN()}}}}}
		})
		r, _ := newFaultyRig(t, func(_ context.Context, o devices.Order) (map[string]any, error) {
			if o.Type == "fail" {
				return nil, errors.New("broken\x00\xff")
			}
			return map[string]any{"figure": math.NaN()}, nil
		}, allow)
		defer r.close()
		got, err := r.Submit(t.Context(), command("1", "agv", "read", nil), "anna")
		require.NoError(t, err)
		require.True(t, got.Result.Success)
		require.Nil(t, got.Result.Data)
		require.Empty(t, got.Decision.Verdicts[0].Figures)
		got, err = r.Submit(t.Context(), command("2", "agv", "fail", nil), "anna")
		require.NoError(t, err)
		require.Equal(t, "broken\uFFFD", got.Result.Message)
	})
}

func TestWaysOfUnknownOutcomesRemainOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := devices.NewMemory()
		never := func(ctx context.Context, _ devices.Order) (map[string]any, error) {
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
		for name, end := range map[string]func(r *rig, id string){
			"timed out": func(r *rig, _ string) { time.Sleep(2 * time.Minute); r.close() },
			"canceled": func(r *rig, id string) {
				_, err := r.Cancel(t.Context(), id, "bob")
				require.NoError(t, err)
				r.close()
			},
			"left": func(r *rig, _ string) { r.close() },
		} {
			first := newRig(t, store, never, "a"+name[:1], "b"+name[:1])
			at := float64(len(name)) // who arrives there remains there
			moving, other := "a"+name[:1], "b"+name[:1]
			_, err := first.Submit(first.submitted(), move(name, moving, at, 5), "anna")
			require.NoError(t, err)
			synctest.Wait()
			end(first, name)
			second := newRig(t, store, drive)
			second.report(other, devices.Idle)
			_, err = second.Submit(t.Context(), move(name+" other", other, at, 5), "anna")
			require.ErrorIs(t, err, devices.ErrRefused, "%s: it may still be driving there", name)
			time.Sleep(time.Second)
			second.report(moving, devices.Idle)
			_, err = second.Submit(t.Context(), move(name+" again", other, at, 5), "anna")
			require.NoError(t, err)
			second.close()
			third := newRig(t, store, drive)
			third.report(other, devices.Idle)
			_, err = third.Submit(t.Context(), move(name+" third", other, at, 5), "anna")
			require.NoError(t, err, "the device has reported since")
			third.close()
		}
	})
}

func TestCommandThatHasWaitedIsLostByAKilledProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := devices.NewMemory()
		r := newRig(t, store, drive, "agv", "b")
		for _, id := range []string{"first", "waited"} {
			_, err := r.Submit(r.submitted(), move(id, "agv", 7, 7), "anna")
			require.NoError(t, err)
		}
		time.Sleep(1500 * time.Millisecond)
		require.Equal(t, []string{"first", "waited"}, r.robot.had())
		second := newRig(t, store, drive) // as after a kill -9
		require.Contains(t, second.phases("agv"), "waited Lost")
		second.report("b", devices.Idle)
		_, err := second.Submit(t.Context(), move("other", "b", 7, 7), "anna")
		require.ErrorIs(t, err, devices.ErrRefused, "it may still be driving there")
		r.close()
		second.close()
	})
}

func TestCommandThatCannotBeJournaledDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, store := newFaultyRig(t, drive, testSafety{})
		defer r.close()
		_, err := r.Submit(r.submitted(), move("first", "agv", 5, 5), "anna")
		require.NoError(t, err)
		_, err = r.Submit(r.submitted(), move("waits", "agv", 5, 5), "anna")
		require.NoError(t, err)
		failures := 0
		store.set(func(_ context.Context, call string) error {
			if failures++; failures == 2 { // the beginning of the second
				return errors.New("disk full")
			}
			return nil
		}, nil)
		_, err = r.Submit(t.Context(), move("waits", "agv", 5, 5), "anna")
		require.NoError(t, err)
		require.Equal(t, []string{"first Succeeded", "waits Failed"}, r.phases("agv"))
		require.Equal(t, []string{"first"}, r.robot.had())

		// The store has what it reported an error for.
		store.set(nil, nil)
		store.set(only("AddCommand", hang), nil)
		_, err = r.Submit(t.Context(), move("lost", "agv", 5, 5), "anna")
		require.Error(t, err)
		store.set(nil, nil)
		found, err := r.Commands(t.Context(), devices.CommandQuery{ID: "first", Limit: 1})
		require.NoError(t, err)
		record := found[0]
		record.ID, record.Phase, record.Result = "lost", devices.Running, devices.Result{}
		_, added, err := store.AddCommand(t.Context(), record)
		require.NoError(t, err)
		require.True(t, added)
		got, err := r.Submit(t.Context(), move("lost", "agv", 5, 5), "anna")
		require.NoError(t, err)
		require.Equal(t, devices.Failed, got.Phase)
		require.NotContains(t, r.robot.had(), "lost")
	})
}

func TestCloseEndsWithAStoreThatFailsOrHangs(t *testing.T) {
	for name, fault := range map[string]func(context.Context, string) error{"hangs": every(hang), "is full": every(full)} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, store := newFaultyRig(t, drive, testSafety{})
				for _, id := range []string{"runs", "waits", "waits too"} {
					_, err := r.Submit(r.submitted(), move(id, "agv", 5, 5), "anna")
					require.NoError(t, err)
				}
				store.set(fault, nil)
				began := time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
				defer cancel()
				_ = r.Close(ctx) // what it could not store is recorded at the next start
				require.Less(t, time.Since(began), 30*time.Second)
			})
		})
	}
}

func TestResetDoesNotFreeAWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newFaultyRig(t, drive, testSafety{})
		defer r.close()
		_, err := r.Submit(r.submitted(), move("1", "agv", 5, 5), "anna")
		require.NoError(t, err)
		synctest.Wait()
		for _, kind := range []string{devices.EmergencyStop, devices.ResetEmergencyStop} {
			_, err = r.Submit(t.Context(), command(kind, "agv", kind, nil), "anna")
			require.NoError(t, err)
		}
		_, err = r.Submit(t.Context(), move("2", "b", 5, 5), "anna")
		require.ErrorIs(t, err, devices.ErrRefused, "nobody knows where it is")
		require.NoError(t, r.Report("agv", devices.Telemetry{Time: time.Now().Add(-time.Millisecond), State: devices.Idle}))
		r.report("agv", devices.Idle)
		_, err = r.Submit(t.Context(), move("3", "b", 5, 5), "anna")
		require.NoError(t, err)
	})
}

func TestReportFromBeforeACancellationFreesNoWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newFaultyRig(t, drive, testSafety{})
		defer r.close()
		_, err := r.Submit(r.submitted(), move("1", "agv", 5, 5), "anna")
		require.NoError(t, err)
		time.Sleep(500 * time.Millisecond)
		_, err = r.Cancel(t.Context(), "1", "bob")
		require.NoError(t, err)
		require.NoError(t, r.Report("agv", devices.Telemetry{Time: time.Now().Add(-100 * time.Millisecond), State: devices.Idle}))
		_, err = r.Submit(t.Context(), move("2", "b", 5, 5), "anna")
		require.ErrorIs(t, err, devices.ErrRefused)
	})
}

func TestDeviceThatCarriesOutACommandIsNotDecommissioned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := newFaultyRig(t, drive, testSafety{})
		defer r.close()
		_, err := r.Submit(r.submitted(), move("1", "agv", 5, 5), "anna")
		require.NoError(t, err)
		_, err = r.Change(t.Context(), "agv", devices.Decommission)
		require.ErrorIs(t, err, devices.ErrState)
	})
}

func TestJournalIsTrimmed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, store: devices.NewMemory(), robot: &robot{do: drive}}
		service, err := devices.New(t.Context(), r.store, devices.Options{Safety: testSafety{}, Retention: 24 * time.Hour,
			Executor: func(string) devices.Executor { return r.robot }})
		require.NoError(t, err)
		r.Service = service
		defer r.close()
		_, err = r.Create(t.Context(), "agv", "AGV", "")
		require.NoError(t, err)
		r.report("agv", devices.Idle)
		_, err = r.Submit(t.Context(), move("old", "agv", 5, 5), "anna")
		require.NoError(t, err)
		time.Sleep(23 * time.Hour)
		_, err = r.Submit(t.Context(), move("new", "agv", 5, 5), "anna")
		require.NoError(t, err)
		time.Sleep(2*time.Hour + time.Minute)
		require.Equal(t, []string{"new Succeeded"}, r.phases("agv"))
	})
}

func TestClockThatIsSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		offset := time.Hour
		service, err := devices.New(t.Context(), devices.NewMemory(), devices.Options{Safety: testSafety{}, Now: func() time.Time { return time.Now().Add(offset) }})
		require.NoError(t, err)
		defer func() { require.NoError(t, service.Close(t.Context())) }()
		_, err = service.Create(t.Context(), "agv", "AGV", "")
		require.NoError(t, err)
		require.NoError(t, service.Report("agv", devices.Telemetry{Pose: &devices.Pose{X: 1}}))
		offset = 0
		require.NoError(t, service.Report("agv", devices.Telemetry{Pose: &devices.Pose{X: 2}}))
		d, err := service.Get("agv")
		require.NoError(t, err)
		require.InDelta(t, 2, d.Telemetry.Pose.X, 0)
	})
}
