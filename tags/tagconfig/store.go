package tagconfig

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// Options of a Store. Only Path is required.
type Options struct {
	Path     string // of the model file; it and its folder need not exist
	MaxItems int    // most tags in the file; default 200,000

	// OnChange gets the configuration of the file, sorted by tag id: by Open when there is a file,
	// after each change, and before the Bulk that made the change returns. Calls come one after the
	// other. It must not call Bulk, Seed or Reload.
	OnChange func(items []Config)

	PollInterval time.Duration // how often Watch looks at the file by itself; default 2 s
	Debounce     time.Duration // how long Watch waits for an editor to finish; default 100 ms

	Logger *slog.Logger     // default slog.Default
	Now    func() time.Time // default time.Now
}

func (o *Options) complete() error {
	bad := func(field, rule string) error { return fmt.Errorf("tagconfig: Options.%s %s", field, rule) }
	switch {
	case o.Path == "":
		return bad("Path", "is required")
	case o.MaxItems < 0:
		return bad("MaxItems", "must not be negative")
	case o.PollInterval < 0:
		return bad("PollInterval", "must not be negative")
	case o.Debounce < 0:
		return bad("Debounce", "must not be negative")
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return bad("Path", err.Error())
	}
	o.Path = path
	if o.MaxItems == 0 {
		o.MaxItems = 200_000
	}
	if o.PollInterval == 0 {
		o.PollInterval = 2 * time.Second
	}
	if o.Debounce == 0 {
		o.Debounce = 100 * time.Millisecond
	}
	if o.OnChange == nil {
		o.OnChange = func([]Config) {}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return nil
}

// Store holds the tag configuration and its file. Safe for concurrent use; reading never waits for
// the disk.
type Store struct {
	opts   Options
	create func(path string) (tempFile, error)
	state  atomic.Pointer[view]

	turn chan struct{} // held by the one who reads or writes the file; guards disk and every change of state
	disk disk

	troubleMu sync.Mutex
	trouble   error
}

// disk is what the store knows of its file.
type disk struct {
	stamp  stamp
	err    error  // why the file is not the configuration in force
	broken []byte // its text, when that could be read but not be used
}

// view is what readers see. It is not changed once it is in force.
type view struct {
	model  *model
	seeds  map[string][]Config // by driver
	sorted func() []Config
	seed   func() map[string]*Config // by tag, without those in the file
}

func newView(m *model, seeds map[string][]Config) *view {
	v := &view{model: m, seeds: seeds}
	v.seed = sync.OnceValue(func() map[string]*Config {
		found := map[string]*Config{}
		for _, driver := range slices.Sorted(maps.Keys(seeds)) {
			for i := range seeds[driver] {
				id := seeds[driver][i].TagID
				if _, configured := m.index[id]; !configured && found[id] == nil {
					found[id] = &seeds[driver][i]
				}
			}
		}
		return found
	})
	v.sorted = sync.OnceValue(func() []Config {
		all := m.items()
		for _, c := range v.seed() {
			all = append(all, *c)
		}
		slices.SortFunc(all, func(a, b Config) int { return strings.Compare(a.TagID, b.TagID) })
		return all
	})
	return v
}

func (m *model) items() []Config {
	all := make([]Config, len(m.entries))
	for i, e := range m.entries {
		all[i] = e.Config
	}
	return all
}

// Open reads the model file. One that does not exist is an empty configuration; one that is broken
// is an ErrModelFile that names line and member.
func Open(opts Options) (*Store, error) {
	if err := opts.complete(); err != nil {
		return nil, err
	}
	s := &Store{opts: opts, create: createTemp, turn: make(chan struct{}, 1)}
	name := strings.TrimSuffix(filepath.Base(opts.Path), filepath.Ext(opts.Path))
	s.state.Store(newView(&model{name: name, version: "1.0", index: map[string]int{}}, nil))
	if err := s.refreshFile(); err != nil {
		return nil, fmt.Errorf("tagconfig: %s: %w", opts.Path, err)
	}
	return s, nil
}

// Model returns name and version from the model file.
func (s *Store) Model() (name, version string) {
	m := s.state.Load().model
	return m.name, m.version
}

// mostUnknown is how many names Unknown returns.
const mostUnknown = 20

// Unknown returns the members of the file that are not known, such as owner or variables.minValu, sorted
// and at most 20 of them. They are kept, and do nothing: one may be a slip.
func (s *Store) Unknown() []string { return s.state.Load().model.unknown() }

func (m *model) unknown() []string {
	found := map[string]struct{}{}
	for _, x := range m.extra {
		found[clip(x.name)] = struct{}{}
	}
	for _, e := range m.entries {
		for _, x := range e.extra {
			if len(found) < 10*mostUnknown { // the rest is not sorted in, but bounded
				found["variables."+clip(x.name)] = struct{}{}
			}
		}
	}
	names := slices.Sorted(maps.Keys(found))
	return names[:min(len(names), mostUnknown)]
}

// List returns every configured and every seeded tag, sorted by tag id.
func (s *Store) List() []Config { return slices.Clone(s.state.Load().sorted()) }

// Effective returns List with scalingFactor and offset of every item filled in: those of the file, those
// of the driver where the file is silent, or 1 and 0.
func (s *Store) Effective() []Config {
	v := s.state.Load()
	known := make(map[[2]string]*Config)
	for driver, seeds := range v.seeds {
		for i := range seeds {
			known[[2]string{driver, seeds[i].TagID}] = &seeds[i]
		}
	}
	all := slices.Clone(v.sorted())
	for i := range all {
		c, base := &all[i], &Config{}
		if seed := known[[2]string{c.DriverID, c.TagID}]; seed != nil {
			base = seed
		}
		c.ScalingFactor = cmp.Or(c.ScalingFactor, base.ScalingFactor, tags.Ptr(1.0))
		c.Offset = cmp.Or(c.Offset, base.Offset, tags.Ptr(0.0))
	}
	return all
}

// Configured returns the tags of the file, sorted by tag id: the input of a Binder.
func (s *Store) Configured() []Config { return s.state.Load().configured() }

func (v *view) configured() []Config {
	all := v.model.items()
	slices.SortFunc(all, func(a, b Config) int { return strings.Compare(a.TagID, b.TagID) })
	return all
}

// Get returns one tag, configured or seeded, or ErrNotFound.
func (s *Store) Get(tagID string) (Config, error) {
	v := s.state.Load()
	if at, ok := v.model.index[tagID]; ok {
		return v.model.entries[at].Config, nil
	}
	if c := v.seed()[tagID]; c != nil {
		return *c, nil
	}
	return Config{}, ErrNotFound.With("tagName", tagID)
}

// Seed lists tags that a driver has of its own beside the configured ones. It replaces the seeds of the
// driver; without items there are none. The file takes precedence. Seeds are never written: a tag goes
// to the file when a Bulk names it.
func (s *Store) Seed(driverID string, items ...Config) {
	s.turn <- struct{}{}
	defer s.release()
	v := s.state.Load()
	seeds := maps.Clone(v.seeds)
	if seeds == nil {
		seeds = map[string][]Config{}
	}
	delete(seeds, driverID)
	if len(items) > 0 {
		items = owned(items)
		for i := range items {
			items[i].normalize()
		}
		seeds[driverID] = items
	}
	s.state.Store(newView(v.model, seeds))
}

// Bulk adds items and replaces those whose tag is configured already; tags that are not named stay.
// Of two items for one tag the last wins. It returns the number of distinct tags.
//
// Nothing is applied when it fails: with ErrEmpty; with ErrInvalid, which names each bad member as
// [3].driverId; with ErrTooMany; with ErrFull or ErrNotSaved when the file cannot be written. When it returns
// nil, memory and file have the items and OnChange has been called. (Should the last step of a write,
// making the rename durable, fail on a dying disk, the file may have the items all the same; the
// store then follows the file.)
func (s *Store) Bulk(ctx context.Context, items []Config) (int, error) {
	return s.BulkWithin(ctx, items, 0)
}

// BulkWithin is Bulk for callers that may add tags only up to most in the whole configuration, and change the tags that
// are there however many these are. If more tags would be added, it returns ErrTagLimit. A most of 0 is no limit.
func (s *Store) BulkWithin(ctx context.Context, items []Config, most int) (int, error) {
	if len(items) == 0 {
		return 0, ErrEmpty
	}
	r, err := s.Apply(ctx, Edit{Put: items, MaxItems: most})
	return r.Put, err
}

// Apply carries out an edit, all of it or nothing. Its errors are those of Bulk, and those of Check; an edit of nothing does nothing.
func (s *Store) Apply(ctx context.Context, e Edit) (Result, error) {
	var items []Config
	if len(e.Put) > 0 {
		var err error
		if items, err = checked(e.Put); err != nil {
			return Result{}, err
		}
	}
	if err := s.acquire(ctx); err != nil {
		return Result{}, err
	}
	defer s.release()
	if err := s.refresh(); err != nil && s.disk.broken == nil && !errors.Is(err, fs.ErrNotExist) {
		return Result{}, ErrNotSaved.Wrap(err) // what cannot be read is not to be overwritten
	}
	now := s.state.Load().model
	if e.Check != nil {
		err := e.Check(func(id string) (Config, bool) {
			at, ok := now.index[id]
			if !ok {
				return Config{}, false
			}
			return now.entries[at].Config, true
		})
		if err != nil {
			return Result{}, err
		}
	}
	without, removed := now.without(e.Remove)
	next, count := without.upsert(items)
	r := Result{Put: count, Added: len(next.entries) - len(without.entries), Removed: removed, Total: len(next.entries)}
	switch n := len(next.entries); {
	case n > s.opts.MaxItems:
		return Result{}, ErrTooMany.Because("at most %d", s.opts.MaxItems)
	case e.MaxItems > 0 && n > e.MaxItems && n > len(now.entries):
		return Result{}, ErrTagLimit.With("limit", strconv.Itoa(e.MaxItems))
	}
	if err := s.save(next); err != nil {
		s.opts.Logger.Error("tag configuration not saved", "file", s.opts.Path, "error", err)
		return Result{}, notSaved(err)
	}
	s.apply(next)
	return r, nil
}

// ValidateAll returns the error that a Bulk of the items would return: nil, ErrEmpty or ErrInvalid.
func ValidateAll(items []Config) error {
	_, err := checked(items)
	return err
}

// checked returns a copy of the items with defaults filled in, or what is wrong with them.
func checked(items []Config) ([]Config, error) {
	if len(items) == 0 {
		return nil, ErrEmpty
	}
	items = owned(items)
	var bad faults
	check(items, indexPlace, &bad)
	return items, bad.err(ErrInvalid)
}

// save writes a model to the file. A broken text there is kept beside it.
func (s *Store) save(m *model) error {
	data, err := m.encode()
	if err != nil {
		return err
	}
	if s.disk.broken != nil {
		aside := s.opts.Path + ".broken"
		if _, err := replaceFile(aside, s.disk.broken, s.create); err != nil {
			return err
		}
		s.opts.Logger.Warn("broken model file kept aside", "file", aside)
	}
	info, err := replaceFile(s.opts.Path, data, s.create)
	if err != nil {
		return err
	}
	s.disk = disk{stamp: stamp{info: info, hash: sha256.Sum256(data), takenAt: s.opts.Now()}}
	s.setTrouble(nil)
	return nil
}

// apply puts a model in force.
func (s *Store) apply(m *model) {
	v := newView(m, s.state.Load().seeds)
	s.state.Store(v)
	s.opts.OnChange(v.configured())
}

// Err returns what is wrong with the file, for a health check: it is broken, cannot be read or has been
// deleted. The last good configuration is in force meanwhile. It is nil when all is well.
func (s *Store) Err() error {
	s.troubleMu.Lock()
	defer s.troubleMu.Unlock()
	return s.trouble
}

// setTrouble keeps err for Err and reports whether it is news.
func (s *Store) setTrouble(err error) bool {
	s.troubleMu.Lock()
	defer s.troubleMu.Unlock()
	news := fmt.Sprint(err) != fmt.Sprint(s.trouble)
	s.trouble = err
	return news
}

func (s *Store) acquire(ctx context.Context) error {
	if ctx.Err() == nil {
		select {
		case s.turn <- struct{}{}:
			return nil
		case <-ctx.Done():
		}
	}
	return fault.New(fault.Canceled, "CANCELED", "the caller gave up").Wrap(ctx.Err())
}

func (s *Store) release() { <-s.turn }

var errDeleted = ErrModelFile.Because("it has been deleted; the last configuration stays in force").Wrap(fs.ErrNotExist)
