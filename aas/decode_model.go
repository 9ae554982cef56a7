package aas

// Names of the identifiables in the member modelType.
const (
	shellModelType    = "AssetAdministrationShell"
	submodelModelType = "Submodel"
	conceptModelType  = "ConceptDescription"
)

// model reads what v, a pointer to a Model, points at.
func (d *decoder) model(v any) {
	switch v := v.(type) {
	case *Shell:
		d.shell(v)
	case *Submodel:
		d.submodel(v)
	case *ConceptDescription:
		d.concept(v)
	case *ShellDescriptor:
		d.shellDescriptor(v)
	case *SubmodelDescriptor:
		*v = d.submodelDescriptor()
	case *Environment:
		d.environment(v)
	case *Reference:
		*v = d.reference()
	case *AssetInformation:
		d.assetInformation(v)
	case *SpecificAssetID:
		*v = d.assetID()
	case *Resource:
		*v = d.resource()
	case *Endpoint:
		*v = d.endpoint()
	case *Qualifier:
		*v = d.qualifier()
	case *Extension:
		*v = d.extension()
	case *Administration:
		*v = d.administration()
	case *LangString:
		*v = d.langString()
	case *EmbeddedDataSpecification:
		*v = d.specification()
	}
}

func (d *decoder) shell(s *Shell) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mDerivedFrom:
			s.DerivedFrom = d.referencePointer()
		case mAssetInformation:
			d.assetInformation(&s.AssetInformation)
		case mSubmodels:
			s.Submodels = d.referenceList()
		default:
			d.identifiable(&o, &s.Identifiable, shellModelType)
		}
	}
	d.need(&o, mAssetInformation)
}

func (d *decoder) assetInformation(a *AssetInformation) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mAssetKind:
			a.AssetKind = word(d, assetKinds)
		case mGlobalAssetID:
			a.GlobalAssetID = d.str()
		case mSpecificAssetIDs:
			a.SpecificAssetIDs = list(d, &d.assetIDs, (*decoder).assetID)
		case mAssetType:
			a.AssetType = d.str()
		case mDefaultThumbnail:
			a.DefaultThumbnail = new(d.resource())
		default:
			d.unknown(&o, &a.Unknown)
		}
	}
	d.need(&o, mAssetKind)
}

func (d *decoder) assetID() (a SpecificAssetID) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mName:
			a.Name = d.str()
		case mValue:
			a.Value = d.str()
		case mExternalSubjectID:
			a.ExternalSubjectID = d.referencePointer()
		default:
			if !d.semantics(&o, &a.Semantics) {
				d.unknown(&o, &a.Unknown)
			}
		}
	}
	d.need(&o, mName, mValue)
	return a
}

func (d *decoder) resource() (r Resource) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mPath:
			r.Path = d.str()
		case mContentType:
			r.ContentType = d.str()
		default:
			d.unknown(&o, &r.Unknown)
		}
	}
	d.need(&o, mPath)
	return r
}

func (d *decoder) submodel(s *Submodel) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch {
		case d.metadataOnly && !inMetadata(o.key):
			d.skip()
		case o.key == mID && d.merging:
			if d.str() != s.ID {
				d.fail("must be the id of the submodel")
			}
		case o.key == mKind:
			s.Kind = word(d, modellingKinds)
		case o.key == mQualifiers:
			s.Qualifiers = d.qualifierList()
		case o.key == mSubmodelElements && d.merging:
			d.mergeNamed(s.Elements)
		case o.key == mSubmodelElements:
			s.Elements = d.elementList()
		case !d.semantics(&o, &s.Semantics):
			d.identifiable(&o, &s.Identifiable, submodelModelType)
		}
	}
}

func (d *decoder) concept(c *ConceptDescription) {
	var o object
	for d.begin(&o); d.next(&o); {
		if o.key == mIsCaseOf {
			c.IsCaseOf = d.referenceList()
		} else {
			d.identifiable(&o, &c.Identifiable, conceptModelType)
		}
	}
}

