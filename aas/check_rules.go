package aas

import "slices"

// Rules about several members of a class, which the table of the metamodel cannot say.

func (c *checker) semanticsRules(s *Semantics) {
	if s.SemanticID == nil && len(s.SupplementalSemanticIDs) > 0 {
		c.find("supplementalSemanticIds", "must not be without a semanticId (AASd-118)")
	}
}

func (c *checker) administrationRules(a *Administration) {
	if a.Revision != "" && a.Version == "" {
		c.find("revision", "must not be without a version (AASd-005)")
	}
}

func (c *checker) shellRules(v *Shell) {
	if v.DerivedFrom != nil && !leadsTo(v.DerivedFrom, KeyShell) {
		c.find("derivedFrom", "must be a model reference to a shell")
	}
	for i := range v.Submodels {
		if !leadsTo(&v.Submodels[i], KeySubmodel) {
			c.find("submodels", "must be model references to submodels")
			break
		}
	}
}

// leadsTo reports whether a reference is a model reference whose last key is of a type.
func leadsTo(r *Reference, t KeyType) bool {
	return r.Type == ModelReference && len(r.Keys) > 0 && r.Keys[len(r.Keys)-1].Type == t
}

// leadsToReferable reports whether a reference is a model reference to a referable.
func leadsToReferable(r *Reference) bool {
	return r.Type == ModelReference && len(r.Keys) > 0 && !isGeneric(r.Keys[len(r.Keys)-1].Type)
}

func (c *checker) assetInformationRules(a *AssetInformation) {
	if a.GlobalAssetID == "" && len(a.SpecificAssetIDs) == 0 {
		c.find("", "must have globalAssetId or specificAssetIds (AASd-131)")
	}
	for i := range a.SpecificAssetIDs {
		if s := &a.SpecificAssetIDs[i]; s.Name == "globalAssetId" && s.Value != a.GlobalAssetID {
			c.find("specificAssetIds", "must have the value of globalAssetId under that name (AASd-116)")
			break
		}
	}
}

func (c *checker) specificAssetIDRules(a *SpecificAssetID) {
	if a.ExternalSubjectID != nil && a.ExternalSubjectID.Type != ExternalReference {
		c.find("externalSubjectId", "must be an external reference (AASd-133)")
	}
}

func (c *checker) submodelRules(s *Submodel) {
	if s.Kind == KindTemplate {
		return
	}
	if slices.ContainsFunc(s.Qualifiers, ofTemplate) {
		c.find("qualifiers", "must not be template qualifiers unless kind is Template (AASd-119)")
	}
	for _, e := range s.Elements {
		if slices.ContainsFunc(e.Common().Qualifiers, ofTemplate) {
			c.find("submodelElements", "must not have template qualifiers unless the kind of the submodel is Template (AASd-129)")
			break
		}
	}
}

func ofTemplate(q Qualifier) bool { return q.Kind == TemplateQualifier }

func (c *checker) shellDescriptorRules(v *ShellDescriptor) {
	checkUnique(c, "submodelDescriptors", "id", v.SubmodelDescriptors, func(d *SubmodelDescriptor) string { return d.ID },
		"must be unique among the submodel descriptors")
}

func (c *checker) embeddedDataSpecificationRules(v *EmbeddedDataSpecification) {
	if v.Content == nil && v.OtherContent == "" {
		c.find("dataSpecificationContent", "is required")
	}
	checkObject(c, "dataSpecificationContent", v.Content, (*checker).checkIEC61360)
}

// What the data types of IEC 61360 need.
var (
	withUnit     = setOf("INTEGER_MEASURE", "REAL_MEASURE", "RATIONAL_MEASURE", "INTEGER_CURRENCY", "REAL_CURRENCY")
	ofReferences = setOf("STRING", "IRI", "IRDI")
	ofDocuments  = setOf("FILE", "BLOB", "HTML")
	ofProperties = setOf("DATE", "STRING", "STRING_TRANSLATABLE", "INTEGER_MEASURE", "INTEGER_COUNT", "INTEGER_CURRENCY", "REAL_MEASURE",
		"REAL_COUNT", "REAL_CURRENCY", "BOOLEAN", "RATIONAL", "RATIONAL_MEASURE", "TIME", "TIMESTAMP")
)

