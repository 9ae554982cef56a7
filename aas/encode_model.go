package aas

// model appends what v, a pointer to a Model, points at.
func (e *encoder) model(v any) {
	switch v := v.(type) {
	case *Shell:
		e.shell(v)
	case *Submodel:
		e.submodel(v)
	case *ConceptDescription:
		e.concept(v)
	case *ShellDescriptor:
		e.shellDescriptor(v)
	case *SubmodelDescriptor:
		e.submodelDescriptor(v)
	case *Environment:
		e.environment(v)
	case *Reference:
		e.reference(v)
	case *AssetInformation:
		e.assetInformation(v)
	case *SpecificAssetID:
		e.assetID(v)
	case *Resource:
		e.resource(v)
	case *Endpoint:
		e.endpoint(v)
	case *Qualifier:
		e.qualifier(v)
	case *Extension:
		e.extension(v)
	case *Administration:
		e.administration(v)
	case *LangString:
		e.langString(v)
	case *EmbeddedDataSpecification:
		e.specification(v)
	}
}

func (e *encoder) shell(s *Shell) {
	e.open()
	e.identifiable(&s.Identifiable, shellModelType)
	e.unknown(s.Unknown) // here, so that a shell ends with its submodels or its asset information
	e.optionalReference(mDerivedFrom, s.DerivedFrom)
	e.name(mAssetInformation)
	e.assetInformation(&s.AssetInformation)
	e.referenceList(mSubmodels, s.Submodels)
	e.close()
}

func (e *encoder) assetInformation(a *AssetInformation) {
	e.open()
	e.must(mAssetKind, string(e.assetKind(a.AssetKind)))
	e.text(mGlobalAssetID, a.GlobalAssetID)
	array(e, mSpecificAssetIDs, a.SpecificAssetIDs, (*encoder).assetID)
	e.text(mAssetType, a.AssetType)
	if a.DefaultThumbnail != nil {
		e.name(mDefaultThumbnail)
		e.resource(a.DefaultThumbnail)
	}
	e.unknown(a.Unknown)
	e.close()
}

func (e *encoder) assetID(a *SpecificAssetID) {
	e.open()
	e.semantics(&a.Semantics)
	e.must(mName, a.Name)
	e.must(mValue, a.Value)
	e.optionalReference(mExternalSubjectID, a.ExternalSubjectID)
	e.unknown(a.Unknown)
	e.close()
}

func (e *encoder) resource(r *Resource) {
	e.open()
	e.must(mPath, r.Path)
	e.text(mContentType, r.ContentType)
	e.unknown(r.Unknown)
	e.close()
}

func (e *encoder) submodel(s *Submodel) {
	e.open()
	e.submodelHead(s)
	if elements := e.elementsOf(s.Elements, false); len(elements) > 0 {
		e.elements(mSubmodelElements, elements, e.view.Level == Deep)
	}
	e.unknown(s.Unknown)
	e.close()
}

// submodelHead appends all but the elements.
func (e *encoder) submodelHead(s *Submodel) {
	e.identifiable(&s.Identifiable, submodelModelType)
	e.text(mKind, string(s.Kind))
	e.semantics(&s.Semantics)
	array(e, mQualifiers, s.Qualifiers, (*encoder).qualifier)
}

func (e *encoder) concept(c *ConceptDescription) {
	e.open()
	e.identifiable(&c.Identifiable, conceptModelType)
	e.referenceList(mIsCaseOf, c.IsCaseOf)
	e.unknown(c.Unknown)
	e.close()
}

func (e *encoder) environment(v *Environment) {
	e.open()
	array(e, mShells, v.Shells, func(e *encoder, s **Shell) { e.shell(*s) })
	array(e, mSubmodels, v.Submodels, func(e *encoder, s **Submodel) { e.submodel(*s) })
	array(e, mConceptDescriptions, v.ConceptDescriptions, func(e *encoder, c **ConceptDescription) { e.concept(*c) })
	e.unknown(v.Unknown)
	e.close()
}

func (e *encoder) shellDescriptor(s *ShellDescriptor) {
	e.open()
	e.must(mID, s.ID)
	e.referable(&Referable{IDShort: s.IDShort, DisplayName: s.DisplayName, Description: s.Description, Extensions: s.Extensions})
	if s.Administration != nil {
		e.name(mAdministration)
		e.administration(s.Administration)
	}
	e.text(mAssetKind, string(e.assetKind(s.AssetKind)))
	e.text(mAssetType, s.AssetType)
	e.text(mGlobalAssetID, s.GlobalAssetID)
	array(e, mSpecificAssetIDs, s.SpecificAssetIDs, (*encoder).assetID)
	array(e, mEndpoints, s.Endpoints, (*encoder).endpoint)
	array(e, mSubmodelDescriptors, s.SubmodelDescriptors, (*encoder).submodelDescriptor)
	e.unknown(s.Unknown)
	e.close()
}

func (e *encoder) submodelDescriptor(s *SubmodelDescriptor) {
	e.open()
	e.must(mID, s.ID)
	e.referable(&Referable{IDShort: s.IDShort, DisplayName: s.DisplayName, Description: s.Description, Extensions: s.Extensions})
	if s.Administration != nil {
		e.name(mAdministration)
		e.administration(s.Administration)
	}
	e.semantics(&s.Semantics)
	if len(s.Endpoints) == 0 {
		e.name(mEndpoints)
		e.buf = append(e.buf, "[]"...)
	}
	array(e, mEndpoints, s.Endpoints, (*encoder).endpoint)
	e.unknown(s.Unknown)
	e.close()
}

func (e *encoder) endpoint(p *Endpoint) {
	e.open()
	e.must(mInterface, p.Interface)
	e.name(mProtocolInformation)
	e.protocol(&p.Protocol)
	e.unknown(p.Unknown)
	e.close()
}

func (e *encoder) protocol(p *ProtocolInformation) {
	e.open()
	e.must(mHref, p.Href)
	e.text(mEndpointProtocol, p.EndpointProtocol)
	array(e, mEndpointProtocolVersion, p.EndpointProtocolVersion, func(e *encoder, v *string) {
		e.buf = appendString(e.buf, *v)
	})
	e.text(mSubprotocol, p.Subprotocol)
	e.text(mSubprotocolBody, p.SubprotocolBody)
	e.text(mSubprotocolBodyEncoding, p.SubprotocolBodyEncoding)
	array(e, mSecurityAttributes, p.SecurityAttributes, (*encoder).securityAttribute)
	e.unknown(p.Unknown)
	e.close()
}

func (e *encoder) securityAttribute(s *SecurityAttribute) {
	e.open()
	e.must(mType, s.Type)
	e.must(mKey, s.Key)
	e.must(mValue, s.Value)
	e.close()
}
