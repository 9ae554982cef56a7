package aas

import (
	"slices"
	"strconv"
)

// SetValues changes the values of the elements of s that are in a $value document; the others stay.
// A list may be given with fewer entries than it has, which are the first ones; null leaves an entry of
// a list as it is. Elsewhere null takes the value of a Property, MultiLanguageProperty, ReferenceElement,
// Range or File away, and one bound of a Range. A JSON number may have an exponent or a fraction of zeros where the
// valueType has none. The error is ErrInvalidRequest for a value that is not one of the element's
// valueType and for an element that s does not have, such as a further entry of a list; s is then as before.
func SetValues(s *Submodel, valueOnly []byte) error {
	elements := copyElements(s.Elements)
	if err := decode(valueOnly, func(d *decoder) { d.namedValues(elements) }); err != nil {
		return err
	}
	s.Elements = elements
	return nil
}

// SetElementValue is [SetValues] for the $value of one element. A JSON string is taken for every
// valueType when it is in its lexical form.
func SetElementValue(element Element, valueOnly []byte) error {
	changed := copyElement(element)
	if err := decode(valueOnly, func(d *decoder) { d.value(changed) }); err != nil {
		return err
	}
	assign(element, changed)
	return nil
}

// SetValuesInPlace is [SetValues] without the copy that makes all changes or none: elements stay the same ones, and
// after an error s may have some of the changes.
func SetValuesInPlace(s *Submodel, valueOnly []byte) error {
	return decode(valueOnly, func(d *decoder) { d.namedValues(s.Elements) })
}

// SetElementValueInPlace is [SetValuesInPlace] for one element.
func SetElementValueInPlace(element Element, valueOnly []byte) error {
	return decode(valueOnly, func(d *decoder) { d.value(element) })
}

func (d *decoder) namedValues(elements []Element) {
	existing := finder{elements: elements}
	var o object
	var seen names
	d.begin(&o)
	for {
		name, ok := d.nextName(&o)
		if !ok {
			return
		}
		if !seen.add(name) {
			d.fail("is a duplicate")
			return
		}
		element, ok := existing.find(name)
		if !ok {
			d.fail("is no element that is there")
			return
		}
		d.value(element)
	}
}

// value reads the value of an element into it.
func (d *decoder) value(element Element) {
	if d.err != nil {
		return
	}
	if d.peek() == 'n' && clearValue(element) {
		d.skip()
		return
	}
	switch v := element.(type) {
	case *Property:
		v.Value = d.typed(v.ValueType)
	case *MultiLanguageProperty:
		v.Value = d.languages()
	case *ReferenceElement:
		v.Value = d.referencePointer()
	case *Collection:
		d.namedValues(v.Value)
	case *List:
		d.listValues(v.Value)
	case *Operation, *Capability:
		d.fail("has no value: it is of kind " + string(element.ElementKind()))
	default:
		var o object
		for d.begin(&o); d.next(&o); {
			if !d.part(&o, element) {
				d.fail("is no part of the value of a " + string(element.ElementKind()))
			}
		}
	}
}

// clearValue takes the value of an element away whose $value may be null.
func clearValue(element Element) bool {
	switch v := element.(type) {
	case *Property:
		v.Value = nil
	case *MultiLanguageProperty:
		v.Value = nil
	case *ReferenceElement:
		v.Value = nil
	case *Range:
		v.Min, v.Max = nil, nil
	case *File:
		v.Value = nil
	default:
		return false
	}
	return true
}

