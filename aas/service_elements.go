package aas

import (
	"context"
	"errors"
	"slices"
)

// Element gives one element of a submodel with live values filled in, and the version of the submodel.
func (s *Service) Element(ctx context.Context, submodelID string, p Path) (Element, uint64, error) {
	e, version, err := s.storedElement(ctx, submodelID, p)
	if err != nil {
		return nil, 0, err
	}
	return e, version, s.fillProperties(ctx, liveProperties(nil, []Element{e}))
}

func (s *Service) storedElement(ctx context.Context, submodelID string, p Path) (Element, uint64, error) {
	list, err := s.Submodels.stored(ctx, submodelID)
	if err != nil {
		return nil, 0, err
	}
	if len(list) == 0 {
		return nil, 0, s.Submodels.missing(submodelID)
	}
	m, err := s.Submodels.decode(list[0])
	if err != nil {
		return nil, 0, err
	}
	e, err := m.Element(p)
	return e, list[0].Version, err
}

// InsertElement adds an element below parent, or at the top for an empty parent, and gives the new
// version of the submodel. A list gets it at its end. One with the same idShort is ErrElementExists.
func (s *Service) InsertElement(ctx context.Context, submodelID string, parent Path, e Element, m Match) (uint64, error) {
	d, err := s.Submodels.change(ctx, submodelID, m, func(v *Submodel, edit *edit) error {
		edit.path = parent.String()
		return v.Insert(parent, e)
	})
	return d.Version, err
}

// PutElement replaces the element at a path, or adds it where there is none but its parent is there.
// An element without an idShort gets that of the path; another idShort is ErrInvalidRequest.
func (s *Service) PutElement(ctx context.Context, submodelID string, p Path, e Element, m Match) (version uint64, created bool, err error) {
	if len(p) == 0 {
		return 0, false, ErrElementNotFound
	}
	if name := p.Leaf().IDShort; name != "" {
		switch e.Common().IDShort {
		case "":
			e.Common().IDShort = name
		case name:
		default:
			return 0, false, invalid("idShort", "is not that of the path")
		}
	}
	d, err := s.Submodels.change(ctx, submodelID, m, func(v *Submodel, edit *edit) error {
		edit.path = p.String()
		err := v.Replace(p, e)
		if created = errors.Is(err, ErrElementNotFound) && p.Leaf().IDShort != ""; created {
			err = v.Insert(p.Parent(), e)
		}
		return err
	})
	return d.Version, created && err == nil, err
}

// DeleteElement removes the element at a path, and the files that nothing in the submodel names any
// more, and gives the new version of the submodel.
func (s *Service) DeleteElement(ctx context.Context, submodelID string, p Path, m Match) (uint64, error) {
	d, err := s.Submodels.change(ctx, submodelID, m, func(v *Submodel, edit *edit) error {
		edit.path = p.String()
		return v.Remove(p)
	})
	return d.Version, err
}

// UpdateElement has fn change an element as it is stored, as [Repository.Update] does with a document,
// and gives the new version of the submodel. fn gives the element to keep in its place: the same one or
// another. Neighbours are left as they are.
func (s *Service) UpdateElement(ctx context.Context, submodelID string, p Path, m Match, fn func(Element) (Element, error)) (uint64, error) {
	d, err := s.Submodels.change(ctx, submodelID, m, func(v *Submodel, edit *edit) error {
		old, err := v.Element(p)
		if err != nil {
			return err
		}
		now, err := fn(old)
		if err != nil {
			return err
		}
		edit.path = p.String()
		return v.Replace(p, now)
	})
	return d.Version, err
}

// SetValue sets the value of the element at a path, or with an empty path the values of a submodel,
// from the value-only form of IDTA-01001, and gives the version of the submodel. Live values in it are
// written to the [ValueSource] after the rest is stored: they are no change of the document, and a
// failure among them leaves those before it written.
func (s *Service) SetValue(ctx context.Context, submodelID string, p Path, valueOnly []byte, m Match) (uint64, error) {
	var writes []liveWrite
	d, err := s.Submodels.change(ctx, submodelID, m, func(v *Submodel, edit *edit) error {
		edit.event, edit.path = ValueChanged, p.String()
		target := func() []Element { return v.Elements }
		set := func() error { return SetValues(v, valueOnly) }
		if len(p) > 0 {
			e, err := v.Element(p)
			if err != nil {
				return err
			}
			edit.subject, target = e, func() []Element { return []Element{e} }
			set = func() error { return SetElementValue(e, valueOnly) }
		}
		var err error
		writes, err = s.setApart(target, set)
		return err
	})
	if err != nil {
		return 0, err
	}
	return d.Version, s.writeLive(ctx, d, p, writes)
}

// liveWrite is a value that is to be written to a tag.
type liveWrite struct{ name, value string }

// setApart has set change values below some elements, takes the live ones among them out again, and
// gives those.
func (s *Service) setApart(list func() []Element, set func() error) ([]liveWrite, error) {
	live := liveProperties(nil, list())
	if s.opts.Values == nil {
		live = nil
	}
	before := make([]*string, len(live))
	for i, p := range live {
		before[i], p.Value = p.Value, nil
	}
	if err := set(); err != nil {
		return nil, err
	}
	if len(live) > 0 {
		live = liveProperties(nil, list()) // the same ones, but set may have put copies in their place
	}
	var writes []liveWrite
	for i, p := range live {
		if p.Value != nil {
			writes = append(writes, liveWrite{p.name, *p.Value})
		}
		p.Value = before[i]
	}
	return slices.Compact(writes), nil
}

func (s *Service) writeLive(ctx context.Context, d Document, p Path, writes []liveWrite) error {
	for _, w := range writes {
		if err := s.opts.Values.Write(ctx, w.name, w.value); err != nil {
			return err
		}
	}
	if len(writes) > 0 {
		s.hub.publish(Event{Type: ValueChanged, Kind: d.Kind, ID: d.ID, Path: p.String(), Version: d.Version, At: s.now()})
	}
	return nil
}
