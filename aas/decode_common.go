package aas

// arenas are where a decoder takes the parts of a document from.
type arenas struct {
	strings        arena[string]
	texts          arena[LangString]
	references     arena[Reference]
	keys           arena[Key]
	qualifiers     arena[Qualifier]
	extensions     arena[Extension]
	specifications arena[EmbeddedDataSpecification]
	assetIDs       arena[SpecificAssetID]
	elementLists   arena[Element]
	properties     arena[Property]
	collections    arena[Collection]
	multiLanguage  arena[MultiLanguageProperty]
	ranges         arena[Range]
	files          arena[File]
}

func (d *decoder) langString() (l LangString) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mLanguage:
			l.Language = d.str()
		case mText:
			l.Text = d.str()
		default:
			d.refuse()
		}
	}
	d.need(&o, mLanguage, mText)
	return l
}

func (d *decoder) langStrings() []LangString { return list(d, &d.texts, (*decoder).langString) }

func (d *decoder) key() (k Key) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mType:
			k.Type = word(d, keyTypes)
		case mValue:
			k.Value = d.str()
		default:
			d.refuse()
		}
	}
	d.need(&o, mType, mValue)
	return k
}

func (d *decoder) reference() (r Reference) {
	if d.depth++; d.depth > MaxDepth {
		d.tooDeep()
	}
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mType:
			r.Type = word(d, referenceTypes)
		case mKeys:
			r.Keys = list(d, &d.keys, (*decoder).key)
		case mReferredSemanticID:
			r.ReferredSemanticID = d.referencePointer()
		default:
			d.unknown(&o, &r.Unknown)
		}
	}
	d.need(&o, mType, mKeys)
	d.depth--
	return r
}

func (d *decoder) referencePointer() *Reference {
	r := d.reference()
	p := d.references.one()
	*p = r
	return p
}

func (d *decoder) referenceList() []Reference {
	return list(d, &d.references, (*decoder).reference)
}

// semantics reads a member of what has semantics, or reports that the member is none of it.
func (d *decoder) semantics(o *object, s *Semantics) bool {
	switch o.key {
	case mSemanticID:
		s.SemanticID = d.referencePointer()
	case mSupplementalSemanticIDs:
		s.SupplementalSemanticIDs = d.referenceList()
	default:
		return false
	}
	return true
}

func (d *decoder) extension() (e Extension) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mName:
			e.Name = d.str()
		case mValueType:
			e.ValueType = word(d, dataTypes)
		case mValue:
			e.Value = d.strPointer()
		case mRefersTo:
			e.RefersTo = d.referenceList()
		default:
			if !d.semantics(&o, &e.Semantics) {
				d.unknown(&o, &e.Unknown)
			}
		}
	}
	d.need(&o, mName)
	return e
}

func (d *decoder) qualifier() (q Qualifier) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mKind:
			q.Kind = word(d, qualifierKinds)
		case mType:
			q.Type = d.str()
		case mValueType:
			q.ValueType = word(d, dataTypes)
		case mValue:
			q.Value = d.strPointer()
		case mValueID:
			q.ValueID = d.referencePointer()
		default:
			if !d.semantics(&o, &q.Semantics) {
				d.unknown(&o, &q.Unknown)
			}
		}
	}
	d.need(&o, mType, mValueType)
	return q
}

func (d *decoder) qualifierList() []Qualifier {
	return list(d, &d.qualifiers, (*decoder).qualifier)
}

func (d *decoder) referable(o *object, r *Referable) bool {
	switch o.key {
	case mExtensions:
		r.Extensions = list(d, &d.extensions, (*decoder).extension)
	case mCategory:
		r.Category = d.str()
	case mIDShort:
		r.IDShort = d.str()
	case mDisplayName:
		r.DisplayName = d.langStrings()
	case mDescription:
		r.Description = d.langStrings()
	default:
		return false
	}
	return true
}

