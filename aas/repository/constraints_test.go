package repository_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

const (
	shellOfAsset = `"assetInformation":{"assetKind":"Instance","globalAssetId":"urn:a"}`
	toSubmodel   = `{"type":"ModelReference","keys":[{"type":"Submodel","value":"urn:s"}]}`
	semantic     = `{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:c"}]}`
	otherMeaning = `{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:d"}]}`
)

// oneMistake is a document, and the one finding that there is to be.
type oneMistake struct{ json, path, constraint string }

var badDocuments = map[string][]oneMistake{
	"shell": {
		{`"assetInformation":{"assetKind":"Instance"}`, "assetInformation", "AASd-131"},
		{`"idShort":"a-",` + shellOfAsset, "idShort", "AASd-002"},
		{`"administration":{"revision":"1"},` + shellOfAsset, "administration.revision", "AASd-005"},
		{`"extensions":[{"name":"x"},{"name":"x"}],` + shellOfAsset, "extensions[1].name", "AASd-077"},
		{`"extensions":[{"name":"x","valueType":"xs:int","value":"x"}],` + shellOfAsset, "extensions[0].value", "AASd-020"},
		{`"extensions":[{"name":"x","supplementalSemanticIds":[` + semantic + `]}],` + shellOfAsset, "extensions[0].supplementalSemanticIds", "AASd-118"},
		{`"assetInformation":{"assetKind":"Instance","specificAssetIds":[{"name":"n","value":"v","supplementalSemanticIds":[` + semantic + `]}]}`, "assetInformation.specificAssetIds[0].supplementalSemanticIds", "AASd-118"},
		{`"assetInformation":{"assetKind":"Instance","specificAssetIds":[{"name":"n","value":"v","externalSubjectId":` + toSubmodel + `}]}`, "assetInformation.specificAssetIds[0].externalSubjectId", "AASd-133"},
		{`"assetInformation":{"assetKind":"Instance","globalAssetId":"urn:a","specificAssetIds":[{"name":"globalAssetId","value":"urn:b"}]}`, "assetInformation.specificAssetIds", "AASd-116"},
		{`"assetInformation":{"assetKind":"Instance","globalAssetId":"urn:\u0001"}`, "assetInformation.globalAssetId", "AASd-130"},
		{`"submodels":[` + semantic + `],` + shellOfAsset, "submodels", ""},
		{`"derivedFrom":` + toSubmodel + `,` + shellOfAsset, "derivedFrom", ""},
	},
	"submodel": {
		{`"semanticId":{"type":"ExternalReference","keys":[]}`, "semanticId.keys", ""},
		{`"semanticId":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":""}]}`, "semanticId.keys[0].value", ""},
		{`"supplementalSemanticIds":[` + semantic + `]`, "supplementalSemanticIds", "AASd-118"},
		{`"semanticId":{"type":"ExternalReference","keys":[{"type":"Submodel","value":"urn:s"},{"type":"GlobalReference","value":"urn:s"}]}`, "semanticId.keys", "AASd-122"},
		{`"semanticId":{"type":"ModelReference","keys":[{"type":"GlobalReference","value":"urn:s"}]}`, "semanticId.keys", "AASd-123"},
		{`"semanticId":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"urn:s"},{"type":"Submodel","value":"urn:s"}]}`, "semanticId.keys", "AASd-124"},
		{`"semanticId":{"type":"ModelReference","keys":[{"type":"Submodel","value":"urn:s"},{"type":"Submodel","value":"urn:s"}]}`, "semanticId.keys", "AASd-125"},
		{`"semanticId":{"type":"ModelReference","keys":[{"type":"Submodel","value":"urn:s"},{"type":"FragmentReference","value":"p"}]}`, "semanticId.keys", "AASd-127"},
		{`"semanticId":{"type":"ModelReference","keys":[{"type":"Submodel","value":"urn:s"},{"type":"SubmodelElementList","value":"l"},{"type":"Property","value":"p"}]}`, "semanticId.keys", "AASd-128"},
		{`"qualifiers":[{"type":"q","valueType":"xs:int","value":"x"}]`, "qualifiers[0].value", "AASd-020"},
		{`"qualifiers":[{"type":"q","valueType":"xs:int"},{"type":"q","valueType":"xs:int"}]`, "qualifiers[1].type", "AASd-021"},
		{`"qualifiers":[{"type":"","valueType":"xs:int"}]`, "qualifiers[0].type", ""},
		{`"qualifiers":[{"kind":"TemplateQualifier","type":"q","valueType":"xs:int"}],"kind":"Instance"`, "qualifiers", "AASd-119"},
	},
	"element": {
		{`{"modelType":"Capability"}`, "submodelElements[0].idShort", "AASd-117"},
		{`{"modelType":"Capability","idShort":"1a"}`, "submodelElements[0].idShort", "AASd-002"},
		{`{"modelType":"Capability","idShort":"aa"},{"modelType":"Capability","idShort":"aa"}`, "submodelElements[1].idShort", "AASd-022"},
		{`{"modelType":"Capability","idShort":"aa","supplementalSemanticIds":[` + semantic + `]}`, "submodelElements[0].supplementalSemanticIds", "AASd-118"},
		{`{"modelType":"Capability","idShort":"aa","qualifiers":[{"kind":"TemplateQualifier","type":"q","valueType":"xs:int"}]}`, "submodelElements", "AASd-129"},
		{`{"modelType":"Property","idShort":"aa","valueType":"xs:int","value":"x"}`, "submodelElements[0].value", "AASd-020"},
		{`{"modelType":"Property","idShort":"aa","valueType":"xs:string","value":"\u0001"}`, "submodelElements[0].value", "AASd-130"},
		{`{"modelType":"Range","idShort":"aa","valueType":"xs:int","min":"x"}`, "submodelElements[0].min", "AASd-020"},
		{`{"modelType":"Range","idShort":"aa","valueType":"xs:int","max":"x"}`, "submodelElements[0].max", "AASd-020"},
		{`{"modelType":"SubmodelElementCollection","idShort":"cc","value":[{"modelType":"Capability"}]}`, "submodelElements[0].value[0].idShort", "AASd-117"},
		{`{"modelType":"SubmodelElementCollection","idShort":"cc","value":[{"modelType":"Capability","idShort":"aa"},{"modelType":"Capability","idShort":"aa"}]}`, "submodelElements[0].value[1].idShort", "AASd-022"},
		{`{"modelType":"Entity","idShort":"ee","entityType":"SelfManagedEntity"}`, "submodelElements[0].globalAssetId", "AASd-014"},
		{`{"modelType":"Entity","idShort":"ee","entityType":"CoManagedEntity","statements":[{"modelType":"Capability"}]}`, "submodelElements[0].statements[0].idShort", "AASd-117"},
		{`{"modelType":"Entity","idShort":"ee","entityType":"CoManagedEntity","statements":[{"modelType":"Capability","idShort":"aa"},{"modelType":"Capability","idShort":"aa"}]}`, "submodelElements[0].statements[1].idShort", "AASd-022"},
		{`{"modelType":"AnnotatedRelationshipElement","idShort":"rr","annotations":[{"modelType":"Capability","idShort":"aa"}]}`, "submodelElements[0].annotations[0]", ""},
		{`{"modelType":"AnnotatedRelationshipElement","idShort":"rr","annotations":[{"modelType":"Blob"}]}`, "submodelElements[0].annotations[0].idShort", "AASd-117"},
		{`{"modelType":"AnnotatedRelationshipElement","idShort":"rr","annotations":[{"modelType":"Blob","idShort":"aa"},{"modelType":"Blob","idShort":"aa"}]}`, "submodelElements[0].annotations[1].idShort", "AASd-022"},
		{`{"modelType":"Operation","idShort":"oo","inputVariables":[{"value":{"modelType":"Capability"}}]}`, "submodelElements[0].inputVariables[0].value.idShort", "AASd-117"},
		{`{"modelType":"Operation","idShort":"oo","inputVariables":[{"value":{"modelType":"Capability","idShort":"aa"}}],"outputVariables":[{"value":{"modelType":"Capability","idShort":"aa"}}]}`, "submodelElements[0].outputVariables[0].value.idShort", "AASd-134"},
		{`{"modelType":"Operation","idShort":"oo","inputVariables":[{"value":{"modelType":"Property","idShort":"aa","valueType":"xs:int","value":"x"}}]}`, "submodelElements[0].inputVariables[0].value.value", "AASd-020"},
		{`{"modelType":"SubmodelElementList","idShort":"ll","typeValueListElement":"Property"}`, "submodelElements[0].valueTypeListElement", "AASd-109"},
		{`{"modelType":"SubmodelElementList","idShort":"ll","typeValueListElement":"Property","valueTypeListElement":"xs:int","value":[{"modelType":"Property","valueType":"xs:long"}]}`, "submodelElements[0].value[0].valueType", "AASd-109"},
		{`{"modelType":"SubmodelElementList","idShort":"ll","typeValueListElement":"Capability","value":[{"modelType":"Operation"}]}`, "submodelElements[0].value[0]", "AASd-108"},
		{`{"modelType":"SubmodelElementList","idShort":"ll","typeValueListElement":"Capability","semanticIdListElement":` + otherMeaning + `,"value":[{"modelType":"Capability","semanticId":` + semantic + `}]}`, "submodelElements[0].value", "AASd-107"},
		{`{"modelType":"SubmodelElementList","idShort":"ll","typeValueListElement":"Capability","value":[{"modelType":"Capability","semanticId":` + semantic + `},{"modelType":"Capability","semanticId":` + otherMeaning + `}]}`, "submodelElements[0].value", "AASd-114"},
		{`{"modelType":"BasicEventElement","idShort":"bb","observed":` + semantic + `,"direction":"input","state":"on"}`, "submodelElements[0].observed", ""},
		{`{"modelType":"BasicEventElement","idShort":"bb","observed":` + toSubmodel + `,"direction":"input","state":"on","maxInterval":"P1D"}`, "submodelElements[0].maxInterval", ""},
		{`{"modelType":"BasicEventElement","idShort":"bb","observed":` + toSubmodel + `,"direction":"output","state":"on","lastUpdate":"today"}`, "submodelElements[0].lastUpdate", ""},
	},
	"concept": {
		{`"isCaseOf":[{"type":"ExternalReference","keys":[]}]`, "isCaseOf[0].keys", ""},
		{`"administration":{"revision":"1"}`, "administration.revision", "AASd-005"},
		{iec61360(`"preferredName":[{"language":"de","text":"x"}]`), "embeddedDataSpecifications[0].dataSpecificationContent.preferredName", "AASc-002"},
		{iec61360(`"preferredName":[{"language":"en","text":"x"}],"dataType":"REAL_MEASURE"`), "embeddedDataSpecifications[0].dataSpecificationContent.unit", "AASc-3a-009"},
		{iec61360(`"preferredName":[{"language":"en","text":"x"},{"language":"en","text":"y"}]`), "embeddedDataSpecifications[0].dataSpecificationContent.preferredName", ""},
		{iec61360(`"preferredName":[{"language":"en","text":"x"}],"value":"x","valueList":{"valueReferencePairs":[{"value":"x","valueId":` + semantic + `}]}`), "embeddedDataSpecifications[0].dataSpecificationContent.value", "AASc-3a-010"},
		{`"category":"PROPERTY",` + iec61360(`"preferredName":[{"language":"en","text":"x"}]`), "embeddedDataSpecifications", "AASc-3a-004"},
		{`"category":"REFERENCE",` + iec61360(`"preferredName":[{"language":"en","text":"x"}],"dataType":"DATE"`), "embeddedDataSpecifications", "AASc-3a-005"},
		{`"category":"DOCUMENT",` + iec61360(`"preferredName":[{"language":"en","text":"x"}],"dataType":"DATE"`), "embeddedDataSpecifications", "AASc-3a-006"},
		{`"category":"QUALIFIER_TYPE",` + iec61360(`"preferredName":[{"language":"en","text":"x"}]`), "embeddedDataSpecifications", "AASc-3a-007"},
	},
}

