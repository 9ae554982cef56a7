package aas

// AppendMetadata appends the $metadata of a submodel: all of it but its elements.
func AppendMetadata(dst []byte, s *Submodel) []byte {
	e := encoder{buf: dst}
	e.open()
	e.submodelHead(s)
	e.close()
	return e.buf
}

// AppendElementMetadata appends the $metadata of an element: no value, no children, and of what is its
// own only what the schemas of IDTA-01002 name, such as valueType.
func AppendElementMetadata(dst []byte, element Element) []byte {
	e := encoder{buf: dst}
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
