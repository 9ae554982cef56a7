package predictivepart

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/otkit/otkit/devices/devicetags"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/predictivetags"
	"github.com/otkit/otkit/tags"
)

// InventoryOptions change a [NewInventory]. The zero value works.
type InventoryOptions struct {
	// Settings are patterns of path.Match for the ids of tags that say how an equipment is run, such as pump*.speed.
	Settings []string
	// Exclude are ids of drivers that are no equipment, beside predictive and devices.
	Exclude []string
}

// NewInventory returns an inventory whose equipments are the drivers of the tags of an engine.
func NewInventory(engine *tags.Engine, o InventoryOptions) (predictive.Inventory, error) {
	if engine == nil {
		return nil, fault.Option(pkg, "engine", "is required")
	}
	for _, pattern := range o.Settings {
		if _, err := path.Match(pattern, ""); err != nil {
			return nil, fault.Option(pkg, "InventoryOptions.Settings", "has %q, which is no pattern", pattern)
		}
	}
	o.Exclude = append(slices.Clip(o.Exclude), predictivetags.DriverID, devicetags.DriverID)
	return &inventory{engine: engine, o: o}, nil
}

// inventory keeps what it has read until tags are defined or removed.
type inventory struct {
	engine *tags.Engine
	o      InventoryOptions

	mu         sync.Mutex
	read       bool
	revision   uint64
	equipments []string
	tags       map[string][]predictive.Tag
}

// Equipments implements predictive.Inventory.
func (v *inventory) Equipments(ctx context.Context) ([]string, error) {
	list, _, err := v.current(ctx)
	return list, err
}

// Tags implements predictive.Inventory.
func (v *inventory) Tags(ctx context.Context, equipment string) ([]predictive.Tag, error) {
	_, byDriver, err := v.current(ctx)
	return byDriver[equipment], err
}

// HasTag implements predictive.TagFinder. Anomalies are of any tag, also of what is no equipment.
func (v *inventory) HasTag(_ context.Context, tag string) (bool, error) {
	_, err := v.engine.Read(tag)
	return err == nil, nil
}

// equipmentOf implements tagOwner.
func (v *inventory) equipmentOf(tag string) string {
	s, err := v.engine.Read(tag)
	if err != nil || !v.counts(s.Tag) {
		return ""
	}
	return s.Tag.Driver
}

func (v *inventory) counts(t *tags.Tag) bool {
	return t.Driver != "" && !slices.Contains(v.o.Exclude, t.Driver)
}

// current returns the equipments and their tags. Callers do not change them.
func (v *inventory) current(ctx context.Context) ([]string, map[string][]predictive.Tag, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	revision := v.engine.Revision() // before the tags are read: what is defined meanwhile is read the next time
	if v.read && v.revision == revision {
		return v.equipments, v.tags, nil
	}
	byDriver := make(map[string][]predictive.Tag)
	for page := 1; ; page++ {
		list, _, err := v.engine.List(tags.ListQuery{Page: page, PageSize: tags.MaxPageSize})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, nil, err
		}
		for i := range list {
			if t := list[i].Tag; v.counts(t) {
				byDriver[t.Driver] = append(byDriver[t.Driver], v.tagOf(t))
			}
		}
		if len(list) < tags.MaxPageSize {
			break
		}
	}
	equipments := make([]string, 0, len(byDriver))
	for id, list := range byDriver {
		slices.SortFunc(list, func(a, b predictive.Tag) int { return strings.Compare(a.ID, b.ID) })
		equipments = append(equipments, id)
	}
	slices.Sort(equipments)
	v.read, v.revision, v.equipments, v.tags = true, revision, equipments, byDriver
	return equipments, byDriver, nil
}

func (v *inventory) tagOf(t *tags.Tag) predictive.Tag {
	return predictive.Tag{ID: t.Name, Role: predictive.RoleOf(t.Driver, t.Name), Unit: t.Unit,
		Setting: slices.ContainsFunc(v.o.Settings, func(pattern string) bool {
			matches, _ := path.Match(pattern, t.Name)
			return matches
		})}
}
