package safety

import (
	"errors"
	"fmt"
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
	maxCoordinate = 1_000_000.0 // metres from the origin of a map
)

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
		return p, fmt.Errorf("lines must not cross themselves or each other: %w", err)
	}
	return p, nil
}

// Validate returns what is wrong with the zone.
func (z Zone) Validate() error {
	if err := z.check(); err != nil {
		return err
	}
	_, err := z.polygon()
	return err
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
