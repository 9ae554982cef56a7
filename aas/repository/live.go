package repository

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/otkit/otkit/aas"
)

// liveName returns the name of the tag whose value a property has, or nothing.
func liveName(p *aas.Property) string {
	for i := range p.Qualifiers {
		if q := &p.Qualifiers[i]; q.Type == LiveQualifier && q.Value != nil {
			return *q.Value
		}
	}
	return ""
}

// liveProperty is a property whose value is a tag's.
type liveProperty struct {
	*aas.Property
	name string
}

func liveProperties(to []liveProperty, list []aas.Element) []liveProperty {
	aas.EachElement(list, func(e aas.Element) {
		if p, ok := e.(*aas.Property); ok && len(p.Qualifiers) > 0 {
			if name := liveName(p); name != "" {
				to = append(to, liveProperty{p, name})
			}
		}
	})
	return to
}

// keptLive is what a live property is kept with: the name of its tag, and the value that it has where
// nothing knows the tag.
type keptLive struct {
	name  string
	value *string
}

// markLive returns what live properties are kept with, and puts a mark in place of their values, which tells
// those that are left as they are from those that are given a value, or none. Variables of operations are
// templates, have no values to write and stay as they are.
func markLive(m *aas.Submodel) (live map[*aas.Property]keptLive, mark *string) {
	live, mark = make(map[*aas.Property]keptLive), new(string)
	m.Walk(func(_ aas.Path, e aas.Element) bool {
		if p, ok := e.(*aas.Property); ok {
			if name := liveName(p); name != "" {
				live[p] = keptLive{name, p.Value}
				p.Value = mark
			}
		}
		return e.ElementKind() != aas.KindOperation
	})
	return live, mark
}

// storedProperty is what a property has before a change.
type storedProperty struct {
	*aas.Property
	tag, path string // the path of one with a tag alone
	valueType aas.DataType
	value     *string
}

func storedProperties(m *aas.Submodel) []storedProperty {
	var list []storedProperty
	m.Walk(func(path aas.Path, e aas.Element) bool {
		if p, ok := e.(*aas.Property); ok {
			one := storedProperty{Property: p, tag: liveName(p), valueType: p.ValueType, value: p.Value}
			if one.tag != "" {
				one.path = path.String()
			}
			list = append(list, one)
		}
		return true
	})
	return list
}

// held returns the values to keep in place of those that live properties of v have. What a tag has is not
// kept: whoever puts back what was read would else keep the value of a moment, which would be shown
// when the tag is gone. Such a property keeps the value that it was stored with, which before tells.
func held[T Storable](ctx context.Context, s *Service, v *T, d *Document, before func() ([]storedProperty, error)) (map[*aas.Property]*string, error) {
	m, ok := any(v).(*aas.Submodel)
	if !ok || !d.Live || s.opts.Values == nil {
		return nil, nil
	}
	live := liveProperties(nil, m.Elements)
	values, err := s.opts.Values.Values(ctx, tagsOf(live))
	if err != nil {
		return nil, err
	}
	instead := make(map[*aas.Property]*string)
	for i, p := range live {
		if i < len(values) && values[i].Known {
			instead[p.Property] = nil
		}
	}
	if len(instead) == 0 {
		return nil, nil
	}
	was, err := before()
	if err == nil && len(was) > 0 {
		keep(was, m, instead)
	}
	return instead, err
}

// storedBefore returns the properties of a document as it is kept, or nothing when there is none with live
// properties that can be read. old is nil when it is to be read.
func (s *Service) storedBefore(ctx context.Context, kind Kind, id string, old *Document) ([]storedProperty, error) {
	if old == nil {
		list, err := s.store.Get(ctx, kind, id)
		if err != nil || len(list) == 0 {
			return nil, err
		}
		old = &list[0]
	}
	if !old.Live {
		return nil, nil
	}
	m, err := s.Submodels.decode(*old)
	if err != nil {
		s.damaged(ctx, id, err)
		return nil, nil
	}
	return storedProperties(m), nil
}

// storedValues finds for the live properties of a document what they were stored with. Each stored value is kept
// once.
type storedValues struct {
	was     []storedProperty
	taken   []bool
	instead map[*aas.Property]*string
}

// newProperty is a live property that was not in the document before.
type newProperty struct {
	*aas.Property
	tag, path string
}

