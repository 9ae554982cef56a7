package vda5050

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

func TestConnectionOfAVehicle(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		require.Equal(t, devices.Offline, r.device().State)
		say := func(state string) {
			r.publish("uagv/v2/otkit/1/connection", connection{header{Version: "2.1.0"}, state})
		}
		say("ONLINE")
		require.Equal(t, devices.Online, r.device().State)
		r.report(idle())
		say("CONNECTIONBROKEN")
		require.Equal(t, devices.Offline, r.device().State)
		say("ONLINE")
		r.report(idle())
		require.Equal(t, devices.Idle, r.device().State)
		say("OFFLINE")
		require.Equal(t, devices.Offline, r.device().State)

		r.report(idle())
		time.Sleep(time.Minute)
		require.Equal(t, devices.Offline, r.device().State, "it is silent")
	})
}

func TestBrokerThatDoesNotAnswerSubscriptionsIsAway(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		require.NoError(t, r.fleet.Err())
		for _, silent := range []bool{true, false} {
			r.stopBroker()
			r.hook.mu.Lock()
			r.hook.silent = silent
			r.hook.mu.Unlock()
			r.startBroker()
			time.Sleep(14 * time.Second)
			require.Equal(t, silent, r.fleet.Err() != nil)
		}
	})
}

func TestBrokerThatComesBackGetsTheOrderAgain(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		r.report(s)
		ended := r.begin(devices.MoveTo, target(9, 5))
		o := r.take()[0].order
		s.OrderID, s.Driving, s.NodeStates = o.OrderID, true, make([]struct{}, 1)
		r.report(s)
		r.stopBroker()
		require.Equal(t, devices.Offline, r.device().State)
		time.Sleep(20 * time.Second)
		r.startBroker()
		time.Sleep(3 * time.Second)
		sent := r.take()
		require.Len(t, sent, 1)
		require.Equal(t, o.OrderID, sent[0].order.OrderID)
		require.Equal(t, o.Nodes, sent[0].order.Nodes)
		s.LastNodeID, s.LastNodeSequenceID, s.Driving, s.NodeStates = o.Nodes[1].NodeID, 2, false, nil
		s.Position.X, s.Position.Y = o.Nodes[1].Position.X, o.Nodes[1].Position.Y
		r.report(s)
		require.Equal(t, devices.Succeeded, (<-ended).Phase)
	})
}

func TestSilentBrokerIsNoticed(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		r.report(idle())
		r.setStuck(true)
		for range 20 { // the vehicle is not silent
			r.report(idle())
			time.Sleep(time.Second)
		}
		time.Sleep(15 * time.Second)
		require.Equal(t, devices.Offline, r.device().State)
		r.setStuck(false)
		time.Sleep(15 * time.Second)
		r.report(idle())
		require.Equal(t, devices.Idle, r.device().State)
	})
}

func TestThousandVehicles(t *testing.T) {
	var all []Vehicle
	for i := range 1000 {
		all = append(all, Vehicle{DeviceID: fmt.Sprint("agv-", i), Manufacturer: "otkit", SerialNumber: fmt.Sprint(i)})
	}
	inBubble(t, all, func(t *testing.T, r *rig) {
		r.hook.mu.Lock()
		require.Greater(t, len(r.hook.packets), 1)
		require.LessOrEqual(t, slices.Max(r.hook.packets), 100, "brokers bound the length of a packet")
		before := r.hook.delivered
		r.hook.mu.Unlock()
		for _, i := range []int{0, 500, 999} {
			r.publish(fmt.Sprintf("uagv/v2/otkit/%d/state", i), idle())
			d, err := r.Get(fmt.Sprint("agv-", i))
			require.NoError(t, err)
			require.Equal(t, devices.Idle, d.State)
		}
		r.publish("uagv/v2/otkit/1000/state", idle())
		r.publish("uagv/v2/otkit/1000/connection", connection{header{Version: "2.1.0"}, "ONLINE"})
		r.hook.mu.Lock()
		defer r.hook.mu.Unlock()
		require.Equal(t, 3, r.hook.delivered-before, "a vehicle that is not configured costs nothing")
	})
}

func TestRefusedSubscriptionIsLogged(t *testing.T) {
	inBubble(t, []Vehicle{{DeviceID: "other", Manufacturer: "otkit", SerialNumber: "2"}, one[0]}, func(t *testing.T, r *rig) {
		r.stopFleet()
		r.hook.mu.Lock()
		r.hook.forbidden = []string{"uagv/v2/otkit/2/state", "uagv/v1/otkit/1/connection"}
		r.hook.mu.Unlock()
		r.startFleet()
		require.Equal(t, 1, strings.Count(r.logged(), "broker refuses"), r.logged())
		require.Contains(t, r.logged(), "topics=[uagv/v2/otkit/2/state]")
		r.report(idle())
		require.Equal(t, devices.Idle, r.device().State, "the other topics stand")
	})
}

