package tagconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/tidwall/btree"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// Store holds the tag configuration with its file and its repository. Safe for concurrent use; reading never waits for
// a disk or an edit. What an edit costs follows the edit, not the number of tags, except where the file is written.
type Store struct {
	opts   Options
	create func(path string) (tempFile, error)

	state atomic.Pointer[view]
	seeds atomic.Pointer[seeds]

	seeding sync.Mutex
	sources map[string][]string // tag ids of the seeds, by source

	filing chan struct{} // held by the one who reads or writes the file; guards disk. It is taken before turn
	disk   disk

	turn    chan struct{}    // held by the one who changes the configuration
	removed map[string]int64 // revisions of the edits that removed items after the file was written; guarded by turn
	mark    FileMark         // of the file as it is, guarded by turn
	next    FileMark         // of the one that a process before was writing when it ended; empty after the start

	queueMu sync.Mutex
	queue   []*request

	behind  chan struct{} // has a token when the file is behind the configuration
	trouble troubles
}

// disk is what the store knows of its file.
type disk struct {
	stamp  stamp
	err    error  // why the file is not the configuration in force
	broken []byte // its text, when that could be read but not be used
}

// Open reads the configuration. A model file that does not exist is an empty configuration; one that is broken is an ErrModelFile that
// names line and member. With a Repository, a file that was edited since the store wrote it is applied, and one that is behind the
// Repository is written. ctx bounds Open alone.
func Open(ctx context.Context, opts Options) (*Store, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	s := &Store{opts: opts, create: createTemp, filing: make(chan struct{}, 1), turn: make(chan struct{}, 1), behind: make(chan struct{}, 1),
		sources: map[string][]string{}, removed: map[string]int64{}}
	path := cmp.Or(opts.Path, opts.Initial, "equipment_model.json")
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	s.state.Store(emptyView(header{name: name, version: "1.0"}))
	s.seeds.Store(&btree.Map[string, []seed]{})
	if opts.Repository != nil {
		if err := s.load(ctx); err != nil {
			return nil, fmt.Errorf("tagconfig: %w", err)
		}
	}
	if opts.Path == "" {
		if err := s.readInitial(ctx); err != nil {
			return nil, fmt.Errorf("tagconfig: %s: %w", opts.Initial, err)
		}
		return s, nil
	}
	if err := s.refreshFile(ctx); err != nil {
		return nil, fmt.Errorf("tagconfig: %s: %w", opts.Path, err)
	}
	if opts.Repository != nil {
		_ = s.Sync(ctx) // reported by Err; Watch tries again
	}
	return s, nil
}

// Model returns name and version from the model file.
func (s *Store) Model() (name, version string) {
	h := s.state.Load().header
	return h.name, h.version
}

// mostUnknown is how many names Unknown returns.
const mostUnknown = 20

// Unknown returns the members of the file that are not known, such as owner or variables.minValu, sorted
// and at most 20 of them. They are kept, and do nothing: one may be a slip.
func (s *Store) Unknown() []string { return s.state.Load().unknown() }

// Len returns how many tags are configured, without those that are seeded only.
func (s *Store) Len() int { return s.state.Load().items.Len() }

// Revision returns a number that grows with each change of the configuration. Seeds do not count.
func (s *Store) Revision() int64 { return s.state.Load().revision }

// List returns every configured and every seeded tag, sorted by tag id.
func (s *Store) List() []Config {
	v := s.state.Load()
	all := make([]Config, 0, v.items.Len())
	each(v, s.seeds.Load(), func(c *Config, _ []seed) bool {
		all = append(all, *c)
		return true
	})
	return all
}

// Effective returns List with scalingFactor and offset of every item filled in: those of the file, those
// of the driver where the file is silent, or 1 and 0.
func (s *Store) Effective() []Config {
	v := s.state.Load()
	all := make([]Config, 0, v.items.Len())
	each(v, s.seeds.Load(), func(c *Config, known []seed) bool {
		all = append(all, effective(c, known))
		return true
	})
	return all
}

func effective(c *Config, known []seed) Config {
	base := &Config{}
	for _, k := range known {
		if k.DriverID == c.DriverID {
			base = k.Config
			break
		}
	}
	e := *c
	e.ScalingFactor = cmp.Or(c.ScalingFactor, base.ScalingFactor, tags.Ptr(1.0))
	e.Offset = cmp.Or(c.Offset, base.Offset, tags.Ptr(0.0))
	return e
}

// Configured returns the tags of the file, sorted by tag id.
func (s *Store) Configured() []Config { return s.state.Load().configured() }

// Get returns one tag, configured or seeded, or ErrNotFound.
func (s *Store) Get(tagID string) (Config, error) {
	if c, ok := s.state.Load().get(tagID); ok {
		return c, nil
	}
	if list, ok := s.seeds.Load().Get(tagID); ok {
		return *list[0].Config, nil
	}
	return Config{}, ErrNotFound.With("tagName", tagID)
}

// IsConfigured reports whether a tag has an item of its own, and whether a source knows it, so that it stays without the item.
func (s *Store) IsConfigured(tagID string) (configured, seeded bool) {
	_, configured = s.state.Load().items.Get(tagID)
	_, seeded = s.seeds.Load().Get(tagID)
	return configured, seeded
}

// Seed lists tags that a source has beside the configured ones: a driver, or who defines tags of drivers. It replaces the seeds of the
// source; without items there are none. The configuration takes precedence, and of two sources the first by id. Seeds are never
// written: a tag goes to the file when an edit names it.
func (s *Store) Seed(source string, items ...Config) {
	items = owned(items)
	ids := make([]string, len(items))
	for i := range items {
		items[i].normalize()
		ids[i] = items[i].TagID
	}
	s.seeding.Lock()
	defer s.seeding.Unlock()
	s.seeds.Store(reseed(s.seeds.Load(), source, s.sources[source], items))
	if s.sources[source] = ids; len(ids) == 0 {
		delete(s.sources, source)
	}
}

// troubles is what is wrong with the file, for Err.
type troubles struct {
	mu              sync.Mutex
	reading, saving error
}

// Err returns what is wrong with the file, for a health check: it is broken, cannot be read or has been
// deleted, and the last good configuration is in force meanwhile; or, as ErrNotSaved or ErrFull, it cannot be written, and
// the Repository has the configuration. It is nil when all is well.
func (s *Store) Err() error {
	s.trouble.mu.Lock()
	defer s.trouble.mu.Unlock()
	return cmp.Or(s.trouble.reading, s.trouble.saving)
}

// set keeps an error for Err in one of the places of troubles, and reports whether it is news.
func (t *troubles) set(place *error, err error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	news := fmt.Sprint(err) != fmt.Sprint(*place)
	*place = err
	return news
}

// acquire takes a token, as long as ctx lasts.
func acquire(ctx context.Context, token chan struct{}) error {
	if ctx.Err() == nil {
		select {
		case token <- struct{}{}:
			return nil
		case <-ctx.Done():
		}
	}
	return fault.New(fault.Canceled, "CANCELED", "the caller gave up").Wrap(ctx.Err())
}

func release(token chan struct{}) { <-token }

var errDeleted = ErrModelFile.Because("it has been deleted; the last configuration stays in force").Wrap(fs.ErrNotExist)

func deleted(err error) bool { return errors.Is(err, fs.ErrNotExist) }
