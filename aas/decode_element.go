package aas

import "strconv"

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
	var e Element
	switch kind := d.kindAhead(); kind {
	case KindProperty:
		e = d.properties.one()
	case KindMultiLanguageProperty:
		e = d.multiLanguage.one()
	case KindRange:
		e = d.ranges.one()
	case KindFile:
		e = d.files.one()
	case KindCollection:
		e = d.collections.one()
	case "":
		d.failAt(mModelType, "is required")
		return nil
	default:
		if e = newElement(kind); e == nil {
			d.failAt(mModelType, "is no kind of submodel element")
			return nil
		}
	}
	d.fill(e)
	return e
}

// newElement returns an empty element; nil for an unknown kind.
func newElement(kind ElementKind) Element {
	switch kind {
	case KindProperty:
		return new(Property)
	case KindMultiLanguageProperty:
		return new(MultiLanguageProperty)
	case KindRange:
		return new(Range)
	case KindReferenceElement:
		return new(ReferenceElement)
	case KindRelationshipElement:
		return new(RelationshipElement)
	case KindAnnotatedRelationshipElement:
		return new(AnnotatedRelationshipElement)
	case KindBlob:
		return new(Blob)
	case KindFile:
		return new(File)
	case KindCollection:
		return new(Collection)
	case KindList:
		return new(List)
	case KindEntity:
		return new(Entity)
	case KindOperation:
		return new(Operation)
	case KindCapability:
		return new(Capability)
	case KindBasicEventElement:
		return new(BasicEventElement)
	}
	return nil
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
		case d.common(&o, common, e.ElementKind()):
		case !d.own(&o, e):
			d.unknown(&o, &common.Unknown)
		}
	}
	switch e.(type) {
	case *Property, *Range:
		d.needNew(&o, mValueType)
	case *List:
		d.needNew(&o, mTypeValueListElement)
	case *BasicEventElement:
		d.needNew(&o, mObserved, mDirection, mState)
	}
	d.depth--
}

// common reads a member that every element has, or reports that it is none.
func (d *decoder) common(o *object, c *ElementCommon, kind ElementKind) bool {
	switch o.key {
	case mModelType:
		if ElementKind(d.str()) != kind {
			d.fail("must be " + string(kind))
		}
	case mQualifiers:
		c.Qualifiers = d.qualifierList()
	case mEmbeddedDataSpecifications:
		c.EmbeddedDataSpecifications = d.specificationList()
	case mIDShort:
		name := d.str()
		if d.merging && c.IDShort != "" && c.IDShort != name {
			d.fail("must be the idShort of the element")
		}
		c.IDShort = name
	default:
		return d.referable(o, &c.Referable) || d.semantics(o, &c.Semantics)
	}
	return true
}

// own reads a member that only this kind of element has, or reports that there is no such member.
func (d *decoder) own(o *object, e Element) bool {
	switch e := e.(type) {
	case *Property:
		return d.property(o, e)
	case *MultiLanguageProperty:
		return d.multiLanguageProperty(o, e)
	case *Range:
		return d.valueRange(o, e)
	case *ReferenceElement:
		if o.key != mValue {
			return false
		}
		e.Value = d.referencePointer()
		return true
	case *RelationshipElement:
		return d.relationship(o, e)
	case *AnnotatedRelationshipElement:
		if o.key != mAnnotations {
			return d.relationship(o, &e.RelationshipElement)
		}
		d.named(&e.Annotations)
		return true
	case *Blob:
		return d.blob(o, e)
	case *File:
		return d.file(o, e)
	case *Collection:
		if o.key != mValue {
			return false
		}
		d.named(&e.Value)
		return true
	case *List:
		return d.elementsOfList(o, e)
	case *Entity:
		return d.entity(o, e)
	case *Operation:
		return d.operation(o, e)
	case *BasicEventElement:
		return d.event(o, e)
	}
	return false
}

