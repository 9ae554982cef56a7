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
// Values of live properties in it are left out as in [Repository.Create].
func (s *Service) InsertElement(ctx context.Context, submodelID string, parent Path, e Element, m Match) (uint64, error) {
	if err := whole(e); err != nil {
		return 0, err
	}
	d, err := s.Submodels.change(ctx, submodelID, m, func(v *Submodel, edit *edit) error {
		edit.path = parent.String()
		return v.Insert(parent, e)
	})
	return d.Version, err
}

// PutElement replaces the element at a path, or adds it where there is none but its parent is there.
// An element without an idShort gets that of the path; another idShort is ErrInvalidRequest. Values of
// live properties are left out as in [Repository.Create]. Match.Absent and Match.Exists are about
// the element, and ErrCondition when it is otherwise; a version is that of the submodel.
func (s *Service) PutElement(ctx context.Context, submodelID string, p Path, e Element, m Match) (version uint64, created bool, err error) {
	if len(p) == 0 {
		return 0, false, ErrElementNotFound
	}
	if err := whole(e); err != nil {
		return 0, false, err
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
	d, err := s.Submodels.change(ctx, submodelID, Match{Version: m.Version}, func(v *Submodel, edit *edit) error {
		edit.path = p.String()
		if m.Absent || m.Exists {
			switch _, err := v.Element(p); {
			case m.Absent && err == nil:
				return ErrCondition.Because("there is an element at the path already")
			case m.Exists && errors.Is(err, ErrElementNotFound):
				return ErrCondition.Because("there is no element at the path")
			}
		}
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
// another. Neighbours are left as they are, and so are tags: see [Service.PatchElement].
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
// failure among them leaves those before it written. Without a ValueSource they are ErrNoValueSource,
// and nothing is stored; null for one is ErrInvalidRequest.
func (s *Service) SetValue(ctx context.Context, submodelID string, p Path, valueOnly []byte, m Match) (uint64, error) {
	return s.set(ctx, submodelID, p, m, func(v *Submodel, edit *edit) error {
		edit.event = ValueChanged
		if len(p) == 0 {
			return decode(valueOnly, func(d *decoder) { d.namedValues(v.Elements) })
		}
		e, err := v.Element(p)
		if err != nil {
			return err
		}
		edit.subject = e
		return decode(valueOnly, func(d *decoder) { d.value(e) })
	})
}

// PatchElement changes an element by [MergeElement] and gives the version of the submodel. A value that
// the patch has for a live property is written as [Service.SetValue] writes it.
func (s *Service) PatchElement(ctx context.Context, submodelID string, p Path, patch []byte, m Match) (uint64, error) {
	return s.set(ctx, submodelID, p, m, func(v *Submodel, _ *edit) error {
		e, err := v.Element(p)
		if err != nil {
			return err
		}
		before := e.Common().IDShort
		d := decoder{merging: true}
		if err := d.decode(patch, func(d *decoder) { d.fill(e) }); err != nil {
			return err
		}
		if e.Common().IDShort != before {
			return invalid("idShort", "is not that of the path")
		}
		return nil
	})
}

// PatchSubmodel is [Service.PatchElement] for a submodel, by [MergeSubmodel].
func (s *Service) PatchSubmodel(ctx context.Context, submodelID string, patch []byte, m Match) (uint64, error) {
	return s.set(ctx, submodelID, nil, m, func(v *Submodel, _ *edit) error {
		d := decoder{merging: true}
		return d.decode(patch, func(d *decoder) { d.submodel(v) })
	})
}

// liveWrite is a value that is to be written to a tag.
type liveWrite struct{ name, value string }

// set changes a submodel and writes the live values that the change has set. fn changes the elements of the
// submodel in place and not copies of them, by which the live ones are known; what it fails at is dropped.
func (s *Service) set(ctx context.Context, submodelID string, p Path, m Match, fn func(*Submodel, *edit) error) (uint64, error) {
	var writes []liveWrite
	d, err := s.Submodels.change(ctx, submodelID, m, func(v *Submodel, edit *edit) error {
		edit.path, writes = p.String(), nil
		live, mark := markLive(v)
		err := fn(v, edit)
		if err == nil && len(live) > 0 {
			writes, err = liveWrites(v, live, mark)
		}
		if err == nil && len(writes) > 0 && s.opts.Values == nil {
			err = ErrNoValueSource.On("tagName", writes[0].name)
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return d.Version, s.writeLive(ctx, d, p, writes)
}

// liveWrites gives the values that properties were given which are live by the same tag as before. Those,
// and properties that were given none, get back what they were kept with. A tag cannot be without a value.
func liveWrites(m *Submodel, before map[*Property]keptLive, mark *string) (writes []liveWrite, err error) {
	m.Walk(func(path Path, e Element) bool {
		p, ok := e.(*Property)
		if !ok || err != nil {
			return e.ElementKind() != KindOperation
		}
		kept, there := before[p]
		given := p.Value
		if !there || given != mark && liveName(p) != kept.name {
			return true
		}
		switch p.Value = kept.value; {
		case given == mark:
		case given == nil:
			err = invalid(path.String()+".value", "must not be null: it is the value of a tag")
		case CheckLexical(p.ValueType, *given) != nil:
			err = invalid(path.String()+".value", notLexical(p.ValueType))
		default:
			writes = append(writes, liveWrite{kept.name, *given})
		}
		return true
	})
	return slices.Compact(writes), err
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
