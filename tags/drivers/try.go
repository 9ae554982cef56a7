package drivers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/otkit/otkit/tags"
)

// Exclusive is a driver whose device cannot be used by two drivers at the same time, such as one on a serial port. Resource names what it
// needs for itself; empty if nothing. Test and Browse then do not disturb the driver that has it.
type Exclusive interface {
	Resource() string
}

// UnitNamer is a driver with units behind its endpoint. Unit returns which one a point belongs to.
type UnitNamer interface {
	Unit(p tags.Point) string
}

// The limits of Test.
const (
	DefaultTestPoints = 20
	MaxTestPoints     = 200
)

// Trial is what a Test saw.
type Trial struct {
	OK          bool          // connected, and every point of it was read with quality Good or Uncertain
	Connected   bool          // Connect succeeded
	ConnectTime time.Duration // of Connect
	RoundTrip   time.Duration // mean time of a read
	Error       string        // why it could not connect, or was not tried; empty if it could
	// InUse is set if a running driver has the same device and the trial could not connect: some devices take one connection only.
	InUse  string // id of that driver
	Units  []UnitTrial
	Points []PointTrial
}

// UnitTrial is what the points of a unit had in common.
type UnitTrial struct {
	Unit      string // empty if the driver has no units
	Points    int
	Answered  int           // points that were read
	RoundTrip time.Duration // of reading them
	Error     string        // of the read as a whole, or of the first point that failed
}

// PointTrial is one point that was read.
type PointTrial struct {
	Name, Address string
	Unit          string
	Value         tags.Value // before scaling
	Quality       tags.Quality
	Error         string
}

// Test connects to the device of a definition with a driver of its own, reads up to limit points of it (0 takes DefaultTestPoints), and
// returns what it saw. The driver that runs is not touched. A definition without settings, only with an id that is known, is the known
// one; masked secrets are filled in from it. What is wrong with the device is in the Trial, and so is that the program has built the known
// one, which cannot be tried; the error is for a definition that is not valid, or ErrBusy.
func (s *Service) Test(ctx context.Context, def Definition, limit int) (Trial, error) {
	built, known, err := s.trial(&def)
	if errors.Is(err, ErrOpaque) {
		return Trial{Error: ErrOpaque.Message}, nil
	}
	if err != nil {
		return Trial{}, err
	}
	switch {
	case limit <= 0:
		limit = DefaultTestPoints
	case limit > MaxTestPoints:
		limit = MaxTestPoints
	}
	if holder := s.holder(built); holder != "" {
		return Trial{InUse: holder, Error: fmt.Sprintf("driver %q has the device for itself; disable it first", holder)}, nil
	}
	points := s.points(&def, built, known, limit)
	t := &Trial{}
	finished, err := s.aside(ctx, built, func(ctx context.Context) {
		begin := time.Now()
		err := call(func() error { return built.Connect(ctx) })
		t.ConnectTime = time.Since(begin)
		if err != nil {
			t.Error = s.text(ctx, err)
			t.InUse = s.sharing(&def)
			return
		}
		t.Connected = true
		s.read(ctx, built, points, t)
	})
	switch {
	case err != nil:
		return Trial{}, err
	case !finished:
		return Trial{Error: fmt.Sprintf("the driver did not return within %s", s.opts.TestTimeout)}, nil
	}
	return *t, nil
}

// trial returns the driver of a definition to be tried.
func (s *Service) trial(def *Definition) (tags.Driver, []tags.Tag, error) {
	s.mu.Lock()
	e := s.fixed[def.ID]
	if e == nil {
		e = s.all[def.ID]
	}
	s.mu.Unlock()
	var stored *Definition
	if e != nil {
		if def.Type == "" {
			if e.opaque {
				return nil, nil, ErrOpaque.On("driverId", clip(def.ID))
			}
			*def = e.def
		}
		stored = &e.def
	} else if def.Type == "" && def.ID != "" {
		return nil, nil, ErrNotFound.On("driverId", clip(def.ID))
	}
	if def.ID == "" {
		def.ID = "test"
	}
	if err := s.unmasked(def, stored); err != nil {
		return nil, nil, err
	}
	return s.build(def)
}

