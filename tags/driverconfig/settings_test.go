package driverconfig_test

import (
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
)

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "driver_settings.json")
	require.NoError(t, os.WriteFile(path, []byte("\ufeff"+`{
		"driver": {"id": "press", "TYPE": "Modbus", "ipAddress": "10.0.0.5", "port": 502, "settings": {"SlaveId": 1}}
	}`), 0o600))
	s, err := driverconfig.ReadFile(path)
	require.NoError(t, err)
	require.JSONEq(t, `{"SlaveId": 1}`, string(s.Settings))
	s.Settings = nil
	require.Equal(t, driverconfig.Settings{ID: "press", Type: "Modbus", IPAddress: "10.0.0.5", Port: 502}, s)
	require.Equal(t, "press.level", s.TagName("level"))

	_, err = driverconfig.ReadFile(path + ".none")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestParseRefuses(t *testing.T) {
	for raw, field := range map[string]string{
		`{}`:                             "Driver",
		``:                               "Driver",
		`{"Driver": null}`:               "Driver",
		`{"Driver": []}`:                 "Driver",
		`{"Driver": {"Type": "Modbus"}}`: "Driver.Id",
		`{"Driver": {"Id": "a"}}`:        "Driver.Type",
		`{"Driver": {"Id": "a", "Type": "Modbus", "Port": 65536}}`: "Driver.Port",
		`{"Driver": {"Id": "a", "Type": "Modbus", "Port": -1}}`:    "Driver.Port",
		`{"Driver": {"Id": 5, "Type": "Modbus"}}`:                  "Driver.Id",
		`{"Driver": {"Id": "a", "Type": "Modbus", "Ip": "x"}}`:     "Driver.Ip",
		`{"Drivers": {}}`: "Drivers",
	} {
		_, err := driverconfig.Parse([]byte(raw))
		require.ErrorIs(t, err, driverconfig.ErrInvalid, raw)
		e, _ := fault.From(err)
		require.Equal(t, field, e.Fields[0].Field, raw)
	}
}

func TestFactoriesBuild(t *testing.T) {
	var got driverconfig.Settings
	factories := driverconfig.Factories{
		"Simulation": func(s driverconfig.Settings, log *slog.Logger) (tags.Driver, []tags.Tag, error) {
			log.Info("a missing logger must not be nil here")
			got = s
			return nil, []tags.Tag{{Name: s.TagName("level"), Driver: s.ID}}, nil
		},
		"Modbus": func(driverconfig.Settings, *slog.Logger) (tags.Driver, []tags.Tag, error) {
			return nil, nil, driverconfig.ErrInvalid
		},
	}
	_, list, err := factories.Build(driverconfig.Settings{ID: "a", Type: "simULATION"}, nil)
	require.NoError(t, err)
	require.Equal(t, "a.level", list[0].Name)
	require.Equal(t, "a", got.ID)

	_, _, err = factories.Build(driverconfig.Settings{ID: "a", Type: "Modbus"}, nil)
	require.ErrorIs(t, err, driverconfig.ErrInvalid)

	_, _, err = factories.Build(driverconfig.Settings{ID: "a", Type: "Profinet"}, nil)
	require.ErrorIs(t, err, driverconfig.ErrUnknownType)
	require.ErrorContains(t, err, `Type must be one of Modbus, Simulation, not "Profinet"`)

	_, _, err = factories.Build(driverconfig.Settings{Type: "Modbus"}, nil)
	require.ErrorIs(t, err, driverconfig.ErrInvalid)
}
