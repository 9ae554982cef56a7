package devices_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

// The last report of a device that has arrived is from its way.
func TestSpotOfADeviceThatHasArrivedIsTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := devices.NewMemory()
		r := newRig(t, store, drive, "a", "b")
		_, err := r.Submit(t.Context(), move("1", "a", 9, 9), "anna")
		require.NoError(t, err)
		_, err = r.Submit(t.Context(), move("2", "b", 9, 9), "anna")
		require.ErrorIs(t, err, devices.ErrRefused)
		r.close()
		r = newRig(t, store, drive)
		defer r.close()
		r.report("b", devices.Idle)
		_, err = r.Submit(t.Context(), move("3", "b", 9, 9), "anna")
		require.ErrorIs(t, err, devices.ErrRefused, "after a restart, too")
		time.Sleep(time.Second)
		r.report("a", devices.Working)
		_, err = r.Submit(t.Context(), move("4", "b", 9, 9), "anna")
		require.NoError(t, err, "it has reported where it is")
	})
}

func TestNextCommandIsJudgedFromWhereTheDeviceHasArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var froms []devices.Pose
		do := func(_ context.Context, o devices.Order) (map[string]any, error) {
			froms = append(froms, *o.From)
			return nil, nil
		}
		judged := devices.Pose{}
		r, _ := newFaultyRig(t, do, safetyFunc(func(s devices.Situation) devices.Decision {
			judged = *s.Device.Telemetry.Pose
			return devices.Decision{Allowed: true}
		}))
		defer r.close()
		for i, c := range []devices.Command{move("1", "agv", 9, 9), move("2", "agv", 9, 3)} {
			_, err := r.Submit(t.Context(), c, "anna")
			require.NoError(t, err)
			require.Equal(t, []devices.Pose{{Map: "hall", X: 1, Y: 2}, {Map: "hall", X: 9, Y: 9}}[i], judged)
			require.Equal(t, judged, froms[i])
		}
		time.Sleep(time.Second)
		r.report("agv", devices.Idle)
		_, err := r.Submit(t.Context(), move("3", "agv", 9, 9), "anna")
		require.NoError(t, err)
		require.Equal(t, devices.Pose{Map: "hall", X: 1, Y: 2}, judged, "the report counts")
	})
}

func TestWayIsReservedOverARestartWhateverWasIssuedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := devices.NewMemory()
		r := newRig(t, store, func(ctx context.Context, o devices.Order) (map[string]any, error) {
			if o.ID == "moves" {
				<-ctx.Done() // and the outcome is not known
				return nil, context.Cause(ctx)
			}
			return drive(ctx, o)
		}, "a", "b")
		for i, c := range []devices.Command{move("first", "a", 1, 1), move("moves", "a", 9, 9), move("urgent", "a", 3, 3)} {
			c.Priority = i % 2 * -1 // the urgent one begins before the one that was issued before it
			_, err := r.Submit(r.submitted(), c, "anna")
			require.NoError(t, err)
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(3 * time.Minute)
		require.Equal(t, []string{"first Succeeded", "moves TimedOut", "urgent Succeeded"}, r.phases("a"))
		_, err := r.Submit(t.Context(), command("stop", "a", devices.EmergencyStop, nil), "anna")
		require.NoError(t, err)
		for i := range 20 {
			_, err := r.Submit(t.Context(), move(fmt.Sprint("refused", i), "a", 2, 2), "anna")
			require.ErrorIs(t, err, devices.ErrRefused)
		}
		r.close()
		r = newRig(t, store, drive)
		defer r.close()
		r.report("b", devices.Idle)
		_, err = r.Submit(t.Context(), move("other", "b", 9, 9), "anna")
		require.ErrorIs(t, err, devices.ErrRefused, "nobody knows where it is")
	})
}

func TestSilentDeviceIsOffline(t *testing.T) {
	for name, interfere := range map[string]func(store *faultyStore, offset *atomic.Int64){
		"while the store hangs":       func(store *faultyStore, _ *atomic.Int64) { store.set(every(hang), nil) },
		"after the clock is set back": func(_ *faultyStore, offset *atomic.Int64) { offset.Store(0) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store, offset := newFaultyStore(), new(atomic.Int64)
				offset.Store(int64(time.Hour))
				s, err := devices.New(t.Context(), store, devices.Options{Safety: testSafety{}, OfflineAfter: 10 * time.Second,
					Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }})
				require.NoError(t, err)
				_, err = s.Create(t.Context(), "agv", "AGV", "")
				require.NoError(t, err)
				require.NoError(t, s.Report("agv", devices.Telemetry{State: devices.Idle}))
				interfere(store, offset)
				time.Sleep(21 * time.Second)
				d, err := s.Get("agv")
				require.NoError(t, err)
				require.Equal(t, devices.Offline, d.State)
				store.set(nil, nil)
				time.Sleep(time.Minute)
				require.NoError(t, s.Close(t.Context()))
			})
		})
	}
}

// ambiguousStore reports an error for a device that it stores.
type ambiguousStore struct{ *devices.Memory }

func (s ambiguousStore) AddDevice(ctx context.Context, d devices.Device) error {
	if err := s.Memory.AddDevice(ctx, d); err != nil {
		return err
	}
	return errors.New("the connection was lost")
}

func TestDeviceThatWasStoredWithAnErrorIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := devices.New(t.Context(), ambiguousStore{devices.NewMemory()}, devices.Options{Safety: testSafety{}})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.Close(t.Context())) }()
		_, err = s.Create(t.Context(), "agv", "AGV", "")
		require.ErrorContains(t, err, "connection")
		_, err = s.Create(t.Context(), "agv", "AGV", "")
		require.ErrorIs(t, err, devices.ErrExists)
		_, err = s.Get("agv")
		require.NoError(t, err)
	})
}

func TestRepeatedCommandFreesNoWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, devices.NewMemory(), func(ctx context.Context, o devices.Order) (map[string]any, error) {
			if o.ID == "lost" {
				return nil, devices.ErrUnknownOutcome
			}
			return drive(ctx, o)
		}, "a", "b")
		defer r.close()
		for _, id := range []string{"done", "lost", "done"} { // the last one is the first again
			_, err := r.Submit(t.Context(), move(id, "a", float64(len(id)+int(id[0])), 5), "anna")
			require.NoError(t, err)
		}
		_, err := r.Submit(t.Context(), move("other", "b", float64(4+int('l')), 5), "anna")
		require.ErrorIs(t, err, devices.ErrRefused, "the device may still be on its way there")
	})
}

// Policies of somebody else may allow another map. The executor must not take its coordinates for those of the device's map.
func TestOrderHasTheMapThatIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		maps := make(map[string]string)
		r, _ := newFaultyRig(t, func(_ context.Context, o devices.Order) (map[string]any, error) {
			maps[o.ID] = o.Move.Map
			return nil, nil
		}, safetyFunc(func(devices.Situation) devices.Decision { return devices.Decision{Allowed: true} }))
		defer r.close()
		for id, parameters := range map[string]map[string]any{"same": {"x": 1.0, "y": 1.0}, "other": {"x": 1.0, "y": 1.0, "map": "cellar"}} {
			_, err := r.Submit(t.Context(), command(id, "agv", devices.MoveTo, parameters), "anna")
			require.NoError(t, err)
		}
		require.NoError(t, r.Report("agv", devices.Telemetry{State: devices.Idle})) // it has lost its position
		_, err := r.Submit(t.Context(), move("lost", "agv", 1, 1), "anna")
		require.NoError(t, err)
		require.Equal(t, map[string]string{"same": "hall", "other": "cellar", "lost": ""}, maps)
	})
}
