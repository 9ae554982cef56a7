package aas_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
)

// Whatever Element finds by a path, Locate finds in the text, and nothing else.
func TestLocateFindsWhatElementFinds(t *testing.T) {
	for _, text := range []string{everything, `{"id":"x"}`, `{"id":"x","idShort":"submodelElements","submodelElements":[
		{"modelType":"Property","idShort":"a","valueType":"xs:string","value":"\"},{\\"},
		{"modelType":"SubmodelElementCollection","idShort":"submodelElements","odd":{"value":[{"idShort":"b"}]},"value":[{"modelType":"Capability","idShort":"q\u0022"},{"modelType":"Capability","idShort":"a"}]},
		{"modelType":"Operation","idShort":"o","outputVariables":[{"value":{"modelType":"SubmodelElementCollection","idShort":"v","value":[{"modelType":"Capability","idShort":"w"}]}}]},
		{"modelType":"Capability","idShort":"a"}],"last":[1]}`} {
		s := submodel(t, text)
		stored := aas.Append(nil, s)
		same := func(p aas.Path) {
			t.Helper()
			want, err := s.Element(p)
			l, located := aas.Locate(stored, p)
			if err != nil {
				require.ErrorIs(t, located, aas.ErrElementNotFound, p.String())
				return
			}
			require.NoError(t, located, p.String())
			require.JSONEq(t, string(aas.AppendElement(nil, want)), string(stored[l.From:l.To]), p.String())
			head, err := aas.DecodeHead(stored, l)
			require.NoError(t, err)
			require.Equal(t, s.ID, head.ID)
			require.Empty(t, head.Elements)
		}
		same(nil)
		same(aas.Path{{Index: 0}})
		s.Walk(func(path aas.Path, _ aas.Element) bool {
			p := append(aas.Path(nil), path...)
			same(p)
			same(append(p, aas.PathStep{IDShort: "none"}))
			same(append(p, aas.PathStep{Index: 1}))
			p[len(p)-1] = aas.PathStep{Index: 7}
			same(p)
			p[len(p)-1] = aas.PathStep{IDShort: "other"}
			same(p)
			return true
		})
	}
}

func FuzzLocate(f *testing.F) {
	f.Add([]byte(everything), "a.b[0]")
	f.Add([]byte(`{"submodelElements":[{"idShort":"a`), "a")
	f.Fuzz(func(t *testing.T, text []byte, path string) {
		p, err := aas.ParsePath(path)
		if err != nil {
			return
		}
		l, err := aas.Locate(text, p) // must not panic on any text
		if err == nil {
			_, _ = aas.DecodeHead(text, l)
		}
	})
}

func BenchmarkLocate(b *testing.B) {
	big := &aas.Submodel{Identifiable: aas.Identifiable{ID: "x"}}
	for i := range 100_000 {
		value := fmt.Sprint(i)
		p := &aas.Property{ValueType: aas.Int, Value: &value}
		p.IDShort, p.SemanticID = fmt.Sprintf("Value%06d", i), aas.Global(fmt.Sprintf("0173-1#02-AAO%06d#002", i))
		big.Elements = append(big.Elements, p)
	}
	text := aas.Append(nil, big)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, err := aas.Locate(text, aas.Path{{IDShort: "Value099999"}})
		require.NoError(b, err)
	}
}
