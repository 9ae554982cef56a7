package aas

// AppendView appends the normal content of a submodel at a level and an extent.
func AppendView(dst []byte, s *Submodel, v View) []byte {
	e := encoder{buf: dst, view: v}
	e.writeSubmodel(s)
	return e.buf
}

// AppendElementView appends the normal content of an element at a level and an extent.
func AppendElementView(dst []byte, element Element, v View) []byte {
	e := encoder{buf: dst, view: v}
	e.element(element, v.levels()+1)
	return e.buf
}

// allLevels is more than a document has.
const allLevels = MaxDepth + 1

// levels returns how many levels of descendants the children of what is written have.
func (v View) levels() int {
	if v.Level == Core {
		return 0
	}
	return allLevels
}

// children appends elements with so many levels, themselves included.
func (e *encoder) children(m member, list []Element, levels int) {
	e.elements(m, e.elementsOf(list, false), levels)
}

// listEntries appends the entries of a list.
func (e *encoder) listEntries(l *List, levels int) {
	e.elements(mValue, e.elementsOf(l.Value, true), levels)
}

func (e *encoder) elements(m member, list []Element, levels int) {
	if levels == 0 || len(list) == 0 {
		return
	}
	e.name(m)
	e.buf = append(e.buf, '[')
	for _, element := range list {
		e.item()
		e.element(element, levels-1)
	}
	e.buf = append(e.buf, ']')
}

func (e *encoder) variable(value *Element) {
	e.open()
	e.name(mValue)
	e.element(*value, allLevels)
	e.close()
}

func (e *encoder) propertyValue(p *Property) {
	value := p.Value
	if len(e.held) > 0 {
		if instead, ok := e.held[p]; ok {
			value = instead
		}
	}
	e.pointer(mValue, value)
}

func (e *encoder) blobValue(b *Blob) {
	if b.Value != nil && e.view.Extent == WithBlobValue {
		e.bytes(mValue, b.Value)
	}
}

func (e *encoder) dataSpecification(s *EmbeddedDataSpecification) {
	specification := s.DataSpecification
	if specification == nil {
		specification = Global(IEC61360Template)
	}
	e.name(mDataSpecification)
	e.writeReference(specification)
}

func (e *encoder) content(s *EmbeddedDataSpecification) {
	e.name(mDataSpecificationContent)
	switch {
	case s.Content != nil:
		e.writeIEC61360(s.Content)
	case s.OtherContent != "":
		e.buf = append(e.buf, s.OtherContent...)
	default:
		e.writeIEC61360(new(IEC61360))
	}
}

func (e *encoder) valueList(c *IEC61360) {
	if pairs := e.pairsOf(c.ValueList); len(pairs) > 0 {
		e.name(mValueList)
		e.open()
		array(e, mValueReferencePairs, pairs, (*encoder).writeValueReferencePair)
		e.close()
	}
}
