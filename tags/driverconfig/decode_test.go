package driverconfig_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags/driverconfig"
)

type common struct {
	Retries int
}

type sample struct {
	common
	Common2
	Protocol string
	SlaveID  uint8 `json:"SlaveId"`
	Ratio    float32
	Enabled  *bool
	Tags     []struct {
		Name    string
		Address string `json:"address"`
		Count   int16
	}
	Limits map[string]float64
	Raw    json.RawMessage
	Key    []byte
	Hidden string `json:"-"`
	Any    any
}

// Common2 is embedded, so its members are those of sample.
type Common2 struct{ Timeout int }

func TestDecodeReads(t *testing.T) {
	s := sample{Protocol: "Tcp", Ratio: 2, Limits: map[string]float64{"low": 1}}
	err := driverconfig.Decode(json.RawMessage(` {
		"slaveID": 7, "ENABLED": true, "timeout": 3, "ratio": null,
		"tags": [{"name": "a"}, {"Name": "b", "Address": "40001", "count": -32768}],
		"limits": {"high": 9.5, "HIGH": 10}, "raw": {"x": [1]}, "key": "AQI=", "any": [1, {"b": null}]
	} `), &s, "Settings")
	require.NoError(t, err)
	require.Equal(t, "Tcp", s.Protocol, "an absent member keeps its default")
	require.InDelta(t, 2, s.Ratio, 0, "null keeps the default")
	require.EqualValues(t, 7, s.SlaveID)
	require.True(t, *s.Enabled)
	require.Equal(t, 3, s.Timeout)
	require.Len(t, s.Tags, 2)
	require.Equal(t, "40001", s.Tags[1].Address)
	require.EqualValues(t, -32768, s.Tags[1].Count)
	require.Equal(t, map[string]float64{"low": 1, "high": 9.5, "HIGH": 10}, s.Limits)
	require.JSONEq(t, `{"x":[1]}`, string(s.Raw))
	require.Equal(t, []byte{1, 2}, s.Key)
	require.Equal(t, []any{1.0, map[string]any{"b": nil}}, s.Any)
}

func TestDecodeOfNothingKeepsDefaults(t *testing.T) {
	for _, raw := range []string{"", "null", "{}", " \n null "} {
		s := sample{Protocol: "Tcp"}
		require.NoError(t, driverconfig.Decode(json.RawMessage(raw), &s, "Settings"), "%q", raw)
		require.Equal(t, sample{Protocol: "Tcp"}, s)
	}
}

func TestDecodeNamesWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ raw, field, message string }{
		{`{"Tags": [{}, {}, {}, {"Address": 40001}]}`, "Settings.Tags[3].Address", "must be a string, not a number"},
		{`{"Tags": [{"Count": 70000}]}`, "Settings.Tags[0].Count", "must be a whole number -32768..32767, not 70000"},
		{`{"Tags": [{"Count": 1.5}]}`, "Settings.Tags[0].Count", "must be a whole number -32768..32767, not 1.5"},
		{`{"Tags": [{"addr": "x"}]}`, "Settings.Tags[0].addr", "is not a known member"},
		{`{"Tags": [[]]}`, "Settings.Tags[0]", "must be an object"},
		{`{"Tags": {"Name": "x"}}`, "Settings.Tags", "must be a list"},
		{`{"SlaveId": 256}`, "Settings.SlaveId", "must be a whole number 0..255, not 256"},
		{`{"SlaveId": "1"}`, "Settings.SlaveId", "must be a whole number 0..255, not a string"},
		{`{"slaveid": 1, "SlaveId": 1}`, "Settings.SlaveId", "is given twice"},
		{`{"Limits": {"low": true}}`, "Settings.Limits.low", "must be a number, not true or false"},
		{`{"Limits": {"low": 1, "low": 2}}`, "Settings.Limits.low", "is given twice"},
		{`{"Enabled": 1}`, "Settings.Enabled", "must be true or false, not a number"},
		{`{"Ratio": 1e99}`, "Settings.Ratio", "must be a number, not 1e99"},
		{`{"Ratio": []}`, "Settings.Ratio", "must be a number, not an array"},
		{`{"Key": {}}`, "Settings.Key", "must be a base64 string, not an object"},
		{`{"Hidden": "x"}`, "Settings.Hidden", "is not a known member"},
		{`{"Retries": 1}`, "Settings.Retries", ""}, // members of an unexported embedded struct count
		{`[]`, "Settings", "must be an object"},
		{"{\n  \"Tags\": [}\n", "Settings", "is not JSON at line 2, column 12: invalid character '}' looking for beginning of value"},
		{`{} {}`, "Settings", "is not JSON at line 1, column 4: invalid character '{' after top-level value"},
		{`{"Protocol"`, "Settings", "is not JSON at line 1, column 11: unexpected end of JSON input"},
		{"{\"Protocol\": \"\xff\"}", "Settings", "is not valid UTF-8"},
	} {
		var s sample
		err := driverconfig.Decode(json.RawMessage(c.raw), &s, "Settings")
		if c.message == "" {
			require.NoError(t, err)
			require.Equal(t, 1, s.Retries)
			continue
		}
		require.ErrorIs(t, err, driverconfig.ErrInvalid, c.raw)
		e, _ := fault.From(err)
		require.Equal(t, []fault.Field{{Field: c.field, Message: c.message}}, e.Fields, c.raw)
	}
}

