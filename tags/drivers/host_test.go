package drivers_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/tags/modbus"
	"github.com/otkit/otkit/tags/simdriver"
)

// host runs drivers on a tag engine, without a tag configuration.
type host struct{ *tags.Engine }

func (h host) StartDriver(id string, d tags.Driver, o tags.DriverOptions, known []tags.Tag) error {
	o.Tags = known
	return h.AddDriver(id, d, o)
}

func (h host) StopDriver(ctx context.Context, id string) error { return h.RemoveDriver(ctx, id) }

func (h host) DefineTags(_ string, known []tags.Tag) error { return h.Engine.DefineTags(known...) }

func (h host) ForgetTags(id string) {
	for _, t := range h.TagsOf(id, tags.MaxPageSize) {
		h.RemoveTags(t.Name)
	}
}

func (h host) TagsOf(id string, limit int) (list []tags.Tag) {
	found, _, _ := h.List(tags.ListQuery{Driver: id, PageSize: min(limit, tags.MaxPageSize)})
	for _, s := range found {
		list = append(list, *s.Tag)
	}
	return list
}

// secretive is a type whose settings have secrets at several places. Its drivers report what they were made of.
type secretive struct {
	mu    sync.Mutex
	made  []secretSettings
	fails error         // of Connect
	hangs chan struct{} // Connect waits for it, whatever its context says
}

type secretSettings struct {
	Host    string `required:"true"`
	Code    string `secret:"true"`
	Access  string `enum:"Read,Write"`
	Devices []struct {
		Name string
		Key  string `secret:"true"`
	}
	Tags []string
}

func (s *secretive) driverType() driverconfig.Type {
	return driverconfig.Type{Name: "Secretive", New: func(in driverconfig.Settings, _ *slog.Logger) (tags.Driver, []tags.Tag, error) {
		var settings secretSettings
		if err := driverconfig.Decode(in.Settings, &settings, "Settings"); err != nil {
			return nil, nil, err
		}
		if settings.Host == "panic" {
			panic("factory")
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.made = append(s.made, settings)
		var known []tags.Tag
		for _, name := range settings.Tags {
			known = append(known, tags.Tag{Name: in.TagName(name), Driver: in.ID, Address: name, DataType: tags.Int, Access: tags.ReadWrite})
		}
		return &device{of: s}, known, nil
	}, Schema: func() json.RawMessage { return driverconfig.Schema(secretSettings{}) }}
}

func (s *secretive) last(t *testing.T) secretSettings {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotEmpty(t, s.made)
	return s.made[len(s.made)-1]
}

type device struct{ of *secretive }

func (d *device) Connect(context.Context) error {
	d.of.mu.Lock()
	fails, hangs := d.of.fails, d.of.hangs
	d.of.mu.Unlock()
	if hangs != nil {
		<-hangs
	}
	return fails
}

func (d *device) Read(_ context.Context, points []tags.Point, out []tags.Reading) error {
	for i := range points {
		if out[i] = (tags.Reading{Value: tags.IntValue(7), Quality: tags.Good}); points[i].Address == "broken" {
			out[i] = tags.Reading{Err: tags.ErrNoSuchAddress}
		}
	}
	return nil
}

func (d *device) Write(context.Context, []tags.WriteItem, []error) error { return nil }
func (d *device) Close() error                                           { return nil }

// rig is a service over an engine.
type rig struct {
	*drivers.Service
	engine *tags.Engine
	secret *secretive
}

func (s *secretive) types() driverconfig.Types {
	return driverconfig.Types{s.driverType(), simdriver.Type(), modbus.Type()}
}

func start(t *testing.T, repo drivers.Repository, change ...func(*drivers.Deps, *drivers.Options)) *rig {
	t.Helper()
	engine, err := tags.New(tags.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, engine.Close(context.Background())) })
	r := &rig{engine: engine, secret: &secretive{}}
	deps, o := drivers.Deps{Types: r.secret.types(), Repository: repo, Host: host{engine}}, drivers.Options{}
	for _, c := range change {
		c(&deps, &o)
	}
	r.Service, err = drivers.New(t.Context(), deps, o)
	require.NoError(t, err)
	return r
}

const patience = time.Minute

func (r *rig) value(t *testing.T, name string) tags.Sample {
	t.Helper()
	s, err := r.engine.Read(name)
	require.NoError(t, err)
	return s.Sample
}

func (r *rig) good(t *testing.T, name string) {
	t.Helper()
	require.Eventually(t, func() bool {
		s, err := r.engine.Read(name)
		return err == nil && s.Sample.Quality == tags.Good
	}, patience, time.Millisecond, name)
}

func settings(text string) json.RawMessage { return json.RawMessage(text) }

var errBroken = errors.New("database is away")

// broken is a repository that fails, before or after it has done what it was asked for.
type broken struct {
	drivers.Repository
	fails, late bool
}

func (b *broken) Insert(ctx context.Context, d drivers.Definition) error {
	return b.do(func() error { return b.Repository.Insert(ctx, d) })
}

func (b *broken) Update(ctx context.Context, d drivers.Definition, was int64) error {
	return b.do(func() error { return b.Repository.Update(ctx, d, was) })
}

func (b *broken) Delete(ctx context.Context, id string, was int64) error {
	return b.do(func() error { return b.Repository.Delete(ctx, id, was) })
}

func (b *broken) do(act func() error) error {
	switch {
	case !b.fails:
		return act()
	case b.late:
		_ = act()
	}
	return errBroken
}
