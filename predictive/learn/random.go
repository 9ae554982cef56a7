package learn

import "math/rand/v2"

// newRandom returns the generator with a number of those that belong to a seed.
func newRandom(seed, number uint64) *rand.PCG {
	random := rand.NewPCG(seed, number)
	for range 8 {
		random.Uint64() // the first values after seeds that are alike are alike
	}
	return random
}

// sampler chooses need of left items with equal probability, in order: Algorithm S of D. E. Knuth, "The Art of Computer
// Programming", volume 2, section 3.4.2.
type sampler struct {
	random     *rand.PCG
	need, left int
}

// next reports whether the next item is chosen.
func (s *sampler) next() bool {
	chosen := s.need == s.left || s.need > 0 && uniform(s.random)*float64(s.left) < float64(s.need)
	s.left--
	if chosen {
		s.need--
	}
	return chosen
}

// uniform returns a number from 0 to 1, without 1. Unlike [rand.Rand], it cannot change with the version of Go.
func uniform(random *rand.PCG) float64 { return float64(random.Uint64()>>11) / (1 << 53) }
