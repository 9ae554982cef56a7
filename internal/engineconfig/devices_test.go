package engineconfig_test

import (
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms/devicealarms"
	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/internal/engineconfig"
	"github.com/otkit/otkit/internal/settings"
	"github.com/otkit/otkit/transport/devicesapi/devicespart"
	"github.com/otkit/otkit/transport/metrics"
	"github.com/otkit/otkit/transport/server"
)

// build returns the parts of settings in YAML and what is wrong with them, without the name of their file.
func build(t *testing.T, text string, environ ...string) (engineconfig.Parts, string) {
	t.Helper()
	path := write(t, "engine.yaml", text)
	e, p, _, err := settings.Inspect(engineconfig.Defaults(), settings.Options{File: path, Environ: environ})
	require.NoError(t, err)
	parts := e.Build(p, "dev", slog.New(slog.DiscardHandler), metrics.New(metrics.Options{}))
	if err := p.Err(); err != nil {
		return parts, strings.TrimPrefix(strings.ReplaceAll(err.Error(), " (file "+path+")", ""), "settings are not valid: ")
	}
	return parts, ""
}

// hall has a zone of 20 m by 10 m.
const hall = "zones: [{name: hall, map: m, kind: allowed, points: [0, 0, 20, 10]}]"

// asked returns what the policies say to a movement of a device on the map m.
func asked(o devicespart.Options, id string, fromX, fromY, toX, toY float64) string {
	now, charge := time.Now(), 50.0
	d := o.Safety.Check(devices.Situation{Now: now,
		Command: devices.Command{ID: "c", DeviceID: id, Type: devices.MoveTo}, Move: &devices.Move{Map: "m", X: toX, Y: toY},
		Device: devices.Device{ID: id, State: devices.Idle, Telemetry: &devices.Telemetry{Time: now, Received: now, State: devices.Idle, Battery: &charge,
			Pose: &devices.Pose{Map: "m", X: fromX, Y: fromY}}}})
	return d.Reason
}

func TestDevicesByDefault(t *testing.T) {
	parts, problems := build(t, "{}")
	require.Empty(t, problems)
	o := parts.Options.Devices
	require.Equal(t, 10*time.Second, o.CommandWait)
	require.Equal(t, 9600*time.Hour, o.Retention)
	require.Equal(t, devicealarms.Options{Delay: 30 * time.Second}, o.Alarms)
	require.False(t, o.WithoutTags || o.WithoutShells)
	require.Empty(t, o.Fleets)
	require.Empty(t, parts.Options.Server.PartListeners)
	require.Equal(t, `geofence: map "m" has no zones`, asked(o, "a", 1, 1, 2, 2), "without zones every movement is refused")
}

func TestZonesOfSettingsAndOfAFile(t *testing.T) {
	file := write(t, "zones.geojson", `{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": {"name": "press", "map": "m", "kind": "keepOut"},
		"geometry": {"type": "Polygon", "coordinates": [[[9, 4], [11, 4], [11, 6], [9, 6], [9, 4]]]}}]}`)
	parts, problems := build(t, "devices: {safety: {zonesFile: '"+file+"', "+hall+"}}",
		"Devices__Safety__Zones__1__Name=pit", "Devices__Safety__Zones__1__Map=m", "Devices__Safety__Zones__1__Kind=keepOut",
		"Devices__Safety__Zones__1__Points=14,0,16,0,15,2", "Devices__Safety__Devices__0__Id=wide", "Devices__Safety__Devices__0__Radius=2")
	require.Empty(t, problems)
	o := parts.Options.Devices
	require.Empty(t, asked(o, "a", 2, 2, 12, 2))
	require.Contains(t, asked(o, "a", 2, 5, 18, 5), `"press"`)
	require.Contains(t, asked(o, "a", 12, 1, 18, 1), `"pit"`)
	require.Contains(t, asked(o, "a", 2, 2, 2, 12), "outside of the allowed zones")
	require.Contains(t, asked(o, "wide", 3, 3, 12, 1.5), "the device needs 2.00 m")
}

