package simdriver_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/simdriver"
)

func fromSettings(raw string) (tags.Driver, []tags.Tag, error) {
	factories := driverconfig.Factories{simdriver.TypeName: simdriver.FromSettings}
	return factories.Build(driverconfig.Settings{ID: "sim", Type: "simulation", Settings: json.RawMessage(raw)}, nil)
}

func TestFromSettings(t *testing.T) {
	d, list, err := fromSettings(`{
		"deviceCount": 2, "TagsPerDevice": 10, "UpdateIntervalMs": 250, "Scenario": "degradation-to-failure", "Seed": 3,
		"PeriodMs": 60000, "Start": "2025-03-01T00:00:00Z",
		"Faults": {"Disconnect": {"EveryMs": 60000, "ForMs": 1000}, "Error": {"Share": 0.1}, "Stuck": {"Share": 1, "EveryMs": 10, "ForMs": 5}}
	}`)
	require.NoError(t, err)
	require.Len(t, list, 20)
	for _, tag := range list {
		require.NoError(t, tag.Validate())
		require.Equal(t, "sim", tag.Driver)
		require.Equal(t, "sim."+tag.Address, tag.Name)
		require.Equal(t, 250*time.Millisecond, tag.PollInterval)
	}
	failures, err := d.(*simdriver.Driver).Failures("device1.tag1", start, start.Add(time.Hour))
	require.NoError(t, err)
	require.Greater(t, len(failures), 45)
}

func TestFromSettingsDefaults(t *testing.T) {
	d, list, err := fromSettings("")
	require.NoError(t, err)
	require.Len(t, list, 10)
	require.NoError(t, d.Connect(t.Context()))
	out := make([]tags.Reading, 1)
	require.NoError(t, d.Read(t.Context(), []tags.Point{{Address: list[0].Address, Type: list[0].DataType}}, out))
	require.NoError(t, out[0].Err)
	require.WithinDuration(t, time.Now(), out[0].Time, time.Minute)
}

