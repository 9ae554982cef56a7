package modbus_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	driver "github.com/otkit/otkit/tags/modbus"
)

func settings(raw string) driverconfig.Settings {
	return driverconfig.Settings{ID: "plc", Type: "Modbus", IPAddress: "10.0.0.1", Port: 1502, Settings: json.RawMessage(raw)}
}

func TestTagsFromSettings(t *testing.T) {
	_, list, err := driver.FromSettings(settings(`{
		"protocol": "rtuovertcp", "SlaveId": 5, "PollIntervalMs": 500, "TimeoutMs": 800, "MaxGap": 0, "WordOrder": "LittleEndian",
		"Tags": [
			{"Name": "level", "Address": "40001", "Type": "Float32", "Unit": "m", "Description": "tank", "MinValue": 0, "MaxValue": 9.5,
			 "Deadband": {"Absolute": 0.1, "HeartbeatMs": 60000}},
			{"Name": "count", "Address": "IR:2", "Type": "UInt32", "ByteOrder": "BADC", "ScalingFactor": 2},
			{"Name": "speed", "Address": "HR:4", "Type": "Int16", "ScalingFactor": 0.1, "Offset": 1, "AccessMode": "readwrite",
			 "PollIntervalMs": 100, "StaleAfterMs": 5000, "Confirm": true},
			{"Name": "pump", "Address": "3/CO:1", "Type": "bool", "AccessMode": "ReadWrite"},
			{"Name": "text", "Address": "HR:10", "Type": "String:8", "ByteOrder": "LittleEndian", "AccessMode": "ReadOnly"},
			{"Name": "short", "Address": "HR:20", "Type": "Int"},
			{"Name": "real", "Address": "HR:21", "Type": "Float"},
			{"Name": "six", "Address": 400031, "Type": "Float"},
			{"Name": "five", "Address": 30001, "Type": "Float"}
		]}`), nil)
	require.NoError(t, err)
	const poll = 500 * time.Millisecond
	require.Equal(t, []tags.Tag{
		{
			Name: "plc.level", Driver: "plc", Address: "40001", NativeType: "Float32", DataType: tags.Float, Access: tags.ReadOnly,
			Unit: "m", Description: "tank", Min: tags.Ptr(0), Max: tags.Ptr(9.5), PollInterval: poll,
			Deadband: tags.Deadband{Absolute: 0.1, Heartbeat: time.Minute},
		},
		{Name: "plc.count", Driver: "plc", Address: "IR:2", NativeType: "UInt32;BADC", DataType: tags.Int, Access: tags.ReadOnly, Scale: 2, PollInterval: poll},
		{
			Name: "plc.speed", Driver: "plc", Address: "HR:4", NativeType: "Int16", DataType: tags.Float, Access: tags.ReadWrite,
			Scale: 0.1, Offset: 1, PollInterval: 100 * time.Millisecond, StaleAfter: 5 * time.Second, Confirm: true,
		},
		{Name: "plc.pump", Driver: "plc", Address: "3/CO:1", NativeType: "bool", DataType: tags.Bool, Access: tags.ReadWrite, PollInterval: poll},
		{Name: "plc.text", Driver: "plc", Address: "HR:10", NativeType: "String:8;BADC", DataType: tags.String, Access: tags.ReadOnly, PollInterval: poll},
		{Name: "plc.short", Driver: "plc", Address: "HR:20", NativeType: "Int16", DataType: tags.Int, Access: tags.ReadOnly, PollInterval: poll},
		{Name: "plc.real", Driver: "plc", Address: "HR:21", NativeType: "Float32", DataType: tags.Float, Access: tags.ReadOnly, PollInterval: poll},
		{Name: "plc.six", Driver: "plc", Address: "400031", NativeType: "Float32", DataType: tags.Float, Access: tags.ReadOnly, PollInterval: poll},
		{Name: "plc.five", Driver: "plc", Address: "30001", NativeType: "Float32", DataType: tags.Float, Access: tags.ReadOnly, PollInterval: poll},
	}, list)
}

func TestDriverFromSettingsReads(t *testing.T) {
	dev := startDevice(t)
	dev.set(7, "HR", 0, 0x0304, 0x0102)
	s := settings(`{"SlaveId": 7, "WordOrder": "LittleEndian", "Tags": [{"Name": "n", "Address": "40001", "Type": "Int32"}]}`)
	s.IPAddress, s.Port = dev.addr, 0
	d, list, err := driver.FromSettings(s, nil)
	require.NoError(t, err)
	require.NoError(t, d.Connect(t.Context()))
	defer func() { require.NoError(t, d.Close()) }()
	out := make([]tags.Reading, 1)
	require.NoError(t, d.Read(t.Context(), []tags.Point{{Address: list[0].Address, NativeType: list[0].NativeType, Type: list[0].DataType}}, out))
	requireReading(t, tags.IntValue(0x01020304), out[0])
}

