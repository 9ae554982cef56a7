package aas

// DecodeMetadata reads a submodel without its elements, which costs far less than to read them.
func DecodeMetadata(data []byte) (*Submodel, error) {
	s, d := new(Submodel), decoder{metadataOnly: true}
	if err := d.decode(data, func(d *decoder) { d.submodel(s) }); err != nil {
		return nil, err
	}
	return s, nil
}

// AppendMetadata appends the $metadata of a submodel: all of it but its elements and what the metamodel does not have.
func AppendMetadata(dst []byte, s *Submodel, v View) []byte {
	e := encoder{buf: dst, view: v}
	e.open()
	e.submodelHead(s)
	e.close()
	return e.buf
}

// AppendElementMetadata appends the $metadata of an element: no value, no children, and of what is its
// own only what the schemas of IDTA-01002 name, such as valueType.
func AppendElementMetadata(dst []byte, element Element, v View) []byte {
	e := encoder{buf: dst, view: v}
	e.open()
	e.elementHead(element)
	switch v := element.(type) {
	case *Property:
		e.must(mValueType, string(v.ValueType))
	case *Range:
		e.must(mValueType, string(v.ValueType))
	case *List:
		e.listHead(v)
	case *BasicEventElement:
		e.eventHead(v)
	}
	e.close()
	return e.buf
}