// named reads elements with names, or merges them into those that are there.
func (d *decoder) named(elements *[]Element) {
	if d.merging {
		d.mergeNamed(*elements)
	} else {
		*elements = d.elementList()
	}
}

func (d *decoder) property(o *object, p *Property) bool {
	switch o.key {
	case mValueType:
		p.ValueType = word(d, dataTypes)
	case mValue:
		p.Value = d.strPointer()
	case mValueID:
		p.ValueID = d.referencePointer()
	default:
		return false
	}
	return true
}

func (d *decoder) multiLanguageProperty(o *object, p *MultiLanguageProperty) bool {
	switch o.key {
	case mValue:
		p.Value = d.langStrings()
	case mValueID:
		p.ValueID = d.referencePointer()
	default:
		return false
	}
	return true
}

func (d *decoder) valueRange(o *object, r *Range) bool {
	switch o.key {
	case mValueType:
		r.ValueType = word(d, dataTypes)
	case mMin:
		r.Min = d.strPointer()
	case mMax:
		r.Max = d.strPointer()
	default:
		return false
	}
	return true
}

func (d *decoder) relationship(o *object, r *RelationshipElement) bool {
	switch o.key {
	case mFirst:
		r.First = d.referencePointer()
	case mSecond:
		r.Second = d.referencePointer()
	default:
		return false
	}
	return true
}

func (d *decoder) blob(o *object, b *Blob) bool {
	switch o.key {
	case mValue:
		if b.RemoveValue = d.peek() == 'n'; b.RemoveValue {
			b.Value = nil
			d.skip()
		} else {
			b.Value = d.bytes()
		}
	case mContentType:
		b.ContentType = d.str()
	default:
		return false
	}
	return true
}

func (d *decoder) file(o *object, f *File) bool {
	switch o.key {
	case mValue:
		f.Value = d.strPointer()
	case mContentType:
		f.ContentType = d.str()
	default:
		return false
	}
	return true
}

func (d *decoder) elementsOfList(o *object, l *List) bool {
	switch o.key {
	case mOrderRelevant:
		l.OrderRelevant = new(d.boolean())
	case mSemanticIDListElement:
		l.SemanticIDListElement = d.referencePointer()
	case mTypeValueListElement:
		l.TypeValueListElement = word(d, listElementKinds)
	case mValueTypeListElement:
		l.ValueTypeListElement = word(d, dataTypes)
	case mValue:
		if d.merging {
			d.mergeIndexed(l.Value)
		} else {
			l.Value = d.elementList()
		}
	default:
		return false
	}
	return true
}

func (d *decoder) entity(o *object, e *Entity) bool {
	switch o.key {
	case mStatements:
		d.named(&e.Statements)
	case mEntityType:
		e.EntityType = word(d, entityTypes)
	case mGlobalAssetID:
		e.GlobalAssetID = d.str()
	case mSpecificAssetIDs:
		e.SpecificAssetIDs = list(d, &d.assetIDs, (*decoder).assetID)
	default:
		return false
	}
	return true
}

func (d *decoder) operation(v *object, op *Operation) bool {
	switch v.key {
	case mInputVariables:
		op.InputVariables = d.variables()
	case mOutputVariables:
		op.OutputVariables = d.variables()
	case mInoutputVariables:
		op.InoutputVariables = d.variables()
	default:
		return false
	}
	return true
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

func (d *decoder) event(o *object, e *BasicEventElement) bool {
	switch o.key {
	case mObserved:
		e.Observed = d.reference()
	case mDirection:
		e.Direction = word(d, directions)
	case mState:
		e.State = word(d, eventStates)
	case mMessageTopic:
		e.MessageTopic = d.str()
	case mMessageBroker:
		e.MessageBroker = d.referencePointer()
	case mLastUpdate:
		e.LastUpdate = d.str()
	case mMinInterval:
		e.MinInterval = d.str()
	case mMaxInterval:
		e.MaxInterval = d.str()
	default:
		return false
	}
	return true
}