func (d *decoder) environment(e *Environment) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mShells:
			e.Shells = pointers(d, (*decoder).shell)
		case mSubmodels:
			e.Submodels = pointers(d, (*decoder).submodel)
		case mConceptDescriptions:
			e.ConceptDescriptions = pointers(d, (*decoder).concept)
		default:
			d.unknown(&o, &e.Unknown)
		}
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

func (d *decoder) shellDescriptor(s *ShellDescriptor) {
	var o object
	var r Referable
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mAdministration:
			s.Administration = new(d.administration())
		case mAssetKind:
			s.AssetKind = word(d, assetKinds)
		case mAssetType:
			s.AssetType = d.str()
		case mEndpoints:
			s.Endpoints = d.endpointList()
		case mGlobalAssetID:
			s.GlobalAssetID = d.str()
		case mID:
			s.ID = d.str()
		case mSpecificAssetIDs:
			s.SpecificAssetIDs = list(d, &d.assetIDs, (*decoder).assetID)
		case mSubmodelDescriptors:
			var arena arena[SubmodelDescriptor]
			s.SubmodelDescriptors = list(d, &arena, (*decoder).submodelDescriptor)
		default:
			if !d.referable(&o, &r) {
				d.unknown(&o, &s.Unknown)
			}
		}
	}
	s.IDShort, s.DisplayName, s.Description, s.Extensions = r.IDShort, r.DisplayName, r.Description, r.Extensions
}

func (d *decoder) submodelDescriptor() (s SubmodelDescriptor) {
	var o object
	var r Referable
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mAdministration:
			s.Administration = new(d.administration())
		case mEndpoints:
			s.Endpoints = d.endpointList()
		case mID:
			s.ID = d.str()
		default:
			if !d.referable(&o, &r) && !d.semantics(&o, &s.Semantics) {
				d.unknown(&o, &s.Unknown)
			}
		}
	}
	d.need(&o, mEndpoints)
	s.IDShort, s.DisplayName, s.Description, s.Extensions = r.IDShort, r.DisplayName, r.Description, r.Extensions
	return s
}

func (d *decoder) endpointList() []Endpoint {
	var arena arena[Endpoint]
	return list(d, &arena, (*decoder).endpoint)
}

func (d *decoder) endpoint() (e Endpoint) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mInterface:
			e.Interface = d.str()
		case mProtocolInformation:
			e.Protocol = d.protocol()
		default:
			d.unknown(&o, &e.Unknown)
		}
	}
	d.need(&o, mInterface, mProtocolInformation)
	return e
}

func (d *decoder) protocol() (p ProtocolInformation) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mHref:
			p.Href = d.str()
		case mEndpointProtocol:
			p.EndpointProtocol = d.str()
		case mEndpointProtocolVersion:
			p.EndpointProtocolVersion = list(d, &d.strings, (*decoder).str)
		case mSubprotocol:
			p.Subprotocol = d.str()
		case mSubprotocolBody:
			p.SubprotocolBody = d.str()
		case mSubprotocolBodyEncoding:
			p.SubprotocolBodyEncoding = d.str()
		case mSecurityAttributes:
			var arena arena[SecurityAttribute]
			p.SecurityAttributes = list(d, &arena, (*decoder).securityAttribute)
		default:
			d.unknown(&o, &p.Unknown)
		}
	}
	d.need(&o, mHref)
	return p
}

func (d *decoder) securityAttribute() (s SecurityAttribute) {
	var o object
	for d.begin(&o); d.next(&o); {
		switch o.key {
		case mType:
			s.Type = word(d, securityTypes)
		case mKey:
			s.Key = d.str()
		case mValue:
			s.Value = d.str()
		default:
			d.refuse()
		}
	}
	d.need(&o, mType, mKey, mValue)
	return s
}
