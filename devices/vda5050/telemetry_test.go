package vda5050

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

func TestVisualizationMovesTheDevice(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		show := func(x float64) {
			r.publish("uagv/v2/otkit/1/visualization", visualization{header{Timestamp: stamp(time.Now()), Version: "2.1.0"},
				&position{X: x, Y: 5, Theta: math.Pi / 2, MapID: "hall", Initialized: true}, &velocity{VX: 2, VY: 1}})
		}
		show(6)
		require.Nil(t, r.device().Telemetry, "a position alone says nothing about the state")
		s := idle()
		s.Driving = true
		r.report(s)
		time.Sleep(100 * time.Millisecond)
		show(7)
		d := r.device()
		require.Equal(t, devices.Working, d.State)
		require.InDelta(t, 7, d.Telemetry.Pose.X, 0)
		require.InDelta(t, -1, d.Telemetry.Velocity.X, 1e-9, "in the coordinates of the map")
		require.InDelta(t, 2, d.Telemetry.Velocity.Y, 1e-9)
		require.InDelta(t, 80, *d.Telemetry.Battery, 0)
		time.Sleep(maxStateAge + time.Second)
		show(8)
		require.InDelta(t, 7, r.device().Telemetry.Pose.X, 0, "the state is too old")
	})
}

func TestFiguresThatCannotBeDoNotHideAnEmergencyStop(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		s.Position.X, s.Safety.EStop, s.Battery.Charge = 1e12, "AUTOACK", 400
		r.report(s)
		d := r.device()
		require.True(t, d.StopLatched)
		require.Equal(t, devices.LocalStop, d.Telemetry.Stop)
		require.Nil(t, d.Telemetry.Pose)
		require.Nil(t, d.Telemetry.Battery)
		s = idle()
		s.Position.Initialized = false
		r.report(s)
		require.Nil(t, r.device().Telemetry.Pose, "the vehicle does not know where it is")
	})
}

func TestStateOfADevice(t *testing.T) {
	for want, change := range map[devices.State]func(*state){
		devices.Idle:        func(s *state) { s.ActionStates = []actionState{{Status: "FINISHED"}, {Status: "WAITING"}} },
		devices.Working:     func(s *state) { s.ActionStates = []actionState{{Status: "INITIALIZING"}} },
		devices.Maintenance: func(s *state) { s.OperatingMode = "TEACHIN" },
		devices.Unknown:     func(s *state) { s.OperatingMode = "SLEEPING" },
		devices.Error:       func(s *state) { s.Errors = []vehicleError{{Level: "WARNING"}, {Level: "FATAL"}} },
	} {
		s := idle()
		change(s)
		require.Equal(t, want, s.telemetry().State)
	}
}
