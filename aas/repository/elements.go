package repository

import (
	"context"
	"errors"
	"slices"

	"github.com/otkit/otkit/aas"
)

// Element returns one element of a submodel with live values filled in, and the version of the submodel.
func (s *Service) Element(ctx context.Context, submodelID string, p aas.Path) (aas.Element, uint64, error) {
	e, version, err := s.storedElement(ctx, submodelID, p)
	if err != nil {
		return nil, 0, err
	}
	return e, version, s.fillProperties(ctx, liveProperties(nil, []aas.Element{e}))
}

func (s *Service) storedElement(ctx context.Context, submodelID string, p aas.Path) (aas.Element, uint64, error) {
	m, version, err := s.around(ctx, submodelID, p)
	if err != nil {
		return nil, 0, err
	}
	e, err := m.Element(p)
	return e, version, err
}

// ElementReference returns the model reference to the element at a path, and the version of the submodel.
func (s *Service) ElementReference(ctx context.Context, submodelID string, p aas.Path) (aas.Reference, uint64, error) {
	m, version, err := s.around(ctx, submodelID, p)
	if err != nil {
		return aas.Reference{}, 0, err
	}
	r, err := m.ReferenceTo(p)
	return r, version, err
}

// around returns a submodel with no other elements than the one at its top that a path leads to or through.
func (s *Service) around(ctx context.Context, submodelID string, p aas.Path) (*aas.Submodel, uint64, error) {
	name := ""
	if len(p) > 0 {
		name = p[0].IDShort
	}
	t, ok, err := s.top(ctx, submodelID, name)
	if err != nil {
		return nil, 0, err
	}
	if !ok {
		return nil, 0, s.Submodels.missing(submodelID)
	}
	if t.element == nil {
		return nil, 0, aas.ErrElementNotFound.On("idShortPath", p.String())
	}
	m, err := s.Submodels.decode(t.small())
	return m, t.document.Version, err
}

// InsertElement adds an element below parent, or at the top for an empty parent, and returns the new
// version of the submodel. A list gets it at its end. One with the same idShort is ErrElementExists.
// Values of live properties in it are omitted as in [Repository.Create].
func (s *Service) InsertElement(ctx context.Context, submodelID string, parent aas.Path, e aas.Element, m Match) (uint64, error) {
	if err := aas.ValidateTree(e); err != nil {
		return 0, err
	}
	top := parent
	if len(parent) == 0 {
		top = aas.Path{{IDShort: e.Common().IDShort}}
	}
	d, err := s.changeElement(ctx, submodelID, top, m, func(v *aas.Submodel, edit *edit) error {
		edit.path = parent.String()
		return v.Insert(parent, e)
	})
	return d.Version, err
}

