package safety

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/peterstace/simplefeatures/geom"
)

// Kind is what a zone is for.
type Kind string

// The kinds of zone.
const (
	Allowed Kind = "allowed" // devices may be in it
	KeepOut Kind = "keepOut" // no device may touch it
	Speed   Kind = "speed"   // devices that touch it keep MaxSpeed; it does not allow them to be there
)

// Zone is a polygon on a map.
type Zone struct {
	Name string
	Map  string
	Kind Kind
	// MaxSpeed is the speed limit in metres a second, for any kind of zone; 0: none.
	MaxSpeed float64
	// Rings are the outer line and the lines of holes, in metres. A line ends where it begins; the last point may be left out.
	// Lines must not cross themselves or each other.
	Rings [][][2]float64
}

// Bounds of zones.
const (
	MaxZones      = 1000
	MaxZonePoints = 10_000      // of one zone
	maxGeoJSON    = 16 << 20    // bytes
	maxCoordinate = 1_000_000.0 // metres from the origin of a map
)

// ReadGeoJSON reads zones from a feature collection of GeoJSON (RFC 7946), except that coordinates are metres on a map and not
// degrees. Features are polygons or multipolygons with the properties name, map, kind and, optionally, maxSpeed.
func ReadGeoJSON(r io.Reader) ([]Zone, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxGeoJSON+1))
	if err != nil {
		return nil, fmt.Errorf("read zones: %w", err)
	}
	if len(data) > maxGeoJSON {
		return nil, fmt.Errorf("zones: GeoJSON must have at most %d bytes", maxGeoJSON)
	}
	var features geom.GeoJSONFeatureCollection
	if err := json.Unmarshal(data, &features); err != nil {
		return nil, fmt.Errorf("zones: %w", err)
	}
	var zones []Zone
	for i, f := range features {
		found, err := zonesOf(f)
		if err != nil {
			return nil, fmt.Errorf("zones: features[%d]: %w", i, err)
		}
		zones = append(zones, found...)
	}
	return zones, nil
}

func zonesOf(f geom.GeoJSONFeature) ([]Zone, error) {
	var z Zone
	for name, to := range map[string]*string{"name": &z.Name, "map": &z.Map, "kind": (*string)(&z.Kind)} {
		text, ok := f.Properties[name].(string)
		if !ok {
			return nil, fmt.Errorf("properties.%s must be a text", name)
		}
		*to = text
	}
	if limit, ok := f.Properties["maxSpeed"]; ok && limit != nil {
		if z.MaxSpeed, ok = limit.(float64); !ok {
			return nil, errors.New("properties.maxSpeed must be a number")
		}
	}
	var polygons []geom.Polygon
	if p, ok := f.Geometry.AsPolygon(); ok {
		polygons = []geom.Polygon{p}
	} else if m, ok := f.Geometry.AsMultiPolygon(); ok {
		polygons = m.Dump()
	} else {
		return nil, fmt.Errorf("geometry must be a Polygon or a MultiPolygon, not a %s", f.Geometry.Type())
	}
	zones := make([]Zone, 0, len(polygons))
	for _, p := range polygons {
		part := z
		for _, line := range p.DumpRings() {
			part.Rings = append(part.Rings, coordinates(line.Coordinates()))
		}
		zones = append(zones, part)
	}
	return zones, nil
}

func coordinates(s geom.Sequence) [][2]float64 {
	points := make([][2]float64, s.Length())
	for i := range points {
		xy := s.GetXY(i)
		points[i] = [2]float64{xy.X, xy.Y}
	}
	return points
}

// polygon returns the zone as a polygon, or what is wrong with it.
func (z Zone) polygon() (geom.Polygon, error) {
	count := 0
	var lines []geom.LineString
	for i, points := range z.Rings {
		count += len(points)
		if n := len(points); n > 0 && points[0] != points[n-1] {
			points = append(points[:n:n], points[0])
		}
		if len(points) < 4 {
			return geom.Polygon{}, fmt.Errorf("rings[%d] must have at least 3 points", i)
		}
		flat := make([]float64, 0, 2*len(points))
		for _, p := range points {
			if !finite(p[0], p[1]) || math.Abs(p[0]) > maxCoordinate || math.Abs(p[1]) > maxCoordinate {
				return geom.Polygon{}, fmt.Errorf("rings[%d]: coordinates must be between %g and %g", i, -maxCoordinate, maxCoordinate)
			}
			flat = append(flat, p[0], p[1])
		}
		lines = append(lines, geom.NewLineString(geom.NewSequence(flat, geom.DimXY)))
	}
	p := geom.NewPolygon(lines)
	switch err := p.Validate(); {
	case len(z.Rings) == 0:
		return p, errors.New("rings must have an outer line")
	case count > MaxZonePoints:
		return p, fmt.Errorf("must have at most %d points, not %d", MaxZonePoints, count)
	case err != nil:
		return p, err
	}
	return p, nil
}

func (z Zone) check() error {
	switch {
	case z.Kind != Allowed && z.Kind != KeepOut && z.Kind != Speed:
		return fmt.Errorf("kind must be %q, %q or %q, not %q", Allowed, KeepOut, Speed, z.Kind)
	case !finite(z.MaxSpeed) || z.MaxSpeed < 0:
		return errors.New("maxSpeed must be above 0")
	case z.Kind == Speed && z.MaxSpeed == 0:
		return errors.New("maxSpeed is required")
	}
	return nil
}
