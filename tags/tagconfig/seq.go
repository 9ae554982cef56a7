package tagconfig

import "iter"

// All returns every configured and every seeded tag as they are now, by tag id, without making a list.
func (s *Store) All() iter.Seq[Config] {
	v, known := s.state.Load(), s.seeds.Load()
	return func(yield func(Config) bool) {
		each(v, known, func(c *Config, _ []seed) bool { return yield(*c) })
	}
}

// AllEffective returns All with scalingFactor and offset of every item filled in: those of the file, those of the driver
// where the file is silent, or 1 and 0.
func (s *Store) AllEffective() iter.Seq[Config] {
	v, known := s.state.Load(), s.seeds.Load()
	return func(yield func(Config) bool) {
		each(v, known, func(c *Config, of []seed) bool { return yield(effective(c, of)) })
	}
}

// AllConfigured returns the tags of the configuration alone, by tag id.
func (s *Store) AllConfigured() iter.Seq[Config] {
	v := s.state.Load()
	return func(yield func(Config) bool) {
		v.items.Scan(func(_ string, e *entry) bool { return yield(e.Config) })
	}
}