func TestVehicleOfAnotherVersion(t *testing.T) {
	for _, c := range []struct{ topic, version string }{{"uagv/v1/otkit/1/connection", "1.1.0"}, {"uagv/v3/otkit/1/connection", "3.0.0"},
		{"uagv/v2/otkit/1/connection", "1.1"}, {"uagv/v2/otkit/1/state", "3.0.0"}, {"uagv/v2/otkit/1/state", strings.Repeat("9", 5000)}} {
		t.Run(c.topic+" "+c.version[:3], func(t *testing.T) {
			inBubble(t, one, func(t *testing.T, r *rig) {
				r.publish(c.topic, connection{header{Version: c.version}, "ONLINE"})
				d := r.device()
				require.Equal(t, devices.Error, d.State)
				require.Len(t, d.Telemetry.Faults, 1)
				require.Contains(t, d.Telemetry.Faults[0], "the vehicle speaks version \""+c.version[:3])
				require.Contains(t, d.Telemetry.Faults[0], "2.1 is needed")
				require.Less(t, len(d.Telemetry.Faults[0]), 200)
				require.Equal(t, 1, strings.Count(r.logged(), "2.1 is needed"))
				r.take()
				got := <-r.begin(devices.MoveTo, target(9, 5))
				require.False(t, got.Result.Success)
				_, err := r.fleet.Execute(t.Context(), devices.Order{Command: devices.Command{DeviceID: "agv", Type: "beep"}})
				require.ErrorContains(t, err, "2.1 is needed")
				require.Empty(t, r.take(), "nothing is sent to it")

				r.report(idle())
				require.Equal(t, devices.Idle, r.device().State, "after its update")
				require.Empty(t, r.device().Telemetry.Faults)
				r.publish("uagv/v1/otkit/1/connection", connection{header{Version: "1.1.0"}, "ONLINE"})
				require.Equal(t, devices.Idle, r.device().State, "what is left of before its update")
			})
		})
	}
}

func TestVehicleOfAnotherVersionThatLeavesIsOffline(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		for _, state := range []string{"ONLINE", "CONNECTIONBROKEN"} {
			r.publish("uagv/v2/otkit/1/connection", connection{header{Version: "3.0.0"}, state})
		}
		require.Equal(t, devices.Offline, r.device().State)
		require.Contains(t, r.device().Telemetry.Faults[0], "2.1 is needed")
	})
}

func TestRetainedStateIsOfThePast(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		r.stopFleet()
		data, err := json.Marshal(idle())
		require.NoError(t, err)
		require.NoError(t, r.broker.Publish("uagv/v2/otkit/1/state", data, true, 0))
		r.startFleet()
		require.Equal(t, devices.Offline, r.device().State)
		require.NoError(t, r.broker.Publish("uagv/v2/otkit/1/state", data, true, 0))
		synctest.Wait()
		require.Equal(t, devices.Idle, r.device().State, "a new one counts, retained or not")
	})
}

func TestVehicleOfAnotherMinorVersion(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		s.Version = "2.0.0"
		r.report(s)
		r.report(s)
		require.Equal(t, devices.Idle, r.device().State)
		require.Equal(t, 1, strings.Count(r.logged(), "version=2.0.0"), r.logged())
	})
}

func TestFactsheet(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		r.publish("uagv/v2/otkit/1/connection", connection{header{Version: "2.1.0"}, "ONLINE"})
		r.mu.Lock()
		requests := r.sent[len(r.sent)-1].actions
		r.mu.Unlock()
		require.Equal(t, "stateRequest", requests[0].ActionType)
		require.Equal(t, "factsheetRequest", requests[1].ActionType)
		var m factsheet
		m.Version, m.Type.Series, m.Physical.MaxSpeed, m.Physical.Length = "2.1.0", "Mule", 1.8, 1.2
		for range 3 {
			r.publish("uagv/v2/otkit/1/factsheet", m)
			time.Sleep(10 * time.Second)
		}
		require.Equal(t, 1, strings.Count(r.logged(), "vehicle sent its factsheet"))
		require.Contains(t, r.logged(), "device=agv series=Mule maxLoadKilograms=0 maxSpeed=1.8 length=1.2")
	})
}

func TestNamesWithOddCharacters(t *testing.T) {
	odd := []Vehicle{{DeviceID: "a", Manufacturer: "Müller & Söhne", SerialNumber: "№ 7.ä %s"}, {DeviceID: "b", Manufacturer: "$SYS", SerialNumber: "機械"}}
	inBubble(t, odd, func(t *testing.T, r *rig) {
		for _, v := range odd {
			r.publish("uagv/v2/"+v.Manufacturer+"/"+v.SerialNumber+"/state", idle())
			d, err := r.Get(v.DeviceID)
			require.NoError(t, err)
			require.Equal(t, devices.Idle, d.State)
		}
	})
	for _, bad := range []string{"", "a/b", "+", "#", "a\x00", "a\x01", "a\nb", "a\u2028", "\xff", "\uffff", strings.Repeat("x", 201)} {
		o := Options{URL: "mqtt://127.0.0.1:1", Reports: &devices.Service{}, Vehicles: []Vehicle{{DeviceID: "a", Manufacturer: "m", SerialNumber: bad}}}
		_, err := Connect(t.Context(), o)
		require.ErrorContains(t, err, "Options.Vehicles[0]", "%q", bad)
		o.Vehicles[0].SerialNumber, o.Interface = "1", bad
		if bad != "" {
			_, err = Connect(t.Context(), o)
			require.ErrorContains(t, err, "Options.Interface", "%q", bad)
		}
	}
	_, err := Connect(t.Context(), Options{URL: "mqtt://127.0.0.1:1", Reports: &devices.Service{}, Vehicles: one, Interface: "$share"})
	require.ErrorContains(t, err, "Options.Interface")
}

func (r *rig) setStuck(stuck bool) {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stuck = stuck
}
