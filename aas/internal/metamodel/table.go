package metamodel

// Form is how a member is written in XML.
type Form uint8

// The forms.
const (
	Text    Form = iota // a text: a string in JSON
	Boolean             // true or false
	Base64              // bytes: a string in JSON
	Object              // the members of Of
	List                // elements named after the classes in Of
	One                 // one element named after a class in Of
)

// Member is a member of a class.
type Member struct {
	Name string
	Form Form
	Of   []string // names of classes
}

// Class is a class of the metamodel, with its members in the order of the XML schema.
type Class struct {
	ModelType string // the member modelType in JSON; empty for a class without one
	Members   []Member
	byName    map[string]int
}

// Index returns the index of the member with a name, -1 if there is none.
func (c *Class) Index(name string) int {
	if i, ok := c.byName[name]; ok {
		return i
	}
	return -1
}

func text(names ...string) (members []Member) {
	for _, name := range names {
		members = append(members, Member{Name: name})
	}
	return members
}

func object(name, of string) []Member { return []Member{{name, Object, []string{of}}} }

func list(name string, of ...string) []Member { return []Member{{name, List, of}} }

func boolean(names ...string) (members []Member) {
	for _, name := range names {
		members = append(members, Member{Name: name, Form: Boolean})
	}
	return members
}

// Elements are the names of the kinds of submodel element in XML.
var Elements = []string{"relationshipElement", "annotatedRelationshipElement", "basicEventElement", "blob", "capability", "entity", "file",
	"multiLanguageProperty", "operation", "property", "range", "referenceElement", "submodelElementCollection", "submodelElementList"}

// The members that several classes have.
var (
	semantics      = [][]Member{object("semanticId", "reference"), list("supplementalSemanticIds", "reference")}
	specifications = list("embeddedDataSpecifications", "embeddedDataSpecification")
	referable      = [][]Member{list("extensions", "extension"), text("category", "idShort"), list("displayName", "langStringNameType"),
		list("description", "langStringTextType")}
	identifiable = append(clip(referable), object("administration", "administrativeInformation"), text("id"))
	element      = append(append(clip(referable), semantics...), list("qualifiers", "qualifier"), specifications)
	relationship = append(clip(element), object("first", "reference"), object("second", "reference"))
	langString   = text("language", "text")
)

func clip(members [][]Member) [][]Member { return members[:len(members):len(members)] }

// Classes are the classes of metamodel 3.2 by their names in XML.
var Classes = map[string]*Class{
	"environment": class("", list("assetAdministrationShells", "assetAdministrationShell"), list("submodels", "submodel"),
		list("conceptDescriptions", "conceptDescription")),
	"assetAdministrationShell": class("AssetAdministrationShell", append(clip(identifiable), specifications, object("derivedFrom", "reference"),
		object("assetInformation", "assetInformation"), list("submodels", "reference"))...),
	"submodel": class("Submodel", append(append(append(clip(identifiable), text("kind")), semantics...), list("qualifiers", "qualifier"), specifications,
		list("submodelElements", Elements...))...),
	"conceptDescription": class("ConceptDescription", append(clip(identifiable), specifications, list("isCaseOf", "reference"))...),

	"administrativeInformation": class("", specifications, text("version", "revision"), object("creator", "reference"), text("createdAt", "updatedAt", "templateId")),
	"assetInformation": class("", text("assetKind", "globalAssetId"), list("specificAssetIds", "specificAssetId"), text("assetType"),
		object("defaultThumbnail", "resource")),
	"specificAssetId": class("", append(clip(semantics), text("name", "value"), object("externalSubjectId", "reference"))...),
	"resource":        class("", text("path", "contentType")),
	"reference":       class("", text("type"), object("referredSemanticId", "reference"), list("keys", "key")),
	"key":             class("", text("type", "value")),
	"extension":       class("", append(clip(semantics), text("name", "valueType", "value"), list("refersTo", "reference"))...),
	"qualifier":       class("", append(clip(semantics), text("kind", "type", "valueType", "value"), object("valueId", "reference"))...),

	"embeddedDataSpecification": class("", object("dataSpecification", "reference"),
		[]Member{{"dataSpecificationContent", One, []string{"dataSpecificationIec61360"}}}),
	"dataSpecificationIec61360": class("DataSpecificationIec61360", list("preferredName", "langStringPreferredNameTypeIec61360"),
		list("shortName", "langStringShortNameTypeIec61360"), text("unit"), object("unitId", "reference"), text("sourceOfDefinition", "symbol", "dataType"),
		list("definition", "langStringDefinitionTypeIec61360"), text("valueFormat"), object("valueList", "valueList"), text("value"), object("levelType", "levelType")),
	"valueList":          class("", list("valueReferencePairs", "valueReferencePair")),
	"valueReferencePair": class("", text("value"), object("valueId", "reference")),
	"levelType":          class("", boolean("min", "nom", "typ", "max")),

	"langStringNameType":                  class("", langString),
	"langStringTextType":                  class("", langString),
	"langStringPreferredNameTypeIec61360": class("", langString),
	"langStringShortNameTypeIec61360":     class("", langString),
	"langStringDefinitionTypeIec61360":    class("", langString),

	"property":              class("Property", append(clip(element), text("valueType", "value"), object("valueId", "reference"))...),
	"multiLanguageProperty": class("MultiLanguageProperty", append(clip(element), list("value", "langStringTextType"), object("valueId", "reference"))...),
	"range":                 class("Range", append(clip(element), text("valueType", "min", "max"))...),
	"referenceElement":      class("ReferenceElement", append(clip(element), object("value", "reference"))...),
	"relationshipElement":   class("RelationshipElement", relationship...),
	"annotatedRelationshipElement": class("AnnotatedRelationshipElement", append(clip(relationship),
		list("annotations", Elements...))...),
	"blob":                      class("Blob", append(clip(element), []Member{{Name: "value", Form: Base64}}, text("contentType"))...),
	"file":                      class("File", append(clip(element), text("value", "contentType"))...),
	"submodelElementCollection": class("SubmodelElementCollection", append(clip(element), list("value", Elements...))...),
	"submodelElementList": class("SubmodelElementList", append(clip(element), boolean("orderRelevant"), object("semanticIdListElement", "reference"),
		text("typeValueListElement", "valueTypeListElement"), list("value", Elements...))...),
	"entity": class("Entity", append(clip(element), list("statements", Elements...), text("entityType", "globalAssetId"),
		list("specificAssetIds", "specificAssetId"))...),
	"operation": class("Operation", append(clip(element), list("inputVariables", "operationVariable"), list("outputVariables", "operationVariable"),
		list("inoutputVariables", "operationVariable"))...),
	"operationVariable": class("", []Member{{"value", One, Elements}}),
	"capability":        class("Capability", element...),
	"basicEventElement": class("BasicEventElement", append(clip(element), object("observed", "reference"), text("direction", "state", "messageTopic"),
		object("messageBroker", "reference"), text("lastUpdate", "minInterval", "maxInterval"))...),
}

// ByModelType are the names of classes in XML by their modelType.
var ByModelType = func() map[string]string {
	names := make(map[string]string)
	for name, c := range Classes {
		if c.ModelType != "" {
			names[c.ModelType] = name
		}
	}
	return names
}()

func class(modelType string, groups ...[]Member) *Class {
	c := &Class{ModelType: modelType, byName: make(map[string]int)}
	for _, group := range groups {
		for _, m := range group {
			c.byName[m.Name] = len(c.Members)
			c.Members = append(c.Members, m)
		}
	}
	return c
}
