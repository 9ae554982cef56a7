package vda5050

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

func TestOrderOfAMove(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		r.report(s)
		require.Equal(t, devices.Idle, r.device().State)
		require.InDelta(t, 80, *r.device().Telemetry.Battery, 0)
		ended := r.begin(devices.MoveTo, target(9, 5))
		sent := r.take()
		require.Len(t, sent, 1)
		o := sent[0].order
		require.Equal(t, "uagv/v2/otkit/1/order", sent[0].topic)
		require.Equal(t, "2.1.0", o.Version)
		require.Len(t, o.Nodes, 2)
		require.InDelta(t, 5, o.Nodes[0].Position.X, 0)
		require.InDelta(t, 9, o.Nodes[1].Position.X, 0)
		require.Equal(t, "hall", o.Nodes[1].Position.MapID)
		require.InDelta(t, 2, o.Edges[0].MaxSpeed, 0)
		require.Equal(t, o.Nodes[1].NodeID, o.Edges[0].EndNodeID)

		s.OrderID, s.NodeStates, s.Driving, s.LastNodeID = o.OrderID, make([]struct{}, 1), true, o.Nodes[0].NodeID
		r.report(s)
		require.Equal(t, devices.Working, r.device().State)
		require.Empty(t, ended)
		s.NodeStates, s.Driving, s.LastNodeID, s.LastNodeSequenceID, s.Position.X = nil, false, o.Nodes[1].NodeID, 2, 8.9
		r.report(s)
		got := <-ended
		require.Equal(t, devices.Succeeded, got.Phase)
		require.InDelta(t, 8.9, got.Result.Data["x"], 0)
		require.Equal(t, devices.Idle, r.device().State)
	})
}

func TestWhatBecomesOfAnOrder(t *testing.T) {
	for name, c := range map[string]struct {
		kind  string
		state func(s *state, o *order)
		phase devices.Phase
		why   string
	}{
		"picked": {devices.PickUp, func(s *state, o *order) {
			s.OrderID, s.LastNodeID = o.OrderID, o.Nodes[0].NodeID
			s.finished(o.Nodes[0].Actions[0])
		}, devices.Succeeded, ""},
		"not picked": {devices.PickUp, func(s *state, o *order) {
			s.OrderID, s.ActionStates = o.OrderID, []actionState{{ActionID: o.Nodes[0].Actions[0].ActionID, Status: "FAILED", Result: "no load"}}
		}, devices.Failed, "the vehicle reports: no load"},
		"refused": {devices.MoveTo, func(s *state, o *order) {
			s.Errors = []vehicleError{{Type: "orderError", Level: "WARNING", Description: "no route", References: []reference{{"orderId", o.OrderID}}}}
		}, devices.Failed, "the vehicle refuses the order: orderError no route"},
		"fatal": {devices.MoveTo, func(s *state, o *order) {
			s.OrderID, s.Errors = o.OrderID, []vehicleError{{Type: "lost", Level: "FATAL"}}
		}, devices.Failed, "the vehicle reports: lost"},
		"fatal, and it keeps the order": {devices.MoveTo, func(s *state, o *order) {
			s.OrderID, s.NodeStates, s.Errors = o.OrderID, make([]struct{}, 1), []vehicleError{{Type: "lost", Level: "FATAL"}}
		}, devices.Lost, "the vehicle reports: lost; the vehicle did not confirm that it canceled the order"},
		"fatal, but it drives": {devices.MoveTo, func(s *state, o *order) {
			s.OrderID, s.Driving, s.Errors = o.OrderID, true, []vehicleError{{Type: "lost", Level: "FATAL"}}
		}, devices.Lost, devices.ErrUnknownOutcome.Error() + ": it drives and reports: lost"},
		"ended elsewhere": {devices.MoveTo, func(s *state, o *order) { s.OrderID, s.LastNodeID = o.OrderID, o.Nodes[0].NodeID }, devices.Failed,
			"the vehicle has ended the order at node"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, one, func(t *testing.T, r *rig) {
				s := idle()
				r.report(s)
				parameters := map[string]any{}
				if c.kind == devices.MoveTo {
					parameters = target(9, 5)
				}
				ended := r.begin(c.kind, parameters)
				c.state(s, &r.take()[0].order)
				r.report(s)
				got := <-ended
				require.Equal(t, c.phase, got.Phase, got.Result.Message)
				require.Contains(t, got.Result.Message, c.why)
			})
		})
	}
}

