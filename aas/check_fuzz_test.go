package aas_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
)

// Whatever can be decoded can be verified, and every finding says something that can be sent.
func FuzzFindings(f *testing.F) {
	for _, t := range []aas.DataType{"xs:double", "xs:float", "xs:date", "xs:dateTime", "xs:gMonthDay", "xs:decimal", "xs:long", "xs:anyURI", "xs:duration"} {
		f.Add(string(aas.AppendElement(nil, newProperty("Speed", t, "-2024-02-30"))))
	}
	f.Add(`{"modelType":"SubmodelElementList","typeValueListElement":"Property","valueTypeListElement":"xs:int","value":[{"modelType":"Property","valueType":"xs:float","value":"1e999"}]}`)
	f.Add(`{"modelType":"Entity","entityType":"SelfManagedEntity","statements":[{"modelType":"Capability","idShort":"cc","qualifiers":[{"type":"x","valueType":"xs:date","value":"-0-1"}]}]}`)
	f.Fuzz(func(t *testing.T, document string) {
		e, err := aas.DecodeElement([]byte(document))
		if err != nil {
			return
		}
		for _, finding := range aas.Findings(e, 100) {
			require.NotEmpty(t, finding.Message)
			require.True(t, utf8.ValidString(finding.Message))
		}
	})
}
