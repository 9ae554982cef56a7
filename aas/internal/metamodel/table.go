package metamodel

// Elements are the names of the kinds of submodel element in XML.
var Elements = []string{"relationshipElement", "annotatedRelationshipElement", "basicEventElement", "blob", "capability", "entity", "file",
	"multiLanguageProperty", "operation", "property", "range", "referenceElement", "submodelElementCollection", "submodelElementList"}

// Texts are the kinds of text that are more than characters which XML can hold (AASd-130). An absent text is not one.
var Texts = []TextKind{
	{Name: "present"},
	{Name: "identifier", Max: 2048},
	{Name: "name", Max: 128},
	{Name: "label", Max: 64},
	{Name: "topic", Max: 255},
	{Name: "text18", Max: 18},
	{Name: "text128", Max: 128},
	{Name: "text255", Max: 255},
	{Name: "text1023", Max: 1023},
	{Name: "number", Max: 4, Form: "isVersion", Rule: "must be digits without a leading 0"},
	{Name: "idShort", Max: 128, Form: "isIDShort", Rule: "must be letters, digits, - and _, begin with a letter and not end with - (AASd-002)"},
	{Name: "language", Form: "isLanguage", Rule: "must be a language tag of BCP 47"},
	{Name: "contentType", Max: 128, Form: "isMediaType", Rule: "must be a media type of RFC 2046"},
	{Name: "path", Max: 2048, Form: "isURI", Rule: "must be a URI of RFC 2396"},
	{Name: "utc", Form: "isUTC", Rule: "must be an xs:dateTime in UTC"},
	{Name: "duration", Form: "isDuration", Rule: "must be an xs:duration"},
}

// Enums are the enumerations.
var Enums = []Enum{
	{Name: "referenceTypes", Go: "ReferenceType", Words: []string{"ExternalReference", "ModelReference"}},
	{Name: "assetKinds", Go: "AssetKind", Words: []string{"Type", "Instance", "Role", "NotApplicable", "Batch"}},
	{Name: "modellingKinds", Go: "ModellingKind", Words: []string{"Template", "Instance"}},
	{Name: "qualifierKinds", Go: "QualifierKind", Words: []string{"ConceptQualifier", "TemplateQualifier", "ValueQualifier"}},
	{Name: "entityTypes", Go: "EntityType", Words: []string{"CoManagedEntity", "SelfManagedEntity"}},
	{Name: "directions", Go: "string", Words: []string{"input", "output"}},
	{Name: "eventStates", Go: "string", Words: []string{"on", "off"}},
	{Name: "securityTypes", Go: "string", Words: []string{"NONE", "RFC_TLSA", "W3C_DID"}},
	{Name: "iecDataTypes", Go: "string", Words: []string{"BLOB", "BOOLEAN", "DATE", "FILE", "HTML", "INTEGER_COUNT", "INTEGER_CURRENCY",
		"INTEGER_MEASURE", "IRDI", "IRI", "RATIONAL", "RATIONAL_MEASURE", "REAL_COUNT", "REAL_CURRENCY", "REAL_MEASURE", "STRING",
		"STRING_TRANSLATABLE", "TIME", "TIMESTAMP"}},
	{Name: "dataTypes", Go: "DataType", Words: []string{"xs:anyURI", "xs:base64Binary", "xs:boolean", "xs:byte", "xs:date", "xs:dateTime",
		"xs:decimal", "xs:double", "xs:duration", "xs:float", "xs:gDay", "xs:gMonth", "xs:gMonthDay", "xs:gYear", "xs:gYearMonth",
		"xs:hexBinary", "xs:int", "xs:integer", "xs:long", "xs:negativeInteger", "xs:nonNegativeInteger", "xs:nonPositiveInteger",
		"xs:positiveInteger", "xs:short", "xs:string", "xs:time", "xs:unsignedByte", "xs:unsignedInt", "xs:unsignedLong", "xs:unsignedShort"}},
	{Name: "listElementKinds", Go: "ElementKind", Words: abstractElements, Elements: true},
	{Name: "keyTypes", Go: "KeyType", Words: append([]string{"GlobalReference", "FragmentReference", "AssetAdministrationShell", "Submodel",
		"ConceptDescription", "Identifiable", "Referable"}, abstractElements...), Elements: true},
}

