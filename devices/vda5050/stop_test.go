package vda5050

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

// stopped returns a rig's vehicle that has been stopped while it had an order.
func (r *rig) stopped() *state {
	r.t.Helper()
	s := idle()
	r.report(s)
	moving := r.begin(devices.MoveTo, target(9, 5))
	s.OrderID, s.Driving, s.NodeStates = r.take()[0].order.OrderID, true, make([]struct{}, 1)
	r.report(s)
	ended := r.begin(devices.EmergencyStop, nil)
	// Both the stop and the command that it cancels reach the vehicle.
	for _, m := range r.take() {
		for _, a := range m.actions {
			s.finished(a)
		}
	}
	s.Paused, s.Driving, s.NodeStates = true, false, nil
	r.report(s)
	require.True(r.t, (<-ended).Result.Success)
	require.Equal(r.t, devices.Canceled, (<-moving).Phase)
	require.True(r.t, r.device().StopLatched)
	r.take()
	return s
}

// reset resets the vehicle, which answers as it should.
func (r *rig) reset(s *state) devices.Record {
	r.t.Helper()
	ended := r.begin(devices.ResetEmergencyStop, nil)
	sent := r.take()
	require.Len(r.t, sent, 1)
	require.Equal(r.t, "stopPause", sent[0].actions[0].ActionType)
	s.Paused = false
	r.report(s.finished(sent[0].actions[0]))
	return <-ended
}

func TestEmergencyStop(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := r.stopped()
		s.Paused = false
		time.Sleep(time.Second)
		r.report(s)
		require.Empty(t, r.kinds(), "it stands")
		s.Driving = true
		r.report(s)
		require.Equal(t, []string{"startPause", "cancelOrder"}, r.kinds(), "it drives on")
		r.report(s)
		require.Empty(t, r.kinds(), "not with every state")
		s.Paused = true
		time.Sleep(time.Second)
		r.report(s)
		require.Empty(t, r.kinds(), "it brakes")
		s.Driving = false
		r.report(s)
		require.True(t, r.reset(s).Result.Success)
		require.False(t, r.device().StopLatched)
		time.Sleep(time.Second)
		s.Driving = true
		r.report(s)
		require.Empty(t, r.kinds(), "after a reset it may drive")
	})
}

func TestEmergencyStopReachesTheVehicleWhenTheBrokerComesBack(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		r.report(s)
		moving := r.begin(devices.MoveTo, target(90, 5))
		s.OrderID, s.Driving, s.NodeStates = r.take()[0].order.OrderID, true, make([]struct{}, 1)
		r.report(s)
		r.stopBroker()
		got := <-r.begin(devices.EmergencyStop, nil)
		require.False(t, got.Result.Success)
		require.Contains(t, got.Result.Message, "could not be stopped")
		require.Equal(t, devices.Lost, (<-moving).Phase)
		require.True(t, r.device().StopLatched)
		r.startBroker()
		time.Sleep(3 * time.Second)
		require.Equal(t, []string{"startPause", "cancelOrder"}, r.kinds())
	})
}

func TestEmergencyStopIsKnownAfterARestart(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := r.stopped()
		r.stopFleet()
		r.startFleet()
		require.Equal(t, []string{"startPause", "cancelOrder"}, r.kinds(), "it may not have got them")
		s.Paused, s.Driving = false, true
		time.Sleep(time.Second)
		r.report(s)
		require.Equal(t, []string{"startPause", "cancelOrder"}, r.kinds(), "it drives on")
		s.Driving, s.Paused = false, true
		r.report(s)
		require.True(t, r.reset(s).Result.Success)
		require.False(t, r.device().StopLatched)
		ended := r.begin(devices.MoveTo, target(6, 5))
		o := r.take()[0].order
		s.OrderID, s.LastNodeID, s.LastNodeSequenceID = o.OrderID, o.Nodes[1].NodeID, 2
		s.Position.X, s.Position.Y = o.Nodes[1].Position.X, o.Nodes[1].Position.Y
		r.report(s)
		require.Equal(t, devices.Succeeded, (<-ended).Phase)
	})
}