func TestFleetsOfSettings(t *testing.T) {
	parts, problems := build(t, `
server: {deviceListen: ':5200'}
devices:
  tags: false
  shells: false
  alarms: {enabled: false}
  safety: {`+hall+`, device: {maxSpeed: 2}}
  simulated:
    robots: [{id: r1, name: Tugger, map: m, x: 1, y: 1}, {id: arm, kind: arm, map: m, x: 9, y: 9}]
  vda5050: {url: 'mqtt://broker.invalid:1883', vehicles: [{deviceId: v1, manufacturer: acme, serialNumber: "1"}]}
`, "Devices__Simulated__Robots__2__Id=r2", "Devices__Simulated__Robots__2__Map=m", "Devices__Simulated__Robots__2__X=5", "Devices__Simulated__Robots__2__Y=5", "DEVICES__VDA5050__VEHICLES__0__NAME=Forklift")
	require.Empty(t, problems)
	require.True(t, parts.Options.Devices.WithoutTags)
	require.True(t, parts.Options.Devices.WithoutShells)
	require.True(t, parts.Options.Devices.Alarms.Disabled)
	require.Equal(t, []server.PartListener{{Listen: ":5200", Parts: []string{"devices"}}}, parts.Options.Server.PartListeners)
	fleets := parts.Options.Devices.Fleets
	require.Len(t, fleets, 2)
	require.Equal(t, []devicespart.NewDevice{{ID: "r1", Name: "Tugger"}, {ID: "arm", Name: "arm"}, {ID: "r2", Name: "r2"}}, fleets[0].Devices)
	require.Equal(t, []devicespart.NewDevice{{ID: "v1", Name: "Forklift"}}, fleets[1].Devices)

	// The simulated robots stand where the settings put them; the policies know their speed.
	s, err := devices.New(t.Context(), devices.NewMemory(), devices.Options{Safety: parts.Options.Devices.Safety})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	for _, d := range fleets[0].Devices {
		_, err = s.Create(t.Context(), d.ID, d.Name, "")
		require.NoError(t, err)
	}
	c, err := fleets[0].Open(t.Context(), s)
	require.NoError(t, err)
	require.NotNil(t, c.Executor)
	vehicles, err := fleets[1].Open(t.Context(), s)
	require.NoError(t, err)
	require.NoError(t, vehicles.Close(t.Context()))
	done := make(chan error, 1)
	go func() { done <- c.Run(t.Context()) }()
	require.Eventually(t, func() bool { d, err := s.Get("arm"); return err == nil && d.Telemetry != nil }, time.Minute, time.Millisecond)
	d, err := s.Get("arm")
	require.NoError(t, err)
	require.Equal(t, &devices.Pose{Map: "m", X: 9, Y: 9}, d.Telemetry.Pose)
	fast := 1.5
	decision := parts.Options.Devices.Safety.Check(devices.Situation{Now: time.Now(), Command: devices.Command{DeviceID: "r1", Type: devices.MoveTo},
		Move: &devices.Move{Map: "m", X: 2, Y: 2, Speed: &fast}, Device: deviceOf(t, s, "r1")})
	require.Equal(t, "speed: 1.50 m/s is above 1.00 m/s, the limit of the device", decision.Reason)
	require.Empty(t, parts.Options.Devices.Safety.Check(devices.Situation{Now: time.Now(), Command: devices.Command{DeviceID: "arm", Type: devices.PickUp},
		Device: deviceOf(t, s, "arm")}).Reason, "an arm needs no battery")
}

func deviceOf(t *testing.T, s *devices.Service, id string) devices.Device {
	t.Helper()
	var d devices.Device
	require.Eventually(t, func() bool {
		var err error
		d, err = s.Get(id)
		return err == nil && d.Telemetry != nil
	}, time.Minute, time.Millisecond)
	return d
}