var abstractElements = []string{"SubmodelElement", "DataElement", "EventElement"}

// Places of inherited members in XML, by the classes that they come from.
const (
	ofExtensions = iota - 10
	ofReferable1
	ofReferable2
	ofReferable3
	ofIdentifiable1
	ofIdentifiable2
	ofKind
	ofSemantics
	ofQualifiable
	ofSpecifications
	own = 0
)

// Members that several classes have without a common type in Go.
var (
	qualifiers     = list("qualifiers", "qualifier").place(ofQualifiable)
	specifications = list("embeddedDataSpecifications", "embeddedDataSpecification").place(ofSpecifications).v30("specificationsOf")
)

// Groups are the types in Go that the types of classes embed, with members of JSON in their order there.
var Groups = []*Class{
	{Name: "semantics", Go: "Semantics", Use: Embedded, Rules: true, parts: []Member{
		object("semanticId", "reference").place(ofSemantics),
		list("supplementalSemanticIds", "reference").place(ofSemantics),
	}},
	{Name: "referable", Go: "Referable", Use: Embedded, parts: []Member{
		text("idShort", "idShort").place(ofReferable2).read("idShort"),
		text("category", "name").place(ofReferable1),
		list("displayName", "langStringNameType").place(ofReferable3),
		list("description", "langStringTextType").place(ofReferable3),
		list("extensions", "extension").place(ofExtensions),
	}},
	{Name: "identifiable", Go: "Identifiable", Use: Embedded, parts: []Member{
		text("id", "identifier").place(ofIdentifiable2).always().read("id"),
		group("referable"),
		object("administration", "administrativeInformation").place(ofIdentifiable1),
		specifications,
	}},
	{Name: "elementCommon", Go: "ElementCommon", Use: Embedded, parts: []Member{group("referable"), group("semantics"), qualifiers, specifications}},
}

