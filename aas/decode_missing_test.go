package aas_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
)

func TestEveryMissingMemberIsNamed(t *testing.T) {
	_, err := aas.DecodeElement([]byte(`{"modelType":"BasicEventElement","idShort":"ee"}`))
	refused, _ := fault.From(err)
	require.Equal(t, []fault.Field{
		{Field: "observed", Message: "is required"}, {Field: "direction", Message: "is required"}, {Field: "state", Message: "is required"},
	}, refused.Fields)
	_, err = aas.Decode[aas.Submodel]([]byte(`{"id":"x","semanticId":{"type":"ExternalReference","keys":[{}]}}`))
	refused, _ = fault.From(err)
	require.Equal(t, []fault.Field{
		{Field: "semanticId.keys[0].type", Message: "is required"}, {Field: "semanticId.keys[0].value", Message: "is required"},
	}, refused.Fields)
}