func TestDevicesAreValidated(t *testing.T) {
	robot := "{id: a, map: m}"
	vehicle := "{deviceId: v, manufacturer: x, serialNumber: '1'}"
	for text, want := range map[string]string{
		"server: {deviceListen: '5200'}":                                                                                        `server.deviceListen must be host:port or :port, with a port 0 to 65535, or empty, not "5200"`,
		"server: {deviceListen: ':5001'}":                                                                                       `server.deviceListen must differ from server.listen: ":5001"`,
		"devices: {commandWait: 51s}":                                                                                           "devices.commandWait must be above 0, up to 50s, not 51s",
		"devices: {retention: 23h}":                                                                                             "devices.retention must be at least 24h, not 23h",
		"devices: {queueLimit: 0}":                                                                                              "devices.queueLimit must be 1 to 10000, not 0",
		"devices: {maxDevices: 1, simulated: {robots: [{id: a}, {id: b}]}}":                                                     "devices.maxDevices must be at least 2, as many as the settings name, not 1",
		"devices: {safety: {battery: 0}}":                                                                                       "devices.safety.battery must be above 0, up to 100, not 0",
		"devices: {safety: {separation: .nan}}":                                                                                 "devices.safety.separation must be a number, not the number NaN",
		"devices: {safety: {device: {radius: -1}}}":                                                                             "devices.safety.device.radius must be above 0, not -1",
		"devices: {safety: {devices: [{id: a}, {id: a}]}}":                                                                      "devices.safety.devices[1].id is that of devices.safety.devices[0] as well",
		"devices: {safety: {chargers: [{map: m}]}}":                                                                             "devices.safety.chargers[0].name is required",
		"devices: {safety: {zones: [{name: z, kind: forbidden, points: [0, 0, 1, 1]}]}}":                                        `devices.safety.zones[0].kind must be allowed, keepOut or speed, not "forbidden"`,
		"devices: {safety: {zones: [{name: z, kind: allowed, points: [0, 0, 1]}]}}":                                             "devices.safety.zones[0].points must have two numbers for each of two or more corners",
		"devices: {safety: {zones: [{name: z, kind: allowed}]}}":                                                                "devices.safety.zones[0].points must have two numbers for each of two or more corners",
		"devices: {safety: {zones: [{name: z, kind: allowed, points: [0, 0, 1, 2e9]}]}}":                                        "devices.safety.zones[0].points[3] must be -1000000 to 1000000, not 2e+09",
		"devices: {safety: {zones: [{name: z, kind: speed, points: [0, 0, 1, 1]}]}}":                                            "devices.safety.zones[0].maxSpeed must be above 0 in a zone of kind speed, not 0",
		"devices: {safety: {zones: [{name: z, kind: allowed, points: [0, 0, 1, 0]}]}}":                                          "devices.safety.zones[0] (z) is not usable: lines must not cross themselves or each other: validating ring at index 0: polygon ring not simple (at or near {0 0})",
		"devices: {safety: {zonesFile: /nowhere/zones.geojson}}":                                                                "devices.safety.zonesFile is not usable: open /nowhere/zones.geojson: no such file or directory",
		"devices: {simulated: {robots: [" + robot + ", " + robot + "]}}":                                                        "devices.simulated.robots[1].id is that of devices.simulated.robots[0] as well",
		"devices: {simulated: {robots: [{id: 'a b'}]}}":                                                                         `devices.simulated.robots[0].id must be 1 to 128 letters, digits or any of "._:-", and neither "." nor "..", not "a b"`,
		"devices: {simulated: {robots: [{id: stream}]}}":                                                                        `devices.simulated.robots[0].id must not be "stream", which is reserved`,
		"devices: {simulated: {robots: [{id: a, name: '" + strings.Repeat("x", 201) + "'}]}}":                                   `devices.simulated.robots[0].name must have at most 200 characters: "` + strings.Repeat("x", 80) + `..."`,
		"devices: {simulated: {robots: [{id: a, speed: -1}]}}":                                                                  "devices.simulated.robots[0].speed must be above 0, not -1",
		"devices: {simulated: {robots: [{id: a, kind: drone}]}}":                                                                `devices.simulated.robots[0].kind must be mobile or arm, not "drone"`,
		"devices: {simulated: {robots: [{id: a, battery: 101}]}}":                                                               "devices.simulated.robots[0].battery must be above 0, up to 100, not 101",
		"devices: {simulated: {step: 6s, robots: [" + robot + "]}}":                                                             "devices.simulated.step must be below devices.safety.maxAge, or every movement is refused, not 6s",
		"devices: {vda5050: {url: 'mqtt://b'}}":                                                                                 "devices.vda5050.vehicles is needed with devices.vda5050.url",
		"devices: {vda5050: {vehicles: [" + vehicle + "]}}":                                                                     "devices.vda5050.url is needed with devices.vda5050.vehicles",
		"devices: {vda5050: {url: 'tcp://b', vehicles: [" + vehicle + "]}}":                                                     `devices.vda5050.url must be mqtt://host:port or mqtts://host:port, without a user, not "tcp://b"`,
		"devices: {vda5050: {url: 'mqtt://b', caFile: ca.pem, vehicles: [" + vehicle + "]}}":                                    "devices.vda5050.caFile is for an mqtts URL",
		"devices: {vda5050: {url: 'mqtts://b', caFile: /nowhere/ca.pem, vehicles: [" + vehicle + "]}}":                          "devices.vda5050.caFile is not usable: open /nowhere/ca.pem: no such file or directory",
		"devices: {vda5050: {url: 'mqtt://b', vehicles: [{deviceId: v, manufacturer: x}]}}":                                     "devices.vda5050.vehicles[0].serialNumber is required",
		"devices: {simulated: {robots: [{id: v}]}, vda5050: {url: 'mqtt://b', vehicles: [" + vehicle + "]}}":                    "devices.vda5050.vehicles[0].deviceId is that of devices.simulated.robots[0] as well: a device belongs to one fleet",
		"devices: {vda5050: {url: 'mqtt://b', interface: 'a/b', vehicles: [" + vehicle + "]}}":                                  `devices.vda5050.interface must be one level of a topic that does not begin with $, not "a/b"`,
		"devices: {vda5050: {url: 'mqtt://b', vehicles: [{deviceId: v, manufacturer: 'a#', serialNumber: b}]}}":                 `devices.vda5050.vehicles[0].manufacturer must be one level of a topic, not "a#"`,
		"devices: {vda5050: {url: 'mqtt://b', vehicles: [" + vehicle + ", {deviceId: w, manufacturer: x, serialNumber: '1'}]}}": `devices.vda5050.vehicles[1].serialNumber must be unique among those of a Manufacturer, not "1"`,
	} {
		_, got := build(t, text)
		require.Equal(t, want, got, text)
	}
}

