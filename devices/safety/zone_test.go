package safety_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices/safety"
)

func feature(properties, geometry string) string {
	return fmt.Sprintf(`{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": %s, "geometry": %s}]}`, properties, geometry)
}

const (
	good    = `{"name": "hall", "map": "m", "kind": "allowed"}`
	square1 = `{"type": "Polygon", "coordinates": [[[0, 0], [10, 0], [10, 10], [0, 10], [0, 0]]]}`
)

func TestReadGeoJSON(t *testing.T) {
	t.Parallel()
	zones, err := safety.ReadGeoJSON(strings.NewReader(feature(`{"name": "hall", "map": "m", "kind": "allowed", "maxSpeed": 1.5}`,
		`{"type": "MultiPolygon", "coordinates": [[[[0, 0], [9, 0], [9, 9], [0, 0]]], [[[20, 20], [29, 20], [29, 29], [20, 20]], [[25, 22], [28, 22], [28, 25], [25, 22]]]]}`)))
	require.NoError(t, err)
	require.Len(t, zones, 2)
	require.Equal(t, safety.Zone{Name: "hall", Map: "m", Kind: safety.Allowed, MaxSpeed: 1.5, Rings: [][][2]float64{{{0, 0}, {9, 0}, {9, 9}, {0, 0}}}}, zones[0])
	require.Len(t, zones[1].Rings, 2)

	for want, text := range map[string]string{
		"zones: ": `{"type": "FeatureCollection", "features": 7}`,
		`zones: type must be FeatureCollection, not "Feature"`:                       `{"type": "Feature"}`,
		`zones: features[0] ("hall"): properties.map must be a text`:                 feature(`{"name": "hall", "kind": "allowed"}`, square1),
		`zones: features[0] ("h"): properties.maxSpeed must be a number`:             feature(`{"name": "h", "map": "m", "kind": "allowed", "maxSpeed": "fast"}`, square1),
		`zones: features[0] ("h"): properties.maxspeed must be written maxSpeed`:     feature(`{"name": "h", "map": "m", "kind": "allowed", "maxspeed": 1}`, square1),
		`zones: features[0] ("hall"): geometry must be a Polygon or a MultiPolygon`:  feature(good, `{"type": "Point", "coordinates": [1, 2]}`),
		`zones: features[0]: properties.name must be a text`:                         feature(`{"map": "m", "kind": "allowed"}`, square1),
		`zones: features[0] ("h"): kind must be "allowed", "keepOut" or "speed"`:     feature(`{"name": "h", "map": "m", "kind": "keepout"}`, square1),
		`zones: features[0] ("hall"): lines must not cross themselves or each other`: feature(good, `{"type": "Polygon", "coordinates": [[[0, 0], [10, 10], [10, 0], [0, 10], [0, 0]]]}`),
		`zones: features[0] ("hall"): rings[0]: coordinates must be between -1e+06 `: feature(good, `{"type": "Polygon", "coordinates": [[[0, 0], [1e9, 0], [10, 10], [0, 0]]]}`),
		`zones: features[0]: type must be Feature, not "Zone"`:                       `{"type": "FeatureCollection", "features": [{"type": "Zone"}]}`,
		`zones: features[0] ("hall"): geometry is required`:                          `{"type": "FeatureCollection", "features": [{"type": "Feature", "properties": ` + good + `}]}`,
		`zones: features[0] ("hall"): geometry: `:                                    feature(good, `7`),
		`zones: features[0] ("hall"): rings must have an outer line`:                 feature(good, `{"type": "Polygon", "coordinates": []}`),
	} {
		_, err := safety.ReadGeoJSON(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

func TestBadZonesAreRefused(t *testing.T) {
	t.Parallel()
	square := square(0, 0, 10)
	for want, z := range map[string]safety.Zone{
		`kind must be "allowed"`:                {Kind: "forbidden", Rings: [][][2]float64{square}},
		"rings must have an outer line":         {Kind: safety.Allowed},
		"rings[0] must have at least 3 points":  {Kind: safety.Allowed, Rings: [][][2]float64{square[:2]}},
		"rings[0]: coordinates must be between": {Kind: safety.Allowed, Rings: [][][2]float64{{{0, 0}, {1, math.NaN()}, {1, 1}}}},
		"maxSpeed is required":                  {Kind: safety.Speed, Rings: [][][2]float64{square}},
		"maxSpeed must be above 0":              {Kind: safety.Allowed, MaxSpeed: -1, Rings: [][][2]float64{square}},
		"zones[0] (bow): lines must not cross":  {Name: "bow", Kind: safety.Allowed, Rings: [][][2]float64{{{0, 0}, {10, 10}, {10, 0}, {0, 10}}}},
	} {
		_, err := safety.New(safety.Options{Zones: []safety.Zone{z}})
		require.ErrorContains(t, err, want)
	}
	_, err := safety.New(safety.Options{Zones: make([]safety.Zone, safety.MaxZones+1)})
	require.ErrorContains(t, err, "at most 1000")
	for want, o := range map[string]safety.Options{
		"Options.MaxAge":       {MaxAge: -1},
		"Options.Battery":      {Battery: 101},
		"Options.Separation":   {Separation: math.NaN()},
		"Options.Device":       {Device: safety.Device{Radius: -1}},
		"Options.Devices[arm]": {Devices: map[string]safety.Device{"arm": {MaxSpeed: math.Inf(1)}}},
		"Options.Chargers[0]":  {Chargers: []safety.Charger{{X: math.NaN()}}},
	} {
		_, err := safety.New(o)
		require.ErrorContains(t, err, want)
	}
}

func FuzzReadGeoJSON(f *testing.F) {
	f.Add(feature(good, square1))
	f.Add(feature(good, `{"type": "MultiPolygon", "coordinates": [[[[0, 0], [9, 0], [9, 9], [0, 0]]]]}`))
	f.Add(`{"type": "FeatureCollection", "features": []}`)
	f.Fuzz(func(t *testing.T, text string) {
		zones, err := safety.ReadGeoJSON(strings.NewReader(text))
		if err != nil {
			return
		}
		if c, err := safety.New(safety.Options{Zones: zones}); err == nil {
			c.Check(moveTo(device("a", 1, 1), 5, 5)) // whatever it says, it must not panic
		}
	})
}