func (c *checker) iec61360Rules(v *IEC61360) {
	if !slices.ContainsFunc(v.PreferredName, func(l LangString) bool { return isEnglish(l.Language) }) {
		c.find("preferredName", "must be there in English (AASc-002)")
	}
	if _, ok := withUnit[v.DataType]; ok && v.Unit == "" && v.UnitID == nil {
		c.find("unit", "or unitId is required for "+v.DataType+" (AASc-3a-009)")
	}
	if v.Value != "" && len(v.ValueList) > 0 {
		c.find("value", "must not be there with a valueList (AASc-3a-010)")
	}
}

func (c *checker) conceptDescriptionRules(v *ConceptDescription) {
	switch v.Category {
	case "PROPERTY", "VALUE":
		c.contentOf(v, ofProperties, "must have a dataType of the category "+v.Category+" (AASc-3a-004)")
	case "REFERENCE":
		c.contentOf(v, ofReferences, "must have the dataType STRING, IRI or IRDI (AASc-3a-005)")
	case "DOCUMENT":
		c.contentOf(v, ofDocuments, "must have the dataType FILE, BLOB or HTML (AASc-3a-006)")
	case "QUALIFIER_TYPE":
		c.contentOf(v, iecDataTypes, "must have a dataType (AASc-3a-007)")
	}
}

func (c *checker) contentOf(v *ConceptDescription, types map[string]struct{}, rule string) {
	for i := range v.EmbeddedDataSpecifications {
		if content := v.EmbeddedDataSpecifications[i].Content; content != nil {
			if _, ok := types[content.DataType]; !ok {
				c.find("embeddedDataSpecifications", rule)
				return
			}
		}
	}
}

func (c *checker) annotatedRelationshipElementRules(v *AnnotatedRelationshipElement) {
	for i, a := range v.Annotations {
		if !isKind(a, ElementKind(KeyDataElement)) {
			c.find(entryOf("annotations", i), "must be a data element")
		}
	}
}

func (c *checker) entityRules(v *Entity) {
	if v.EntityType == SelfManagedEntity && v.GlobalAssetID == "" && len(v.SpecificAssetIDs) == 0 {
		c.find("globalAssetId", "or specificAssetIds is required of a SelfManagedEntity (AASd-014)")
	}
}

func (c *checker) basicEventElementRules(v *BasicEventElement) {
	if !leadsToReferable(&v.Observed) {
		c.find("observed", "must be a model reference to a referable")
	}
	if v.MessageBroker != nil && !leadsToReferable(v.MessageBroker) {
		c.find("messageBroker", "must be a model reference to a referable")
	}
	if v.Direction == "input" && v.MaxInterval != "" {
		c.find("maxInterval", "must not be there for the direction input")
	}
}

// named checks elements that have to have different names.
func (c *checker) named(member string, list []Element) {
	var seen names
	checkList(c, member, list, func(c *checker, e *Element) { c.child(*e, &seen, "AASd-022") })
}

// child checks an element whose name has to be unique by a constraint.
func (c *checker) child(element Element, seen *names, unique string) {
	if name := element.Common().IDShort; name == "" {
		c.find("idShort", "is required (AASd-117)")
	} else if !seen.add(name) {
		c.find("idShort", "must be unique among its siblings: "+name+" ("+unique+")")
	}
	c.element(element)
}

func (c *checker) operationRules(v *Operation) {
	var seen names
	variable := func(c *checker, e *Element) {
		c.push("value")
		c.child(*e, &seen, "AASd-134")
		c.pop()
	}
	checkList(c, "inputVariables", v.InputVariables, variable)
	checkList(c, "outputVariables", v.OutputVariables, variable)
	checkList(c, "inoutputVariables", v.InoutputVariables, variable)
}

