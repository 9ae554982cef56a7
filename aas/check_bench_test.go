package aas_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
)

func BenchmarkFindings(b *testing.B) {
	shell := &aas.Shell{
		Identifiable: aas.Identifiable{ID: "https://example.com/shells/1234567", Referable: aas.Referable{IDShort: "Shell1234567"}},
		AssetInformation: aas.AssetInformation{AssetKind: aas.Instance, GlobalAssetID: "https://example.com/assets/1234567",
			SpecificAssetIDs: []aas.SpecificAssetID{{Name: "serialNumber", Value: "SN-1234567"}, {Name: "partNumber", Value: "PN-1234567"}}},
		Submodels: []aas.Reference{aas.RefTo("https://example.com/submodels/1"), aas.RefTo("https://example.com/submodels/2")},
	}
	var elements []aas.Element
	for i := range 50 {
		p := newProperty(fmt.Sprintf("Property%02d", i), "xs:double", "12.5")
		p.SemanticID = aas.Global("0173-1#02-AAO677#002")
		elements = append(elements, p)
	}
	submodel := newSubmodel(elements...)
	for name, document := range map[string]any{"shell": shell, "submodel of 50": submodel, "element": elements[0]} {
		require.Empty(b, findings(document))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				findings(document)
			}
		})
	}
}