func TestScenarioNames(t *testing.T) {
	for name, want := range map[string]simdriver.Shape{
		"steady": simdriver.Steady, "RAMP": simdriver.Ramp, "Sine": simdriver.Sine, "random-walk": simdriver.RandomWalk,
		"Random Walk": simdriver.RandomWalk, "degradation_to_failure": simdriver.Degradation, "degradation": simdriver.Degradation,
	} {
		got, err := simdriver.ParseScenario(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestFromSettingsRefuses(t *testing.T) {
	for raw, field := range map[string]string{
		`{"DeviceCount": -1}`:                                      "Settings.DeviceCount",
		`{"DeviceCount": 1001, "TagsPerDevice": 1000}`:             "Settings.DeviceCount",
		`{"DeviceCount": 9223372036854775807, "TagsPerDevice": 2}`: "Settings.DeviceCount",
		`{"TagsPerDevice": 1000001}`:                               "Settings.TagsPerDevice",
		`{"UpdateIntervalMs": -1}`:                                 "Settings.UpdateIntervalMs",
		`{"UpdateIntervalMs": 9223372036854775807}`:                "Settings.UpdateIntervalMs",
		`{"UpdateIntervalMs": "500"}`:                              "Settings.UpdateIntervalMs",
		`{"Scenario": "square"}`:                                   "Settings.Scenario",
		`{"Scenario": "Hold"}`:                                     "Settings.Scenario",
		`{"Start": "yesterday"}`:                                   "Settings.Start",
		`{"Start": "0002-01-01T00:00:00Z"}`:                        "Settings.Start",
		`{"Device": 1}`:                                            "Settings.Device",
		`{"Faults": {"Error": {"Share": 1.1}}}`:                    "Settings.Faults.Error.Share",
		`{"Faults": {"Freeze": {"EveryMs": 5}}}`:                   "Settings.Faults.Freeze",
		`{"Faults": {"Freeze": {"EveryMs": 5, "ForMs": 5}}}`:       "Settings.Faults.Freeze",
		`{"Faults": {"Stuck": {"Share": 1, "ForMs": 5}}}`:          "Settings.Faults.Stuck.Window",
		`{"Faults": {"Break": {}}}`:                                "Settings.Faults.Break",
	} {
		_, _, err := fromSettings(raw)
		require.ErrorIs(t, err, driverconfig.ErrInvalid, raw)
		e, _ := fault.From(err)
		require.Equal(t, field, e.Fields[0].Field, raw)
	}
}

func TestNewRefusesBadSignals(t *testing.T) {
	good := simdriver.Signal{Name: "a", Type: tags.Float, Shape: simdriver.Sine}
	leader := simdriver.Signal{Name: "leader", Type: tags.String, Shape: simdriver.Hold, Initial: tags.StringValue("")}
	for field, change := range map[string]func(s *simdriver.Signal){
		"Name":    func(s *simdriver.Signal) { s.Name = "" },
		"Type":    func(s *simdriver.Signal) { s.Type = "Double" },
		"Shape":   func(s *simdriver.Signal) { s.Shape = "" },
		"Access":  func(s *simdriver.Signal) { s.Access = tags.ReadWrite },
		"Min":     func(s *simdriver.Signal) { s.Min = math.NaN() },
		"Noise":   func(s *simdriver.Signal) { s.Noise = 2 },
		"Period":  func(s *simdriver.Signal) { s.Period = -1 },
		"Lag":     func(s *simdriver.Signal) { s.Lag = -1 },
		"Initial": func(s *simdriver.Signal) { s.Shape = simdriver.Hold },
		"Follows": func(s *simdriver.Signal) { s.Shape, s.Follows = simdriver.Follow, "leader" },
	} {
		s := good
		change(&s)
		_, err := simdriver.New(simdriver.Options{Signals: []simdriver.Signal{s, leader}})
		e, _ := fault.From(err)
		require.NotNil(t, e, field)
		require.Equal(t, "Signals[0]."+field, e.Fields[0].Field)
	}
	for _, name := range []string{"leader", "device7.tag1"} {
		s := good
		s.Name = name
		_, err := simdriver.New(simdriver.Options{Signals: []simdriver.Signal{leader, s}})
		e, _ := fault.From(err)
		require.NotNil(t, e, name)
		require.Equal(t, "Signals[1].Name", e.Fields[0].Field)
	}
}

// Whatever settings are taken make a driver whose tags are valid and can be read at any time.
func FuzzFromSettings(f *testing.F) {
	f.Add(`{"DeviceCount":2,"TagsPerDevice":10,"UpdateIntervalMs":500,"Scenario":"Sine"}`, int64(0))
	f.Add(`{"Scenario":"degradation","PeriodMs":1,"Seed":18446744073709551615,"Start":"1970-01-01T00:00:00Z"}`, int64(math.MaxInt64))
	f.Add(`{"Faults":{"Error":{"Share":0.5},"Stuck":{"Share":1,"EveryMs":3,"ForMs":1},"Uncertain":{"Share":1}}}`, int64(math.MinInt64))
	f.Add(`{"DeviceCount":0,"TagsPerDevice":-5}`, int64(1))
	f.Fuzz(func(t *testing.T, raw string, nanos int64) {
		var size struct{ DeviceCount, TagsPerDevice int64 }
		if json.Unmarshal([]byte(raw), &size) == nil && (size.DeviceCount > 100 || size.TagsPerDevice > 100) {
			return // only to be quick
		}
		d, list, err := fromSettings(raw)
		if err != nil {
			require.ErrorIs(t, err, driverconfig.ErrInvalid)
			return
		}
		for _, tag := range list {
			require.NoError(t, tag.Validate())
			v, err := d.(*simdriver.Driver).ValueAt(tag.Address, start.Add(time.Duration(nanos)))
			require.NoError(t, err)
			require.Equal(t, tag.DataType, v.Type())
			if n, ok := v.Float(); ok && tag.Min != nil {
				require.True(t, n >= *tag.Min && n <= *tag.Max, "%v", n)
			}
		}
	})
}

func ExampleNew() {
	d, err := simdriver.New(simdriver.Options{
		Start: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC),
		Signals: []simdriver.Signal{
			{Name: "level", Type: tags.Float, Unit: "m", Max: 12, Shape: simdriver.Ramp, Period: time.Minute},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := d.ValueAt("level", time.Date(2025, 3, 1, 0, 0, 30, 0, time.UTC))
	fmt.Println(v, err)
	// Output: 6 <nil>
}