// part reads a member of a value that is an object of named parts, or reports that it is none.
func (d *decoder) part(o *object, element Element) bool {
	switch v := element.(type) {
	case *Range:
		switch o.key {
		case mMin:
			v.Min = d.typed(v.ValueType)
		case mMax:
			v.Max = d.typed(v.ValueType)
		default:
			return false
		}
	case *RelationshipElement:
		return d.readRelationshipElement(o, v)
	case *AnnotatedRelationshipElement:
		if o.key != mAnnotations {
			return d.readRelationshipElement(o, &v.RelationshipElement)
		}
		d.annotationValues(v.Annotations)
	case *Blob:
		return d.readBlob(o, v)
	case *File:
		if o.key == mValue && d.peek() == 'n' {
			v.Value = nil
			d.skip()
			return true
		}
		return d.readFile(o, v)
	case *Entity:
		switch o.key {
		case mStatements:
			d.namedValues(v.Statements)
		case mSpecificAssetIDs:
			v.SpecificAssetIDs = d.assetIDValues(v.SpecificAssetIDs)
		default:
			return d.readEntity(o, v)
		}
	case *BasicEventElement:
		if o.key != mObserved {
			return false
		}
		v.Observed = d.readReference()
	default:
		return false
	}
	return true
}

// assetIDValues reads SpecificAssetIdValue of the part 2 schemas, an object of a name and a value, or the
// whole form. In the short one an id keeps what else the one of that name has had.
func (d *decoder) assetIDValues(before []SpecificAssetID) []SpecificAssetID {
	before = slices.Clone(before)
	return list(d, &d.specificAssetIDArena, func(d *decoder) (a SpecificAssetID) {
		var o object
		pos, path := d.pos, d.path
		d.begin(&o)
		more := true
		if a.Name, _ = d.nextName(&o); d.err == nil && d.peek() == '"' {
			a.Value = d.str()
			_, more = d.nextName(&o)
		}
		if more || a.Name == "" {
			d.pos, d.path = pos, path
			return d.readSpecificAssetID()
		}
		if i := slices.IndexFunc(before, func(b SpecificAssetID) bool { return b.Name == a.Name }); i >= 0 {
			value := a.Value
			a = before[i]
			a.Value = value
			before = slices.Delete(before, i, i+1)
		}
		return a
	})
}

// annotationValues takes the object of the schemas and the array of objects of the examples in
// IDTA-01001.
func (d *decoder) annotationValues(annotations []Element) {
	if d.err == nil && d.peek() == '[' {
		for ok := d.openArray(); ok; ok = d.nextItem() {
			d.namedValues(annotations)
		}
		return
	}
	d.namedValues(annotations)
}

func (d *decoder) listValues(elements []Element) {
	i := 0
	for ok := d.openArray(); ok; ok = d.nextItem() {
		switch {
		case i >= len(elements):
			d.fail("is more than the list has, which is " + strconv.Itoa(len(elements)))
			return
		case d.peek() == 'n':
			d.skip()
		default:
			d.value(elements[i])
		}
		i++
	}
}

// languages reads an array of objects from language to text, or one such object.
func (d *decoder) languages() (texts []LangString) {
	if d.err == nil && d.peek() == '[' {
		for ok := d.openArray(); ok; ok = d.nextItem() {
			texts = d.languageObject(texts)
		}
		return texts
	}
	return d.languageObject(nil)
}

func (d *decoder) languageObject(texts []LangString) []LangString {
	var o object
	var seen names
	d.begin(&o)
	for {
		language, ok := d.nextName(&o)
		if !ok {
			return texts
		}
		if !seen.add(language) {
			d.fail("is a duplicate")
			return texts
		}
		texts = append(texts, LangString{language, d.str()})
	}
}

// typed reads a value of a data type in its lexical form.
func (d *decoder) typed(t DataType) *string {
	c := d.peek()
	kind := jsonType(t)
	var text string
	switch {
	case d.err != nil:
		return nil
	case c == 'n':
		d.skip()
		return nil
	case c == '"':
		text = d.str()
	case kind == jsonNumber && (c == '-' || c >= '0' && c <= '9'):
		text = d.number()
		if rule := lexicalRules[t]; d.err == nil && !rule(text) {
			if plain, ok := plainNumber(t, text); ok {
				text = plain
			}
		}
	case kind == jsonBoolean && (c == 't' || c == 'f'):
		text = "false"
		if d.boolean() {
			text = "true"
		}
	default:
		d.fail("must be a value of " + string(t))
		return nil
	}
	if rule, ok := lexicalRules[t]; d.err == nil && (!ok || !rule(text)) {
		d.fail(notLexical(t))
	}
	return &text
}