// identifiable reads a member of an identifiable, or keeps it as an unknown one.
func (d *decoder) identifiable(o *object, i *Identifiable, modelType string) {
	switch o.key {
	case mModelType:
		if d.str() != modelType {
			d.fail("must be " + modelType)
		}
	case mID:
		i.ID = d.str()
	case mAdministration:
		i.Administration = new(d.administration())
	case mEmbeddedDataSpecifications:
		i.EmbeddedDataSpecifications = d.specificationList()
	default:
		if !d.referable(o, &i.Referable) {
			d.unknown(o, &i.Unknown)
		}
	}
}

func (d *decoder) administration() (a Administration) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mEmbeddedDataSpecifications:
			a.EmbeddedDataSpecifications = d.specificationList()
		case mVersion:
			a.Version = d.str()
		case mRevision:
			a.Revision = d.str()
		case mCreator:
			a.Creator = d.referencePointer()
		case mCreatedAt:
			a.CreatedAt = d.str()
		case mUpdatedAt:
			a.UpdatedAt = d.str()
		case mTemplateID:
			a.TemplateID = d.str()
		default:
			d.unknown(&o, &a.Unknown)
		}
	}
	return a
}

func (d *decoder) specificationList() []EmbeddedDataSpecification {
	return list(d, &d.specifications, (*decoder).specification)
}

// specification completes the short form, which has the content alone.
func (d *decoder) specification() (s EmbeddedDataSpecification) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mDataSpecification:
			s.DataSpecification = d.referencePointer()
		case mDataSpecificationContent:
			d.content(&s)
		default:
			d.unknown(&o, &s.Unknown)
		}
	}
	d.need(&o, mDataSpecificationContent)
	if s.DataSpecification == nil {
		s.DataSpecification = Global(IEC61360Template)
	}
	return s
}

// content reads the content of a data specification: as it is if it says that it is not after IEC 61360.
func (d *decoder) content(s *EmbeddedDataSpecification) {
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
	s.Content = new(d.iec61360())
}

func (d *decoder) iec61360() (c IEC61360) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mModelType:
			if d.str() != contentModelType {
				d.fail("must be " + contentModelType)
			}
		case mPreferredName:
			c.PreferredName = d.langStrings()
		case mShortName:
			c.ShortName = d.langStrings()
		case mUnit:
			c.Unit = d.str()
		case mUnitID:
			c.UnitID = d.referencePointer()
		case mSourceOfDefinition:
			c.SourceOfDefinition = d.str()
		case mSymbol:
			c.Symbol = d.str()
		case mDataType:
			c.DataType = word(d, iecDataTypes)
		case mDefinition:
			c.Definition = d.langStrings()
		case mValueFormat:
			c.ValueFormat = d.str()
		case mValueList:
			c.ValueList = d.valueList()
		case mValue:
			c.Value = d.str()
		case mLevelType:
			c.LevelType = new(d.levelType())
		default:
			d.unknown(&o, &c.Unknown)
		}
	}
	d.need(&o, mPreferredName)
	return c
}

func (d *decoder) valueList() (pairs []ValueReferencePair) {
	var o object
	var arena arena[ValueReferencePair]
	for d.begin(&o); d.next(&o); {
		if o.key == mValueReferencePairs {
			pairs = list(d, &arena, (*decoder).valueReferencePair)
		} else {
			d.refuse()
		}
	}
	d.need(&o, mValueReferencePairs)
	return pairs
}

func (d *decoder) valueReferencePair() (p ValueReferencePair) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mValue:
			p.Value = d.str()
		case mValueID:
			p.ValueID = d.referencePointer()
		default:
			d.refuse()
		}
	}
	d.need(&o, mValue)
	return p
}

func (d *decoder) levelType() (l LevelType) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mMin:
			l.Min = d.boolean()
		case mNom:
			l.Nom = d.boolean()
		case mTyp:
			l.Typ = d.boolean()
		case mMax:
			l.Max = d.boolean()
		default:
			d.refuse()
		}
	}
	d.need(&o, mMin, mNom, mTyp, mMax)
	return l
}
