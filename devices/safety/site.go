package safety

import (
	"fmt"

	"github.com/peterstace/simplefeatures/geom"
)

// site is the zones of all maps, prepared for checks.
type site map[string]*floor

// floor is the zones of one map.
type floor struct {
	allowed  area // union of the allowed zones: their common borders are no borders
	keepOuts []named
	limits   []limit
}

type named struct {
	name string
	area area
}

type limit struct {
	named
	speed float64
}

func newSite(zones []Zone) (site, error) {
	if len(zones) > MaxZones {
		return nil, fmt.Errorf("there must be at most %d zones, not %d", MaxZones, len(zones))
	}
	s := site{}
	allowed := map[string][]geom.Geometry{}
	for i, z := range zones {
		err := z.check()
		var p geom.Polygon
		if err == nil {
			p, err = z.polygon()
		}
		if err != nil {
			return nil, fmt.Errorf("zones[%d] (%s): %w", i, z.Name, err)
		}
		f := s[z.Map]
		if f == nil {
			f = &floor{}
			s[z.Map] = f
		}
		n := named{z.Name, areaOf(p)}
		switch z.Kind {
		case Allowed:
			allowed[z.Map] = append(allowed[z.Map], p.AsGeometry())
		case KeepOut:
			f.keepOuts = append(f.keepOuts, n)
		}
		if z.MaxSpeed > 0 {
			f.limits = append(f.limits, limit{n, z.MaxSpeed})
		}
	}
	for m, polygons := range allowed {
		union, err := geom.UnionMany(polygons)
		if err != nil {
			return nil, fmt.Errorf("zones of map %q: %w", m, err)
		}
		s[m].allowed = areaOfGeometry(union)
	}
	return s, nil
}

func areaOfGeometry(g geom.Geometry) area {
	if p, ok := g.AsPolygon(); ok {
		return areaOf(p)
	}
	var a area
	if m, ok := g.AsMultiPolygon(); ok {
		for _, p := range m.Dump() {
			a = append(a, areaOf(p)...)
		}
	}
	return a
}

func areaOf(p geom.Polygon) area {
	var a area
	for _, line := range p.DumpRings() {
		var points []point
		for _, c := range coordinates(line.Coordinates()) {
			points = append(points, point{c[0], c[1]})
		}
		a = append(a, newRing(points))
	}
	return a
}

// touches reports whether a disc of a radius that moves along s touches the zone.
func (n named) touches(s segment, radius float64) bool {
	return n.area.clearance(s, radius+margin) < radius+margin || n.area.contains(s.a)
}

// speed returns the lowest speed limit along s, and the zone that sets it; 0 if there is none.
func (f *floor) speed(s segment, radius float64) (lowest float64, zone string) {
	for _, l := range f.limits {
		if (lowest == 0 || l.speed < lowest) && l.touches(s, radius) {
			lowest, zone = l.speed, l.name
		}
	}
	return lowest, zone
}
