package repository

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

// A call on one element reads and writes the element at the top of its submodel, and no other. It is decoded, changed
// and verified as the one element of a small submodel that is otherwise the same.

// errWhole means that a change needs the whole document.
var errWhole = errors.New("the whole document is needed")

// top is an element at the top of a submodel, with what is around it.
type top struct {
	document   Document // of the submodel; JSON is nil if the store keeps its elements apart
	head, tail []byte   // the JSON before and behind the elements
	element    []byte   // its JSON; nil if there is none
	from, to   int      // where it is in document.JSON
	count      int      // of all elements, where the store keeps them apart
	entries    int      // of all arrays, likewise
}

// top reads the element with an idShort at the top of a submodel. If the submodel is not there, ok is false.
func (s *Service) top(ctx context.Context, submodelID, idShort string) (t top, ok bool, err error) {
	if badID(submodelID) != "" {
		return t, false, nil
	}
	if s.elements != nil {
		t.document, ok, err = s.elements.Element(ctx, KindSubmodel, submodelID, idShort)
	} else {
		var list []Document
		if list, err = s.store.Get(ctx, KindSubmodel, submodelID); len(list) > 0 {
			t.document, ok = list[0], true
		}
	}
	if err != nil || !ok {
		return t, false, err
	}
	if d := t.document.Divided; d != nil {
		t.head, t.tail, t.count, t.entries, t.document.Divided = d.Head, d.Tail, d.Count, d.Entries, nil
		if len(d.Elements) > 0 {
			t.element = d.Elements[0].JSON
		}
		return t, true, nil
	}
	l, err := aas.Locate(t.document.JSON, aas.Path{{IDShort: idShort}})
	if err == nil {
		t.from, t.to, t.element = l.From, l.To, t.document.JSON[l.From:l.To]
		t.head, t.tail = append(t.document.JSON[:l.Head:l.Head], `,"submodelElements":[`...), []byte("]}")
	}
	return t, true, nil
}

// ends finds what is around the elements where there is none with the idShort.
func (t *top) ends() error {
	if t.head != nil {
		return nil
	}
	d, ok := aas.Divide(t.document.JSON)
	if !ok {
		return errWhole // the first element
	}
	t.head, t.tail = d.Head, d.Tail
	return nil
}

// small returns the document of a submodel without the other elements.
func (t *top) small() Document {
	d := t.document
	d.JSON = make([]byte, 0, len(t.head)+len(t.element)+len(t.tail))
	d.JSON = append(append(append(d.JSON, t.head...), t.element...), t.tail...)
	return d
}

// changeElement is change for the element at the top of a submodel that a path leads to or through. fn gets a submodel
// without other elements. If that is not enough to know what a change does, fn gets the whole submodel.
func (s *Service) changeElement(ctx context.Context, submodelID string, p aas.Path, m Match, fn func(*aas.Submodel, *edit) error) (Document, error) {
	if len(p) == 0 {
		return s.Submodels.change(ctx, submodelID, m, fn)
	}
	unlock, err := s.locks.lock(ctx, KindSubmodel, submodelID)
	if err != nil {
		return Document{}, err
	}
	defer unlock()
	var t top
	read := func() (_ Document, ok bool, err error) {
		t, ok, err = s.top(ctx, submodelID, p[0].IDShort)
		return t.document, ok, err
	}
	d, err := s.Submodels.changeRead(ctx, submodelID, m, read, func(Document) (Document, error) {
		return s.changeTop(ctx, &t, p[0].IDShort, fn)
	})
	if errors.Is(err, errWhole) {
		return s.Submodels.changeStored(ctx, submodelID, m, func(old Document) (Document, error) {
			return s.Submodels.changeOnce(ctx, old, fn)
		})
	}
	return d, err
}