// holder returns which running driver has what d needs for itself.
func (s *Service) holder(d tags.Driver) string {
	own, ok := d.(Exclusive)
	if !ok || own.Resource() == "" {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, from := range []map[string]*entry{s.fixed, s.all} {
		for id, e := range from {
			if other, ok := e.driver.(Exclusive); ok && other.Resource() == own.Resource() {
				return id
			}
		}
	}
	return ""
}

// sharing returns which driver is connected to the address of a definition.
func (s *Service) sharing(def *Definition) string {
	online := map[string]bool{}
	for _, d := range s.host.Drivers() {
		online[d.ID] = d.State == tags.DriverOnline || d.State == tags.DriverNotResponding
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, from := range []map[string]*entry{s.fixed, s.all} {
		for id, e := range from {
			if online[id] && def.IPAddress != "" && e.def.IPAddress == def.IPAddress && s.port(&e.def) == s.port(def) && sameType(s, e.def.Type, def.Type) {
				return id
			}
		}
	}
	return ""
}

func (s *Service) port(def *Definition) int {
	t, _ := s.types.Find(def.Type)
	return cmp.Or(def.Port, t.DefaultPort)
}

// sampled is a point of a trial.
type sampled struct {
	name, unit string
	point      tags.Point
}

// points returns points to be tried: units take turns, so that each has some.
func (s *Service) points(def *Definition, d tags.Driver, known []tags.Tag, limit int) []sampled {
	known = append(slices.Clip(known), s.host.TagsOf(def.ID, 10*MaxTestPoints)...)
	byUnit, seen := map[string][]sampled{}, map[string]bool{}
	var units []string
	for i := range known {
		t := &known[i]
		if seen[t.Name] {
			continue
		}
		seen[t.Name] = true
		p := sampled{name: t.Name, point: tags.Point{Address: t.Address, NativeType: t.NativeType, Type: t.DataType}}
		if n, ok := d.(UnitNamer); ok {
			p.unit = n.Unit(p.point)
		}
		if byUnit[p.unit] == nil {
			units = append(units, p.unit)
		}
		byUnit[p.unit] = append(byUnit[p.unit], p)
	}
	var chosen []sampled
	for turn := 0; len(chosen) < limit; turn++ {
		before := len(chosen)
		for _, unit := range units {
			if turn < len(byUnit[unit]) && len(chosen) < limit {
				chosen = append(chosen, byUnit[unit][turn])
			}
		}
		if len(chosen) == before {
			break
		}
	}
	slices.SortStableFunc(chosen, func(a, b sampled) int { return cmp.Compare(slices.Index(units, a.unit), slices.Index(units, b.unit)) })
	return chosen
}

// read reads points unit by unit, so that a silent unit does not spoil the others.
func (s *Service) read(ctx context.Context, d tags.Driver, points []sampled, t *Trial) {
	t.OK = true
	var total time.Duration
	for len(points) > 0 {
		n := slices.IndexFunc(points, func(p sampled) bool { return p.unit != points[0].unit })
		if n < 0 {
			n = len(points)
		}
		u := s.readUnit(ctx, d, points[:n], t)
		t.OK = t.OK && u.Error == ""
		total += u.RoundTrip
		t.Units = append(t.Units, u)
		points = points[n:]
	}
	if len(t.Units) > 0 {
		t.RoundTrip = total / time.Duration(len(t.Units))
	}
}

func (s *Service) readUnit(ctx context.Context, d tags.Driver, points []sampled, t *Trial) UnitTrial {
	u := UnitTrial{Unit: points[0].unit, Points: len(points)}
	asked, out := make([]tags.Point, len(points)), make([]tags.Reading, len(points))
	for i := range points {
		asked[i] = points[i].point
	}
	begin := time.Now()
	err := call(func() error { return d.Read(ctx, asked, out) })
	u.RoundTrip = time.Since(begin)
	if err != nil {
		u.Error = s.text(ctx, err)
	}
	for i := range points {
		p := PointTrial{Name: points[i].name, Address: points[i].point.Address, Unit: u.Unit, Quality: tags.Bad}
		switch r := &out[i]; {
		case err != nil:
			p.Error = u.Error
		case r.Err != nil:
			p.Error = r.Err.Error()
			u.Error = cmp.Or(u.Error, p.Error)
		default:
			p.Value, p.Quality = r.Value, r.Quality
			if u.Answered++; r.Quality == tags.Bad {
				p.Error = cmp.Or(r.Reason.String(), "Bad")
				u.Error = cmp.Or(u.Error, p.Error)
			}
		}
		t.Points = append(t.Points, p)
	}
	return u
}

// Browse lists the points of a device as Test reads them: offset and limit select a part of the list, whose length is total. If
// drivers of the type are no tags.Browser, it returns ErrNoBrowse; ErrOpaque if the program has built the driver; and if the device cannot be
// asked, ErrUnreachable with what happened.
func (s *Service) Browse(ctx context.Context, def Definition, offset, limit int) (list []tags.Tag, total int, err error) {
	built, _, err := s.trial(&def)
	if err != nil {
		return nil, 0, err
	}
	b, ok := built.(tags.Browser)
	if !ok {
		return nil, 0, ErrNoBrowse.On("type", def.Type)
	}
	if holder := s.holder(built); holder != "" {
		return nil, 0, ErrUnreachable.Because("driver %q has it for itself; disable it first", holder)
	}
	var found struct {
		list []tags.Tag
		err  error
	}
	finished, err := s.aside(ctx, built, func(ctx context.Context) {
		found.err = call(func() error {
			err := built.Connect(ctx)
			if err == nil {
				found.list, err = b.Browse(ctx)
			}
			return err
		})
		if found.err != nil {
			found.err = ErrUnreachable.Because("%s", s.text(ctx, found.err))
		}
	})
	switch {
	case err != nil:
		return nil, 0, err
	case !finished:
		return nil, 0, ErrUnreachable.Because("the driver did not return within %s", s.opts.TestTimeout)
	case found.err != nil:
		return nil, 0, found.err
	}
	total = len(found.list)
	offset = min(max(0, offset), total)
	return found.list[offset:min(offset+max(0, limit), total)], total, nil
}

// maxHung is how many trials may be left behind in addition to those that run.
const maxHung = 16

// aside runs try, which uses a driver that nobody else has, and closes the driver. finished is false for a driver that does not return
// when its time is over. It is left behind then until it does, and its place is free for others, unless maxHung are left behind already.
func (s *Service) aside(ctx context.Context, d tags.Driver, try func(context.Context)) (finished bool, err error) {
	select {
	case s.tests <- struct{}{}:
	default:
		return false, ErrBusy.Because("at most %d", cap(s.tests))
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.TestTimeout)
	done := make(chan struct{})
	left := false // guarded by mu, as is that done is closed
	go func() {
		defer func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if close(done); left {
				s.hung--
				return
			}
			<-s.tests
		}()
		try(ctx)
		_ = call(d.Close)
	}()
	defer cancel()
	select {
	case <-done:
		return true, nil
	case <-ctx.Done():
	}
	select {
	case <-done:
		return true, nil
	case <-time.After(time.Second):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-done:
		return true, nil
	default:
	}
	if s.hung < maxHung {
		s.hung++
		left = true
		<-s.tests
	}
	return false, nil
}

// text returns an error for people: what has ended by the time of the trial says so.
func (s *Service) text(ctx context.Context, err error) string {
	if errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		return fmt.Sprintf("no answer within %s", s.opts.TestTimeout)
	}
	return err.Error()
}

// call calls a driver. A panic is an error.
func call(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("driver panicked: %v", p)
		}
	}()
	return f()
}