// When the error is gone, the vehicle would go on with an order whose command has failed.
func TestOrderOfAVehicleWithAFatalErrorIsCanceled(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		r.report(s)
		ended := r.begin(devices.MoveTo, target(9, 5))
		s.OrderID, s.NodeStates, s.Errors = r.take()[0].order.OrderID, make([]struct{}, 1), []vehicleError{{Type: "lost", Level: "FATAL"}}
		r.report(s)
		sent := r.take()
		require.Len(t, sent, 1)
		require.Equal(t, "cancelOrder", sent[0].actions[0].ActionType)
		s.NodeStates = nil
		r.report(s.finished(sent[0].actions[0]))
		got := <-ended
		require.Equal(t, devices.Failed, got.Phase)
		require.Equal(t, "the vehicle reports: lost", got.Result.Message)
	})
}

func TestVehicleWithoutAMapTakesNoOrderToMove(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		r.report(idle())
		r.take()
		for _, m := range []*devices.Move{nil, {X: 9, Y: 5}} {
			_, err := r.fleet.Execute(t.Context(), devices.Order{Command: devices.Command{ID: "c", DeviceID: "agv", Type: devices.MoveTo}, Move: m})
			require.ErrorContains(t, err, "the map of the vehicle is not known")
		}
		require.Empty(t, r.take())
	})
}

func TestOrderKeepsTheSpeedThatIsAskedFor(t *testing.T) {
	for name, c := range map[string]struct{ limit, asked, want float64 }{"no limit": {0, 0.5, 0.5}, "below": {2, 0.5, 0.5}, "above": {0.3, 0.5, 0.3}} {
		o := (&Fleet{}).order(idle(), devices.Order{Move: &devices.Move{Speed: &c.asked}, MaxSpeed: c.limit})
		require.InDelta(t, c.want, o.Edges[0].MaxSpeed, 0, name)
	}
}

func TestOrderThatIsReplacedIsLost(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		r.report(s)
		ended := r.begin(devices.MoveTo, target(9, 5))
		s.OrderID, s.Driving = r.take()[0].order.OrderID, true
		r.report(s)
		s.OrderID = "somebody else's"
		r.report(s)
		got := <-ended
		require.Equal(t, devices.Lost, got.Phase)
		require.Contains(t, got.Result.Message, "it has another order: somebody else's")
	})
}

// A vehicle that hangs may take the order when nobody waits for it any more.
func TestOrderThatIsNotAcknowledgedIsCanceled(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		r.report(s)
		began := time.Now()
		ended := r.begin(devices.MoveTo, target(9, 5))
		o := r.take()[0].order
		got := <-ended
		require.Equal(t, 9*time.Second, time.Since(began), "to acknowledge and to cancel")
		require.Equal(t, devices.Lost, got.Phase)
		require.Contains(t, got.Result.Message, "did not acknowledge it within 5s")
		require.Contains(t, got.Result.Message, devices.ErrUnknownOutcome.Error())
		require.Equal(t, []string{"cancelOrder"}, r.kinds())

		s.OrderID, s.Driving, s.NodeStates = o.OrderID, true, make([]struct{}, 1)
		r.report(s)
		require.Equal(t, []string{"cancelOrder"}, r.kinds(), "it takes it now")
		r.report(s)
		require.Empty(t, r.kinds(), "not with every state")
		time.Sleep(time.Second)
		r.report(s)
		sent := r.take()
		s.Driving, s.NodeStates = false, nil
		r.report(s.finished(sent[0].actions[0]))

		ended = r.begin(devices.MoveTo, target(9, 5))
		o = r.take()[0].order
		s.OrderID, s.LastNodeID, s.LastNodeSequenceID = o.OrderID, o.Nodes[1].NodeID, 2
		s.Position.X, s.Position.Y = o.Nodes[1].Position.X, o.Nodes[1].Position.Y
		r.report(s)
		require.Equal(t, devices.Succeeded, (<-ended).Phase)
	})
}

