package verify_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/verify"
)

// Whatever can be decoded can be verified, and every finding says something that can be sent.
func FuzzVerify(f *testing.F) {
	for _, t := range []aas.DataType{"xs:double", "xs:float", "xs:date", "xs:dateTime", "xs:gMonthDay", "xs:decimal", "xs:long", "xs:anyURI", "xs:duration"} {
		f.Add(string(aas.AppendElement(nil, property("Speed", t, "-2024-02-30"))))
	}
	f.Add(`{"modelType":"SubmodelElementList","typeValueListElement":"Property","valueTypeListElement":"xs:int","value":[{"modelType":"Property","valueType":"xs:float","value":"1e999"}]}`)
	f.Add(`{"modelType":"Entity","entityType":"SelfManagedEntity","statements":[{"modelType":"Capability","idShort":"cc","qualifiers":[{"type":"x","valueType":"xs:date","value":"-0-1"}]}]}`)
	v := verify.New(verify.Options{})
	f.Fuzz(func(t *testing.T, document string) {
		e, err := aas.DecodeElement([]byte(document))
		if err != nil {
			return
		}
		for _, finding := range v.Verify(e) {
			require.NotEmpty(t, finding.Message)
			require.NotContains(t, finding.Message, "cannot be verified")
			require.True(t, utf8.ValidString(finding.Message))
		}
	})
}
