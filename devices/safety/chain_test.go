package safety_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/devices/safety"
)

var now = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func square(x, y, side float64) [][2]float64 {
	return [][2]float64{{x, y}, {x + side, y}, {x + side, y + side}, {x, y + side}}
}

func zone(kind safety.Kind, name string, rings ...[][2]float64) safety.Zone {
	return safety.Zone{Name: name, Map: "hall", Kind: kind, Rings: rings}
}

func device(id string, x, y float64) devices.Device {
	charge := 80.0
	return devices.Device{ID: id, State: devices.Idle, Telemetry: &devices.Telemetry{Time: now.Add(-time.Second), Battery: &charge,
		Pose: &devices.Pose{Map: "hall", X: x, Y: y}}}
}

func moveTo(d devices.Device, x, y float64) devices.Situation {
	return devices.Situation{Now: now, Device: d, Command: devices.Command{ID: "1", DeviceID: d.ID, Type: devices.MoveTo},
		Move: &devices.Move{X: x, Y: y}}
}

func chain(t testing.TB, o safety.Options) *safety.Chain {
	t.Helper()
	c, err := safety.New(o)
	require.NoError(t, err)
	return c
}

func refused(t *testing.T, c *safety.Chain, s devices.Situation, policy string, texts ...string) {
	t.Helper()
	d := c.Check(s)
	require.False(t, d.Allowed, "%+v", d)
	require.Equal(t, policy, d.Policy, d.Reason)
	require.True(t, strings.HasPrefix(d.Reason, policy+": "), d.Reason)
	for _, text := range texts {
		require.Contains(t, d.Reason, text)
	}
}

func allowed(t *testing.T, c *safety.Chain, s devices.Situation) devices.Decision {
	t.Helper()
	d := c.Check(s)
	require.True(t, d.Allowed, d.Reason)
	return d
}

func TestEmergencyStop(t *testing.T) {
	t.Parallel()
	c := chain(t, safety.Options{Zones: []safety.Zone{zone(safety.Allowed, "hall", square(0, 0, 20))}})
	s := moveTo(device("agv", 5, 5), 10, 10)
	allowed(t, c, s)

	s.Device.StopLatched = true
	refused(t, c, s, "emergency stop", "latched")
	s.Move, s.Command.Type = nil, devices.ResetEmergencyStop
	allowed(t, c, s)
	s.Device.Telemetry.Stop = devices.RemoteStop
	allowed(t, c, s)
	s.Device.Telemetry.Stop = devices.LocalStop
	refused(t, c, s, "emergency stop", "must be released there")
	s.Device.Telemetry = nil
	refused(t, c, s, "emergency stop", "not reported")
	s.Command.Type, s.Device.State = devices.EmergencyStop, devices.Offline
	allowed(t, c, s)
}

func TestGeofence(t *testing.T) {
	t.Parallel()
	c := chain(t, safety.Options{Zones: []safety.Zone{
		zone(safety.Allowed, "west", square(0, 0, 10)),
		zone(safety.Allowed, "east", square(10, 0, 10)), // they share a border
		zone(safety.Allowed, "yard", square(0, 30, 10), square(4, 34, 2)),
		zone(safety.KeepOut, "press", square(14, 4, 2)),
	}})
	allowed(t, c, moveTo(device("agv", 2, 2), 18, 2))
	allowed(t, c, moveTo(device("agv", 2, 32), 8, 32))
	refused(t, c, moveTo(device("agv", 2, 2), 25, 2), "geofence", "(25.00, 2.00) is outside")
	refused(t, c, moveTo(device("agv", -2, 2), 5, 2), "geofence", "(-2.00, 2.00) is outside")
	refused(t, c, moveTo(device("agv", 2, 5), 18, 5), "geofence", `keep-out zone "press"`)
	refused(t, c, moveTo(device("agv", 2, 3.6), 18, 3.6), "geofence", "0.50 m around it") // passes beside it
	refused(t, c, moveTo(device("agv", 2, 2), 9, 9.7), "geofence", "of the border")
	refused(t, c, moveTo(device("agv", 5, 2), 5, 32), "geofence", "comes within 0.00 m of the border") // both ends are inside
	refused(t, c, moveTo(device("agv", 2, 35), 8, 35), "geofence", "border")                           // through the hole
	refused(t, c, moveTo(device("agv", 2, math.NaN()), 5, 5), "geofence", "not finite")
	refused(t, c, moveTo(device("agv", 2, 2), math.Inf(1), 5), "geofence", "not finite")

	s := moveTo(device("agv", 2, 2), 5, 5)
	s.Move.Map = "cellar"
	refused(t, c, s, "geofence", `map "cellar" has no zones`)
	s.Device.Telemetry.Pose.Map, s.Move.Map = "roof", ""
	refused(t, c, s, "geofence", `map "roof" has no allowed zone`)
	s = moveTo(device("agv", 2, 2), 5, 5)
	s.Device.Telemetry.Time = now.Add(-6 * time.Second)
	refused(t, c, s, "emergency stop", "6.0 s old")
	s = moveTo(device("agv", 2, 2), 5, 5)
	s.Device.Telemetry.Pose = nil
	refused(t, c, s, "geofence", "does not report its position")

	pick := moveTo(device("arm", 50, 50), 0, 0)
	pick.Move, pick.Command.Type = nil, devices.PickUp
	refused(t, c, pick, "geofence", "outside")
	refused(t, chain(t, safety.Options{}), moveTo(device("agv", 2, 2), 5, 5), "geofence", "no allowed zone")
}