// PutElement replaces the element at a path, or adds it where there is none but its parent is there.
// An element without an idShort gets that of the path; another idShort is ErrInvalidRequest. Values of
// live properties are omitted as in [Repository.Create], and Blobs without a value keep the stored one as
// in [Repository.Put]. Match.Absent and Match.Exists are about
// the element, and ErrPreconditionFailed when it is otherwise; a version is that of the submodel.
func (s *Service) PutElement(ctx context.Context, submodelID string, p aas.Path, e aas.Element, m Match) (version uint64, created bool, err error) {
	if len(p) == 0 {
		return 0, false, aas.ErrElementNotFound
	}
	if err := aas.ValidateTree(e); err != nil {
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
	d, err := s.changeElement(ctx, submodelID, p, Match{Version: m.Version}, func(v *aas.Submodel, edit *edit) error {
		edit.path = p.String()
		if m.Absent || m.Exists {
			switch _, err := v.Element(p); {
			case m.Absent && err == nil:
				return ErrPreconditionFailed.Because("there is an element at the path already")
			case m.Exists && errors.Is(err, aas.ErrElementNotFound):
				return ErrPreconditionFailed.Because("there is no element at the path")
			}
		}
		kept, err := keepBlobsOf(v, p, e)
		if err != nil {
			return err
		}
		err = v.Replace(p, kept)
		if created = errors.Is(err, aas.ErrElementNotFound) && p.Leaf().IDShort != ""; created {
			err = v.Insert(p.Parent(), e)
		}
		return err
	})
	return d.Version, created && err == nil, err
}

// DeleteElement removes the element at a path, and the files that nothing in the submodel names any
// more, and returns the new version of the submodel.
func (s *Service) DeleteElement(ctx context.Context, submodelID string, p aas.Path, m Match) (uint64, error) {
	d, err := s.changeElement(ctx, submodelID, p, m, func(v *aas.Submodel, edit *edit) error {
		edit.path = p.String()
		return v.Remove(p)
	})
	return d.Version, err
}

// UpdateElement has fn change an element as it is stored, as [Repository.Update] does with a document,
// and returns the new version of the submodel. fn returns the element to keep in its place: the same one or
// another. Neighbours are left as they are, and so are tags: see [Service.PatchElement].
func (s *Service) UpdateElement(ctx context.Context, submodelID string, p aas.Path, m Match, fn func(aas.Element) (aas.Element, error)) (uint64, error) {
	d, err := s.changeElement(ctx, submodelID, p, m, func(v *aas.Submodel, edit *edit) error {
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
// from the value-only form of IDTA-01001, and returns the version of the submodel. Live values in it are
// written to the [ValueSource] after the rest is stored: they are no change of the document, and a
// failure among them leaves those before it written. Without a ValueSource they are ErrNoValueSource,
// and nothing is stored; null for one is ErrInvalidRequest.
func (s *Service) SetValue(ctx context.Context, submodelID string, p aas.Path, valueOnly []byte, m Match) (uint64, error) {
	return s.set(ctx, submodelID, p, m, func(v *aas.Submodel, edit *edit) error {
		edit.event = ValueChanged
		if len(p) == 0 {
			return aas.SetValuesInPlace(v, valueOnly)
		}
		e, err := v.Element(p)
		if err != nil {
			return err
		}
		edit.subject = e
		return aas.SetElementValueInPlace(e, valueOnly)
	})
}

// PatchElement changes an element by [aas.MergeElement] and returns the version of the submodel. A value that
// the patch has for a live property is written as [Service.SetValue] writes it.
func (s *Service) PatchElement(ctx context.Context, submodelID string, p aas.Path, patch []byte, m Match) (uint64, error) {
	return s.set(ctx, submodelID, p, m, func(v *aas.Submodel, _ *edit) error {
		e, err := v.Element(p)
		if err != nil {
			return err
		}
		before := e.Common().IDShort
		if err := aas.MergeElementInPlace(e, patch); err != nil {
			return err
		}
		if e.Common().IDShort != before {
			return invalid("idShort", "is not that of the path")
		}
		return nil
	})
}

// PatchSubmodel is [Service.PatchElement] for a submodel, by [aas.MergeSubmodel].
func (s *Service) PatchSubmodel(ctx context.Context, submodelID string, patch []byte, m Match) (uint64, error) {
	return s.set(ctx, submodelID, nil, m, func(v *aas.Submodel, _ *edit) error {
		return aas.MergeSubmodelInPlace(v, patch)
	})
}

// liveWrite is a value that is to be written to a tag.
type liveWrite struct{ name, value string }

// set changes a submodel and writes the live values that the change has set. fn changes the elements of the
// submodel in place and not copies of them, by which the live ones are known; what it fails at is dropped.
func (s *Service) set(ctx context.Context, submodelID string, p aas.Path, m Match, fn func(*aas.Submodel, *edit) error) (uint64, error) {
	var writes []liveWrite
	d, err := s.changeElement(ctx, submodelID, p, m, func(v *aas.Submodel, edit *edit) error {
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

// liveWrites returns the values that properties were given which are live by the same tag as before. Those,
// and properties that were given none, get back what they were kept with. A tag cannot be without a value.
func liveWrites(m *aas.Submodel, before map[*aas.Property]keptLive, mark *string) (writes []liveWrite, err error) {
	m.Walk(func(path aas.Path, e aas.Element) bool {
		p, ok := e.(*aas.Property)
		if !ok || err != nil {
			return e.ElementKind() != aas.KindOperation
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
		case aas.ValidateLexical(p.ValueType, *given) != nil:
			err = invalid(path.String()+".value", "must be in the lexical form of "+string(p.ValueType))
		default:
			writes = append(writes, liveWrite{kept.name, *given})
		}
		return true
	})
	return slices.Compact(writes), err
}

func (s *Service) writeLive(ctx context.Context, d Document, p aas.Path, writes []liveWrite) error {
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
