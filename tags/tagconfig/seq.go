package tagconfig

import (
	"cmp"
	"iter"
	"slices"

	"github.com/otkit/otkit/tags"
)

// All returns every configured and every seeded tag as they are now, by tag id, without copying the list.
func (s *Store) All() iter.Seq[Config] { return slices.Values(s.state.Load().sorted()) }

// AllEffective returns All with scalingFactor and offset of every item filled in: those of the file, those of the driver
// where the file is silent, or 1 and 0.
func (s *Store) AllEffective() iter.Seq[Config] {
	v := s.state.Load()
	return func(yield func(Config) bool) {
		known := make(map[[2]string]*Config)
		for driver, seeds := range v.seeds {
			for i := range seeds {
				known[[2]string{driver, seeds[i].TagID}] = &seeds[i]
			}
		}
		one, zero := tags.Ptr(1.0), tags.Ptr(0.0)
		for _, c := range v.sorted() {
			base := known[[2]string{c.DriverID, c.TagID}]
			if base == nil {
				base = &Config{}
			}
			c.ScalingFactor = cmp.Or(c.ScalingFactor, base.ScalingFactor, one)
			c.Offset = cmp.Or(c.Offset, base.Offset, zero)
			if !yield(c) {
				return
			}
		}
	}
}
