package shellconfig

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/atomicfile"
	"github.com/otkit/otkit/tags"
)

// Options configure a Store. File, Default and Tags are required.
type Options struct {
	File    string            // has the configuration once it was put
	Default Config            // the configuration before
	Tags    func() []tags.Tag // of the device
	// Revision returns a number that changes with the tags, so that they are mapped once only. Nil: they are mapped at each call.
	Revision func() uint64
	// OnChange is called after the configuration has changed. It may be nil.
	OnChange func()
}

// Store holds the configuration of a shell. Safe for concurrent use.
type Store struct {
	o       Options
	builder *Builder

	putting sync.Mutex
	mu      sync.Mutex
	config  Config

	mapping sync.Mutex // held while filled is made
	filled  filled
}

// filled is what tags fill, as it was at a revision of the tags.
type filled struct {
	known    bool
	revision uint64
	category string
	names    []string
}

// New reads the configuration that was put before, if there is one.
func New(o Options) (*Store, error) {
	switch {
	case o.File == "":
		return nil, errors.New("shellconfig: Options.File is required")
	case o.Tags == nil:
		return nil, errors.New("shellconfig: Options.Tags is required")
	}
	if o.OnChange == nil {
		o.OnChange = func() {}
	}
	builder, err := NewBuilder()
	if err != nil {
		return nil, err
	}
	s := &Store{o: o, builder: builder, config: o.Default}
	if err := o.Default.Validate(); err != nil {
		return nil, fmt.Errorf("shellconfig: Options.Default: %w", err)
	}
	text, err := os.ReadFile(o.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return nil, fmt.Errorf("shellconfig: %w", err)
	}
	var config Config
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("shellconfig: %s: %w", o.File, err)
	}
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("shellconfig: %s: %w", o.File, err)
	}
	s.config = config
	return s, nil
}

// Available returns the submodels that the shell can have: those that the tags fill, and the nameplate.
func (s *Store) Available() []string { return withNameplate(s.fill(s.current().EquipmentCategory)) }

// Get returns the configuration with its version, which changes with it. Its ActiveSubmodels are not nil.
func (s *Store) Get() (c Config, version string) { return s.explicit(s.current()).versioned() }

func (s *Store) current() Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config
}

// explicit returns the configuration with the submodels that are active because tags fill them.
func (s *Store) explicit(c Config) Config {
	if c.ActiveSubmodels == nil {
		c.ActiveSubmodels = s.fill(c.EquipmentCategory)
	}
	return c
}

// fill returns the submodels that have elements which show tags.
func (s *Store) fill(category string) []string {
	s.mapping.Lock()
	defer s.mapping.Unlock()
	var revision uint64
	if s.o.Revision != nil {
		if revision = s.o.Revision(); s.filled.known && s.filled.revision == revision && s.filled.category == category {
			return slices.Clone(s.filled.names)
		}
	}
	names := []string{}
	for _, target := range s.builder.mapper.Targets(tagmap.Equipment{Category: category, Tags: s.o.Tags()}) {
		names = append(names, string(target))
	}
	s.filled = filled{known: true, revision: revision, category: category, names: names}
	return slices.Clone(names)
}

func withNameplate(filled []string) []string {
	return slices.DeleteFunc(slices.Clone(allTargets), func(name string) bool {
		return name != string(tagmap.Nameplate) && !slices.Contains(filled, name)
	})
}

// Environment returns the shell with its active submodels, see [Builder.Environment].
func (s *Store) Environment() *aas.Environment {
	return s.builder.Environment(s.current(), s.o.Tags())
}

// versioned returns a copy of the configuration with its version.
func (c Config) versioned() (Config, string) {
	c.ActiveSubmodels = append([]string{}, c.ActiveSubmodels...)
	text, _ := json.Marshal(c) // cannot fail: strings only
	sum := sha256.Sum256(text)
	return c, hex.EncodeToString(sum[:8])
}

// Put stores a configuration and puts it in force. matches is given the version of the one before, and nil accepts any. Errors are ErrInvalid,
// ErrChanged if matches returns false, and ErrStore.
func (s *Store) Put(ctx context.Context, c Config, matches func(version string) bool) (stored Config, version string, err error) {
	return s.put(ctx, func(Config) (Config, []fault.Field) { return c, nil }, matches)
}

// Merge stores the configuration with the members that a JSON object has; others keep their values, also within the nameplate. The member
// availableSubmodels is ignored, and one that does not exist is refused. For the rest see Put.
func (s *Store) Merge(ctx context.Context, object json.RawMessage, matches func(version string) bool) (stored Config, version string, err error) {
	return s.put(ctx, func(c Config) (Config, []fault.Field) {
		bad := c.merge(object)
		return c, bad
	}, matches)
}

func (s *Store) put(ctx context.Context, change func(Config) (Config, []fault.Field), matches func(version string) bool) (Config, string, error) {
	s.putting.Lock() // what matches is what is replaced
	defer s.putting.Unlock()
	now := s.current()
	c, bad := change(now)
	c.ActiveSubmodels = slices.Clone(c.ActiveSubmodels)
	available := withNameplate(s.fill(c.EquipmentCategory))
	if slices.Equal(c.ActiveSubmodels, now.ActiveSubmodels) {
		available = allTargets // tags that have gone are no fault of this change
	}
	for _, f := range c.faults(available) {
		if !slices.ContainsFunc(bad, func(b fault.Field) bool { return b.Field == f.Field }) {
			bad = append(bad, f)
		}
	}
	if err := refuse(bad); err != nil {
		return Config{}, "", err
	}
	if _, was := s.explicit(now).versioned(); matches != nil && !matches(was) {
		return Config{}, "", ErrChanged
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return Config{}, "", err
	}
	if err := ctx.Err(); err != nil {
		return Config{}, "", err
	}
	if err := atomicfile.Write(s.o.File, append(text, '\n')); err != nil {
		return Config{}, "", ErrStore.Wrap(err)
	}
	s.mu.Lock()
	s.config = c
	s.mu.Unlock()
	s.o.OnChange()
	stored, version := s.explicit(c).versioned()
	return stored, version, nil
}