func TestOrderThatIsAcknowledgedTakesItsTime(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		r.report(s)
		ended := r.begin(devices.MoveTo, target(9, 5))
		o := r.take()[0].order
		s.OrderID, s.Driving, s.NodeStates = o.OrderID, true, make([]struct{}, 1)
		for range 120 {
			r.report(s)
			time.Sleep(time.Second)
		}
		require.Empty(t, r.take())
		s.LastNodeID, s.LastNodeSequenceID, s.Driving, s.NodeStates = o.Nodes[1].NodeID, 2, false, nil
		s.Position.X, s.Position.Y = o.Nodes[1].Position.X, o.Nodes[1].Position.Y
		r.report(s)
		require.Equal(t, devices.Succeeded, (<-ended).Phase)
	})
}

func TestInstantAction(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		r.report(s)
		ended := r.begin("beep", map[string]any{"times": 3.0})
		a := r.take()[0].actions[0]
		require.Equal(t, []parameter{{"times", 3.0}}, a.Parameters)
		r.report(s.finished(a))
		require.Equal(t, devices.Succeeded, (<-ended).Phase)

		ended = r.begin("dance", nil)
		got := <-ended
		require.Equal(t, devices.Lost, got.Phase, "it does not answer")
		require.Contains(t, got.Result.Message, "did not acknowledge it within 5s")
	})
}

func TestCanceledOrder(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		r.report(s)
		ended := r.begin(devices.MoveTo, target(9, 5))
		s.OrderID, s.Driving = r.take()[0].order.OrderID, true
		r.report(s)
		go func() { _, _ = r.Cancel(t.Context(), "command-b", "bob") }() // ended has the outcome
		sent := r.take()
		require.Equal(t, "cancelOrder", sent[0].actions[0].ActionType)
		require.Empty(t, ended)
		s.Driving = false
		r.report(s.finished(sent[0].actions[0]))
		require.Equal(t, devices.Canceled, (<-ended).Phase)
	})
}

func TestCanceledOrderIsNotRepeatedWhenTheBrokerComesBack(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		r.report(s)
		ended := r.begin(devices.MoveTo, target(9, 5))
		s.OrderID, s.Driving = r.take()[0].order.OrderID, true
		r.report(s)
		go func() { _, _ = r.Cancel(t.Context(), "command-b", "bob") }() // ended has the outcome
		require.Equal(t, []string{"cancelOrder"}, r.kinds())
		r.stopBroker()
		r.startBroker()
		time.Sleep(3 * time.Second)
		require.Empty(t, r.take())
		require.Empty(t, ended, "the vehicle may confirm it yet")
		require.Equal(t, devices.Lost, (<-ended).Phase)
		r.report(s)
		require.Equal(t, []string{"cancelOrder"}, r.kinds(), "it did not get the first")
	})
}

// A vehicle that stands may report every 30 s only; it is asked where it is before a command is judged.
func TestVehicleIsAskedForItsStateBeforeACommandIsJudged(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		r.report(s)
		time.Sleep(29 * time.Second)
		require.Equal(t, devices.Idle, r.device().State)
		ended := r.begin(devices.MoveTo, target(9, 5))
		require.Empty(t, r.take(), "the order waits for the state")
		r.report(s)
		sent := r.take()
		require.Len(t, sent, 1)
		m := sent[0].order
		s.OrderID, s.LastNodeID, s.LastNodeSequenceID = m.OrderID, m.Nodes[1].NodeID, 2
		s.Position.X, s.Position.Y = m.Nodes[1].Position.X, m.Nodes[1].Position.Y
		r.report(s)
		require.Equal(t, devices.Succeeded, (<-ended).Phase)

		time.Sleep(29 * time.Second)
		began := time.Now()
		refused := <-r.begin(devices.MoveTo, target(5, 5))
		require.Contains(t, refused.Result.Message, "last report of the device is 31.0 s old")
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}
