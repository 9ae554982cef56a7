package predictive

import (
	"context"
	"slices"
	"strings"
)

// DriverTag is a tag of a [DriverInventory].
type DriverTag struct {
	ID, DriverID, Unit string
	// Setting is as in [Tag].
	Setting bool
}

// DriverInventory is an [Inventory] whose equipments are the drivers of tags. The function returns all tags.
type DriverInventory func(ctx context.Context) ([]DriverTag, error)

// Equipments returns the ids of the drivers.
func (d DriverInventory) Equipments(ctx context.Context) ([]string, error) {
	tags, err := d(ctx)
	if err != nil {
		return nil, err
	}
	var list []string
	for _, t := range tags {
		if t.DriverID != "" {
			list = append(list, t.DriverID)
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// Tags returns the tags of a driver.
func (d DriverInventory) Tags(ctx context.Context, equipment string) ([]Tag, error) {
	tags, err := d(ctx)
	if err != nil {
		return nil, err
	}
	var list []Tag
	for _, t := range tags {
		if t.DriverID == equipment && equipment != "" {
			list = append(list, Tag{ID: t.ID, Unit: t.Unit, Setting: t.Setting})
		}
	}
	return list, nil
}

// HasTag reports whether a tag exists.
func (d DriverInventory) HasTag(ctx context.Context, tag string) (bool, error) {
	tags, err := d(ctx)
	return slices.ContainsFunc(tags, func(t DriverTag) bool { return t.ID == tag }), err
}

// Equipments returns the ids of all equipments in alphabetical order.
func (s *Service) Equipments(ctx context.Context) ([]string, error) {
	list, err := s.deps.Inventory.Equipments(ctx)
	if err != nil {
		return nil, err
	}
	list = slices.Clone(list)
	slices.Sort(list)
	return append([]string{}, slices.Compact(list)...), nil
}

// Tags returns the ids of the tags of an equipment in alphabetical order, none for an unknown one.
func (s *Service) Tags(ctx context.Context, equipment string) ([]string, error) {
	tags, err := s.tags(ctx, equipment)
	list := []string{}
	for _, t := range tags {
		list = append(list, t.ID)
	}
	return list, err
}

// Components returns the components that the replacements and failures of an equipment name, in alphabetical order, and the default ones
// if they name none. Those have a remaining life, and no others.
func (s *Service) Components(ctx context.Context, equipment string) ([]string, error) {
	r, err := s.records(ctx, equipment, s.o.Clock())
	if err != nil {
		return nil, err
	}
	return slices.Clone(s.componentsOf(r)), nil
}

// componentsOf returns the components of an equipment by its records. Callers do not change them.
func (s *Service) componentsOf(r records) []string {
	if list := r.components(); len(list) > 0 {
		return list
	}
	return s.o.Components
}

// RecordedComponents returns the components that the replacements and failures of an equipment name, in alphabetical order.
func (s *Service) RecordedComponents(ctx context.Context, equipment string) ([]string, error) {
	r, err := s.records(ctx, equipment, s.o.Clock())
	return r.components(), err
}

// tags returns the tags of an equipment in the order of their ids, each with its role. Callers do not change them. An inventory that has them so
// saves the work of a copy, which counts if there are very many.
func (s *Service) tags(ctx context.Context, equipment string) ([]Tag, error) {
	tags, err := s.deps.Inventory.Tags(ctx, equipment)
	if err != nil {
		return nil, err
	}
	ready := true
	for i, t := range tags {
		ready = ready && t.Role != "" && (i == 0 || tags[i-1].ID < t.ID)
	}
	if ready {
		return tags, nil
	}
	tags = slices.Clone(tags)
	for i, t := range tags {
		if t.Role == "" {
			tags[i].Role = RoleOf(equipment, t.ID)
		}
	}
	slices.SortFunc(tags, func(a, b Tag) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(tags, func(a, b Tag) bool { return a.ID == b.ID }), nil
}

// known returns the tags of an equipment, or [ErrUnknownEquipment].
func (s *Service) known(ctx context.Context, equipment string) ([]Tag, error) {
	list, err := s.deps.Inventory.Equipments(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(list, equipment) {
		return nil, ErrUnknownEquipment.On("equipmentId", equipment)
	}
	return s.tags(ctx, equipment)
}

// requireTag returns [ErrUnknownTag] for a tag that no equipment has.
func (s *Service) requireTag(ctx context.Context, tag string) error {
	unknown := ErrUnknownTag.On("tagId", tag)
	if finder, ok := s.deps.Inventory.(TagFinder); ok {
		found, err := finder.HasTag(ctx, tag)
		if err == nil && !found {
			err = unknown
		}
		return err
	}
	list, err := s.deps.Inventory.Equipments(ctx)
	if err != nil {
		return err
	}
	for _, equipment := range list {
		tags, err := s.deps.Inventory.Tags(ctx, equipment)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(tags, func(t Tag) bool { return t.ID == tag }) {
			return nil
		}
	}
	return unknown
}
