package coremodel_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/aas-core-works/aas-core3.1-golang/jsonization"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/internal/coremodel"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/realtest"
)

// everything has each member of the metamodel at least once.
const everything = `{
 "assetAdministrationShells": [{"modelType": "AssetAdministrationShell", "id": "urn:shell", "idShort": "S", "category": "VARIABLE",
  "administration": {"version": "1", "revision": "2", "templateId": "urn:t", "creator": REF, "embeddedDataSpecifications": [SPEC]},
  "displayName": [{"language": "en", "text": "n"}], "description": [{"language": "de", "text": "d"}],
  "extensions": [{"name": "x", "valueType": "xs:int", "value": "1", "refersTo": [REF], "semanticId": REF, "supplementalSemanticIds": [REF]}],
  "embeddedDataSpecifications": [SPEC], "derivedFrom": REF, "submodels": [REF],
  "assetInformation": {"assetKind": "Role", "globalAssetId": "urn:a", "assetType": "urn:y",
   "specificAssetIds": [{"name": "serial", "value": "7", "externalSubjectId": REF, "semanticId": REF}],
   "defaultThumbnail": {"path": "/t.png", "contentType": "image/png"}}}],
 "submodels": [{"modelType": "Submodel", "id": "urn:submodel", "kind": "Template", "semanticId": REF, "supplementalSemanticIds": [REF],
  "embeddedDataSpecifications": [SPEC], "administration": {"version": "1"},
  "qualifiers": [{"kind": "ValueQualifier", "type": "t", "valueType": "xs:string", "value": "v", "valueId": REF, "semanticId": REF}],
  "submodelElements": [
   {"modelType": "Property", "idShort": "a", "valueType": "xs:double", "value": "1.5", "valueId": REF, "qualifiers": [{"type": "t", "valueType": "xs:byte"}], "embeddedDataSpecifications": [SPEC]},
   {"modelType": "MultiLanguageProperty", "idShort": "b", "value": [{"language": "en", "text": "t"}], "valueId": REF},
   {"modelType": "Range", "idShort": "c", "valueType": "xs:int", "min": "1", "max": "2"},
   {"modelType": "ReferenceElement", "idShort": "d", "value": REF},
   {"modelType": "RelationshipElement", "idShort": "e", "first": REF, "second": REF},
   {"modelType": "AnnotatedRelationshipElement", "idShort": "f", "first": REF, "second": REF, "annotations": [{"modelType": "Property", "idShort": "a", "valueType": "xs:string"}]},
   {"modelType": "Blob", "idShort": "g", "value": "AAEC", "contentType": "a/b"},
   {"modelType": "File", "idShort": "h", "value": "/x", "contentType": "a/b"},
   {"modelType": "SubmodelElementCollection", "idShort": "i", "value": [{"modelType": "Capability", "idShort": "c", "semanticId": REF}, {"modelType": "Property", "idShort": "empty", "valueType": "xs:string", "value": ""}]},
   {"modelType": "SubmodelElementList", "idShort": "j", "orderRelevant": false, "semanticIdListElement": REF, "typeValueListElement": "Property", "valueTypeListElement": "xs:int", "value": [{"modelType": "Property", "valueType": "xs:int", "value": "3"}]},
   {"modelType": "Entity", "idShort": "k", "entityType": "SelfManagedEntity", "globalAssetId": "urn:g", "specificAssetIds": [{"name": "n", "value": "v"}], "statements": [{"modelType": "Capability", "idShort": "c"}]},
   {"modelType": "Operation", "idShort": "l", "inputVariables": [{"value": {"modelType": "Capability", "idShort": "c"}}], "outputVariables": [{"value": {"modelType": "Capability", "idShort": "o"}}], "inoutputVariables": [{"value": {"modelType": "Capability", "idShort": "io"}}]},
   {"modelType": "BasicEventElement", "idShort": "m", "observed": REF, "direction": "output", "state": "off", "messageTopic": "t", "messageBroker": REF, "lastUpdate": "2024-01-01T00:00:00Z", "minInterval": "PT1S", "maxInterval": "PT2S"}]}],
 "conceptDescriptions": [{"modelType": "ConceptDescription", "id": "urn:cd", "isCaseOf": [REF], "embeddedDataSpecifications": [SPEC]}]}`

const reference = `{"type": "ExternalReference", "keys": [{"type": "GlobalReference", "value": "urn:k"}, {"type": "FragmentReference", "value": "f"}],
 "referredSemanticId": {"type": "ModelReference", "keys": [{"type": "Submodel", "value": "urn:r"}]}}`

const specification = `{"dataSpecification": REF, "dataSpecificationContent": {"modelType": "DataSpecificationIec61360",
 "preferredName": [{"language": "en", "text": "p"}], "shortName": [{"language": "en", "text": "s"}], "unit": "m", "unitId": REF,
 "sourceOfDefinition": "o", "symbol": "y", "dataType": "REAL_MEASURE", "definition": [{"language": "en", "text": "d"}], "valueFormat": "f",
 "valueList": {"valueReferencePairs": [{"value": "v", "valueId": REF}]}, "value": "v", "levelType": {"min": true, "nom": false, "typ": true, "max": false}}}`

func TestNothingIsLost(t *testing.T) {
	roundTrip(t, []byte(expand(everything)))
}

func TestTemplatesAreKept(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(realtest.Data(t, "idta"), "templates", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		t.Run(filepath.Base(file), func(t *testing.T) { roundTrip(t, data) })
	}
}

// roundTrip takes what package aas reads from data to aas-core, and compares it with what aas-core reads.
func roundTrip(t *testing.T, data []byte) {
	var tree any
	require.NoError(t, json.Unmarshal(data, &tree))
	want, err := jsonization.EnvironmentFromJsonable(tree)
	require.NoError(t, err)
	env, err := aas.Decode[aas.Environment](data)
	require.NoError(t, err)
	got, problems := coremodel.To(env)
	require.Empty(t, problems)
	require.Equal(t, jsonOf(t, want), jsonOf(t, got))
}

func TestWhatCannotBeSaidIsNamed(t *testing.T) {
	_, problems := coremodel.To(&aas.Submodel{Elements: []aas.Element{
		&aas.Collection{Value: []aas.Element{nil, &aas.AnnotatedRelationshipElement{Annotations: []aas.Element{&aas.Capability{}, &aas.Collection{}}}}},
	}})
	require.Equal(t, []fault.Field{
		{Field: "submodelElements[0].value[0]", Message: "has to be a submodel element"},
		{Field: "submodelElements[0].value[1].annotations[0]", Message: "has to be a data element"},
		{Field: "submodelElements[0].value[1].annotations[1]", Message: "has to be a data element"},
	}, problems)
	instance, problems := coremodel.To(7)
	require.Nil(t, instance)
	require.Empty(t, problems)
}
