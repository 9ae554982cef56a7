package drivers

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/wake"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
)

// Host runs drivers.
type Host interface {
	// StartDriver defines the tags of a driver and starts it. Tags that the configuration has for it become readable. If the id is in
	// use, it returns tags.ErrDriverExists.
	StartDriver(id string, d tags.Driver, o tags.DriverOptions, known []tags.Tag) error
	// StopDriver stops a driver after its queued writes, as long as ctx lasts. Its tags stay, Bad with reason NoDriver. An error other
	// than tags.ErrInvalidDriver, which is for an unknown id, means that it may not have ended yet; it is the host's no more all the same.
	StopDriver(ctx context.Context, id string) error
	// DefineTags replaces what is known of the tags of a driver, running or not. The tag configuration overrides it.
	DefineTags(id string, known []tags.Tag) error
	// ForgetTags removes what DefineTags or StartDriver have defined. Configured tags stay.
	ForgetTags(id string)
	// Drivers returns the status of each driver that runs, by id.
	Drivers() []tags.DriverStatus
	// TagsOf returns tags of a driver, configured ones too, at most limit.
	TagsOf(id string, limit int) []tags.Tag
}

// Fixed is a driver that runs already and cannot be changed: one of the settings file.
type Fixed struct {
	Definition Definition
	Driver     tags.Driver // to be asked whether its device can be tried beside it; may be nil
	Opaque     bool        // the program has built the driver: Definition does not say how, so that it cannot be tried
}

// Deps are what a Service needs. Host is required.
type Deps struct {
	Types      driverconfig.Types
	Repository Repository // default: in memory
	Host       Host
	Fixed      []Fixed
}

// Options configure a Service. The zero Options work.
type Options struct {
	MaxDrivers  int           // stored definitions; default 1,000
	StopTimeout time.Duration // for the queued writes of a driver that is changed or removed; default 5 s
	TestTimeout time.Duration // of Test and Browse; default 10 s
	MaxTests    int           // calls of Test and Browse at the same time; default 4
	// FollowInterval is how often Follow looks for what other engines with the same repository have changed. Default 1 s.
	FollowInterval time.Duration
	// OnChange is called after a change, or after Follow has taken over one. It must not wait. It may be nil.
	OnChange func()

	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: discards
}

// Service manages drivers. Safe for concurrent use: changes of one driver come one after the other, and do not wait for those of
// another.
type Service struct {
	types driverconfig.Types
	repo  Repository
	host  Host
	opts  Options
	tests chan struct{}

	mu    sync.Mutex
	hung  int               // trials that are left behind, see aside
	fixed map[string]*entry // those of the settings
	all   map[string]*entry // those of the repository
	turns map[string]*turn  // calls that change a driver, by id

	version int64       // of the repository, as Follow has seen it; for its goroutine and New alone
	look    wake.Signal // for Follow
}

// entry is a driver. It is replaced, and never changed.
type entry struct {
	def      Definition
	shown    Definition  // def with its secrets masked
	err      error       // why it does not run although it is enabled
	driver   tags.Driver // nil unless it was started
	points   int         // tags that its settings define
	shadowed bool        // a driver of the settings has its id
	opaque   bool        // as of Fixed
}

