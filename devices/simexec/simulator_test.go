package simexec_test

import (
	"context"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
	"github.com/otkit/otkit/devices/simexec"
)

// plant is a service on simulated robots with the policies of package safety.
type plant struct {
	*devices.Service
	t   *testing.T
	sim *simexec.Simulator
	ids int
}

func newPlant(t *testing.T, o simexec.Options, ids ...string) *plant {
	t.Helper()
	sim, err := simexec.New(o)
	require.NoError(t, err)
	chain, err := safety.New(safety.Options{Chargers: []safety.Charger{{Map: "hall", X: 1, Y: 1}}, Devices: map[string]safety.Device{"arm": {Mains: true}},
		Zones: []safety.Zone{{Map: "hall", Kind: safety.Allowed, Rings: [][][2]float64{{{-5, -5}, {50, -5}, {50, 50}, {-5, 50}}}}}})
	require.NoError(t, err)
	s, err := devices.New(t.Context(), devices.NewMemory(), devices.Options{Safety: chain, Executor: func(string) devices.Executor { return sim }})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, id := range ids {
		_, err := s.Create(t.Context(), id, id, "")
		require.NoError(t, err)
	}
	wg.Go(func() { require.NoError(t, sim.Run(ctx, s.Report)) })
	synctest.Wait()
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())); cancel(); wg.Wait() })
	return &plant{Service: s, t: t, sim: sim}
}

func (p *plant) do(device, kind string, parameters map[string]any) (devices.Record, error) {
	p.ids++
	return p.Submit(p.t.Context(), devices.Command{ID: fmt.Sprint(p.ids), DeviceID: device, Type: kind, Parameters: parameters}, "anna")
}

func (p *plant) done(device, kind string, parameters map[string]any) {
	p.t.Helper()
	r, err := p.do(device, kind, parameters)
	require.NoError(p.t, err, r.Decision.Reason)
	require.True(p.t, r.Result.Success, r.Result.Message)
}

func (p *plant) telemetry(device string) devices.Telemetry {
	p.t.Helper()
	time.Sleep(1100 * time.Millisecond) // the next report, and between two steps
	d, err := p.Get(device)
	require.NoError(p.t, err)
	return *d.Telemetry
}

func to(x, y float64) map[string]any { return map[string]any{"x": x, "y": y} }

func TestRobotsDoAsTheyAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, simexec.Options{Robots: []simexec.Robot{{ID: "agv", Map: "hall", Battery: 60, PerMetre: 0.1, Chargers: []simexec.Point{{X: 1, Y: 1}}},
			{ID: "arm", Kind: simexec.Arm, Map: "hall", X: 20, Y: 20}}}, "agv", "arm")
		began := time.Now()
		p.done("agv", devices.MoveTo, to(30, 0))
		require.InDelta(t, 30, time.Since(began).Seconds(), 0.5, "at 1 m/s")
		now := p.telemetry("agv")
		require.Equal(t, devices.Pose{Map: "hall", X: 30}, *now.Pose)
		require.InDelta(t, 57, *now.Battery, 0.001)

		p.done("agv", devices.PickUp, map[string]any{"target": "pallet 7"})
		require.Equal(t, []string{"pallet 7"}, p.telemetry("agv").Loads)
		r, err := p.do("agv", devices.PickUp, nil)
		require.NoError(t, err)
		require.Equal(t, `the robot carries "pallet 7"`, r.Result.Message)
		p.done("agv", devices.Release, nil)
		require.Empty(t, p.telemetry("agv").Loads)

		p.done("agv", devices.MoveTo, to(1, 1))
		p.done("agv", simexec.Charge, map[string]any{"percent": 90.0})
		require.GreaterOrEqual(t, *p.telemetry("agv").Battery, 90.0)

		p.done("arm", devices.PickUp, nil)
		r, err = p.do("arm", "Dance", nil)
		require.NoError(t, err)
		require.Equal(t, `command type "Dance" is not known`, r.Result.Message)
		r, err = p.do("arm", devices.MoveTo, to(22, 22))
		require.NoError(t, err)
		require.False(t, r.Result.Success)
	})
}

func TestStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, simexec.Options{Robots: []simexec.Robot{{ID: "agv", Map: "hall"}}}, "agv")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := p.Submit(ctx, devices.Command{ID: "far", DeviceID: "agv", Type: devices.MoveTo, Parameters: to(40, 0)}, "anna")
		require.NoError(t, err)
		p.done("agv", devices.EmergencyStop, nil)
		at := p.telemetry("agv").Pose.X
		require.InDelta(t, 5, at, 0.5)
		time.Sleep(time.Minute)
		require.InDelta(t, at, p.telemetry("agv").Pose.X, 0, "it moves although it was stopped")
		_, err = p.do("agv", devices.MoveTo, to(1, 0))
		require.ErrorIs(t, err, devices.ErrRefused)
		p.done("agv", devices.ResetEmergencyStop, nil)
		time.Sleep(time.Second)
		p.done("agv", devices.MoveTo, to(1, 0))

		p.sim.Press("agv", true)
		p.telemetry("agv")
		_, err = p.do("agv", devices.ResetEmergencyStop, nil)
		require.ErrorIs(t, err, devices.ErrRefused, "the button is pressed")
		p.sim.Press("agv", false)
		p.telemetry("agv")
		_, err = p.do("agv", devices.MoveTo, to(3, 0))
		require.ErrorIs(t, err, devices.ErrRefused, "releasing the button starts nothing")
		p.done("agv", devices.ResetEmergencyStop, nil)
		time.Sleep(time.Second)
		p.done("agv", devices.MoveTo, to(3, 0))
	})
}

func TestFaultsAreThoseOfTheSeed(t *testing.T) {
	course := func(seed uint64) (all []string) {
		synctest.Test(t, func(t *testing.T) {
			p := newPlant(t, simexec.Options{Seed: seed, FaultEvery: 20 * time.Second, Robots: []simexec.Robot{{ID: "agv", Map: "hall"}}}, "agv")
			for i := range 20 {
				r, err := p.do("agv", devices.MoveTo, to(float64(i%2)*10, 0))
				all = append(all, fmt.Sprint(r.Phase, math.Round(p.telemetry("agv").Pose.X*100), err != nil))
				p.done("agv", simexec.ClearError, nil)
				time.Sleep(time.Second) // reported, and still between two steps
			}
		})
		return all
	}
	first, again, other := course(1), course(1), course(2)
	require.Equal(t, first, again)
	require.NotEqual(t, first, other)
	require.Contains(t, fmt.Sprint(first), "Failed")
}

func TestBadOptionsNameTheirField(t *testing.T) {
	for want, robot := range map[string]simexec.Robot{
		"Options.Robots[1].ID":   {ID: "a"},
		"Options.Robots[1].Kind": {ID: "b", Kind: "crane"},
		"Options.Robots[1]":      {ID: "b", X: math.NaN()},
	} {
		_, err := simexec.New(simexec.Options{Robots: []simexec.Robot{{ID: "a"}, robot}})
		require.ErrorContains(t, err, want)
	}
}

// Policies of somebody else need not have judged the map and the speed.
func TestMoveKeepsItsMapAndItsSpeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlant(t, simexec.Options{Step: 100 * time.Millisecond, Robots: []simexec.Robot{{ID: "agv", Kind: simexec.Mobile, Map: "hall", X: 5, Y: 5, Speed: 2, Battery: 80}}}, "agv")
		move := func(m string, speed float64) error {
			_, err := p.sim.Execute(t.Context(), devices.Order{Command: devices.Command{DeviceID: "agv", Type: devices.MoveTo},
				Move: &devices.Move{Map: m, X: 7, Y: 5, Speed: &speed}})
			return err
		}
		require.ErrorContains(t, move("cellar", 1), `not on "cellar"`)
		began := time.Now()
		require.NoError(t, move("hall", 0.5))
		require.InDelta(t, 4, time.Since(began).Seconds(), 0.3)
	})
}