func iec61360(content string) string {
	return `"embeddedDataSpecifications":[{"dataSpecification":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"https://admin-shell.io/DataSpecificationTemplates/DataSpecificationIec61360/3"}]},
		"dataSpecificationContent":{"modelType":"DataSpecificationIec61360",` + content + `}}]`
}

// Every mistake is told once, with the member that it is in and the name of the constraint.
func TestEachConstraintIsNamedOnceWithItsMember(t *testing.T) {
	s := newService(t, repository.Options{})
	create := map[string]func(text string) error{
		"shell": func(text string) error {
			v, err := aas.Decode[aas.Shell]([]byte(`{"id":"urn:x",` + text + `}`))
			require.NoError(t, err)
			_, err = s.Shells.Create(t.Context(), v)
			return err
		},
		"submodel": func(text string) error {
			v, err := aas.Decode[aas.Submodel]([]byte(`{"id":"urn:x",` + text + `}`))
			require.NoError(t, err)
			_, err = s.Submodels.Create(t.Context(), v)
			return err
		},
		"element": func(text string) error {
			_, err := s.Submodels.Create(t.Context(), decodeSubmodel(t, text))
			return err
		},
		"concept": func(text string) error {
			v, err := aas.Decode[aas.ConceptDescription]([]byte(`{"id":"urn:x",` + text + `}`))
			require.NoError(t, err)
			_, err = s.Concepts.Create(t.Context(), v)
			return err
		},
	}
	for kind, list := range badDocuments {
		for _, m := range list {
			t.Run(kind+" "+m.constraint+" "+m.path, func(t *testing.T) {
				refused, _ := fault.From(create[kind](m.json))
				require.NotNil(t, refused, m.json)
				require.Len(t, refused.Fields, 1, "%v", refused.Fields)
				require.Equal(t, m.path, refused.Fields[0].Field, "%v", refused.Fields)
				require.Contains(t, refused.Fields[0].Message, m.constraint)
			})
		}
	}
}

func TestIDsAndNamesInAnyScript(t *testing.T) {
	s := newService(t, repository.Options{})
	v := newSubmodel(strings.Repeat("泵", 2048), "Mm")
	v.DisplayName = []aas.LangString{{Language: "zh", Text: strings.Repeat("泵", 128)}}
	_, err := s.Submodels.Create(t.Context(), v)
	require.NoError(t, err)
	got, err := s.Submodels.Get(t.Context(), v.ID)
	require.NoError(t, err)
	require.Equal(t, v.DisplayName, got.DisplayName)
	v.DisplayName[0].Text += "泵"
	_, _, err = s.Submodels.Put(t.Context(), v, repository.Match{})
	require.ErrorContains(t, err, "128 characters")
}
