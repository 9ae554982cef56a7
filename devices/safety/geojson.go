package safety

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/peterstace/simplefeatures/geom"
)

const maxGeoJSON = 16 << 20 // bytes

// ReadGeoJSON reads zones from a feature collection of GeoJSON (RFC 7946), except that coordinates are metres on a map and not
// degrees. Features are polygons or multipolygons with the properties name, map, kind and, optionally, maxSpeed; other properties
// are ignored. An error names the feature and what is wrong with it.
func ReadGeoJSON(r io.Reader) ([]Zone, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxGeoJSON+1))
	if err != nil {
		return nil, fmt.Errorf("read zones: %w", err)
	}
	if len(data) > maxGeoJSON {
		return nil, fmt.Errorf("zones: GeoJSON must have at most %d bytes", maxGeoJSON)
	}
	var collection struct {
		Type     string            `json:"type"`
		Features []json.RawMessage `json:"features"`
	}
	if err := json.Unmarshal(data, &collection); err != nil {
		return nil, fmt.Errorf("zones: %w", err)
	}
	if collection.Type != "FeatureCollection" {
		return nil, fmt.Errorf("zones: type must be FeatureCollection, not %q", collection.Type)
	}
	var zones []Zone
	for i, text := range collection.Features {
		found, err := zonesOf(text)
		if err != nil {
			return nil, fmt.Errorf("zones: features[%d]%s: %w", i, nameOf(text), err)
		}
		zones = append(zones, found...)
	}
	return zones, nil
}

// nameOf returns the name of a feature for an error, empty when it has none.
func nameOf(feature []byte) string {
	var f struct {
		Properties struct{ Name string }
	}
	if json.Unmarshal(feature, &f) != nil || f.Properties.Name == "" {
		return ""
	}
	return fmt.Sprintf(" (%.100q)", f.Properties.Name)
}

func zonesOf(text []byte) ([]Zone, error) {
	var f struct {
		Type       string          `json:"type"`
		Properties map[string]any  `json:"properties"`
		Geometry   json.RawMessage `json:"geometry"`
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	if f.Type != "Feature" {
		return nil, fmt.Errorf("type must be Feature, not %q", f.Type)
	}
	z, err := zoneOf(f.Properties)
	if err != nil {
		return nil, err
	}
	if len(f.Geometry) == 0 {
		return nil, errors.New("geometry is required")
	}
	shape, err := geom.UnmarshalGeoJSON(f.Geometry, geom.NoValidate{}) // each zone is validated
	if err != nil {
		return nil, fmt.Errorf("geometry: %w", err)
	}
	var polygons []geom.Polygon
	if p, ok := shape.AsPolygon(); ok {
		polygons = []geom.Polygon{p}
	} else if m, ok := shape.AsMultiPolygon(); ok {
		polygons = m.Dump()
	} else {
		return nil, fmt.Errorf("geometry must be a Polygon or a MultiPolygon, not a %s", shape.Type())
	}
	zones := make([]Zone, 0, len(polygons))
	for _, p := range polygons {
		part := z
		for _, line := range p.DumpRings() {
			part.Rings = append(part.Rings, coordinates(line.Coordinates()))
		}
		if err := part.Validate(); err != nil {
			return nil, err
		}
		zones = append(zones, part)
	}
	return zones, nil
}

// zoneOf returns a zone with what the properties of a feature say.
func zoneOf(properties map[string]any) (z Zone, err error) {
	known := []string{"name", "map", "kind", "maxSpeed"}
	for name := range properties {
		// A limit that is not found because of its spelling would be no limit.
		i := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) })
		if i >= 0 && known[i] != name {
			return z, fmt.Errorf("properties.%s must be written %s", name, known[i])
		}
	}
	for i, to := range []*string{&z.Name, &z.Map, (*string)(&z.Kind)} {
		text, ok := properties[known[i]].(string)
		if !ok {
			return z, fmt.Errorf("properties.%s must be a text", known[i])
		}
		*to = text
	}
	if limit, ok := properties["maxSpeed"]; ok && limit != nil {
		if z.MaxSpeed, ok = limit.(float64); !ok {
			return z, errors.New("properties.maxSpeed must be a number")
		}
	}
	return z, nil
}
