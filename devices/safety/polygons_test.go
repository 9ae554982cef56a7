package safety_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/devices/safety"
)

// inRing reports whether a point is inside of a ring, by the lines that a ray to the right crosses.
func inRing(ring [][2]float64, x, y float64) bool {
	inside := false
	for i, a := range ring {
		b := ring[(i+1)%len(ring)]
		if (a[1] > y) != (b[1] > y) && x < a[0]+(y-a[1])/(b[1]-a[1])*(b[0]-a[0]) {
			inside = !inside
		}
	}
	return inside
}

// star returns a ring around a point that has corners inwards and outwards but does not cross itself.
func star(random *rand.Rand, x, y, inner, outer float64, corners int) (ring [][2]float64) {
	for i := range corners {
		angle, radius := (float64(i)+random.Float64()*0.8)/float64(corners)*2*math.Pi, inner+random.Float64()*(outer-inner)
		ring = append(ring, [2]float64{x + radius*math.Cos(angle), y + radius*math.Sin(angle)})
	}
	return ring
}

// TestAllowedWaysStayInside with zones of any form, holes included.
func TestAllowedWaysStayInsideOfPolygons(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	ways := 0
	for range 200 {
		halls := [][][][2]float64{
			{star(random, 20, 20, 12, 22, 14), star(random, 20+random.Float64()*4, 20, 1, 4, 7)}, // with a hole
			{star(random, 36, 20, 8, 14, 9)},
		}
		var zones []safety.Zone
		for _, rings := range halls {
			zones = append(zones, zone(safety.Allowed, "", rings...))
		}
		var keepOuts [][][2]float64
		for range 4 {
			keepOuts = append(keepOuts, star(random, random.Float64()*45, random.Float64()*40, 0.3, 3, 5))
			zones = append(zones, zone(safety.KeepOut, "", keepOuts[len(keepOuts)-1]))
		}
		radius := 0.1 + random.Float64()*0.6
		c := chain(t, safety.Options{Zones: zones, Device: safety.Device{Radius: radius}})
		for range 100 {
			a, b := [2]float64{random.Float64() * 50, random.Float64() * 40}, [2]float64{random.Float64() * 50, random.Float64() * 40}
			if !c.Check(moveTo(device("a", a[0], a[1]), b[0], b[1])).Allowed {
				continue
			}
			ways++
			for range 200 {
				along, angle := random.Float64(), random.Float64()*2*math.Pi
				x, y := a[0]+along*(b[0]-a[0])+radius*math.Cos(angle), a[1]+along*(b[1]-a[1])+radius*math.Sin(angle)
				allowed := false
				for _, rings := range halls {
					allowed = allowed || inRing(rings[0], x, y) && (len(rings) == 1 || !inRing(rings[1], x, y))
				}
				require.True(t, allowed, "leaves the zones at %g, %g", x, y)
				for _, ring := range keepOuts {
					require.False(t, inRing(ring, x, y), "touches a keep-out zone at %g, %g", x, y)
				}
			}
		}
	}
	require.Greater(t, ways, 500, "most ways are refused: the test tries nothing")
}