// New loads the definitions of a repository and starts those that are enabled. What cannot be started is listed with its error.
// The error of New is that of the repository or of a dependency.
func New(ctx context.Context, d Deps, o Options) (*Service, error) {
	if d.Host == nil {
		return nil, errors.New("drivers: Deps.Host is required")
	}
	switch {
	case o.MaxDrivers < 0:
		return nil, errors.New("drivers: Options.MaxDrivers must not be negative")
	case o.StopTimeout < 0:
		return nil, errors.New("drivers: Options.StopTimeout must not be negative")
	case o.TestTimeout < 0:
		return nil, errors.New("drivers: Options.TestTimeout must not be negative")
	case o.MaxTests < 0:
		return nil, errors.New("drivers: Options.MaxTests must not be negative")
	case o.FollowInterval < 0:
		return nil, errors.New("drivers: Options.FollowInterval must not be negative")
	}
	if d.Repository == nil {
		d.Repository = NewMemory()
	}
	o.MaxDrivers, o.MaxTests = cmp.Or(o.MaxDrivers, 1000), cmp.Or(o.MaxTests, 4)
	o.FollowInterval = cmp.Or(o.FollowInterval, time.Second)
	if o.OnChange == nil {
		o.OnChange = func() {}
	}
	o.StopTimeout, o.TestTimeout = cmp.Or(o.StopTimeout, 5*time.Second), cmp.Or(o.TestTimeout, 10*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{types: d.Types, repo: d.Repository, host: d.Host, opts: o, tests: make(chan struct{}, o.MaxTests),
		fixed: map[string]*entry{}, all: map[string]*entry{}, turns: map[string]*turn{}, look: wake.NewSignal()}
	for _, f := range d.Fixed {
		f.Definition.Enabled = true
		e := s.entry(f.Definition)
		e.driver, e.opaque = f.Driver, f.Opaque
		s.fixed[f.Definition.ID] = e
	}
	list, version, err := s.repo.Load(ctx)
	if err != nil {
		return nil, fmt.Errorf("loading drivers: %w", err)
	}
	s.version = version
	for _, def := range list {
		s.all[def.ID] = s.begin(def)
	}
	return s, nil
}

func (s *Service) entry(def Definition) *entry { return &entry{def: def, shown: s.masked(def)} }

// begin starts a driver that was stored before, or says why it cannot.
func (s *Service) begin(def Definition) *entry {
	e := s.entry(def)
	if s.fixed[def.ID] != nil {
		e.shadowed = true
		s.opts.Logger.Warn("stored driver is not started: the settings have a driver with its id", "driver", def.ID)
		return e
	}
	built, known, err := s.build(&def)
	if err == nil {
		err = s.run(e, built, known)
	}
	if err != nil {
		e.err = err
		s.opts.Logger.Error("failed to start stored driver", "driver", def.ID, "type", def.Type, "error", err)
	}
	return e
}

// build makes the driver of a definition. A factory that panics is an error.
func (s *Service) build(def *Definition) (d tags.Driver, known []tags.Tag, err error) {
	if err := def.validate(); err != nil {
		return nil, nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			s.opts.Logger.Error("factory of drivers panicked", "type", def.Type, "panic", p)
			err = ErrInvalid.Because("the driver type has failed")
		}
	}()
	if d, known, err = s.types.Build(def.settings(), s.opts.Logger.With("driver", def.ID)); err != nil {
		return nil, nil, inAPI(err)
	}
	for i := range known {
		known[i].Driver = def.ID
		if err := known[i].Validate(); err != nil {
			return nil, nil, inAPI(err)
		}
	}
	return d, known, nil
}

// run starts a driver as its definition says.
func (s *Service) run(e *entry, built tags.Driver, known []tags.Tag) error {
	e.points = len(known)
	if !e.def.Enabled {
		return s.host.DefineTags(e.def.ID, known)
	}
	err := s.host.StartDriver(e.def.ID, built, e.def.options(), known)
	if err == nil {
		e.driver = built
	}
	return err
}

// Origin is where a driver comes from.
type Origin string

// The origins.
const (
	FromSettings Origin = "settings" // the settings file of an engine, or the program that embeds it
	FromAPI      Origin = "api"      // a call
	FromPart     Origin = "part"     // another part of the engine, such as a bound bridge
)

// Info is a driver as it is shown: secrets in its settings are masked.
type Info struct {
	Definition
	Origin Origin
	// Status is that of the engine. If the driver does not run, State is Stopped, and LastError says why if it should.
	Status tags.DriverStatus
	// Shadowed is the stored definition that does not count, because the settings have a driver of its id; nil if there is none.
	Shadowed *Definition
}