func (c *checker) listRules(l *List) {
	kind := l.TypeValueListElement
	valued := kind == KindProperty || kind == KindRange
	if valued && l.ValueTypeListElement == "" {
		c.find("valueTypeListElement", "is required (AASd-109)")
	}
	_, known := listElementKinds[kind]
	var seen names
	checkList(c, "value", l.Value, func(c *checker, e *Element) {
		if known && !isKind(*e, kind) {
			c.find("", "must be "+string(kind)+" (AASd-108)")
		}
		if t := valueType(*e); valued && t != "" && l.ValueTypeListElement != "" && t != l.ValueTypeListElement {
			c.find("valueType", "must be "+string(l.ValueTypeListElement)+" (AASd-109)")
		}
		if name := (*e).Common().IDShort; name != "" && !seen.add(name) {
			c.find("idShort", "must be unique among its siblings: "+name+" (AASd-022)")
		}
		c.element(*e)
	})
	c.sameMeaning(l)
}

// sameMeaning checks the semantic ids of the entries of a list.
func (c *checker) sameMeaning(l *List) {
	var first *Reference
	differs, foreign := false, false
	for _, e := range l.Value {
		id := e.Common().SemanticID
		if id == nil {
			continue
		}
		if first == nil {
			first = id
		}
		differs = differs || !sameValues(first, id)
		foreign = foreign || l.SemanticIDListElement != nil && !sameValues(id, l.SemanticIDListElement)
	}
	if foreign {
		c.find("value", "must have the semantic id semanticIdListElement (AASd-107)")
	}
	if differs {
		c.find("value", "must have the same semantic id in all entries (AASd-114)")
	}
}

// sameValues reports whether two references have keys with the same values.
func sameValues(a, b *Reference) bool {
	return slices.EqualFunc(a.Keys, b.Keys, func(a, b Key) bool { return a.Value == b.Value })
}

func isGeneric(t KeyType) bool { return t == KeyGlobalReference || t == KeyFragmentReference }

// isIdentifiable reports whether a key of a type names what has an id.
func isIdentifiable(t KeyType) bool {
	return t == KeyShell || t == KeySubmodel || t == KeyConceptDescription || t == KeyIdentifiable
}

// isFragment reports whether a key of a type names a part of what has an id.
func isFragment(t KeyType) bool {
	_, known := keyTypes[t]
	return known && t != KeyGlobalReference && t != KeyReferable && !isIdentifiable(t)
}

func (c *checker) referenceRules(r *Reference) {
	if len(r.Keys) == 0 {
		return
	}
	first, last := r.Keys[0].Type, r.Keys[len(r.Keys)-1].Type
	if first != KeyGlobalReference && !isIdentifiable(first) {
		c.find("keys", "must begin with what has a global id (AASd-121)")
	}
	switch r.Type {
	case ExternalReference:
		if first != KeyGlobalReference {
			c.find("keys", "must begin with a GlobalReference (AASd-122)")
		}
		if !isGeneric(last) {
			c.find("keys", "must end with a GlobalReference or a FragmentReference (AASd-124)")
		}
	case ModelReference:
		c.modelKeys(r.Keys)
	}
}

func (c *checker) modelKeys(keys []Key) {
	if !isIdentifiable(keys[0].Type) {
		c.find("keys", "must begin with a shell, a submodel or a concept description (AASd-123)")
	}
	last := len(keys) - 1
	if slices.ContainsFunc(keys[1:], func(k Key) bool { return !isFragment(k.Type) }) {
		c.find("keys", "must be fragments after the first (AASd-125)")
	}
	if slices.ContainsFunc(keys[:last], func(k Key) bool { return k.Type == KeyFragmentReference }) {
		c.find("keys", "must have no FragmentReference before the last (AASd-126)")
	}
	if last > 0 && keys[last].Type == KeyFragmentReference {
		if before := keys[last-1].Type; before != KeyType(KindFile) && before != KeyType(KindBlob) {
			c.find("keys", "must have a File or a Blob before a FragmentReference (AASd-127)")
		}
	}
	for i := 1; i <= last && last > 1; i++ {
		if keys[i-1].Type == KeyType(KindList) && !lexicalRules[NonNegativeInteger](keys[i].Value) {
			c.find("keys", "must have an index after a SubmodelElementList (AASd-128)")
			break
		}
	}
}
