package engine_test

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/devices/simexec"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
)

// withRobot lets an engine share a robot that stands at (5, 5).
func withRobot(t *testing.T, store devices.Store, shells repository.Store) func(o *engine.Options) {
	policies, err := safety.New(safety.Options{Device: safety.Device{MaxSpeed: 10}, Zones: []safety.Zone{{Map: "hall", Kind: safety.Allowed,
		Rings: [][][2]float64{{{0, 0}, {50, 0}, {50, 50}, {0, 50}}}}}})
	require.NoError(t, err)
	open := func(_ context.Context, s *devices.Service) (devicespart.Connection, error) {
		robots, err := simexec.New(simexec.Options{Step: 20 * time.Millisecond, Robots: []simexec.Robot{{ID: "agv", Map: "hall", X: 5, Y: 5, Speed: 10}}})
		return devicespart.Connection{Executor: robots, Run: func(ctx context.Context) error { return robots.Run(ctx, s.Report) }}, err
	}
	return func(o *engine.Options) {
		o.Shared.Cluster.TTL = 10 * time.Second // a move because of a slow machine would put the robot where it began
		o.Devices.Store, o.Devices.Safety, o.AAS.Store = store, policies, shells
		o.Devices.Fleets = []devicespart.Fleet{{Name: "hall", Open: open, Devices: []devicespart.NewDevice{{ID: "agv", Name: "Robot"}}}}
	}
}

// Every engine commands a robot, shows it and its tags, and has its alarms, whichever engine it is that has it.
func TestEnginesShareARobot(t *testing.T) {
	p, store, shells := newPlant(t, 0), devices.NewMemory(), repository.NewMemory()
	engines := []*engine.Engine{p.start(withRobot(t, store, shells)), p.start(withRobot(t, store, shells))}
	begun := time.Now()
	shows := func(x float64) {
		t.Helper()
		for i, e := range engines {
			require.Eventually(t, func() bool {
				d, err := e.Devices().Get("agv")
				s, failed := e.Tags().Read("devices.agv.x")
				at, _ := s.Sample.Value.Float()
				return err == nil && failed == nil && d.State == devices.Idle && d.Telemetry.Pose != nil && math.Abs(d.Telemetry.Pose.X-x) < 0.01 &&
					s.Sample.Quality == tags.Good && math.Abs(at-x) < 0.01
			}, time.Minute, 20*time.Millisecond, "engine %d", i)
		}
	}
	submit := func(e *engine.Engine, id, kind string, parameters map[string]any) devices.Record {
		t.Helper()
		r, err := e.Devices().Submit(t.Context(), devices.Command{ID: id, DeviceID: "agv", Type: kind, Parameters: parameters}, "ann")
		require.NoError(t, err, r.Decision.Reason)
		return r
	}
	stops := func() (all []string) {
		list, err := engines[0].Alarms().Active(t.Context())
		require.NoError(t, err)
		for _, o := range list {
			all = append(all, o.Key)
		}
		return all
	}
	shows(5)
	for i, e := range engines {
		x := 10 + float64(i)
		require.True(t, submit(e, string(rune('a'+i)), devices.MoveTo, map[string]any{"x": x, "y": 5.0}).Result.Success)
		shows(x)
	}
	require.True(t, submit(engines[1], "stop", devices.EmergencyStop, nil).Result.Success)
	require.Eventually(t, func() bool { return len(stops()) == 1 }, time.Minute, 10*time.Millisecond)

	for round := range 3 { // who has the robot goes, and another engine comes
		gone := 0
		if engines[1].Devices().Owns() {
			gone = 1
		}
		require.NotEqual(t, engines[0].Devices().Owns(), engines[1].Devices().Owns())
		require.NoError(t, engines[gone].Close(t.Context()))
		require.Eventually(t, engines[1-gone].Devices().Owns, time.Minute, 5*time.Millisecond, "round %d", round)
		engines[gone] = p.start(withRobot(t, store, shells))
		shows(5) // a simulated robot begins where the settings put it
		require.Equal(t, []string{"device-stop:agv"}, stops())
		d, err := engines[gone].Devices().Get("agv")
		require.NoError(t, err)
		require.True(t, d.StopLatched)
	}
	require.True(t, submit(engines[0], "reset", devices.ResetEmergencyStop, nil).Result.Success)
	require.Eventually(t, func() bool { return len(stops()) == 0 }, time.Minute, 10*time.Millisecond)
	page, err := engines[0].Alarms().History(t.Context(), begun, time.Now().Add(time.Hour), alarms.ListQuery{Page: 1, PageSize: 100})
	require.NoError(t, err)
	require.Len(t, page.Occurrences, 1, "the alarm was not cleared and raised again")
}
