package aasxml_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/aasxml"
)

// What is read can be written and is read again as the same.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(head + `</environment>`))
	f.Add([]byte(head + `<submodels><submodel><id>x</id><kind>Template</kind><submodelElements><operation><inputVariables><operationVariable><value>` +
		`<blob><value>AA==</value></blob></value></operationVariable></inputVariables></operation></submodelElements></submodel></submodels></environment>`))
	f.Add([]byte(`<?xml version="1.0"?><environment xmlns="https://admin-shell.io/aas/3/0"><conceptDescriptions><conceptDescription><id>x</id>` +
		`<isCaseOf><reference><type>ExternalReference</type><keys><key><type>GlobalReference</type><value>a&amp;&#xD;</value></key></keys></reference></isCaseOf>` +
		`</conceptDescription></conceptDescriptions></environment>`))
	f.Add([]byte(`<!DOCTYPE a [<!ENTITY b "c">]><environment>&b;</environment>`))
	f.Fuzz(func(t *testing.T, data []byte) {
		env, err := aasxml.Decode(bytes.NewReader(data), aasxml.Limits{MaxBytes: 1 << 20})
		if err != nil {
			return
		}
		var b bytes.Buffer
		require.NoError(t, aasxml.Encode(&b, env))
		again, err := aasxml.Decode(&b, aasxml.Limits{})
		require.NoError(t, err)
		require.Equal(t, env, again)
	})
}
