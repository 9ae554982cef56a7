package aas_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	core "github.com/aas-core-works/aas-core3.1-golang/jsonization"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
)

// operationalData is a submodel of 50 properties, about 8 kB. With last the modelType is the last member
// of each element, as other tools write it.
func operationalData(last bool) []byte {
	var elements []string
	for i := range 50 {
		members := fmt.Sprintf(`"idShort":"Value%02d","semanticId":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"0173-1#02-AAO%03d#002"}]},"valueType":"xs:double","value":"%d.5"`, i, i, i)
		if last {
			members += `,"modelType":"Property"`
		} else {
			members = `"modelType":"Property",` + members
		}
		elements = append(elements, "{"+members+"}")
	}
	return []byte(`{"modelType":"Submodel","id":"https://example.com/submodels/operational-data","idShort":"OperationalData","submodelElements":[` + strings.Join(elements, ",") + `]}`)
}

// BenchmarkSubmodel reads and writes a submodel of 50 elements, beside encoding/json into values of any
// and aas-core doing the same.
func BenchmarkSubmodel(b *testing.B) {
	first, last := operationalData(false), operationalData(true)
	b.Run("otkit", func(b *testing.B) { both(b, first) })
	b.Run("otkit, modelType last", func(b *testing.B) { both(b, last) })
	b.Run("otkit, decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, err := aas.Decode[aas.Submodel](first)
			require.NoError(b, err)
		}
	})
	b.Run("encoding-json into any", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(first)))
		for b.Loop() {
			var v any
			require.NoError(b, json.Unmarshal(first, &v))
			_, err := json.Marshal(v)
			require.NoError(b, err)
		}
	})
	b.Run("aas-core", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(first)))
		for b.Loop() {
			_, err := coreRoundTrip(first)
			require.NoError(b, err)
		}
	})
}

func both(b *testing.B, data []byte) {
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		s, err := aas.Decode[aas.Submodel](data)
		require.NoError(b, err)
		require.NotEmpty(b, aas.Append(nil, s))
	}
}

// coreRoundTrip reads and writes a submodel with aas-core.
func coreRoundTrip(data []byte) ([]byte, error) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, err
	}
	s, err := core.SubmodelFromJsonable(v)
	if err != nil {
		return nil, err
	}
	out, err := core.ToJsonable(s)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// TestSubmodelOf50CostsFewAllocations holds the bound that the store of a running engine counts on.
func TestSubmodelOf50CostsFewAllocations(t *testing.T) {
	data := operationalData(true)
	require.InDelta(t, 8_000, len(data), 2_000)
	allocations := testing.AllocsPerRun(20, func() {
		s, err := aas.Decode[aas.Submodel](data)
		if err != nil || len(aas.Append(nil, s)) == 0 {
			t.Fatal(err)
		}
	})
	require.LessOrEqual(t, allocations, 100.0)
}