func (s *Service) changeTop(ctx context.Context, t *top, idShort string, fn func(*aas.Submodel, *edit) error) (Document, error) {
	if err := t.ends(); err != nil {
		return t.document, err
	}
	old := t.small()
	c, err := s.Submodels.apply(ctx, old, fn)
	if c.misplaced {
		return t.document, s.inPlace(ctx, err, old.ID, idShort)
	}
	if err != nil || c.document.JSON == nil {
		return t.document, err
	}
	d := c.document
	if d.Live = d.Live || old.Live; d.Live != old.Live || c.live && !hasLive(c.value.Elements) {
		return t.document, errWhole
	}
	if c.refiled {
		// Another element may name the same file.
		names, err := s.store.FileNames(ctx, d.Kind, d.ID)
		if err != nil {
			return t.document, err
		}
		if len(names) > 0 {
			return t.document, errWhole
		}
	}
	var now []byte
	if divided, ok := aas.Divide(d.JSON); ok {
		now = divided.Elements[0].JSON
	}
	event := Event{Type: c.edit.event, Path: c.edit.path}
	growth := countElements(c.value.Elements) - c.count
	entries := aas.CountEntries(d.JSON) - aas.CountEntries(old.JSON)
	if growth > 0 && t.most() > aas.MaxElements-growth || entries > 0 && t.mostEntries() > aas.MaxEntries-entries {
		return t.document, errWhole
	}
	if t.document.JSON == nil {
		return s.writeElement(ctx, t, ElementChange{IDShort: idShort, JSON: now, Count: t.count + growth, Entries: t.entries + entries}, event)
	}
	if d.JSON, err = t.splice(now); err != nil {
		return t.document, err
	}
	if s.divide(d.JSON, 0) != nil {
		return t.document, errWhole // it is to be kept apart, with the exact number of its elements
	}
	return s.Submodels.write(ctx, Batch{Changes: []Change{{Document: d, Match: Match{Version: t.document.Version}}}}, event)
}

// inPlace returns an error about the only element of a small submodel as one about that element in the whole submodel.
func (s *Service) inPlace(ctx context.Context, refused error, submodelID, idShort string) error {
	f, ok := fault.From(refused)
	if !ok || len(f.Fields) == 0 {
		return refused
	}
	list, err := s.Submodels.stored(ctx, submodelID)
	if err != nil || len(list) == 0 {
		return cmp.Or(err, refused)
	}
	d, _ := aas.Divide(list[0].JSON)
	place := slices.IndexFunc(d.Elements, func(e aas.DividedElement) bool { return e.IDShort == idShort })
	if place < 0 {
		place = len(d.Elements) // where it would be added
	}
	fields := slices.Clone(f.Fields)
	for i := range fields {
		if below, ok := strings.CutPrefix(fields[i].Field, "submodelElements[0]"); ok {
			fields[i].Field = entryOf("submodelElements", place) + below
		}
	}
	placed := *f
	placed.Fields = fields
	return &placed
}

// most returns how many elements the submodel has at the most.
func (t *top) most() int {
	switch size := len(t.document.JSON); {
	case size == 0:
		return t.count
	case size < minDivided: // each has more than ten bytes
		return size / 10
	}
	return bytes.Count(t.document.JSON, []byte(`"modelType":"`)) - 1 // with what unknown members have
}

// mostEntries returns how many entries the arrays of the submodel have at the most.
func (t *top) mostEntries() int {
	switch size := len(t.document.JSON); {
	case size == 0:
		return t.entries
	case size < aas.MaxEntries: // each has a byte and a comma
		return size / 2
	}
	return aas.CountEntries(t.document.JSON)
}

// splice returns the JSON of the submodel with another element in the place of this one, or without it if now is nil.
func (t *top) splice(now []byte) ([]byte, error) {
	text := t.document.JSON
	from, to, comma := t.from, t.to, ""
	switch {
	case t.element == nil:
		from = len(text) - len(t.tail)
		to, comma = from, ","
	case now != nil:
	case text[to] == ',':
		to++
	case text[from-1] == ',':
		from--
	default:
		return nil, errWhole // the last element
	}
	spliced := make([]byte, 0, len(text)+len(now)+len(comma))
	spliced = append(spliced, text[:from]...)
	spliced = append(append(spliced, comma...), now...)
	return append(spliced, text[to:]...), nil
}

// writeElement is write for a document whose elements are kept apart.
func (s *Service) writeElement(ctx context.Context, t *top, c ElementChange, e Event) (Document, error) {
	if c.Count == 0 {
		return t.document, errWhole // the last element
	}
	d := t.document
	c.Kind, c.ID, c.Version = d.Kind, d.ID, d.Version
	version, err := s.elements.WriteElement(ctx, c)
	if err != nil {
		return d, s.Submodels.mismatch(err, &Change{Document: d, Match: Match{Version: d.Version}})
	}
	d.Version = version
	s.tell(&d, e)
	return d, nil
}

// minDivided is from how many bytes on the elements of a submodel are kept apart: fewer are read and written faster
// together.
const minDivided = 64 << 10

// divide returns the JSON of a submodel taken apart, nil for one that is to be kept together. count is the number of
// its elements.
func (s *Service) divide(text []byte, count int) *Divided {
	if s.elements == nil || len(text) < minDivided {
		return nil
	}
	d, ok := aas.Divide(text)
	if !ok || len(d.Elements) == 1 {
		return nil
	}
	return &Divided{d, count, aas.CountEntries(text)}
}

func countElements(list []aas.Element) (n int) {
	aas.EachElement(list, func(aas.Element) { n++ })
	return n
}