func TestBattery(t *testing.T) {
	t.Parallel()
	c := chain(t, safety.Options{Zones: []safety.Zone{zone(safety.Allowed, "hall", square(0, 0, 100))},
		Device: safety.Device{PerMetre: 0.5}, Devices: map[string]safety.Device{"arm": {Mains: true}},
		Chargers: []safety.Charger{{Name: "dock", Map: "hall", X: 90, Y: 10}}})
	at := func(id string, charge, x float64) devices.Situation {
		s := moveTo(device(id, 10, 10), x, 10)
		s.Device.Telemetry.Battery = &charge
		return s
	}
	allowed(t, c, at("agv", 45, 60))
	refused(t, c, at("agv", 44.9, 60), "battery", "44.9 % less 25.0 %", "below 20.0 %")
	allowed(t, c, at("agv", 41, 90)) // to the charger
	refused(t, c, at("agv", 39, 90), "battery", "below 0.0 %")
	allowed(t, c, at("arm", 0, 60))
	s := at("agv", 50, 20)
	s.Device.Telemetry.Battery = nil
	refused(t, c, s, "battery", "does not report its charge")
	refused(t, c, at("agv", math.NaN(), 20), "battery", "does not report its charge")
}

func TestCollision(t *testing.T) {
	t.Parallel()
	c := chain(t, safety.Options{Zones: []safety.Zone{zone(safety.Allowed, "hall", square(0, 0, 100))}})
	with := func(s devices.Situation, others ...devices.Other) devices.Situation {
		s.Others = others
		return s
	}
	resting := devices.Other{Device: device("b", 20, 10)}
	refused(t, c, with(moveTo(device("a", 10, 10), 30, 10), resting), "collision", "device b", "needed are 1.50 m")
	allowed(t, c, with(moveTo(device("a", 10, 12), 30, 12), resting))
	refused(t, c, with(moveTo(device("a", 10, 11), 30, 11), resting), "collision", "within 1.00 m")

	crossing := devices.Other{Device: device("b", 20, 0), Path: &devices.Path{Map: "hall", FromX: 20, FromY: 0, ToX: 20, ToY: 40, Speed: 1}}
	refused(t, c, with(moveTo(device("a", 10, 10), 30, 10), crossing), "collision", "after 10.0 s")
	allowed(t, c, with(moveTo(device("a", 10, 35), 30, 35), crossing)) // it passes long before
	arriving := devices.Other{Device: device("b", 60, 60), Path: &devices.Path{Map: "hall", FromX: 60, FromY: 60, ToX: 31, ToY: 10, Speed: 0.1}}
	refused(t, c, with(moveTo(device("a", 10, 10), 30, 10), arriving), "collision", "within 1.00 m") // the same target, minutes later

	lost := devices.Other{Device: device("b", 20, 0), Path: &devices.Path{Map: "hall", FromX: 20, FromY: 0, ToX: 20, ToY: 40, Speed: 1}}
	lost.Telemetry.Time = now.Add(-time.Hour)
	refused(t, c, with(moveTo(device("a", 10, 35), 30, 35), lost), "collision", "within 0.00 m") // it may be anywhere on its way
	lost.Path = nil
	allowed(t, c, with(moveTo(device("a", 10, 35), 30, 35), lost))
	refused(t, c, with(moveTo(device("a", 10, 1), 30, 1), lost), "collision")

	pushed := devices.Other{Device: device("b", 20, 6)}
	pushed.Telemetry.Velocity = &devices.Velocity{Y: 1}
	refused(t, c, with(moveTo(device("a", 15, 10), 30, 10), pushed), "collision")
	pushed.Telemetry.Pose.X = math.NaN()
	refused(t, c, with(moveTo(device("a", 15, 10), 30, 10), pushed), "collision")
	elsewhere := resting
	elsewhere.Device = device("b", 20, 10)
	elsewhere.Telemetry.Pose.Map = "cellar"
	never := devices.Other{Device: devices.Device{ID: "c", State: devices.Offline}}
	allowed(t, c, with(moveTo(device("a", 10, 10), 30, 10), elsewhere, never))
}