// List returns all drivers by id, those of other parts, which have no settings, included.
func (s *Service) List() []Info {
	running := s.host.Drivers()
	byID := make(map[string]tags.DriverStatus, len(running))
	for i := range running {
		byID[running[i].ID] = running[i]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Info, 0, len(running)+len(s.all))
	for _, from := range []map[string]*entry{s.fixed, s.all} {
		for id, e := range from {
			if status, ok := byID[id]; !e.shadowed {
				list = append(list, s.info(e, status, ok))
				delete(byID, id)
			}
		}
	}
	for _, status := range byID {
		list = append(list, ofPart(status))
	}
	slices.SortFunc(list, func(a, b Info) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Get returns a driver, or ErrNotFound.
func (s *Service) Get(id string) (Info, error) {
	running := s.host.Drivers()
	at := slices.IndexFunc(running, func(d tags.DriverStatus) bool { return d.ID == id })
	var status tags.DriverStatus
	if at >= 0 {
		status = running[at]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.fixed[id]
	if e == nil {
		e = s.all[id]
	}
	switch {
	case e != nil:
		return s.info(e, status, at >= 0), nil
	case at >= 0:
		return ofPart(status), nil
	}
	return Info{}, ErrNotFound.On("driverId", clip(id))
}

// Has reports whether there is a definition of the id, running or not.
func (s *Service) Has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fixed[id] != nil || s.all[id] != nil
}

// Wanted is a driver that is to run.
type Wanted struct {
	ID       string
	Requires map[string]string // see Definition
	Points   int               // tags that its settings define, as a measure of its work
	Err      error             // why this engine cannot run it; nil if it can
}

// Wanted returns the stored drivers that are enabled, for engines that share them among each other.
func (s *Service) Wanted() (list []Wanted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, e := range s.all {
		if e.def.Enabled && !e.shadowed {
			list = append(list, Wanted{id, e.def.Requires, e.points, e.err})
		}
	}
	return list
}

// Problems returns what people should mend, by driver id: stored definitions that cannot be started, or that a driver of the settings
// hides.
func (s *Service) Problems() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := map[string]string{}
	for id, e := range s.all {
		switch {
		case e.shadowed:
			found[id] = "stored, but the settings have a driver with this id"
		case e.err != nil:
			found[id] = e.err.Error()
		}
	}
	return found
}

func ofPart(status tags.DriverStatus) Info {
	return Info{Definition: Definition{ID: status.ID, Type: status.Type, Enabled: true}, Origin: FromPart, Status: status}
}

// info returns how a driver is shown. s.mu is held.
func (s *Service) info(e *entry, status tags.DriverStatus, running bool) Info {
	i := Info{Definition: e.shown, Origin: FromAPI, Status: status}
	if !running {
		i.Status = tags.DriverStatus{ID: e.def.ID, Type: e.def.Type, State: tags.DriverStopped}
		if e.err != nil {
			i.Status.LastError = e.err.Error()
		}
	}
	if e.def.Declared {
		i.Origin = FromSettings
	}
	if s.fixed[e.def.ID] == e {
		i.Origin = FromSettings
		if other := s.all[e.def.ID]; other != nil {
			hidden := other.shown
			i.Shadowed = &hidden
		}
	}
	return i
}

// masked returns a definition to be shown. Settings of an unknown type are not shown: nobody knows what is secret there.
func (s *Service) masked(def Definition) Definition {
	t, ok := s.types.Find(def.Type)
	if !ok {
		def.Settings = nil
		return def
	}
	def.Settings = driverconfig.Mask(t.SettingsSchema(), def.Settings)
	return def
}

// Masked returns settings with the secrets masked, for logs; nil if the type is unknown.
func (s *Service) Masked(kind string, settings json.RawMessage) json.RawMessage {
	return s.masked(Definition{Type: kind, Settings: settings}).Settings
}

// Types returns the driver types, by name.
func (s *Service) Types() driverconfig.Types {
	list := slices.Clone(s.types)
	slices.SortFunc(list, func(a, b driverconfig.Type) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// unmasked sets the secrets that are masked to those of a driver that is stored, nil for none. The mask of a secret that is not stored there, or
// that was for another type or another address, is refused.
func (s *Service) unmasked(def, stored *Definition) error {
	t, ok := s.types.Find(def.Type)
	if !ok {
		return nil // building it says so
	}
	def.Type = t.Name
	where := "where none is stored"
	var secrets json.RawMessage
	switch {
	case stored == nil || !sameType(s, def.Type, stored.Type):
	case def.IPAddress != stored.IPAddress || s.port(def) != s.port(stored):
		where = "for another ipAddress or port"
	default:
		secrets = stored.Settings
	}
	schema := t.SettingsSchema()
	def.Settings = driverconfig.Unmask(schema, def.Settings, secrets)
	if masked := driverconfig.Mask(schema, def.Settings); bytes.Contains(masked, []byte(driverconfig.Masked)) && bytes.Contains(def.Settings, []byte(`"`+driverconfig.Masked+`"`)) {
		return ErrInvalid.Invalid(fault.Field{Field: "settings", Message: "must have the secret itself " + where + ", not " + driverconfig.Masked})
	}
	return nil
}

func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "..."
	}
	return s
}
