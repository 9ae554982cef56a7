package aas_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
)

// texts are a document with a text in each member that may have so many characters.
var texts = map[string]struct {
	limit int
	make  func(text string) any
}{
	"id":       {2048, func(s string) any { return &aas.Submodel{Identifiable: aas.Identifiable{ID: s}} }},
	"category": {128, func(s string) any { return &aas.Capability{ElementCommon: common(aas.Referable{Category: s})} }},
	"displayName": {128, func(s string) any {
		return &aas.Capability{ElementCommon: common(aas.Referable{DisplayName: german(s)})}
	}},
	"description": {1023, func(s string) any {
		return &aas.Capability{ElementCommon: common(aas.Referable{Description: german(s)})}
	}},
	"extension": {128, func(s string) any {
		return &aas.Capability{ElementCommon: common(aas.Referable{Extensions: []aas.Extension{{Name: s}}})}
	}},
	"qualifier": {128, func(s string) any {
		return &aas.Capability{ElementCommon: aas.ElementCommon{Qualifiers: []aas.Qualifier{{Type: s, ValueType: "xs:int"}}}}
	}},
	"key": {2048, func(s string) any {
		return &aas.Capability{ElementCommon: aas.ElementCommon{Semantics: aas.Semantics{SemanticID: aas.Global(s)}}}
	}},
	"message topic": {255, func(s string) any {
		return &aas.BasicEventElement{Observed: aas.RefTo("x"), Direction: "input", State: "on", MessageTopic: s}
	}},
	"global asset id": {2048, func(s string) any { return shellOf(aas.AssetInformation{GlobalAssetID: s}) }},
	"asset type":      {2048, func(s string) any { return shellOf(aas.AssetInformation{GlobalAssetID: "x", AssetType: s}) }},
	"name of an asset id": {64, func(s string) any {
		return shellOf(aas.AssetInformation{SpecificAssetIDs: []aas.SpecificAssetID{{Name: s, Value: "x"}}})
	}},
	"value of an asset id": {2048, func(s string) any {
		return shellOf(aas.AssetInformation{SpecificAssetIDs: []aas.SpecificAssetID{{Name: "x", Value: s}}})
	}},
	"asset of an entity": {2048, func(s string) any { return &aas.Entity{EntityType: aas.SelfManagedEntity, GlobalAssetID: s} }},
	"template id": {2048, func(s string) any {
		return &aas.Submodel{Identifiable: aas.Identifiable{ID: "x", Administration: &aas.Administration{TemplateID: s}}}
	}},
	"preferred name":  {255, func(s string) any { return concept(aas.IEC61360{PreferredName: english(s)}) }},
	"short name":      {18, func(s string) any { return concept(aas.IEC61360{PreferredName: english("x"), ShortName: english(s)}) }},
	"definition":      {1023, func(s string) any { return concept(aas.IEC61360{PreferredName: english("x"), Definition: english(s)}) }},
	"value of a term": {2048, func(s string) any { return concept(aas.IEC61360{PreferredName: english("x"), Value: s}) }},
	"value of a list": {2048, func(s string) any {
		return concept(aas.IEC61360{PreferredName: english("x"), ValueList: []aas.ValueReferencePair{{Value: s, ValueID: aas.Global("x")}}})
	}},
}

func common(r aas.Referable) aas.ElementCommon { return aas.ElementCommon{Referable: r} }

func german(s string) []aas.LangString  { return []aas.LangString{{Language: "de", Text: s}} }
func english(s string) []aas.LangString { return []aas.LangString{{Language: "en", Text: s}} }

func shellOf(a aas.AssetInformation) *aas.Shell {
	a.AssetKind = aas.Instance
	return &aas.Shell{Identifiable: aas.Identifiable{ID: "x"}, AssetInformation: a}
}

func concept(content aas.IEC61360) *aas.ConceptDescription {
	return &aas.ConceptDescription{Identifiable: aas.Identifiable{ID: "x", EmbeddedDataSpecifications: []aas.EmbeddedDataSpecification{{
		DataSpecification: aas.Global("https://admin-shell.io/DataSpecificationTemplates/DataSpecificationIec61360/3"), Content: &content,
	}}}}
}

func TestLengthsCountCharacters(t *testing.T) {
	for name, text := range texts {
		for _, character := range []string{"x", "ü", "泵", "😀"} {
			t.Run(name+" "+character, func(t *testing.T) {
				require.Empty(t, findings(text.make(strings.Repeat(character, text.limit))))
				findings := findings(text.make(strings.Repeat(character, text.limit+1)))
				require.Len(t, findings, 1)
				require.Contains(t, findings[0].Message, fmt.Sprintf("must have 1 to %d characters", text.limit))
			})
		}
	}
}

// What compares texts, or looks at their characters, does so with long ones too.
func TestLongTextsAreComparedAsTheyAre(t *testing.T) {
	long := strings.Repeat("泵", 1000)
	list := func(entry string) *aas.List {
		c := &aas.Capability{}
		c.SemanticID = aas.Global(entry)
		return &aas.List{TypeValueListElement: aas.KindCapability, SemanticIDListElement: aas.Global(long), Value: []aas.Element{c}}
	}
	require.Empty(t, findings(list(long)))
	require.True(t, has(findings(list(long+"x")), "value", "AASd-107"))
	require.True(t, has(findings(&aas.Submodel{Identifiable: aas.Identifiable{ID: long + "\x01"}}), "id", "AASd-130"))
}
