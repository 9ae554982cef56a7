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

	"github.com/otkit/otkit/aas/tagmap"
	"github.com/otkit/otkit/internal/atomicfile"
	"github.com/otkit/otkit/tags"
)

// Options configure a Store. File, Default and Tags are required.
type Options struct {
	File string // has the configuration once it was put
	// Default is the configuration before. If it has no ActiveSubmodels, all that have elements are active.
	Default Config
	Tags    func() []tags.Tag // of the device
	// OnChange is called after the configuration has changed. It may be nil.
	OnChange func()
}

// Store holds the configuration of a shell. Safe for concurrent use.
type Store struct {
	o      Options
	mapper *tagmap.Mapper

	putting sync.Mutex
	mu      sync.Mutex
	config  Config
	stored  bool // the configuration was put
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
	mapper, err := tagmap.NewMapper(tagmap.Options{})
	if err != nil {
		return nil, err
	}
	s := &Store{o: o, mapper: mapper, config: o.Default}
	if err := o.Default.validate(allTargets); err != nil {
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
	if err := config.validate(allTargets); err != nil {
		return nil, fmt.Errorf("shellconfig: %s: %w", o.File, err)
	}
	s.config, s.stored = config, true
	return s, nil
}

// allTargets are the submodels that tags can be mapped to.
var allTargets = []string{string(tagmap.OperationalData), string(tagmap.TechnicalData), string(tagmap.Nameplate), string(tagmap.TimeSeries)}

// Available returns the submodels that the shell can have: those that the tags fill, and the nameplate.
func (s *Store) Available() []string {
	s.mu.Lock()
	category := s.config.EquipmentCategory
	s.mu.Unlock()
	return withNameplate(s.filled(category))
}

// Submodels returns what Available does, and the submodels that the shell has.
func (s *Store) Submodels() (available, active []string) {
	s.mu.Lock()
	c, stored := s.config, s.stored
	s.mu.Unlock()
	filled := s.filled(c.EquipmentCategory) // once: it looks at all tags
	if !stored && len(c.ActiveSubmodels) == 0 {
		return withNameplate(filled), filled
	}
	return withNameplate(filled), slices.Clone(c.ActiveSubmodels)
}

// filled returns the submodels that have elements which show tags.
func (s *Store) filled(category string) (names []string) {
	for _, m := range s.mapper.Submodels(tagmap.Equipment{ShellID: "urn:x", Category: category, Tags: s.o.Tags()}) {
		names = append(names, m.IDShort)
	}
	return names
}

func withNameplate(filled []string) []string {
	return slices.DeleteFunc(slices.Clone(allTargets), func(name string) bool {
		return name != string(tagmap.Nameplate) && !slices.Contains(filled, name)
	})
}

// Get returns the configuration with its version, which changes with it.
func (s *Store) Get() (c Config, version string) {
	s.mu.Lock()
	c, stored := s.config, s.stored
	s.mu.Unlock()
	if !stored && len(c.ActiveSubmodels) == 0 {
		c.ActiveSubmodels = s.filled(c.EquipmentCategory)
	}
	return c.versioned()
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
	if err := c.validate(withNameplate(s.filled(c.EquipmentCategory))); err != nil {
		return Config{}, "", err
	}
	if c.ActiveSubmodels == nil {
		c.ActiveSubmodels = []string{}
	}
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return Config{}, "", err
	}
	s.putting.Lock() // what matches is what is replaced
	defer s.putting.Unlock()
	if _, was := s.Get(); matches != nil && !matches(was) {
		return Config{}, "", ErrChanged
	}
	if err := ctx.Err(); err != nil {
		return Config{}, "", err
	}
	if err := atomicfile.Write(s.o.File, append(text, '\n')); err != nil {
		return Config{}, "", ErrStore.Wrap(err)
	}
	s.mu.Lock()
	s.config, s.stored = c, true
	s.mu.Unlock()
	s.o.OnChange()
	stored, version = c.versioned()
	return stored, version, nil
}
