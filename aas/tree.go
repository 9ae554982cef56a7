package aas

import (
	"slices"
	"strconv"
)

func indexOf(elements []Element, idShort string) int {
	return slices.IndexFunc(elements, func(e Element) bool { return e.Common().IDShort == idShort })
}

// finder finds many elements of one slice by idShort: at once when they are asked for in their order.
type finder struct {
	elements []Element
	next     int
	byName   map[string]int
}

func (f *finder) find(idShort string) (Element, bool) {
	if f.next < len(f.elements) && f.elements[f.next].Common().IDShort == idShort {
		f.next++
		return f.elements[f.next-1], true
	}
	if f.byName == nil {
		f.byName = make(map[string]int, len(f.elements))
		for i, e := range slices.Backward(f.elements) {
			f.byName[e.Common().IDShort] = i
		}
	}
	i, ok := f.byName[idShort]
	if !ok {
		return nil, false
	}
	f.next = i + 1
	return f.elements[i], true
}

// place is one entry of a slice of elements.
type place struct {
	elements *[]Element
	index    int
}

func (p place) element() Element { return (*p.elements)[p.index] }

func (s *Submodel) find(p Path) (place, error) {
	at := place{elements: &s.Elements, index: -1}
	if len(p) > 0 && p[0].IDShort != "" {
		at.index = indexOf(s.Elements, p[0].IDShort)
	}
	for _, step := range p[min(1, len(p)):] {
		if at.index < 0 {
			break
		}
		at = child(at.element(), step)
	}
	if at.index < 0 {
		return place{}, ErrElementNotFound.On("idShortPath", p.String())
	}
	return at, nil
}

func child(parent Element, step PathStep) place {
	if list, ok := parent.(*List); ok || step.IDShort == "" {
		if !ok || step.IDShort != "" || step.Index >= len(list.Value) {
			return place{index: -1}
		}
		return place{&list.Value, step.Index}
	}
	for _, elements := range containers(parent) {
		if elements != nil {
			if i := indexOf(*elements, step.IDShort); i >= 0 {
				return place{elements, i}
			}
		}
	}
	return place{index: -1}
}

// Element returns the element at a path, or ErrElementNotFound. Variables of an operation are found by
// their idShort.
func (s *Submodel) Element(p Path) (Element, error) {
	at, err := s.find(p)
	if err != nil {
		return nil, err
	}
	return at.element(), nil
}

// Insert adds an element at the end of the children of parent; an empty path is the submodel itself.
// The error is ErrElementNotFound for the parent, ErrElementExists for an idShort that a sibling has,
// and ErrInvalidRequest for an element that cannot be there.
func (s *Submodel) Insert(parent Path, element Element) error {
	if isNil(element) {
		return errNoElement
	}
	name := element.Common().IDShort
	if len(parent) == 0 {
		return insert(&s.Elements, name, parent, element)
	}
	container, err := s.Element(parent)
	if err != nil {
		return err
	}
	switch c := container.(type) {
	case *List:
		if !isKind(element, c.TypeValueListElement) {
			return invalid("modelType", "must be "+string(c.TypeValueListElement)+" (AASd-108)")
		}
		c.Value = append(c.Value, element)
		return nil
	case *Collection, *Entity, *AnnotatedRelationshipElement:
		if _, annotated := c.(*AnnotatedRelationshipElement); annotated && !isKind(element, ElementKind(KeyDataElement)) {
			return invalid("modelType", "must be that of a data element")
		}
		return insert(containers(container)[0], name, parent, element)
	default:
		return ErrInvalidRequest.Because("a %s takes no elements", container.ElementKind())
	}
}

func insert(elements *[]Element, name string, parent Path, element Element) error {
	switch {
	case name == "":
		return invalid("idShort", "is required (AASd-117)")
	case indexOf(*elements, name) >= 0:
		return ErrElementExists.On("idShortPath", append(slices.Clip(parent), PathStep{IDShort: name}).String())
	}
	*elements = append(*elements, element)
	return nil
}

// isKind reports whether an element is of a kind, which may be one of the abstract ones of a list.
func isKind(element Element, kind ElementKind) bool {
	own := element.ElementKind()
	switch KeyType(kind) {
	case KeySubmodelElement:
		return true
	case KeyEventElement:
		return own == KindBasicEventElement
	case KeyDataElement:
		switch own {
		case KindProperty, KindMultiLanguageProperty, KindRange, KindReferenceElement, KindBlob, KindFile:
			return true
		}
		return false
	}
	return own == kind || kind == KindRelationshipElement && own == KindAnnotatedRelationshipElement
}