// All are the classes, with the members of JSON in their order there.
var All = []*Class{
	{Name: "assetAdministrationShell", Go: "Shell", ModelType: "AssetAdministrationShell", Use: Document, Rules: true, parts: []Member{
		group("identifiable"), rest,
		object("derivedFrom", "reference"),
		object("assetInformation", "assetInformation").value().must(),
		list("submodels", "reference"),
	}},
	{Name: "submodel", Go: "Submodel", ModelType: "Submodel", Use: Document, Rules: true, parts: []Member{
		group("identifiable"),
		word("kind", "modellingKinds").place(ofKind),
		group("semantics"), qualifiers,
		list("submodelElements", Elements...).named("Elements").isValue(),
		rest,
	}},
	{Name: "conceptDescription", Go: "ConceptDescription", ModelType: "ConceptDescription", Use: Document, Rules: true, parts: []Member{
		group("identifiable"), list("isCaseOf", "reference"), rest,
	}},
	{Name: "shellDescriptor", Go: "ShellDescriptor", Use: Descriptor, Rules: true, parts: []Member{
		text("id", "identifier").always(),
		text("idShort", "idShort"),
		list("displayName", "langStringNameType"),
		list("description", "langStringTextType"),
		list("extensions", "extension"),
		object("administration", "administrativeInformation"),
		word("assetKind", "assetKinds").v30("assetKind"),
		text("assetType", "identifier"),
		text("globalAssetId", "identifier"),
		list("specificAssetIds", "specificAssetId"),
		list("endpoints", "endpoint"),
		list("submodelDescriptors", "submodelDescriptor"),
		rest,
	}},
	{Name: "submodelDescriptor", Go: "SubmodelDescriptor", Use: Descriptor, parts: []Member{
		text("id", "identifier").always(),
		text("idShort", "idShort"),
		list("displayName", "langStringNameType"),
		list("description", "langStringTextType"),
		list("extensions", "extension"),
		object("administration", "administrativeInformation"),
		group("semantics"),
		list("endpoints", "endpoint").must(),
		rest,
	}},
	{Name: "environment", Go: "Environment", Use: Document, parts: []Member{
		list("assetAdministrationShells", "assetAdministrationShell").named("Shells"),
		list("submodels", "submodel"),
		list("conceptDescriptions", "conceptDescription"),
		rest,
	}},

	{Name: "reference", Go: "Reference", Use: Part, Rules: true, Nested: true, parts: []Member{
		word("type", "referenceTypes").must(),
		object("referredSemanticId", "reference"),
		list("keys", "key").must(),
		rest,
	}},
	{Name: "key", Go: "Key", parts: []Member{word("type", "keyTypes").must(), text("value", "identifier").must()}},
	{Name: "assetInformation", Go: "AssetInformation", Use: Part, Rules: true, parts: []Member{
		word("assetKind", "assetKinds").must().v30("assetKind"),
		text("globalAssetId", "identifier"),
		list("specificAssetIds", "specificAssetId"),
		text("assetType", "identifier"),
		object("defaultThumbnail", "resource"),
		rest,
	}},
	{Name: "specificAssetId", Go: "SpecificAssetID", Use: Part, Rules: true, parts: []Member{
		group("semantics"),
		text("name", "label").must(),
		text("value", "identifier").must(),
		object("externalSubjectId", "reference"),
		rest,
	}},
	{Name: "resource", Go: "Resource", Use: Part, parts: []Member{text("path", "path").must(), text("contentType", "contentType"), rest}},
	{Name: "qualifier", Go: "Qualifier", Use: Part, Unique: "Type", Constraint: "AASd-021", parts: []Member{
		group("semantics"),
		word("kind", "qualifierKinds"),
		text("type", "name").must(),
		word("valueType", "dataTypes").must(),
		lexical("value"),
		object("valueId", "reference"),
		rest,
	}},
	{Name: "extension", Go: "Extension", Use: Part, Unique: "Name", Constraint: "AASd-077", parts: []Member{
		group("semantics"),
		text("name", "name").must(),
		word("valueType", "dataTypes"),
		lexical("value"),
		list("refersTo", "reference"),
		rest,
	}},
	{Name: "administrativeInformation", Go: "Administration", Use: Part, Rules: true, parts: []Member{
		text("version", "number"),
		text("revision", "number"),
		object("creator", "reference"),
		text("createdAt", "utc").since(V32),
		text("updatedAt", "utc").since(V32),
		text("templateId", "identifier"),
		specifications,
		rest,
	}},

	{Name: "langStringNameType", Go: "LangString", Use: Part, parts: langString("text128")},
	{Name: "langStringTextType", Go: "LangString", parts: langString("text1023")},
	{Name: "langStringPreferredNameTypeIec61360", Go: "LangString", parts: langString("text255")},
	{Name: "langStringShortNameTypeIec61360", Go: "LangString", parts: langString("text18")},
	{Name: "langStringDefinitionTypeIec61360", Go: "LangString", parts: langString("text1023")},

	{Name: "embeddedDataSpecification", Go: "EmbeddedDataSpecification", Use: Part, Rules: true, parts: []Member{
		object("dataSpecification", "reference").write("dataSpecification"),
		{Name: "dataSpecificationContent", Form: One, Of: []string{"dataSpecificationIec61360"}, Go: "Content", Required: true, Read: "content", Write: "content", Ruled: true},
		rest,
	}},
	{Name: "dataSpecificationIec61360", Go: "IEC61360", ModelType: "DataSpecificationIec61360", Rules: true, parts: []Member{
		list("preferredName", "langStringPreferredNameTypeIec61360").must(),
		list("shortName", "langStringShortNameTypeIec61360"),
		text("unit", "present"),
		object("unitId", "reference"),
		text("sourceOfDefinition", "present"),
		text("symbol", "present"),
		word("dataType", "iecDataTypes"),
		list("definition", "langStringDefinitionTypeIec61360"),
		text("valueFormat", "present"),
		object("valueList", "valueList").read("valueList").write("valueList"),
		text("value", "identifier"),
		object("levelType", "levelType"),
		rest,
	}},
	{Name: "valueList", parts: []Member{list("valueReferencePairs", "valueReferencePair").must()}},
	{Name: "valueReferencePair", Go: "ValueReferencePair", parts: []Member{text("value", "identifier").must(), object("valueId", "reference")}},
	{Name: "levelType", Go: "LevelType", parts: []Member{boolean("min").must(), boolean("nom").must(), boolean("typ").must(), boolean("max").must()}},

	{Name: "endpoint", Go: "Endpoint", Use: Part, parts: []Member{
		text("interface", "present").must(),
		object("protocolInformation", "protocolInformation").named("Protocol").value().must(),
		rest,
	}},
	{Name: "protocolInformation", Go: "ProtocolInformation", parts: []Member{
		text("href", "present").must(),
		text("endpointProtocol", "present"),
		{Name: "endpointProtocolVersion", Form: Strings, Go: "EndpointProtocolVersion"},
		text("subprotocol", "present"),
		text("subprotocolBody", "present"),
		text("subprotocolBodyEncoding", "present"),
		list("securityAttributes", "securityAttribute"),
		rest,
	}},
	{Name: "securityAttribute", Go: "SecurityAttribute", parts: []Member{word("type", "securityTypes").must(), text("key", "").must(), text("value", "").must()}},

	element("property", "Property", "Property",
		word("valueType", "dataTypes").must(), lexical("value").isValue().write("propertyValue"), object("valueId", "reference").isValue()).often(),
	element("multiLanguageProperty", "MultiLanguageProperty", "MultiLanguageProperty",
		list("value", "langStringTextType").isValue(), object("valueId", "reference").isValue()).often(),
	element("range", "Range", "Range",
		word("valueType", "dataTypes").must(), lexical("min").isValue(), lexical("max").isValue()).often(),
	element("referenceElement", "ReferenceElement", "ReferenceElement", object("value", "reference").isValue()),
	element("relationshipElement", "RelationshipElement", "RelationshipElement",
		object("first", "reference").isValue(), object("second", "reference").isValue()),
	element("annotatedRelationshipElement", "AnnotatedRelationshipElement", "AnnotatedRelationshipElement",
		object("first", "reference").isValue(), object("second", "reference").isValue(), list("annotations", Elements...).isValue()).ruled(),
	element("blob", "Blob", "Blob",
		text("contentType", "contentType").isValue().v30("contentType").place(own+1),
		Member{Name: "value", Form: Base64, Go: "Value", Value: true, Read: "blobValue", Write: "blobValue"}),
	element("file", "File", "File",
		text("contentType", "contentType").isValue().v30("contentType").place(own+1), pointer("value", "path").isValue()).often(),
	element("submodelElementCollection", "Collection", "SubmodelElementCollection", list("value", Elements...).isValue()).often(),
	element("submodelElementList", "List", "SubmodelElementList",
		booleanPointer("orderRelevant"), object("semanticIdListElement", "reference"), word("typeValueListElement", "listElementKinds").must(),
		word("valueTypeListElement", "dataTypes"), list("value", Elements...).isValue().read("listEntries").write("listEntries").ruled()).ruled(),
	element("entity", "Entity", "Entity",
		word("entityType", "entityTypes").isValue().write("entityType").place(own+1), text("globalAssetId", "identifier").isValue().place(own+1),
		list("specificAssetIds", "specificAssetId").isValue().place(own+1), list("statements", Elements...).isValue()).ruled(),
	element("operation", "Operation", "Operation",
		list("inputVariables", "operationVariable").isValue().ruled(), list("outputVariables", "operationVariable").isValue().ruled(),
		list("inoutputVariables", "operationVariable").isValue().ruled()).ruled(),
	{Name: "operationVariable", parts: []Member{{Name: "value", Form: One, Of: Elements, Required: true}}},
	element("capability", "Capability", "Capability"),
	element("basicEventElement", "BasicEventElement", "BasicEventElement",
		object("observed", "reference").value().must().isValue(), word("direction", "directions").must(), word("state", "eventStates").must(),
		text("messageTopic", "topic"), object("messageBroker", "reference"), text("lastUpdate", "utc"), text("minInterval", "duration"),
		text("maxInterval", "duration")).ruled(),
}