func TestCommandAtAChargerNeedsNoCharge(t *testing.T) {
	t.Parallel()
	c := chain(t, safety.Options{Zones: []safety.Zone{zone(safety.Allowed, "hall", square(0, 0, 20))}, Chargers: []safety.Charger{{Map: "hall", X: 5, Y: 5}}})
	at := func(x float64) devices.Situation {
		s := devices.Situation{Now: now, Device: device("agv", x, 5), Command: devices.Command{ID: "1", DeviceID: "agv", Type: "startCharging"}}
		*s.Device.Telemetry.Battery = 3
		return s
	}
	allowed(t, c, at(5.2))
	refused(t, c, at(9), "battery", "below 20.0 %")
}

func TestWayOfADeviceThatMayBeAnywhereOnItIsTaken(t *testing.T) {
	t.Parallel()
	c := chain(t, safety.Options{Zones: []safety.Zone{zone(safety.Allowed, "hall", square(0, 0, 40))}})
	s := moveTo(device("agv", 20, 5), 20, 15)
	s.Others = []devices.Other{{Device: device("b", 2, 10), Path: &devices.Path{Map: "hall", FromX: 2, FromY: 10, ToX: 38, ToY: 10, Speed: 1}}}
	allowed(t, c, s) // it crosses later
	s.Others[0].Path.Speed = 0
	refused(t, c, s, "collision", "device b")
}

func TestReportFromTheFutureCountsAsNone(t *testing.T) {
	t.Parallel()
	c := chain(t, safety.Options{Zones: []safety.Zone{zone(safety.Allowed, "hall", square(0, 0, 20))}})
	s := moveTo(device("agv", 5, 5), 10, 10)
	s.Device.Telemetry.Time = now.Add(time.Hour)
	refused(t, c, s, "emergency stop", "old")
}

func TestSpeed(t *testing.T) {
	t.Parallel()
	slow := zone(safety.Speed, "crossing", square(20, 0, 10))
	slow.MaxSpeed = 0.3
	c := chain(t, safety.Options{Zones: []safety.Zone{zone(safety.Allowed, "hall", square(0, 0, 100)), slow}, Device: safety.Device{MaxSpeed: 2}})
	s := moveTo(device("a", 5, 5), 5, 50)
	require.InDelta(t, 2, allowed(t, c, s).MaxSpeed, 0)
	v := 1.5
	s.Move.Speed = &v
	require.InDelta(t, 1.5, allowed(t, c, s).MaxSpeed, 0)
	v = 2.5
	refused(t, c, s, "speed", "2.50 m/s is above 2.00 m/s", "the device")

	through := moveTo(device("a", 5, 5), 50, 5)
	require.InDelta(t, 0.3, allowed(t, c, through).MaxSpeed, 0)
	v = 1
	through.Move.Speed = &v
	refused(t, c, through, "speed", `zone "crossing"`)
}

func TestMode(t *testing.T) {
	t.Parallel()
	c := chain(t, safety.Options{Zones: []safety.Zone{zone(safety.Allowed, "hall", square(0, 0, 100))}})
	for _, state := range devices.States() {
		s := moveTo(device("a", 5, 5), 10, 10)
		s.Device.State = state
		switch state {
		case devices.Online, devices.Idle, devices.Working:
			allowed(t, c, s)
		default:
			refused(t, c, s, "operating mode", string(state))
		}
	}
	s := moveTo(device("a", 5, 5), 0, 0)
	s.Move, s.Command.Type, s.Device.State = nil, "ClearError", devices.Error
	allowed(t, c, s)
}

type policy func(devices.Situation) devices.Verdict

func (policy) Name() string                                { return "own" }
func (p policy) Check(s devices.Situation) devices.Verdict { return p(s) }

