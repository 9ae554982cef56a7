package safety

import "math"

type point struct{ x, y float64 }

type segment struct{ a, b point }

func (s segment) length() float64 { return math.Hypot(s.b.x-s.a.x, s.b.y-s.a.y) }

func (s segment) box() box {
	return box{math.Min(s.a.x, s.b.x), math.Min(s.a.y, s.b.y), math.Max(s.a.x, s.b.x), math.Max(s.a.y, s.b.y)}
}

type box struct{ minX, minY, maxX, maxY float64 }

// distance returns how far two boxes are apart; 0 if they touch.
func (b box) distance(o box) float64 {
	dx := math.Max(0, math.Max(b.minX-o.maxX, o.minX-b.maxX))
	dy := math.Max(0, math.Max(b.minY-o.maxY, o.minY-b.maxY))
	return math.Hypot(dx, dy)
}

// ring is a closed line: the last point is the first.
type ring struct {
	points []point
	box    box
}

func newRing(points []point) ring {
	r := ring{points: points, box: box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}}
	for _, p := range points {
		r.box = box{math.Min(r.box.minX, p.x), math.Min(r.box.minY, p.y), math.Max(r.box.maxX, p.x), math.Max(r.box.maxY, p.y)}
	}
	return r
}

// distance returns how far a segment is from the line, and at most limit: what is farther away is not looked at.
func (r ring) distance(s segment, sb box, limit float64) float64 {
	if r.box.distance(sb) >= limit {
		return limit
	}
	for i := 1; i < len(r.points); i++ {
		edge := segment{r.points[i-1], r.points[i]}
		if edge.box().distance(sb) < limit {
			limit = math.Min(limit, edge.distance(s))
		}
	}
	return limit
}

// crossings reports whether a ray from p crosses the line an odd number of times (the even-odd rule).
func (r ring) crossings(p point) bool {
	odd := false
	for i := 1; i < len(r.points); i++ {
		a, b := r.points[i-1], r.points[i]
		if (a.y > p.y) != (b.y > p.y) && p.x < (b.x-a.x)*(p.y-a.y)/(b.y-a.y)+a.x {
			odd = !odd
		}
	}
	return odd
}

// area is a set of polygons that do not overlap, with their holes.
type area []ring

// contains reports whether p is inside. Points on the line may be either.
func (a area) contains(p point) bool {
	inside := false
	for _, r := range a {
		if r.box.distance(box{p.x, p.y, p.x, p.y}) == 0 && r.crossings(p) {
			inside = !inside
		}
	}
	return inside
}

// clearance returns how far a segment is from the lines of the area, and at most limit.
func (a area) clearance(s segment, limit float64) float64 {
	b := s.box()
	for _, r := range a {
		limit = r.distance(s, b, limit)
	}
	return limit
}

// distance returns the distance of two segments; 0 if they cross.
func (s segment) distance(o segment) float64 {
	if s.crosses(o) {
		return 0
	}
	return math.Min(
		math.Min(s.to(o.a), s.to(o.b)),
		math.Min(o.to(s.a), o.to(s.b)))
}

// crosses reports whether the ends of each segment lie on different sides of the other. Segments that only touch are found by the
// distance of their ends.
func (s segment) crosses(o segment) bool {
	return side(s, o.a)*side(s, o.b) < 0 && side(o, s.a)*side(o, s.b) < 0
}

// side returns on which side of a segment p lies: 1, -1, or 0 on its line.
func side(s segment, p point) int {
	switch cross := (s.b.x-s.a.x)*(p.y-s.a.y) - (s.b.y-s.a.y)*(p.x-s.a.x); {
	case cross > 0:
		return 1
	case cross < 0:
		return -1
	}
	return 0
}

// to returns the distance of a point from the segment.
func (s segment) to(p point) float64 {
	dx, dy := s.b.x-s.a.x, s.b.y-s.a.y
	t := 0.0
	if length := dx*dx + dy*dy; length > 0 {
		t = math.Max(0, math.Min(1, ((p.x-s.a.x)*dx+(p.y-s.a.y)*dy)/length))
	}
	return math.Hypot(s.a.x+t*dx-p.x, s.a.y+t*dy-p.y)
}

// motion is a disc that moves straight at constant speed for a time and then rests.
type motion struct {
	from, velocity point
	lasts          float64 // seconds
}

func newMotion(s segment, speed float64) motion {
	length := s.length()
	if length == 0 || speed <= 0 {
		return motion{from: s.a}
	}
	return motion{s.a, point{(s.b.x - s.a.x) / length * speed, (s.b.y - s.a.y) / length * speed}, length / speed}
}

func (m motion) at(t float64) point {
	t = math.Min(t, m.lasts)
	return point{m.from.x + m.velocity.x*t, m.from.y + m.velocity.y*t}
}

// closest returns the smallest distance between two motions, from now until both rest, and when it is reached in seconds.
func closest(a, b motion) (distance, when float64) {
	first, last := math.Min(a.lasts, b.lasts), math.Max(a.lasts, b.lasts)
	d1, t1 := closestBetween(a, b, 0, first)
	d2, t2 := closestBetween(a, b, first, last)
	if d2 < d1 {
		return d2, t2
	}
	return d1, t1
}

// closestBetween is closest between two times between which neither motion changes: the distance of the origin from the straight
// line of their difference.
func closestBetween(a, b motion, from, to float64) (distance, when float64) {
	pa, pb, qa, qb := a.at(from), b.at(from), a.at(to), b.at(to)
	dx, dy := pa.x-pb.x, pa.y-pb.y
	vx, vy := qa.x-qb.x-dx, qa.y-qb.y-dy
	t := 0.0
	if v := vx*vx + vy*vy; v > 0 {
		t = math.Max(0, math.Min(1, -(dx*vx+dy*vy)/v))
	}
	return math.Hypot(dx+t*vx, dy+t*vy), from + t*(to-from)
}
