package aas

import (
	"strconv"
)

var tooDeep = "is nested too deeply, at most " + strconv.Itoa(MaxDepth) + " levels"

func (d *decoder) tooDeep() { d.fail(tooDeep) }

func (d *decoder) elementList() []Element {
	return list(d, &d.elementLists, (*decoder).element)
}

// element reads a submodel element.
func (d *decoder) element() Element {
	if d.elements++; d.elements > MaxElements {
		d.fail("is too much: at most " + strconv.Itoa(MaxElements) + " submodel elements in a document")
	}
	if d.err == nil && d.peek() != '{' {
		d.fail("must be an object")
	}
	if d.err != nil {
		return nil
	}
	kind := d.kindAhead()
	if kind == "" {
		d.failAt(mModelType, "is required")
		return nil
	}
	e := d.take(kind)
	if e == nil {
		d.failAt(mModelType, "is no kind of submodel element")
		return nil
	}
	d.fill(e)
	return e
}

// fill reads the members of an element into it.
func (d *decoder) fill(e Element) {
	if d.depth++; d.depth > MaxDepth {
		d.tooDeep()
		return
	}
	common := e.Common()
	var o object
	for d.begin(&o); d.next(&o); {
		switch {
		case d.metadataOnly && !inMetadata(o.key):
			d.skip()
		case o.key == mModelType:
			d.modelType(string(e.ElementKind()))
		case !d.readElementCommon(&o, common) && !d.own(&o, e):
			d.unknown(&o, &common.Unknown)
		}
	}
	d.needOwn(&o, e)
	d.depth--
}

// modelType reads the member modelType, which is known.
func (d *decoder) modelType(known string) {
	if d.str() != known {
		d.fail("must be " + known)
	}
}

// idShort reads the idShort of an element or of a document; that of an element does not change in a patch.
func (d *decoder) idShort(r *Referable) {
	name := d.str()
	if d.merging && d.depth > 0 && r.IDShort != "" && r.IDShort != name {
		d.fail("must be the idShort of the element")
	}
	r.IDShort = name
}

// named reads elements with names, or merges them into those that are there.
func (d *decoder) named(elements *[]Element) {
	if d.merging {
		d.mergeNamed(*elements)
	} else {
		*elements = d.elementList()
	}
}

// listEntries reads the entries of a list, or merges them into those that are there.
func (d *decoder) listEntries(l *List) {
	if d.merging {
		d.mergeIndexed(l.Value)
	} else {
		l.Value = d.elementList()
	}
}

func (d *decoder) blobValue(b *Blob) {
	if b.RemoveValue = d.peek() == 'n'; b.RemoveValue {
		b.Value = nil
		d.skip()
	} else {
		b.Value = d.bytes()
	}
}

// variables reads the variables of an operation; a patch replaces them as a whole.
func (d *decoder) variables() []Element {
	merging := d.merging
	d.merging = false
	variables := list(d, &d.elementLists, (*decoder).variable)
	d.merging = merging
	return variables
}

func (d *decoder) variable() (value Element) {
	var o object
	for d.begin(&o); d.next(&o); {
		if o.key == mValue {
			value = d.element()
		} else {
			d.refuse()
		}
	}
	d.need(&o, mValue)
	return value
}

// What the generated functions of a decoder do not read by themselves.

func (d *decoder) referencePointer() *Reference {
	r := d.readReference()
	p := d.referenceArena.one()
	*p = r
	return p
}

// id reads the id of a document, which a patch does not change.
func (d *decoder) id(i *Identifiable) {
	if id := d.str(); d.merging && id != i.ID {
		d.fail("must be the id of the submodel")
	} else {
		i.ID = id
	}
}

// pointers reads an array of things that live on their own, each with the limits of a document.
func pointers[T any](d *decoder, read func(*decoder, *T)) (list []*T) {
	for ok := d.openArray(); ok; ok = d.nextItem() {
		entries := d.entries
		d.elements, d.entries = 0, 0
		v := new(T)
		read(d, v)
		list = append(list, v)
		d.entries = entries
	}
	return list
}

// content reads the content of a data specification: as it is if it says that it is not after IEC 61360.
func (d *decoder) content(s *EmbeddedDataSpecification) {
	if s.DataSpecification == nil { // the short form has the content alone
		s.DataSpecification = Global(IEC61360Template)
	}
	if d.peek() == '{' {
		if kind := d.kindAhead(); kind != "" && kind != contentModelType {
			from := d.pos
			d.skip()
			if d.err == nil {
				s.OtherContent = d.text[from:d.pos]
			}
			return
		}
	}
	s.Content = new(d.readIEC61360())
}

func (d *decoder) valueList(c *IEC61360) {
	var o object
	for d.begin(&o); d.next(&o); {
		if o.key == mValueReferencePairs {
			c.ValueList = list(d, &d.valueReferencePairArena, (*decoder).readValueReferencePair)
		} else {
			d.refuse()
		}
	}
	d.need(&o, mValueReferencePairs)
}
