package modbus_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	driver "github.com/otkit/otkit/tags/modbus"
)

func TestMostRegistersInARequest(t *testing.T) {
	dev := startDevice(t)
	d := connected(t, driver.Options{
		Address: dev.addr, MaxRegisters: 10, Units: map[uint8]driver.Unit{2: {MaxRegisters: 4}, 3: {MaxGap: -1}},
	})
	var points []tags.Point
	for _, unit := range []int{1, 2} {
		for i := range 12 {
			points = append(points, point(fmt.Sprintf("%d/HR:%d", unit, i), "", tags.Int))
		}
	}
	points = append(points, point("3/HR:0", "", tags.Int), point("3/HR:2", "", tags.Int), point("CO:0", "", tags.Bool), point("CO:120", "", tags.Bool),
		point("CO:160", "", tags.Bool))
	for _, r := range read(t, d, points...) {
		require.NoError(t, r.Err)
	}
	require.Equal(t, []string{
		"read 1/CO:0+121", "read 1/CO:160+1", "read 1/HR:0+10", "read 1/HR:10+2",
		"read 2/HR:0+4", "read 2/HR:4+4", "read 2/HR:8+4", "read 3/HR:0+1", "read 3/HR:2+1",
	}, dev.asked())

	require.NoError(t, d.ValidatePoint(point("2/HR:0", "Float64", tags.Float)))
	err := d.ValidatePoint(point("2/HR:0", "String:9", tags.String))
	require.ErrorIs(t, err, tags.ErrAddress)
	require.ErrorContains(t, err, "at most 4")
	long := point("HR:0", "String:20", tags.String)
	require.NoError(t, write(t, d, tags.WriteItem{Point: long, Value: tags.StringValue("ten")})[0])
}

func TestPauseBetweenRequests(t *testing.T) {
	dev := startDevice(t)
	d := connected(t, driver.Options{
		Address: dev.addr, RequestPause: 30 * time.Millisecond, Units: map[uint8]driver.Unit{2: {RequestPause: -1}, 3: {RequestPause: 200 * time.Millisecond}},
	})
	start := time.Now()
	read(t, d, ints("HR:0", "HR:100", "HR:200", "HR:300")...)
	require.GreaterOrEqual(t, time.Since(start), 90*time.Millisecond)
	before := time.Now()
	p := d.Plan(ints("HR:0", "HR:100"))
	out := make([]tags.Reading, 2)
	for p.Len() > 0 {
		a, err := p.Next(t.Context(), out)
		require.NoError(t, err)
		require.GreaterOrEqual(t, a.Asked.Sub(before), 25*time.Millisecond, "the pause is no part of the round trip")
		before = a.Asked
	}
	require.GreaterOrEqual(t, d.CallTimeout(), 4*time.Second)

	start = time.Now()
	read(t, d, ints("2/HR:0", "3/HR:0")...)
	require.GreaterOrEqual(t, time.Since(start), 190*time.Millisecond, "a unit can have its own")
}

func TestUnitsAndSerialLineFromSettings(t *testing.T) {
	_, list, err := driver.FromSettings(settings(`{"PollIntervalMs": 1000, "MaxRegisters": 60, "RequestPauseMs": 5,
		"Units": [{"SlaveId": 3, "PollIntervalMs": 5000, "MaxRegisters": 8, "MaxGap": 0, "RequestPauseMs": 0, "ByteOrder": "CDAB"}],
		"Tags": [{"Name": "a", "Address": "HR:0", "Type": "Int16"}, {"Name": "b", "Address": "3/HR:0", "Type": "Int16"},
			{"Name": "c", "Address": "3/HR:0", "Type": "Int16", "PollIntervalMs": 100}]}`), nil)
	require.NoError(t, err)
	for i, want := range []time.Duration{time.Second, 5 * time.Second, 100 * time.Millisecond} {
		require.Equal(t, want, list[i].PollInterval)
	}
	serial := func(raw string) driverconfig.Settings {
		return driverconfig.Settings{ID: "plc", Type: "Modbus", Settings: json.RawMessage(raw)}
	}
	_, _, err = driver.FromSettings(serial(`{"Protocol": "rtu", "SerialPort": "/dev/ttyUSB0", "BaudRate": 9600, "DataBits": 8, "Parity": "none", "StopBits": 1}`), nil)
	require.NoError(t, err)
	_, _, err = driver.FromSettings(serial(`{"Protocol": "RTU", "SerialPort": "COM3"}`), nil)
	require.NoError(t, err)

	tag := `"Tags": [{"Name": "a", "Address": "3/HR:0", "Type": "String:10"}]}`
	for _, c := range []struct {
		s     driverconfig.Settings
		field string
	}{
		{serial(`{"Protocol": "RTU"}`), "Settings.SerialPort"},
		{settings(`{"Protocol": "RTU", "SerialPort": "COM3"}`), "IpAddress"},
		{settings(`{"SerialPort": "COM3"}`), "Settings.SerialPort"},
		{serial(`{"Protocol": "RTU", "SerialPort": "COM3", "BaudRate": 3}`), "Settings.BaudRate"},
		{serial(`{"Protocol": "RTU", "SerialPort": "COM3", "DataBits": 9}`), "Settings.DataBits"},
		{serial(`{"Protocol": "RTU", "SerialPort": "COM3", "StopBits": 3}`), "Settings.StopBits"},
		{serial(`{"Protocol": "RTU", "SerialPort": "COM3", "Parity": "Mark"}`), "Settings.Parity"},
		{settings(`{"MaxRegisters": 126}`), "Settings.MaxRegisters"},
		{settings(`{"RequestPauseMs": -1}`), "Settings.RequestPauseMs"},
		{settings(`{"RequestPauseMs": 10001}`), "Settings.RequestPauseMs"},
		{settings(`{"Units": [{"MaxGap": 1}]}`), "Settings.Units[0].SlaveId"},
		{settings(`{"Units": [{"SlaveId": 256}]}`), "Settings.Units[0].SlaveId"},
		{settings(`{"Units": [{"SlaveId": 3}, {"SlaveId": 3}]}`), "Settings.Units[1].SlaveId"},
		{settings(`{"Units": [{"SlaveId": 3, "MaxRegisters": -1}]}`), "Settings.Units[0].MaxRegisters"},
		{settings(`{"Units": [{"SlaveId": 3, "ByteOrder": "AB"}]}`), "Settings.Units[0].ByteOrder"},
		{settings(`{"Units": [{"SlaveId": 3, "PollIntervalMs": -1}]}`), "Settings.Units[0].PollIntervalMs"},
		{settings(`{"Units": [{"SlaveId": 3, "MaxRegisters": 4}], ` + tag), "Settings.Tags[0].Address"},
	} {
		_, _, err := driver.FromSettings(c.s, nil)
		require.ErrorIs(t, err, driverconfig.ErrInvalid, string(c.s.Settings))
		e, _ := fault.From(err)
		require.NotEmpty(t, e.Fields)
		require.Equal(t, c.field, e.Fields[0].Field, string(c.s.Settings))
	}
}
