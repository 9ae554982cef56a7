package aas

func (e *encoder) langString(l *LangString) {
	e.open()
	e.must(mLanguage, l.Language)
	e.must(mText, l.Text)
	e.close()
}

func (e *encoder) texts(m member, texts []LangString) { array(e, m, texts, (*encoder).langString) }

func (e *encoder) key(k *Key) {
	e.open()
	e.must(mType, string(k.Type))
	e.must(mValue, k.Value)
	e.close()
}

func (e *encoder) reference(r *Reference) {
	e.open()
	e.must(mType, string(r.Type))
	e.optionalReference(mReferredSemanticID, r.ReferredSemanticID)
	if len(r.Keys) == 0 {
		e.name(mKeys)
		e.buf = append(e.buf, "[]"...)
	}
	array(e, mKeys, r.Keys, (*encoder).key)
	e.unknown(r.Unknown)
	e.close()
}

func (e *encoder) optionalReference(m member, r *Reference) {
	if r != nil {
		e.name(m)
		e.reference(r)
	}
}

func (e *encoder) referenceList(m member, list []Reference) {
	array(e, m, list, (*encoder).reference)
}

func (e *encoder) semantics(s *Semantics) {
	e.optionalReference(mSemanticID, s.SemanticID)
	e.referenceList(mSupplementalSemanticIDs, s.SupplementalSemanticIDs)
}

func (e *encoder) extension(x *Extension) {
	e.open()
	e.semantics(&x.Semantics)
	e.must(mName, x.Name)
	e.text(mValueType, string(x.ValueType))
	e.pointer(mValue, x.Value)
	e.referenceList(mRefersTo, x.RefersTo)
	e.unknown(x.Unknown)
	e.close()
}

func (e *encoder) qualifier(q *Qualifier) {
	e.open()
	e.semantics(&q.Semantics)
	e.text(mKind, string(q.Kind))
	e.must(mType, q.Type)
	e.must(mValueType, string(q.ValueType))
	e.pointer(mValue, q.Value)
	e.optionalReference(mValueID, q.ValueID)
	e.unknown(q.Unknown)
	e.close()
}

func (e *encoder) referable(r *Referable) {
	e.text(mIDShort, r.IDShort)
	e.text(mCategory, r.Category)
	e.texts(mDisplayName, r.DisplayName)
	e.texts(mDescription, r.Description)
	array(e, mExtensions, r.Extensions, (*encoder).extension)
}

func (e *encoder) identifiable(i *Identifiable, modelType string) {
	e.must(mModelType, modelType)
	e.must(mID, i.ID)
	e.referable(&i.Referable)
	if i.Administration != nil {
		e.name(mAdministration)
		e.administration(i.Administration)
	}
	e.specifications(i.EmbeddedDataSpecifications)
}

func (e *encoder) administration(a *Administration) {
	e.open()
	e.text(mVersion, a.Version)
	e.text(mRevision, a.Revision)
	e.optionalReference(mCreator, a.Creator)
	if (a.CreatedAt != "" || a.UpdatedAt != "") && !e.omits() {
		e.text(mCreatedAt, a.CreatedAt)
		e.text(mUpdatedAt, a.UpdatedAt)
	}
	e.text(mTemplateID, a.TemplateID)
	e.specifications(a.EmbeddedDataSpecifications)
	e.unknown(a.Unknown)
	e.close()
}

func (e *encoder) specifications(list []EmbeddedDataSpecification) {
	array(e, mEmbeddedDataSpecifications, e.specificationsOf(list), (*encoder).specification)
}

func (e *encoder) specification(s *EmbeddedDataSpecification) {
	e.open()
	specification := s.DataSpecification
	if specification == nil {
		specification = Global(IEC61360Template)
	}
	e.optionalReference(mDataSpecification, specification)
	e.name(mDataSpecificationContent)
	switch {
	case s.Content != nil:
		e.iec61360(s.Content)
	case s.OtherContent != "":
		e.buf = append(e.buf, s.OtherContent...)
	default:
		e.iec61360(new(IEC61360))
	}
	e.unknown(s.Unknown)
	e.close()
}

func (e *encoder) iec61360(c *IEC61360) {
	e.open()
	e.must(mModelType, contentModelType)
	if len(c.PreferredName) == 0 {
		e.name(mPreferredName)
		e.buf = append(e.buf, "[]"...)
	}
	e.texts(mPreferredName, c.PreferredName)
	e.texts(mShortName, c.ShortName)
	e.text(mUnit, c.Unit)
	e.optionalReference(mUnitID, c.UnitID)
	e.text(mSourceOfDefinition, c.SourceOfDefinition)
	e.text(mSymbol, c.Symbol)
	e.text(mDataType, c.DataType)
	e.texts(mDefinition, c.Definition)
	e.text(mValueFormat, c.ValueFormat)
	if pairs := e.pairsOf(c.ValueList); len(pairs) > 0 {
		e.name(mValueList)
		e.open()
		array(e, mValueReferencePairs, pairs, (*encoder).valueReferencePair)
		e.close()
	}
	e.text(mValue, c.Value)
	if c.LevelType != nil {
		e.name(mLevelType)
		e.open()
		e.boolean(mMin, c.LevelType.Min)
		e.boolean(mNom, c.LevelType.Nom)
		e.boolean(mTyp, c.LevelType.Typ)
		e.boolean(mMax, c.LevelType.Max)
		e.close()
	}
	e.unknown(c.Unknown)
	e.close()
}

func (e *encoder) valueReferencePair(p *ValueReferencePair) {
	e.open()
	e.must(mValue, p.Value)
	e.optionalReference(mValueID, p.ValueID)
	e.close()
}
