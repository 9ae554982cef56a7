package aas

// AppendView appends the normal content of a submodel at a level and an extent.
func AppendView(dst []byte, s *Submodel, v View) []byte {
	e := encoder{buf: dst, view: v}
	e.submodel(s)
	return e.buf
}

// AppendElementView appends the normal content of an element at a level and an extent.
func AppendElementView(dst []byte, element Element, v View) []byte {
	e := encoder{buf: dst, view: v}
	e.element(element, true, v.Level == Deep)
	return e.buf
}

// elements appends elements, and their children when children is set.
func (e *encoder) elements(m member, elements []Element, children bool) {
	e.name(m)
	e.buf = append(e.buf, '[')
	for _, element := range elements {
		e.item()
		e.element(element, children, children)
	}
	e.buf = append(e.buf, ']')
}

// children appends the children of an element: with descend with their own ones.
func (e *encoder) children(m member, elements []Element, children, descend bool) {
	e.entries(m, e.elementsOf(elements, false), children, descend)
}

func (e *encoder) entries(m member, elements []Element, children, descend bool) {
	if children && len(elements) > 0 {
		e.elements(m, elements, descend)
	}
}

// element appends an element; children says whether those are part of it, descend whether theirs are.
func (e *encoder) element(element Element, children, descend bool) {
	e.open()
	e.elementHead(element)
	switch v := element.(type) {
	case *Property:
		e.must(mValueType, string(v.ValueType))
		value := v.Value
		if len(e.held) > 0 {
			if instead, ok := e.held[v]; ok {
				value = instead
			}
		}
		e.pointer(mValue, value)
		e.optionalReference(mValueID, v.ValueID)
	case *MultiLanguageProperty:
		e.texts(mValue, v.Value)
		e.optionalReference(mValueID, v.ValueID)
	case *Range:
		e.must(mValueType, string(v.ValueType))
		e.pointer(mMin, v.Min)
		e.pointer(mMax, v.Max)
	case *ReferenceElement:
		e.optionalReference(mValue, v.Value)
	case *RelationshipElement:
		e.relationship(v)
	case *AnnotatedRelationshipElement:
		e.relationship(&v.RelationshipElement)
		e.children(mAnnotations, v.Annotations, children, descend)
	case *Blob:
		e.text(mContentType, e.contentType(v.ContentType))
		if v.Value != nil && e.view.Extent == WithBlobValue {
			e.bytes(mValue, v.Value)
		}
	case *File:
		e.text(mContentType, e.contentType(v.ContentType))
		e.pointer(mValue, v.Value)
	case *Collection:
		e.children(mValue, v.Value, children, descend)
	case *List:
		e.listHead(v)
		e.entries(mValue, e.elementsOf(v.Value, true), children, descend)
	case *Entity:
		e.text(mEntityType, string(e.entityType(v)))
		e.text(mGlobalAssetID, v.GlobalAssetID)
		array(e, mSpecificAssetIDs, v.SpecificAssetIDs, (*encoder).assetID)
		e.children(mStatements, v.Statements, children, descend)
	case *Operation:
		array(e, mInputVariables, e.elementsOf(v.InputVariables, false), (*encoder).variable)
		array(e, mOutputVariables, e.elementsOf(v.OutputVariables, false), (*encoder).variable)
		array(e, mInoutputVariables, e.elementsOf(v.InoutputVariables, false), (*encoder).variable)
	case *BasicEventElement:
		e.name(mObserved)
		e.reference(&v.Observed)
		e.eventHead(v)
	}
	e.unknown(element.Common().Unknown)
	e.close()
}

// elementHead appends what every element has.
func (e *encoder) elementHead(element Element) {
	c := element.Common()
	e.must(mModelType, string(element.ElementKind()))
	e.referable(&c.Referable)
	e.semantics(&c.Semantics)
	array(e, mQualifiers, c.Qualifiers, (*encoder).qualifier)
	e.specifications(c.EmbeddedDataSpecifications)
}

func (e *encoder) relationship(r *RelationshipElement) {
	e.optionalReference(mFirst, r.First)
	e.optionalReference(mSecond, r.Second)
}

// listHead appends all that a list has for itself but its entries.
func (e *encoder) listHead(l *List) {
	if l.OrderRelevant != nil {
		e.boolean(mOrderRelevant, *l.OrderRelevant)
	}
	e.optionalReference(mSemanticIDListElement, l.SemanticIDListElement)
	e.must(mTypeValueListElement, string(l.TypeValueListElement))
	e.text(mValueTypeListElement, string(l.ValueTypeListElement))
}

func (e *encoder) variable(value *Element) {
	e.open()
	e.name(mValue)
	e.element(*value, true, true)
	e.close()
}

// eventHead appends all that an event has for itself but what it observes.
func (e *encoder) eventHead(v *BasicEventElement) {
	e.must(mDirection, v.Direction)
	e.must(mState, v.State)
	e.text(mMessageTopic, v.MessageTopic)
	e.optionalReference(mMessageBroker, v.MessageBroker)
	e.text(mLastUpdate, v.LastUpdate)
	e.text(mMinInterval, v.MinInterval)
	e.text(mMaxInterval, v.MaxInterval)
}