func TestOwnPolicy(t *testing.T) {
	t.Parallel()
	c := chain(t, safety.Options{Zones: []safety.Zone{zone(safety.Allowed, "hall", square(0, 0, 100))}})
	night, err := c.Append(policy(func(s devices.Situation) devices.Verdict {
		return devices.Verdict{Allowed: s.Now.Hour() < 20, Reason: "nothing moves at night"}
	}))
	require.NoError(t, err)
	s := moveTo(device("a", 5, 5), 10, 10)
	require.Len(t, allowed(t, night, s).Verdicts, 7)
	s.Now = now.Add(10 * time.Hour)
	s.Device.Telemetry.Time = s.Now
	refused(t, night, s, "own", "nothing moves at night")

	broken, err := c.Append(policy(func(devices.Situation) devices.Verdict { panic("broken") }))
	require.NoError(t, err)
	s.Now = s.Now.Add(time.Second)
	refused(t, broken, s, "own", "the policy failed: broken")
	_, err = safety.NewChain()
	require.Error(t, err)
	_, err = safety.NewChain(nil)
	require.ErrorContains(t, err, "policies[0]")
}

// No way that is allowed touches a keep-out zone or leaves the allowed ones: points all over the device on its way are tried
// against the rectangles that the zones are.
func TestAllowedWaysStayInside(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	type rectangle struct{ x, y, w, h float64 }
	has := func(all []rectangle, x, y float64) bool {
		for _, r := range all {
			if x >= r.x && x <= r.x+r.w && y >= r.y && y <= r.y+r.h {
				return true
			}
		}
		return false
	}
	some := func(n int, longest float64) (all []rectangle) {
		for range n {
			all = append(all, rectangle{random.Float64() * 30, random.Float64() * 30, 1 + random.Float64()*longest, 1 + random.Float64()*longest})
		}
		return all
	}
	ways := 0
	for range 300 {
		inside, outside := some(6, 20), some(3, 4)
		var zones []safety.Zone
		for i, all := range [][]rectangle{inside, outside} {
			for _, r := range all {
				zones = append(zones, zone([]safety.Kind{safety.Allowed, safety.KeepOut}[i], "",
					[][2]float64{{r.x, r.y}, {r.x + r.w, r.y}, {r.x + r.w, r.y + r.h}, {r.x, r.y + r.h}}))
			}
		}
		radius := 0.2 + random.Float64()
		c := chain(t, safety.Options{Zones: zones, Device: safety.Device{Radius: radius}})
		for range 100 {
			a, b := [2]float64{random.Float64() * 40, random.Float64() * 40}, [2]float64{random.Float64() * 40, random.Float64() * 40}
			if !c.Check(moveTo(device("a", a[0], a[1]), b[0], b[1])).Allowed {
				continue
			}
			ways++
			for range 200 {
				along, angle := random.Float64(), random.Float64()*2*math.Pi
				x := a[0] + along*(b[0]-a[0]) + radius*math.Cos(angle)
				y := a[1] + along*(b[1]-a[1]) + radius*math.Sin(angle)
				require.True(t, has(inside, x, y), "leaves the zones at %g, %g", x, y)
				require.False(t, has(outside, x, y), "touches a keep-out zone at %g, %g", x, y)
			}
		}
	}
	require.Greater(t, ways, 500, "most ways are refused: the test tries nothing")
}

func BenchmarkCheck(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	zones := []safety.Zone{zone(safety.Allowed, "hall", square(-1000, -1000, 3000))}
	for i := range 99 {
		cx, cy := float64(i%10)*100, float64(i/10)*100+50
		var points [][2]float64
		for k := range 50 {
			angle := float64(k) / 50 * 2 * math.Pi
			points = append(points, [2]float64{cx + 20*math.Cos(angle), cy + 20*math.Sin(angle)})
		}
		zones = append(zones, zone(safety.KeepOut, "", points))
	}
	c := chain(b, safety.Options{Zones: zones})
	s := moveTo(device("a", -50, 0), 950, 0)
	for range 200 {
		s.Others = append(s.Others, devices.Other{Device: device("b", random.Float64()*1000, 10+random.Float64()*1000),
			Path: &devices.Path{Map: "hall", ToX: random.Float64() * 1000, ToY: 10 + random.Float64()*1000, Speed: 1}})
	}
	require.True(b, c.Check(s).Allowed, c.Check(s).Reason)
	for b.Loop() {
		c.Check(s)
	}
}

func TestAChainTellsItsZones(t *testing.T) {
	zones := []safety.Zone{
		{Name: "hall", Map: "hall", Kind: safety.Allowed, Rings: [][][2]float64{{{0, 0}, {50, 0}, {50, 30}, {0, 30}}}},
		{Name: "gate", Map: "hall", Kind: safety.Speed, MaxSpeed: 0.5, Rings: [][][2]float64{{{0, 0}, {5, 0}, {5, 5}}}},
	}
	c, err := safety.New(safety.Options{Zones: zones})
	require.NoError(t, err)
	require.Equal(t, zones, c.Zones())
	zones[0].Name = "else"
	require.Equal(t, "hall", c.Zones()[0].Name)
}