// Replace puts an element in the place of another one, of whatever kind. Without an idShort it gets
// that of the path; another one than that is ErrInvalidRequest.
func (s *Submodel) Replace(p Path, element Element) error {
	if isNil(element) {
		return errNoElement
	}
	at, err := s.find(p)
	if err != nil {
		return err
	}
	if want := p.Leaf().IDShort; want != "" {
		switch element.Common().IDShort {
		case want:
		case "":
			element.Common().IDShort = want
		default:
			return invalid("idShort", "must be that of the path, "+want)
		}
	} else if list, ok := s.listOf(p); ok && !isKind(element, list.TypeValueListElement) {
		return invalid("modelType", "must be "+string(list.TypeValueListElement)+" (AASd-108)")
	}
	(*at.elements)[at.index] = element
	return nil
}

func (s *Submodel) listOf(p Path) (*List, bool) {
	parent, err := s.Element(p.Parent())
	if err != nil {
		return nil, false
	}
	list, ok := parent.(*List)
	return list, ok
}

// Remove takes an element away, or returns ErrElementNotFound.
func (s *Submodel) Remove(p Path) error {
	at, err := s.find(p)
	if err != nil {
		return err
	}
	*at.elements = slices.Delete(*at.elements, at.index, at.index+1)
	return nil
}

// Walk calls fn for every element with its path, parents before their children, variables of
// operations included. When fn returns false, the children of that element are omitted. The path is valid
// during the call alone.
func (s *Submodel) Walk(fn func(path Path, element Element) bool) {
	walk(make(Path, 0, 8), s.Elements, false, fn)
}

func walk(parent Path, elements []Element, indexed bool, fn func(path Path, element Element) bool) {
	for i, element := range elements {
		step := PathStep{IDShort: element.Common().IDShort}
		if indexed {
			step = PathStep{Index: i}
		}
		path := append(parent, step) //nolint:gocritic // the parent's capacity is shared on purpose
		if !fn(path, element) {
			continue
		}
		_, list := element.(*List)
		for _, children := range containers(element) {
			if children != nil {
				walk(path, *children, list, fn)
			}
		}
	}
}

// EachElement calls fn for every element of list and their descendants, parents first, variables of operations
// included.
func EachElement(list []Element, fn func(Element)) {
	for _, e := range list {
		fn(e)
		for _, children := range containers(e) {
			if children != nil {
				EachElement(*children, fn)
			}
		}
	}
}

// ElementsIn returns the elements in a member of a [Submodel] or an [Element], such as statements; nil when v has no
// elements there.
func ElementsIn(v any, member string) []Element {
	switch v := v.(type) {
	case *Submodel:
		if member == "submodelElements" {
			return v.Elements
		}
	case Element:
		names := containerMembers(v)
		for i, list := range containers(v) {
			if list != nil && names[i] == member {
				return *list
			}
		}
	}
	return nil
}

// Paths returns the idShortPaths of the elements: with Deep of all, with Core of those at the top.
// Variables of operations have none.
func (s *Submodel) Paths(level Level) []string {
	var paths []string
	for _, element := range s.Elements {
		if level == Core {
			paths = append(paths, element.Common().IDShort)
		} else {
			paths = appendPaths(paths, element.Common().IDShort, element, -1)
		}
	}
	return paths
}

// ElementPaths returns the path p of an element and those of its descendants: with Core of its children
// alone.
func ElementPaths(p Path, element Element, level Level) []string {
	depth := -1
	if level == Core {
		depth = 1
	}
	return appendPaths(nil, p.String(), element, depth)
}

// appendPaths goes depth levels down; all when it is negative.
func appendPaths(paths []string, path string, element Element, depth int) []string {
	paths = append(paths, path)
	children := containers(element)[0]
	if _, operation := element.(*Operation); operation || children == nil || depth == 0 {
		return paths
	}
	_, list := element.(*List)
	for i, c := range *children {
		name := path + "." + c.Common().IDShort
		if list {
			name = path + "[" + strconv.Itoa(i) + "]"
		}
		paths = appendPaths(paths, name, c, depth-1)
	}
	return paths
}

// ReferenceTo returns the model reference to an element, whose keys name the kinds of the elements on the
// way; an empty path is the submodel itself.
func (s *Submodel) ReferenceTo(p Path) (Reference, error) {
	r := RefTo(s.ID)
	for i, step := range p {
		element, err := s.Element(p[:i+1])
		if err != nil {
			return Reference{}, err
		}
		value := step.IDShort
		if value == "" {
			value = strconv.Itoa(step.Index)
		}
		r.Keys = append(r.Keys, Key{KeyType(element.ElementKind()), value})
	}
	return r, nil
}

// copyElements copies elements and their descendants, but not what no method changes in place, such as
// references.
func copyElements(elements []Element) []Element {
	copies := make([]Element, len(elements))
	for i, e := range elements {
		copies[i] = copyElement(e)
	}
	return copies
}

func copyElement(element Element) Element {
	c := newElement(element.ElementKind())
	assign(c, element)
	for _, children := range containers(c) {
		if children != nil {
			*children = copyElements(*children)
		}
	}
	return c
}