// keep sets the values in instead to those that the properties of m were stored with, where there are any.
// A property is known by itself, whatever has become of its place and its tag.
func keep(was []storedProperty, m *aas.Submodel, instead map[*aas.Property]*string) {
	k := storedValues{was, make([]bool, len(was)), instead}
	same := make(map[*aas.Property]int, len(was))
	for i := range was {
		same[was[i].Property] = i
	}
	var others []newProperty
	m.Walk(func(path aas.Path, e aas.Element) bool {
		p, ok := e.(*aas.Property)
		if !ok {
			return true
		}
		_, live := instead[p]
		i, there := same[p]
		switch {
		case there && live:
			k.give(p, i)
		case there:
			k.taken[i] = true
		case live:
			others = append(others, newProperty{p, liveName(p), path.String()})
		}
		return true
	})
	if len(others) > 0 {
		k.byPlace(others)
	}
}

// give keeps a value, unless it is none of the type that the property has now.
func (k *storedValues) give(p *aas.Property, i int) {
	k.taken[i] = true
	if v := k.was[i].value; v != nil && (p.ValueType == k.was[i].valueType || aas.ValidateLexical(p.ValueType, *v) == nil) {
		k.instead[p] = v
	}
}

// byPlace takes for the same those of one tag that have the same path or, because entries of a list move,
// that are left with the tag.
func (k *storedValues) byPlace(others []newProperty) {
	at, byTag := make(map[[2]string]int), make(map[string][]int)
	for i, w := range k.was {
		if !k.taken[i] && w.tag != "" {
			at[[2]string{w.tag, w.path}] = i
		}
	}
	others = slices.DeleteFunc(others, func(p newProperty) bool {
		i, fits := at[[2]string{p.tag, p.path}]
		if fits = fits && !k.taken[i]; fits {
			k.give(p.Property, i)
		}
		return fits
	})
	for i, w := range k.was {
		if !k.taken[i] && w.tag != "" {
			byTag[w.tag] = append(byTag[w.tag], i)
		}
	}
	for _, p := range others {
		if left := byTag[p.tag]; len(left) == 1 {
			k.give(p.Property, left[0])
			delete(byTag, p.tag)
		}
	}
}

func tagsOf(live []liveProperty) []string {
	names := make([]string, len(live))
	for i, p := range live {
		names[i] = p.name
	}
	return names
}

func hasLive(list []aas.Element) bool { return len(liveProperties(nil, list)) > 0 }

// fill puts live values into documents. One that cannot be read stays as it is stored.
func (s *Service) fill(ctx context.Context, list []Document) error {
	if s.opts.Values == nil {
		return nil
	}
	var (
		live      []liveProperty
		submodels map[int]*aas.Submodel
	)
	for i := range list {
		if !list[i].Live || list[i].JSON == nil {
			continue
		}
		m, err := s.Submodels.decode(list[i])
		if err != nil {
			s.damaged(ctx, list[i].ID, err)
			continue
		}
		if submodels == nil {
			submodels = make(map[int]*aas.Submodel)
		}
		submodels[i] = m
		live = liveProperties(live, m.Elements)
	}
	if err := s.fillProperties(ctx, live); err != nil {
		return err
	}
	for i, m := range submodels {
		list[i].JSON = aas.Append(make([]byte, 0, len(list[i].JSON)+16), m)
	}
	return nil
}

// fillProperties sets the values of properties to those of their tags. One that has none yet, or one
// that the type of the property cannot hold, leaves the property without a value; a tag that is not
// known leaves it as it is stored.
func (s *Service) fillProperties(ctx context.Context, live []liveProperty) error {
	if len(live) == 0 || s.opts.Values == nil {
		return nil
	}
	values, err := s.opts.Values.Values(ctx, tagsOf(live))
	if err != nil {
		return err
	}
	for i, p := range live {
		if i >= len(values) || !values[i].Known {
			continue
		}
		p.Value = values[i].of(p.ValueType)
	}
	return nil
}

// of returns the value in the lexical form of a type, nil for none or for one that the type cannot hold.
func (v *LiveValue) of(t aas.DataType) *string {
	if v.Empty {
		return nil
	}
	text, ok := inType(t, v.Value)
	if !ok {
		return nil
	}
	return &text
}

// inType returns a value in the lexical form of a type. A whole number in the form of a fraction, such
// as 5.0, suits the types of whole numbers.
func inType(t aas.DataType, text string) (string, bool) {
	if aas.ValidateLexical(t, text) == nil {
		return text, true
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		whole := strconv.FormatInt(int64(f), 10)
		return whole, aas.ValidateLexical(t, whole) == nil
	}
	return "", false
}
