package vda5050

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
)

func TestHostileMessages(t *testing.T) {
	for name, payload := range map[string]string{
		"nothing": "", "not JSON": "{", "another type": "[]", "null": "null", "text": `"state"`,
		"huge":           `{"version":"2.1.0","orderId":"` + strings.Repeat("x", 10<<20) + `"}`,
		"deep":           strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000),
		"NaN as text":    `{"version":"2.1.0","operatingMode":"AUTOMATIC","agvPosition":{"x":"NaN","y":1,"mapId":"hall","positionInitialized":true}}`,
		"figure too big": `{"version":"2.1.0","operatingMode":"AUTOMATIC","agvPosition":{"x":1e999}}`,
		"invalid UTF-8":  "{\"version\":\"2.1.0\",\"orderId\":\"\xff\xfe\",\"errors\":[{\"errorLevel\":\"FATAL\",\"errorType\":\"\xff\\u0000\"}]}",
		"many errors":    `{"version":"2.1.0","errors":[` + strings.Repeat(`{},`, 10000) + `{"errorLevel":"FATAL","errorType":"the last"}]}`,
		"many actions":   `{"version":"2.1.0","actionStates":[` + strings.Repeat(`{},`, 80000) + `{}]}`,
		"many loads":     `{"version":"2.1.0","loads":[` + strings.Repeat(`{},`, 80000) + `{}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, one, func(t *testing.T, r *rig) {
				r.report(idle())
				r.publish("uagv/v2/otkit/1/state", payload)
				d := r.device()
				require.LessOrEqual(t, len(d.Telemetry.Faults), devices.MaxFaults)
				require.LessOrEqual(t, len(d.Telemetry.Loads), devices.MaxLoads)
				last := r.fleet.vehicles["agv"].last()
				require.LessOrEqual(t, len(last.Errors)+len(last.ActionStates)+len(last.Loads), 3*maxItems)
				if name == "many errors" {
					require.Equal(t, devices.Error, d.State)
					require.Equal(t, "FATAL the last", d.Telemetry.Faults[0])
				}
				require.Less(t, len(last.OrderID), maxMessage, "longer ones are not received")
				for _, topic := range []string{"visualization", "connection", "factsheet"} {
					r.publish("uagv/v2/otkit/1/"+topic, payload)
				}
				require.Less(t, len(r.logged()), 4000, "the log has a bound")
				r.report(idle())
				require.Equal(t, devices.Idle, r.device().State, "messages go on")
				require.InDelta(t, 5, r.device().Telemetry.Pose.X, 0)
			})
		})
	}
}

// Whatever a vehicle sends, what is reported has its bounds, and an emergency stop in it is reported.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"version":"2.1.0","timestamp":"2026-01-02T03:04:05.678Z","operatingMode":"AUTOMATIC","safetyState":{"eStop":"MANUAL"},
		"agvPosition":{"x":1,"y":2,"theta":0.5,"mapId":"hall","positionInitialized":true},"velocity":{"vx":1},"batteryState":{"batteryCharge":80},
		"errors":[{"errorType":"t","errorLevel":"WARNING"}],"loads":[{"loadId":"l"}],"actionStates":[{"actionId":"a","actionStatus":"RUNNING"}]}`))
	f.Add([]byte(`{"version":"2.0.0","errors":[{"errorType":"\u0000","errorLevel":"FATAL","errorDescription":"ÿ","errorReferences":[{"referenceKey":"orderId"}]}]}`))
	f.Add([]byte(`{"version":"2.1.0","agvPosition":{"x":"NaN"},"safetyState":{"eStop":"MANUAL"}}`))
	f.Add([]byte(`{"version":"1.1","safetyState":{"eStop":"MANUAL"}}`))
	f.Add([]byte(`{"version":"2.1.0","loads":[{"loadType":"ä"},{}],"nodeStates":[{}],"paused":true,"velocity":{"omega":1e300},"batteryState":{"batteryCharge":-1}}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		reports := &lastReport{}
		fleet := &Fleet{opts: mustDefaults(Options{URL: "mqtt://x", Vehicles: one, Reports: reports})}
		v := &vehicle{Vehicle: one[0], changed: make(chan struct{})}
		err := fleet.state(v, payload)
		if err == nil && reports.count != 1 {
			t.Fatal("a state that can be read is not reported")
		}
		for _, texts := range [][]string{reports.last.Faults, reports.last.Loads} {
			require.LessOrEqual(t, len(texts), devices.MaxFaults)
			for _, text := range texts {
				require.True(t, utf8.ValidString(text) && len(text) <= devices.MaxFaultText && !strings.ContainsRune(text, 0), "%q", text)
			}
		}
		if b := reports.last.Battery; b != nil {
			require.True(t, *b >= 0 && *b <= 100)
		}
		if s := v.last(); s != nil {
			_, _ = s.progress(&order{OrderID: s.OrderID, Nodes: []node{{Actions: []action{{ActionID: "a"}}}}}) // must not panic
		}
		var m struct {
			Safety struct {
				EStop string `json:"eStop"`
			} `json:"safetyState"`
		}
		if json.Unmarshal(payload, &m) == nil && m.Safety.EStop == "MANUAL" {
			require.Equal(t, devices.LocalStop, reports.last.Stop)
		}
	})
}

func mustDefaults(o Options) Options {
	o, _, err := o.withDefaults()
	if err != nil {
		panic(fmt.Sprint(err))
	}
	return o
}

// lastReport has what was reported last.
type lastReport struct {
	last  devices.Telemetry
	count int
}

func (r *lastReport) Report(_ string, t devices.Telemetry) error {
	r.last = t
	r.count++
	return nil
}

func (*lastReport) Connected(string) error    { return nil }
func (*lastReport) Disconnected(string) error { return nil }

// What a vehicle does not say is not known: it is neither at 0 nor without an emergency stop.
func TestStateThatLacksSomethingCannotBeJudged(t *testing.T) {
	for lacks, state := range map[string]string{
		"x":           `"agvPosition":{"y":5,"theta":0,"mapId":"hall","positionInitialized":true},"safetyState":{"eStop":"NONE"}`,
		"y":           `"agvPosition":{"x":5,"y":null,"theta":0,"mapId":"hall","positionInitialized":true},"safetyState":{"eStop":"NONE"}`,
		"safetyState": `"agvPosition":{"x":5,"y":5,"theta":0,"mapId":"hall","positionInitialized":true}`,
	} {
		t.Run(lacks, func(t *testing.T) {
			inBubble(t, one, func(t *testing.T, r *rig) {
				r.publish("uagv/v2/otkit/1/state", `{"version":"2.1.0","timestamp":"`+stamp(time.Now())+`","operatingMode":"AUTOMATIC","batteryState":{"batteryCharge":80},`+state+`}`)
				refused := <-r.begin(devices.MoveTo, target(9, 5))
				require.Contains(t, refused.Result.Message, "Safety violation")
				require.Empty(t, r.take())
			})
		})
	}
}

// A state that comes late says nothing about the order that the vehicle has now.
func TestStateThatComesLateIsIgnored(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		late := idle()
		time.Sleep(3 * time.Second)
		s := idle()
		r.report(s)
		ended := r.begin(devices.MoveTo, target(9, 5))
		o := r.take()[0].order
		s.OrderID, s.Driving, s.NodeStates = o.OrderID, true, make([]struct{}, 1)
		r.report(s)
		r.publish("uagv/v2/otkit/1/state", late)
		require.Empty(t, ended)
		require.Contains(t, r.logged(), "came after that of")
		late.Safety.EStop = "MANUAL"
		r.publish("uagv/v2/otkit/1/state", late)
		require.True(t, r.device().StopLatched, "but its emergency stop counts")
	})
}

func TestVehicleThatIsFarFromItsTargetHasNotArrived(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		r.report(s)
		ended := r.begin(devices.MoveTo, target(9, 5))
		o := r.take()[0].order
		s.OrderID, s.LastNodeID, s.LastNodeSequenceID = o.OrderID, o.Nodes[1].NodeID, 2
		r.report(s)
		got := <-ended
		require.Equal(t, devices.Failed, got.Phase)
		require.Contains(t, got.Result.Message, "ended the order 3.8 m from its target")
	})
}

func TestVehicleThatDrivesByItselfGetsNoOrder(t *testing.T) {
	inBubble(t, one, func(t *testing.T, r *rig) {
		s := idle()
		s.Driving = true
		r.report(s)
		got := <-r.begin(devices.MoveTo, target(9, 5))
		require.Equal(t, devices.Failed, got.Phase)
		require.Contains(t, got.Result.Message, "drives without an order of ours")
		require.Empty(t, r.take())
	})
}
