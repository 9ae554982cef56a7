package tagspart

import (
	"context"
	"errors"
	"slices"

	"github.com/otkit/otkit/cluster"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/tags/tagconfig"
)

// openDrivers starts the drivers of the options, and those that are stored.
func (t *Tags) openDrivers(ctx context.Context) (err error) {
	var fixed []drivers.Fixed
	var declared []drivers.Definition
	for _, d := range t.opts.Drivers {
		if t.opts.Cluster != nil && d.Definition.Type != "" {
			d.Definition.ID = d.ID
			declared = append(declared, d.Definition)
			continue
		}
		t.share(d.ID, map[string]string{cluster.LabelEngine: t.opts.Cluster.Engine()})
		if err := t.addDriver(d); err != nil {
			return err
		}
		def := d.Definition
		def.ID, def.Type = d.ID, d.Options.Type
		fixed = append(fixed, drivers.Fixed{Definition: def, Driver: d.Driver, Opaque: d.Definition.Type == ""})
	}
	o := t.opts.DriverOptions
	o.Now, o.Logger, o.OnChange = t.opts.Now, t.opts.Logger, t.onDriverChange
	t.drivers, err = drivers.New(ctx, drivers.Deps{Types: t.opts.DriverTypes, Repository: t.opts.DriverStore, Host: driverHost{t}, Fixed: fixed}, o)
	if err != nil || t.opts.Cluster == nil {
		return err
	}
	if len(declared) > 0 {
		if err := t.drivers.Declare(ctx, declared, !t.opts.Cluster.Others()); err != nil {
			return err
		}
	}
	t.opts.Cluster.Handle(kindDriver, t.runDriver)
	t.assign()
	t.unheed, err = t.opts.Cluster.Bus().Subscribe(subjectDrivers, func([]byte) { t.drivers.Look() })
	return err
}

// DriverService returns the service that manages drivers, for programs that embed the engine.
func (t *Tags) DriverService() *drivers.Service { return t.drivers }

// AddDriver adds a driver of another part. Its tags are known to the configuration before it runs. If a driver is defined by the id,
// running or not, AddDriver returns [tags.ErrDriverExists].
func (t *Tags) AddDriver(d Driver) error {
	if t.drivers.Has(d.ID) {
		return tags.ErrDriverExists.On("driverId", d.ID)
	}
	if err := t.addDriver(d); err != nil {
		return err
	}
	t.share(d.ID, nil)
	t.assign()
	return nil
}

func (t *Tags) addDriver(d Driver) error {
	t.adding.Lock()
	defer t.adding.Unlock()
	if t.engine.HasDriver(d.ID) {
		return tags.ErrDriverExists.On("driverId", d.ID)
	}
	if err := t.SetTags(d.ID, d.Options.Tags); err != nil {
		return err
	}
	o := d.Options
	o.Tags = nil
	return t.engine.AddDriver(d.ID, d.Driver, o)
}

// RemoveDriver stops a driver and removes its tags, also from the configuration as far as the driver brought them.
// What people have configured stays: these tags are Bad with reason NoDriver, and are the driver's again when it
// is added again. The history stays, too. If the driver did not stop before ctx ended, its tags are removed all the same
// and RemoveDriver returns an error. If id is unknown, RemoveDriver returns [tags.ErrInvalidDriver].
func (t *Tags) RemoveDriver(ctx context.Context, id string) error {
	err := t.engine.RemoveDriver(ctx, id)
	if !errors.Is(err, tags.ErrInvalidDriver) {
		t.forgetTags(id)
		t.unshare(id)
	}
	return err
}

func (t *Tags) forgetTags(id string) {
	t.adding.Lock()
	defer t.adding.Unlock()
	if !t.engine.HasDriver(id) { // it may have been added again
		t.config.Seed(id)
		t.binder.RemoveBase(id)
		if t.mirror != nil {
			t.mirror.Forget(id)
		}
	}
}

// configuredOf returns the ids of the configured tags of a driver.
func (t *Tags) configuredOf(driverID string) (ids []string) {
	for _, item := range t.config.Configured() {
		if item.DriverID == driverID {
			ids = append(ids, item.TagID)
		}
	}
	return ids
}

// mayRemoveTags returns [tagconfig.ErrInUse] if something uses a tag that goes with a driver, or with configured one of its configured tags.
func (t *Tags) mayRemoveTags(ctx context.Context, driverID string, configured bool) error {
	ids := t.binder.Only(driverID)
	if configured {
		ids = append(ids, t.configuredOf(driverID)...)
	}
	return t.unused(ctx, ids)
}

// mayChangeTags returns [tagconfig.ErrInUse] if something uses a tag that would be gone if a driver knew others.
func (t *Tags) mayChangeTags(ctx context.Context, driverID string, known []tags.Tag) error {
	stays := make(map[string]bool, len(known))
	for i := range known {
		stays[known[i].Name] = true
	}
	return t.unused(ctx, slices.DeleteFunc(t.binder.Only(driverID), func(name string) bool { return stays[name] }))
}

// unused returns [tagconfig.ErrInUse] if something uses one of the tags.
func (t *Tags) unused(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	users, err := t.References(ctx, ids)
	if err != nil {
		return err
	}
	return tagconfig.InUse(users)
}

// removeTags removes the configured tags of a driver and returns how many there were.
func (t *Tags) removeTags(ctx context.Context, driverID string) (int, error) {
	ids := t.configuredOf(driverID)
	if len(ids) == 0 {
		return 0, nil
	}
	_, err := t.config.Apply(ctx, tagconfig.Edit{Remove: ids})
	return len(ids), err
}

// driverHost is drivers.Host.
type driverHost struct{ t *Tags }

func (h driverHost) StartDriver(id string, d tags.Driver, o tags.DriverOptions, known []tags.Tag) error {
	o.Tags = known
	return h.t.addDriver(Driver{ID: id, Driver: d, Options: o})
}

func (h driverHost) StopDriver(ctx context.Context, id string) error {
	return h.t.engine.RemoveDriver(ctx, id)
}

func (h driverHost) DefineTags(id string, known []tags.Tag) error {
	h.t.adding.Lock()
	defer h.t.adding.Unlock()
	return h.t.SetTags(id, known)
}

func (h driverHost) ForgetTags(id string) { h.t.forgetTags(id) }

func (h driverHost) Drivers() []tags.DriverStatus {
	list, c := h.t.engine.Drivers(), h.t.opts.Cluster
	if c == nil {
		return list
	}
	for i := range list {
		if owner, _, ok := c.Owner(kindDriver, list[i].ID); ok && owner.Engine == c.Engine() {
			list[i].Engine = c.Name() // what others run, they report with their names
		}
	}
	return list
}

func (h driverHost) TagsOf(id string, limit int) (list []tags.Tag) {
	for page := 1; len(list) < limit; page++ {
		found, total, err := h.t.engine.List(tags.ListQuery{Driver: id, Page: page, PageSize: tags.MaxPageSize})
		if err != nil || len(found) == 0 {
			break
		}
		for _, s := range found {
			list = append(list, *s.Tag)
		}
		if page*tags.MaxPageSize >= total {
			break
		}
	}
	return list[:min(len(list), limit)]
}