// A robot or charger where the zones refuse everything is found before the start, and not when nothing moves.
func TestPlacesAreOutsideOfNoZone(t *testing.T) {
	for _, c := range []struct{ robots, chargers, want string }{
		{"{id: a, map: m, x: 2, y: 2}", "{name: dock, map: m, x: 2, y: 2}", ""},
		{"{id: a, map: m, x: 60, y: 2}", "", "devices.simulated.robots[0] (a) begins where every command is refused: the device at (60.00, 2.00) is outside of the allowed zones of map \"m\""},
		{"{id: a, map: m, x: 2, y: 2}, {id: b, kind: arm, map: M, x: 2, y: 2}", "", `devices.simulated.robots[1] (b) begins where every command is refused: map "M" has no allowed zone`},
		{"{id: a, map: m, x: 15, y: 15}", "", `devices.simulated.robots[0] (a) begins where every command is refused: the way to (15.00, 15.00) touches keep-out zone "press", the device needs 0.50 m around it`},
		{"", "{name: dock, map: M}", "devices.safety.chargers[0].map (dock) has no zone of kind allowed: no device may go to the charger"},
		{"", "{name: dock, map: off}", "devices.safety.chargers[0].map (dock) has no zone of kind allowed: no device may go to the charger"},
	} {
		_, got := build(t, `devices:
  safety:
    zones: [{name: hall, map: m, kind: allowed, points: [0, 0, 50, 30]}, {name: press, map: m, kind: keepOut, points: [12, 12, 18, 18]},
      {name: court, map: off, kind: keepOut, points: [0, 0, 1, 1]}]
    chargers: [`+c.chargers+`]
  simulated: {robots: [`+c.robots+"]}")
		require.Equal(t, c.want, got, c)
	}
	_, got := build(t, "devices: {simulated: {robots: [{id: a, map: m}]}}")
	require.Empty(t, got, "without any zone, every movement is refused")
}

