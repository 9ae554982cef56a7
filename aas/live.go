package aas

import (
	"context"
	"math"
	"strconv"
)

// eachElement calls fn for every element, parents first.
func eachElement(list []Element, fn func(Element)) {
	for _, e := range list {
		fn(e)
		switch v := e.(type) {
		case *Collection:
			eachElement(v.Value, fn)
		case *List:
			eachElement(v.Value, fn)
		case *Entity:
			eachElement(v.Statements, fn)
		case *AnnotatedRelationshipElement:
			eachElement(v.Annotations, fn)
		case *Operation:
			eachElement(v.InputVariables, fn)
			eachElement(v.OutputVariables, fn)
			eachElement(v.InoutputVariables, fn)
		}
	}
}

// liveName gives the name of the tag whose value a property has, or nothing.
func liveName(p *Property) string {
	for i := range p.Qualifiers {
		if q := &p.Qualifiers[i]; q.Type == LiveQualifier && q.Value != nil {
			return *q.Value
		}
	}
	return ""
}

// liveProperty is a property whose value is a tag's.
type liveProperty struct {
	*Property
	name string
}

func liveProperties(to []liveProperty, list []Element) []liveProperty {
	eachElement(list, func(e Element) {
		if p, ok := e.(*Property); ok && len(p.Qualifiers) > 0 {
			if name := liveName(p); name != "" {
				to = append(to, liveProperty{p, name})
			}
		}
	})
	return to
}

// markLive puts a mark in place of the values of live properties, which tells those that are left as they
// are from those that are given a value, or none. Variables of operations stay as they are.
func markLive(m *Submodel) (mark *string) {
	mark = new(string)
	m.Walk(func(_ Path, e Element) bool {
		if p, ok := e.(*Property); ok && liveName(p) != "" {
			p.Value = mark
		}
		return e.ElementKind() != KindOperation
	})
	return mark
}

// keptLive is what a live property is kept with: the name of its tag, and the value that it has where
// nothing knows the tag.
type keptLive struct {
	name  string
	value *string
}

// keptByPath gives what the live properties have by their paths. Variables of operations are templates
// and have no values to write.
func keptByPath(m *Submodel) map[string]keptLive {
	kept := make(map[string]keptLive)
	m.Walk(func(path Path, e Element) bool {
		if p, ok := e.(*Property); ok {
			if name := liveName(p); name != "" {
				kept[path.String()] = keptLive{name, p.Value}
			}
		}
		return e.ElementKind() != KindOperation
	})
	return kept
}

// held gives the values to keep in place of those that live properties of v have. What a tag has is not
// kept: whoever puts back what was read would else keep the value of a moment, which would be shown
// when the tag is gone. Such a property keeps the value that it has in old, the document as it is kept;
// nil means that it is to be read.
func held[T Kept](ctx context.Context, s *Service, f form[T], v *T, d, old *Document) (map[*Property]*string, error) {
	m, ok := any(v).(*Submodel)
	if !ok || !d.Live || s.opts.Values == nil {
		return nil, nil
	}
	live := liveProperties(nil, m.Elements)
	values, err := s.opts.Values.Values(ctx, tagsOf(live))
	if err != nil {
		return nil, err
	}
	instead := make(map[*Property]*string)
	for i, p := range live {
		if i < len(values) && values[i].Known {
			instead[p.Property] = nil
		}
	}
	if len(instead) == 0 {
		return nil, nil
	}
	before, err := s.keptLive(ctx, f.kind, d.ID, old)
	if err != nil || len(before) == 0 {
		return instead, err
	}
	m.Walk(func(path Path, e Element) bool {
		if p, ok := e.(*Property); ok {
			if kept, there := before[path.String()]; there && kept.name == liveName(p) {
				if _, known := instead[p]; known {
					instead[p] = kept.value
				}
			}
		}
		return e.ElementKind() != KindOperation
	})
	return instead, nil
}

// keptLive is keptByPath for a document that is kept, or nothing when there is none that can be read.
func (s *Service) keptLive(ctx context.Context, kind Kind, id string, old *Document) (map[string]keptLive, error) {
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
	return keptByPath(m), nil
}

func tagsOf(live []liveProperty) []string {
	names := make([]string, len(live))
	for i, p := range live {
		names[i] = p.name
	}
	return names
}

func hasLive(list []Element) bool { return len(liveProperties(nil, list)) > 0 }

// fill puts live values into documents. One that cannot be read stays as it is stored.
func (s *Service) fill(ctx context.Context, list []Document) error {
	if s.opts.Values == nil {
		return nil
	}
	var (
		live      []liveProperty
		submodels map[int]*Submodel
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
			submodels = make(map[int]*Submodel)
		}
		submodels[i] = m
		live = liveProperties(live, m.Elements)
	}
	if err := s.fillProperties(ctx, live); err != nil {
		return err
	}
	for i, m := range submodels {
		list[i].JSON = Append(make([]byte, 0, len(list[i].JSON)+16), m)
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
		if p.Value = nil; !values[i].Empty {
			if text, ok := inType(p.ValueType, values[i].Value); ok {
				p.Value = &text
			}
		}
	}
	return nil
}

// inType gives a value in the lexical form of a type. A whole number in the form of a fraction, such
// as 5.0, suits the types of whole numbers.
func inType(t DataType, text string) (string, bool) {
	if CheckLexical(t, text) == nil {
		return text, true
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		whole := strconv.FormatInt(int64(f), 10)
		return whole, CheckLexical(t, whole) == nil
	}
	return "", false
}
