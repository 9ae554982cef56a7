package aas

// IEC61360Template is the id of the data specification that [IEC61360] is the content after.
const IEC61360Template = "https://admin-shell.io/DataSpecificationTemplates/DataSpecificationIec61360/3"

const contentModelType = "DataSpecificationIec61360"

func setOf[T ~string](words ...T) map[T]struct{} {
	set := make(map[T]struct{}, len(words))
	for _, w := range words {
		set[w] = struct{}{}
	}
	return set
}

// The words of the metamodel's enumerations.
var (
	listElementKinds = setOf(KindProperty, KindMultiLanguageProperty, KindRange, KindReferenceElement,
		KindRelationshipElement, KindAnnotatedRelationshipElement, KindBlob, KindFile, KindCollection,
		KindList, KindEntity, KindOperation, KindCapability, KindBasicEventElement,
		ElementKind(KeySubmodelElement), ElementKind(KeyDataElement), ElementKind(KeyEventElement))
	keyTypes = func() map[KeyType]struct{} {
		set := setOf(KeyGlobalReference, KeyFragmentReference, KeyShell, KeySubmodel,
			KeyConceptDescription, KeyIdentifiable, KeyReferable)
		for kind := range listElementKinds {
			set[KeyType(kind)] = struct{}{}
		}
		return set
	}()
	referenceTypes = setOf(ExternalReference, ModelReference)
	assetKinds     = setOf(Type, Instance, Role, NotApplicable, Batch)
	modellingKinds = setOf(KindTemplate, KindInstance)
	qualifierKinds = setOf(ConceptQualifier, TemplateQualifier, ValueQualifier)
	entityTypes    = setOf(CoManagedEntity, SelfManagedEntity)
	directions     = setOf("input", "output")
	eventStates    = setOf("on", "off")
	securityTypes  = setOf("NONE", "RFC_TLSA", "W3C_DID")
	iecDataTypes   = setOf("BLOB", "BOOLEAN", "DATE", "FILE", "HTML", "INTEGER_COUNT",
		"INTEGER_CURRENCY", "INTEGER_MEASURE", "IRDI", "IRI", "RATIONAL", "RATIONAL_MEASURE", "REAL_COUNT",
		"REAL_CURRENCY", "REAL_MEASURE", "STRING", "STRING_TRANSLATABLE", "TIME", "TIMESTAMP")
	dataTypes = func() map[DataType]struct{} {
		set := make(map[DataType]struct{}, len(lexicalRules))
		for t := range lexicalRules {
			set[t] = struct{}{}
		}
		return set
	}()
)
