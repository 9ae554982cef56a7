package simdriver

import (
	"math"
)

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
// generators, 2014): each bit of x moves about half of the bits of the result.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// unit returns a number in [0, 1) that depends on the key and the index alone.
func unit(key uint64, index int64) float64 {
	return float64(mix(key^mix(uint64(index)))>>11) / (1 << 53)
}

// valueNoise goes smoothly through random values at the whole numbers.
func valueNoise(key uint64, x float64) float64 {
	i := math.Floor(x)
	f := x - i
	a, b := unit(key, int64(i)), unit(key, int64(i)+1)
	return a + (b-a)*f*f*(3-2*f)
}

// walk wanders in [0, 1): four octaves of value noise, each twice as fast and half as strong as the one
// before. It stands in for a random walk, which would have to be summed up from its start and would
// leave every range; like one, it moves little from step to step and far over time.
func walk(key uint64, x float64) float64 {
	sum, strength := 0.0, 1.0
	for octave := range uint64(4) {
		sum += strength * valueNoise(key+octave, x)
		x *= 2
		strength /= 2
	}
	return sum / 1.875
}

// Parts of the life of what wears out.
const (
	wearBegins = 0.3  // share of the life after which wear begins
	wearEnds   = 0.9  // share of the life after which it has failed, until it is replaced at 1
	healthy    = 0.3  // level before wear begins
	worn       = 0.95 // level right before the failure
)

// wear returns the level at a share of the life: constant, then rising ever faster up to the failure, and
// nothing while it has failed.
func wear(share float64) (level float64, failed bool) {
	switch {
	case share < wearBegins:
		return healthy, false
	case share < wearEnds:
		x := (share - wearBegins) / (wearEnds - wearBegins)
		return healthy + (worn-healthy)*math.Expm1(3*x)/math.Expm1(3), false
	}
	return 0, true
}

// cycles returns the whole periods in x and the share of the one begun, also for negative x.
func cycles(x, period float64) (whole, share float64) {
	q := x / period
	whole = math.Floor(q)
	return whole, q - whole
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