// A file of zones that cannot be used stops the start with the feature and the rule.
func TestZonesFileIsValidated(t *testing.T) {
	collection := func(features string) string { return `{"type": "FeatureCollection", "features": [` + features + `]}` }
	feature := func(properties, ring string) string {
		return `{"type": "Feature", "properties": ` + properties + `, "geometry": {"type": "Polygon", "coordinates": [` + ring + `]}}`
	}
	const (
		fine   = `{"name": "hall", "map": "m", "kind": "allowed"}`
		square = `[[0, 0], [9, 0], [9, 9], [0, 9], [0, 0]]`
	)
	for text, want := range map[string]string{
		"":                  "unexpected end of JSON input",
		collection(""):      "has no features",
		`{"type": "Point"}`: `type must be FeatureCollection, not "Point"`,
		collection(feature(fine, square) + "," + feature(`{"name": "gate", "map": "m", "kind": "slow"}`, square)): `features[1] ("gate"): kind must be "allowed", "keepOut" or "speed", not "slow"`,
		collection(feature(`{"name": "gate", "map": "m", "kind": "speed"}`, square)):                              `features[0] ("gate"): maxSpeed is required`,
		collection(feature(fine, `[[0, 0], [9, 9], [9, 0], [0, 9], [0, 0]]`)):                                     `features[0] ("hall"): lines must not cross themselves or each other`,
		collection(feature(fine, `[[0, 0], [9, 0], [9, "x"], [0, 0]]`)):                                           `features[0] ("hall"): geometry: `,
	} {
		file := write(t, "zones.geojson", text)
		_, got := build(t, "devices: {safety: {zonesFile: '"+file+"'}}")
		require.True(t, strings.HasPrefix(got, "devices.safety.zonesFile is not usable: "+file+": "+want), "%s\n%s", text, got)
		require.NotContains(t, got, "\n")
	}
}

func TestTheExampleOfDevicesIsValid(t *testing.T) {
	t.Chdir("../..") // where the example is to be started
	file := filepath.Join("examples", "devices-engine.yaml")
	e, p, _, err := settings.Inspect(engineconfig.Defaults(), settings.Options{File: file})
	require.NoError(t, err)
	e.Build(p, "dev", slog.New(slog.DiscardHandler), metrics.New(metrics.Options{}))
	require.NoError(t, p.Err())
}

func TestThePasswordOfTheBrokerIsMasked(t *testing.T) {
	e := load(t, settings.Options{Environ: []string{"Devices__Vda5050__Url=mqtt://b", "Devices__Vda5050__Password=geheim", "Devices__Vda5050__Vehicles__0__DeviceId=v",
		"Devices__Vda5050__Vehicles__0__Manufacturer=x", "Devices__Vda5050__Vehicles__0__SerialNumber=1"}})
	var out strings.Builder
	require.NoError(t, settings.Print(&out, e, settings.Origins{}))
	require.NotContains(t, out.String(), "geheim")
	require.Contains(t, out.String(), "password: '****'")
}