func TestDecodeNamesAllThatIsWrongUpToALimit(t *testing.T) {
	var s sample
	e, _ := fault.From(driverconfig.Decode(json.RawMessage(`{"SlaveId": -1, "x": 2, "Tags": [{"Name": 5}]}`), &s, ""))
	require.Len(t, e.Fields, 3)
	require.Equal(t, "Tags[0].Name", e.Fields[2].Field)

	many := `{"Tags": [` + strings.Repeat(`{"Name": 1},`, 1000) + `{}]}`
	e, _ = fault.From(driverconfig.Decode(json.RawMessage(many), &s, ""))
	require.Len(t, e.Fields, 20)
}

func TestDecodeWantsAPointer(t *testing.T) {
	require.Error(t, driverconfig.Decode(json.RawMessage(`{}`), sample{}, ""))
	require.Error(t, driverconfig.Decode(json.RawMessage(`{}`), nil, ""))
}

// What the strict decoder takes, encoding/json takes too, and they read the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"Protocol":"Tcp","SlaveId":1,"Tags":[{"Name":"a","Address":"40001"}],"Limits":{"a":1}}`))
	f.Add([]byte(`{"tags":null,"enabled":false,"raw":[1,2],"key":"AQ==","any":{"a":[]}}`))
	f.Add([]byte(`{"Tags":[{"Name":3}]}`))
	f.Add([]byte(`{} {}`))
	f.Add([]byte("\xff"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var strict, loose sample
		if driverconfig.Decode(raw, &strict, "Settings") != nil || len(raw) == 0 {
			return
		}
		require.NoError(t, json.Unmarshal(raw, &loose))
		require.Equal(t, loose, strict)
	})
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"Driver":{"Id":"plc","Type":"Modbus","IpAddress":"10.0.0.5","Port":502,"Settings":{"a":[1]}}}`))
	f.Add([]byte("\ufeff{\"driver\":{\"ID\":\"x\",\"TYPE\":\"Simulation\"}}"))
	f.Add([]byte(`{"Driver":null}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := driverconfig.Parse(raw)
		if err != nil {
			require.ErrorIs(t, err, driverconfig.ErrInvalid)
			return
		}
		again, err := json.Marshal(map[string]any{"Driver": s})
		require.NoError(t, err)
		back, err := driverconfig.Parse(again)
		require.NoError(t, err)
		require.Equal(t, s.ID, back.ID)
		require.Equal(t, s.Port, back.Port)
	})
}

// A form shows the members as their struct has them.
func TestTheSchemaKeepsTheOrderOfTheFields(t *testing.T) {
	var s struct{ Properties json.RawMessage }
	require.NoError(t, json.Unmarshal(driverconfig.Schema(struct {
		Unit, Address string
		Tags          []struct{ Name, Alias string }
		Delay         int
	}{}), &s))
	require.Regexp(t, `^\{"Unit":.*"Address":.*"Tags":.*"Name":.*"Alias":.*"Delay":`, string(s.Properties))
}
