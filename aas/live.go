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

// forgetLive takes values off live properties, whose tags have them.
func forgetLive(list []Element) {
	for _, p := range liveProperties(nil, list) {
		p.Value = nil
	}
}

// liveTags gives the names of the tags of the live properties by their paths. Variables of operations
// are templates and have no values to write.
func liveTags(m *Submodel) map[string]string {
	tags := make(map[string]string)
	m.Walk(func(path Path, e Element) bool {
		if p, ok := e.(*Property); ok {
			if name := liveName(p); name != "" {
				tags[path.String()] = name
			}
		}
		return e.ElementKind() != KindOperation
	})
	return tags
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

// fillProperties sets the values of properties to those of their tags. One that has none, or one that
// the type of the property cannot hold, leaves the property without a value.
func (s *Service) fillProperties(ctx context.Context, live []liveProperty) error {
	if len(live) == 0 || s.opts.Values == nil {
		return nil
	}
	names := make([]string, len(live))
	for i, p := range live {
		names[i] = p.name
	}
	values, err := s.opts.Values.Values(ctx, names)
	if err != nil {
		return err
	}
	for i, p := range live {
		p.Value = nil
		if i < len(values) && values[i].Known {
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
