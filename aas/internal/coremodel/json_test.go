package coremodel_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aas-core-works/aas-core3.1-golang/jsonization"
	core "github.com/aas-core-works/aas-core3.1-golang/types"
	"github.com/stretchr/testify/require"
)

func expand(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "SPEC", specification), "REF", reference)
}

func jsonOf(t *testing.T, v core.IClass) string {
	tree, err := jsonization.ToJsonable(v)
	require.NoError(t, err)
	prune(tree)
	text, err := json.MarshalIndent(tree, "", " ")
	require.NoError(t, err)
	return string(text)
}

// prune takes out what package aas holds for absent: empty lists and, but for values of elements, empty
// strings.
func prune(tree any) {
	switch tree := tree.(type) {
	case []any:
		for _, v := range tree {
			prune(v)
		}
	case map[string]any:
		for name, v := range tree {
			prune(v)
			list, isList := v.([]any)
			object, isObject := v.(map[string]any)
			value := (name == "value" || name == "min" || name == "max") && tree["modelType"] != "DataSpecificationIec61360"
			if isList && len(list) == 0 || isObject && len(object) == 0 || v == "" && !value {
				delete(tree, name)
			}
		}
	}
}
