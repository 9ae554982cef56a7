package modbus_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	driver "github.com/otkit/otkit/tags/modbus"
)

func TestAddressesNameTheirPlaces(t *testing.T) {
	dev := startDevice(t)
	d := connected(t, driver.Options{Address: dev.addr, UnitID: 2})
	for _, c := range []struct {
		address string
		unit    uint8
		table   string
		at      int
	}{
		{"HR:0", 2, "HR", 0},
		{"hr:65535", 2, "HR", 65535},
		{"IR:7", 2, "IR", 7},
		{"40001", 2, "HR", 0},
		{"400001", 2, "HR", 0},
		{"465536", 2, "HR", 65535},
		{"49999", 2, "HR", 9998},
		{"30010", 2, "IR", 9},
		{"300010", 2, "IR", 9},
		{"3/HR:10", 3, "HR", 10},
		{"0/40011", 0, "HR", 10},
	} {
		dev.set(c.unit, c.table, c.at, 4711)
		requireReading(t, tags.IntValue(4711), read(t, d, point(c.address, "", tags.Int))[0])
		dev.set(c.unit, c.table, c.at, 0)
	}
	for _, c := range []struct {
		address, table string
		at             int
	}{
		{"CO:3", "CO", 3}, {"00004", "CO", 3}, {"000004", "CO", 3}, {"065536", "CO", 65535},
		{"DI:3", "DI", 3}, {"10004", "DI", 3}, {"100004", "DI", 3}, {"2/di:3", "DI", 3},
	} {
		dev.set(2, c.table, c.at, 1)
		requireReading(t, tags.BoolValue(true), read(t, d, point(c.address, "", tags.Bool))[0])
		dev.set(2, c.table, c.at, 0)
	}
	dev.set(2, "HR", 5, 1<<15|1<<3)
	for address, want := range map[string]bool{"HR:5.15": true, "40006.3": true, "2/HR:5.0": false, "HR:5.14": false} {
		requireReading(t, tags.BoolValue(want), read(t, d, point(address, "", tags.Bool))[0])
	}
}

func TestPointsThatCannotBe(t *testing.T) {
	d, err := driver.New(driver.Options{Address: "plc"})
	require.NoError(t, err)
	for _, p := range []tags.Point{
		point("", "", tags.Int),
		point("HR", "", tags.Int),
		point("HR:", "", tags.Int),
		point("HR:-1", "", tags.Int),
		point("HR:+1", "", tags.Int),
		point("HR:65536", "", tags.Int),
		point("HR:99999999999999999999", "", tags.Int),
		point("XX:1", "", tags.Int),
		point("4001", "", tags.Int),
		point("4000001", "", tags.Int),
		point("40000", "", tags.Int),
		point("465537", "", tags.Int),
		point("20001", "", tags.Int),
		point("4000x", "", tags.Int),
		point("256/HR:1", "", tags.Int),
		point("/HR:1", "", tags.Int),
		point("1/2/HR:1", "", tags.Int),
		point("HR:1.16", "", tags.Bool),
		point("HR:1.", "", tags.Bool),
		point("CO:1.1", "", tags.Bool),
		point("HR:1", "", tags.Bool),        // which bit?
		point("HR:1.1", "", tags.Int),       // a bit is no number
		point("HR:1.1", "Int16", tags.Int),  //
		point("CO:1", "", tags.Int),         //
		point("CO:1", "Bool", tags.Int),     //
		point("HR:1", "String:4", tags.Int), //
		point("HR:1", "Int16", tags.String), //
		point("HR:1", "", tags.String),      // how long?
		point("HR:1", "", tags.Bytes),       //
		point("HR:1", "String", tags.String),
		point("HR:1", "String:0", tags.String),
		point("HR:1", "String:251", tags.String),
		point("HR:1", "Int16:4", tags.Int),
		point("HR:1", "Int24", tags.Int),
		point("HR:1", "Int32;ACBD", tags.Int),
		point("HR:1", "Int32;", tags.Int),
		point("HR:1", "Int32", ""),
		point("HR:65535", "Int32", tags.Int), // ends beyond the table
		point("HR:65530", "String:14", tags.String),
	} {
		require.ErrorIs(t, d.ValidatePoint(p), tags.ErrAddress, "%+v", p)
	}
	require.NoError(t, d.ValidatePoint(point("HR:65534", "Int32;dcba", tags.Int)))
	require.NoError(t, d.ValidatePoint(point("HR:65530", "string:12", tags.String)))

	serial, err := driver.New(driver.Options{Address: "plc", Protocol: driver.RTUOverTCP})
	require.NoError(t, err)
	require.ErrorIs(t, serial.ValidatePoint(point("0/HR:1", "", tags.Int)), tags.ErrAddress)
}

func TestABadPointDoesNotSpoilTheOthers(t *testing.T) {
	dev := startDevice(t)
	dev.set(1, "HR", 1, 5)
	out := read(t, connected(t, driver.Options{Address: dev.addr}),
		point("nonsense", "", tags.Int), point("HR:1", "", tags.Int), point("HR:1", "", tags.Bytes))
	require.ErrorIs(t, out[0].Err, tags.ErrAddress)
	requireReading(t, tags.IntValue(5), out[1])
	require.ErrorIs(t, out[2].Err, tags.ErrAddress)
}

func TestOptions(t *testing.T) {
	for field, o := range map[string]driver.Options{
		"Address":            {},
		"Address ":           {Address: "plc:0"},
		"Address  ":          {Address: "plc:70000"},
		"Address   ":         {Address: ":502"},
		"Address    ":        {Address: "a:b:c"},
		"Protocol":           {Address: "plc", Protocol: "Profibus"},
		"Certificate":        {Address: "plc", Protocol: driver.TLS},
		"RootCAs":            {Address: "plc", Protocol: driver.TLS},
		"Timeout":            {Address: "plc", Timeout: -1},
		"MaxGap":             {Address: "plc", MaxGap: 126},
		"MaxRegisters":       {Address: "plc", MaxRegisters: 126},
		"RequestPause":       {Address: "plc", RequestPause: time.Minute},
		"Units[3].MaxGap":    {Address: "plc", Units: map[uint8]driver.Unit{3: {MaxGap: 126}}},
		"Line.Baud":          {Address: "/dev/ttyS0", Protocol: driver.RTU, Line: driver.Line{Baud: 3}},
		"Line.Parity":        {Address: "/dev/ttyS0", Protocol: driver.RTU, Line: driver.Line{Parity: "Mark"}},
		"Order":              {Address: "plc", Order: "AABB"},
		"Breaker.Failures":   {Address: "plc", Breaker: driver.Breaker{Failures: -1}},
		"Breaker.ProbeAfter": {Address: "plc", Breaker: driver.Breaker{ProbeAfter: -1}},
	} {
		_, err := driver.New(o)
		require.ErrorContains(t, err, "option "+strings.TrimSpace(field))
	}
	for _, address := range []string{"plc", "plc:1502", "10.0.0.1", "::1", "[::1]", "[::1]:502"} {
		_, err := driver.New(driver.Options{Address: address})
		require.NoError(t, err, address)
	}
}
