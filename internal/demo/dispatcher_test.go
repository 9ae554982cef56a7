package demo

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

// site is the demo's devices with their dispatchers. It is for use within a bubble.
type site struct {
	t       *testing.T
	service *devices.Service
	press   func(id string, pressed bool)
}

func newSite(t *testing.T, faultEvery time.Duration) *site {
	t.Helper()
	sim, err := newSimulator(faultEvery)
	require.NoError(t, err)
	policies, err := newPolicies()
	require.NoError(t, err)
	service, err := devices.New(t.Context(), devices.NewMemory(), devices.Options{Safety: policies, Executor: func(string) devices.Executor { return sim }})
	require.NoError(t, err)
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	running, end := context.WithCancel(t.Context())
	for _, id := range []string{RobotID, ArmID} {
		_, err = service.Create(t.Context(), id, id, "")
		require.NoError(t, err)
	}
	for _, d := range newDispatchers(service, slog.New(slog.DiscardHandler)) {
		wg.Go(func() { d.run(ctx) })
	}
	var sims sync.WaitGroup
	sims.Go(func() { _ = sim.Run(running, service.Report) })
	t.Cleanup(func() { // in the order in which the server stops
		cancel()
		wg.Wait()
		list, err := service.Commands(context.Background(), devices.CommandQuery{Unfinished: true, Limit: 10})
		require.NoError(t, err)
		require.Empty(t, list, "the dispatcher ends its commands")
		require.NoError(t, service.Close(context.Background()))
		end()
		sims.Wait()
	})
	return &site{t, service, sim.Press}
}

func (s *site) device(id string) devices.Device {
	s.t.Helper()
	d, err := s.service.Get(id)
	require.NoError(s.t, err)
	return d
}

// commands returns the commands of a device, newest first.
func (s *site) commands(id string) []devices.Record {
	s.t.Helper()
	list, err := s.service.Commands(s.t.Context(), devices.CommandQuery{DeviceID: id, Limit: 100_000})
	require.NoError(s.t, err)
	return list
}

func (s *site) submit(c devices.Command) (devices.Record, error) {
	c.ID, c.Time = fmt.Sprintf("person-%d", time.Now().UnixNano()), time.Now()
	return s.service.Submit(s.t.Context(), c, "ann")
}

func (s *site) move(x, y float64) (devices.Record, error) {
	return s.submit(devices.Command{DeviceID: RobotID, Type: devices.MoveTo, Parameters: map[string]any{"x": x, "y": y}})
}

// quiet requires that the dispatcher gives a device no command for some time.
func (s *site) quiet(id string, d time.Duration) {
	s.t.Helper()
	time.Sleep(2 * pause) // it may just begin one
	before := len(s.commands(id))
	time.Sleep(d)
	require.Equal(s.t, before, len(s.commands(id)), "commands") //nolint:testifylint // a failure would print all
}

// works requires that the dispatcher gives a device a command within some time.
func (s *site) works(id string, d time.Duration) {
	s.t.Helper()
	before := len(s.commands(id))
	time.Sleep(d)
	require.Greater(s.t, len(s.commands(id)), before)
	require.Equal(s.t, dispatcherName, s.commands(id)[0].By)
}

func TestTheDevicesOfTheDemoWorkForHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 0)
		visited := map[string]bool{}
		charging := 0
		for range 2400 {
			time.Sleep(time.Second)
			d := s.device(RobotID)
			require.NotEqual(t, devices.Error, d.State)
			p := d.Telemetry.Pose
			require.False(t, p.X > 19.5 && p.X < 30.5 && p.Y > 11.5 && p.Y < 18.5, "it is at the press: %+v", p)
			require.Greater(t, *d.Telemetry.Battery, 0.0)
			visited[fmt.Sprint(p.X, p.Y)] = true
			if d.Telemetry.Charging {
				charging++
			}
		}
		for _, c := range corners {
			require.True(t, visited[fmt.Sprint(c.X, c.Y)], "%v", c)
		}
		require.Greater(t, charging, 150)
		outcomes := map[string]int{}
		for _, id := range []string{RobotID, ArmID} {
			for _, r := range s.commands(id) {
				if r.Phase.Ended() {
					outcomes[r.Type+" "+string(r.Phase)+" "+r.Decision.Policy]++
				}
			}
		}
		require.Greater(t, outcomes["MoveTo Refused battery"], 2)
		require.Equal(t, outcomes["MoveTo Refused battery"], outcomes["Charge Succeeded "], "after each it charges")
		for what, count := range outcomes {
			switch what {
			case "MoveTo Succeeded ", "PickUp Succeeded ", "Release Succeeded ":
				require.Greater(t, count, 25, what)
			case "MoveTo Refused battery", "Charge Succeeded ":
			default:
				t.Errorf("%s: %d", what, count)
			}
		}
	})
}

func TestTheDispatcherClearsFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 5*time.Minute)
		faulty, faults := 0, 0
		for was, second := false, 0; second < 2400; second++ {
			time.Sleep(time.Second)
			is := s.device(RobotID).State == devices.Error
			if is {
				faulty++
			}
			if is && !was {
				faults++
			}
			was = is
		}
		require.Greater(t, faults, 1)
		require.Greater(t, faulty, faults*50, "each can be seen for a while")
		require.Less(t, faulty, faults*70)
	})
}

func TestPeopleComeBeforeTheDispatcher(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 0)
		s.works(RobotID, time.Minute)
		moves := func() bool { // along the straight way to the second corner
			d := s.device(RobotID)
			return d.State == devices.Working && d.Telemetry.Pose.Y == corners[0].Y && d.Telemetry.Velocity.X > 0
		}
		for !moves() {
			time.Sleep(time.Second)
		}
		began := time.Now()
		r, err := s.move(20, 5)
		require.NoError(t, err)
		require.Equal(t, devices.Succeeded, r.Phase, r.Result.Message)
		require.Less(t, r.BeganAt.Sub(began), 3*time.Second, "the dispatcher's command has been ended for it")
		s.quiet(RobotID, 40*time.Second)
		p := s.device(RobotID).Telemetry.Pose
		require.Equal(t, [2]float64{20, 5}, [2]float64{p.X, p.Y}, "it stays where it was sent")
		s.works(RobotID, 25*time.Second)
		r, err = s.move(25, 15)
		require.ErrorIs(t, err, devices.ErrRefused)
		require.Contains(t, r.Decision.Reason, `keep-out zone "press"`)
	})
}

func TestTheDispatcherLeavesWhatPeopleTakeOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 0)
		s.works(RobotID, time.Minute)
		_, err := s.submit(devices.Command{DeviceID: RobotID, Type: devices.EmergencyStop})
		require.NoError(t, err)
		s.quiet(RobotID, 10*time.Minute)
		_, err = s.submit(devices.Command{DeviceID: RobotID, Type: devices.ResetEmergencyStop})
		require.NoError(t, err)
		s.works(RobotID, 2*time.Minute)

		s.press(RobotID, true)
		time.Sleep(5 * time.Second)
		s.quiet(RobotID, 10*time.Minute)
		s.press(RobotID, false)
		time.Sleep(5 * time.Second)
		_, err = s.submit(devices.Command{DeviceID: RobotID, Type: devices.ResetEmergencyStop})
		require.NoError(t, err)
		s.works(RobotID, 2*time.Minute)

		_, err = s.service.Change(t.Context(), ArmID, devices.MaintenanceBegins)
		require.NoError(t, err)
		time.Sleep(5 * time.Second)
		s.quiet(ArmID, 10*time.Minute)
		_, err = s.service.Change(t.Context(), ArmID, devices.MaintenanceEnds)
		require.NoError(t, err)
		s.works(ArmID, time.Minute)
		for range 100 { // it may just carry out a command
			if _, err = s.service.Change(t.Context(), ArmID, devices.Decommission); err == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		require.NoError(t, err)
		s.quiet(ArmID, 10*time.Minute)
	})
}