func TestSettingsThatAreWrong(t *testing.T) {
	tag := func(members string) string {
		return `{"Tags": [{"Name": "a", "Address": "40001", "Type": "Int16"}, {` + members + `}]}`
	}
	for _, c := range []struct{ raw, field string }{
		{`{"Protokoll": "TCP"}`, "Settings.Protokoll"},
		{`{"Protocol": "UDP"}`, "Settings.Protocol"},
		{`{"SlaveId": 0}`, "Settings.SlaveId"},
		{`{"SlaveId": 256}`, "Settings.SlaveId"},
		{`{"SlaveId": "1"}`, "Settings.SlaveId"},
		{`{"TimeoutMs": -1}`, "Settings.TimeoutMs"},
		{`{"PollIntervalMs": 9223372036854775807}`, "Settings.PollIntervalMs"},
		{`{"BreakerProbeMs": -1}`, "Settings.BreakerProbeMs"},
		{`{"BreakerFailures": -1}`, "Settings.BreakerFailures"},
		{`{"MaxGap": 126}`, "Settings.MaxGap"},
		{`{"MaxGap": -1}`, "Settings.MaxGap"},
		{`{"ByteOrder": "middle"}`, "Settings.ByteOrder"},
		{`{"ByteOrder": "ABCD", "WordOrder": "BigEndian"}`, "Settings.WordOrder"},
		{`{"Protocol": "TLS", "CertFile": "/none", "CAFile": "testdata/server.py"}`, "Settings.CertFile"},
		{tag(`"Address": "40001", "Type": "Int16"`), "Settings.Tags[1].Name"},
		{tag(`"Name": "a", "Address": "40001", "Type": "Int16"`), "Settings.Tags[1].Name"},
		{tag(`"Name": "b", "Type": "Int16"`), "Settings.Tags[1].Address"},
		{tag(`"Name": "b", "Address": "40000", "Type": "Int16"`), "Settings.Tags[1].Address"},
		{tag(`"Name": "b", "Address": "CO:1", "Type": "Int16"`), "Settings.Tags[1].Address"},
		{tag(`"Name": "b", "Address": "40001"`), "Settings.Tags[1].Type"},
		{tag(`"Name": "b", "Address": "40001", "Type": "Int24"`), "Settings.Tags[1].Type"},
		{tag(`"Name": "b", "Address": "40001", "Type": "String"`), "Settings.Tags[1].Type"},
		{tag(`"Name": "b", "Address": "40001", "Type": "Int16;CDAB"`), "Settings.Tags[1].Type"},
		{tag(`"Name": "b", "Address": "40001", "Type": "Int16", "ByteOrder": "DBCA"`), "Settings.Tags[1].ByteOrder"},
		{tag(`"Name": "b", "Address": "40001", "Type": "Int16", "AccessMode": "Write"`), "Settings.Tags[1].AccessMode"},
		{tag(`"Name": "b", "Address": "30001", "Type": "Int16", "AccessMode": "ReadWrite"`), "Settings.Tags[1].AccessMode"},
		{tag(`"Name": "b", "Address": "40001", "Type": "String:250", "AccessMode": "ReadWrite"`), "Settings.Tags[1].AccessMode"},
		{tag(`"Name": "b", "Address": "40001", "Type": "Int16", "MinValue": 2, "MaxValue": 1`), "Settings.Tags[1].MinValue"},
		{tag(`"Name": "b", "Address": "40001", "Type": "Int16", "Deadband": {"Percent": 101}`), "Settings.Tags[1].Deadband.Percent"},
		{tag(`"Name": "b", "Address": "40001", "Type": "Int16", "PollIntervalMs": -1`), "Settings.Tags[1].PollIntervalMs"},
		{tag(`"Name": "b\u0001", "Address": "40001", "Type": "Int16"`), "Settings.Tags[1].Name"},
		{tag(`"Name": "b", "Address": 16384, "Type": "bool"`), "Settings.Tags[1].Address"}, // in YAML: 040000
		{tag(`"Name": "b", "Address": 40001.0, "Type": "Int16"`), "Settings.Tags[1].Address"},
		{tag(`"Name": "b", "Address": -40001, "Type": "Int16"`), "Settings.Tags[1].Address"},
		{tag(`"Name": "b", "Address": true, "Type": "Int16"`), "Settings.Tags[1].Address"},
		{tag(`"Name": "b", "Address": 99999, "Type": "Int16"`), "Settings.Tags[1].Address"},
	} {
		_, _, err := driver.FromSettings(settings(c.raw), nil)
		require.ErrorIs(t, err, driverconfig.ErrInvalid, c.raw)
		e, _ := fault.From(err)
		require.NotEmpty(t, e.Fields, c.raw)
		require.Equal(t, c.field, e.Fields[0].Field, c.raw)
	}
	for _, address := range []string{"", "10.0.0.1:502", "a/b"} {
		s := settings(`{}`)
		s.IPAddress = address
		_, _, err := driver.FromSettings(s, nil)
		e, _ := fault.From(err)
		require.Equal(t, "IpAddress", e.Fields[0].Field, address)
	}
}