func TestResetThatFailsLeavesTheVehicleStopped(t *testing.T) {
	for name, answer := range map[string]string{"it refuses": "FAILED", "it remains paused": "FINISHED", "it does not answer": ""} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, one, func(t *testing.T, r *rig) {
				s := r.stopped()
				ended := r.begin(devices.ResetEmergencyStop, nil)
				a := r.take()[0].actions[0]
				if answer != "" {
					s.ActionStates = append(s.ActionStates, actionState{ActionID: a.ActionID, Status: answer})
				}
				r.report(s)
				began := time.Now()
				require.False(t, (<-ended).Result.Success)
				if answer == "FAILED" {
					require.Zero(t, time.Since(began))
				} else {
					require.Equal(t, 5*time.Second, time.Since(began))
				}
				require.True(t, r.device().StopLatched)
				s.Paused, s.Driving = false, true
				time.Sleep(time.Second)
				r.report(s)
				require.Equal(t, []string{"startPause", "cancelOrder"}, r.kinds())
			})
		})
	}
}

func TestResetCancelsTheOrderThatIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		resets bool
	}{"canceled": {"FINISHED", true}, "not canceled": {"FAILED", false}, "no answer": {"", false}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, one, func(t *testing.T, r *rig) {
				s := r.stopped()
				r.stopFleet()
				time.Sleep(time.Second) // ids of actions have the time
				r.startFleet()          // which knows nothing of the order
				r.take()
				s.NodeStates = make([]struct{}, 1) // the cancellation was lost
				r.report(s)
				ended := r.begin(devices.ResetEmergencyStop, nil)
				sent := r.take()
				require.Len(t, sent, 1)
				require.Equal(t, "cancelOrder", sent[0].actions[0].ActionType)
				if c.answer != "" {
					s.ActionStates = append(s.ActionStates, actionState{ActionID: sent[0].actions[0].ActionID, Status: c.answer})
				}
				if c.resets {
					s.NodeStates = nil
				}
				r.report(s)
				if c.resets {
					sent = r.take()
					require.Len(t, sent, 1)
					require.Equal(t, "stopPause", sent[0].actions[0].ActionType)
					s.Paused = false
					r.report(s.finished(sent[0].actions[0]))
				}
				require.Equal(t, c.resets, (<-ended).Result.Success)
				require.Empty(t, r.kinds())
				require.Equal(t, !c.resets, r.device().StopLatched)
			})
		})
	}
}

func TestResetThatFailsDoesNotStopAVehicle(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		r.report(s)
		require.False(t, (<-r.begin(devices.ResetEmergencyStop, nil)).Result.Success, "it does not answer")
		r.report(s)
		r.take()
		r.begin(devices.MoveTo, target(9, 5))
		s.OrderID, s.Driving, s.NodeStates = r.take()[0].order.OrderID, true, make([]struct{}, 1)
		time.Sleep(time.Second)
		r.report(s)
		require.Empty(t, r.kinds())
	})
}

// Somebody else may have paused the vehicle, or its button has.
func TestPausedVehicleTakesNoOrder(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		s.Paused = true
		r.report(s)
		r.take()
		got := <-r.begin(devices.MoveTo, target(9, 5))
		require.Equal(t, devices.Failed, got.Phase)
		require.Contains(t, got.Result.Message, "the vehicle is paused")
		require.Empty(t, r.take())
		require.True(t, r.reset(s).Result.Success)
		r.begin(devices.MoveTo, target(9, 5))
		require.Len(t, r.take(), 1)
	})
}

func TestEmergencyStopInAStateThatCannotBeRead(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		r.report(idle())
		r.publish("uagv/v2/otkit/1/state", `{"version":"2.1.0","safetyState":{"eStop":"MANUAL","fieldViolation":false},"agvPosition":{"x":"NaN"}}`)
		require.True(t, r.device().StopLatched)
		require.Equal(t, devices.LocalStop, r.device().Telemetry.Stop)
		require.Equal(t, devices.Error, r.device().State)
	})
}
