package aasapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi"
)

// The most elements that a submodel may have fit the limit of a body.
func TestASubmodelOfTheDocumentedSizeFits(t *testing.T) {
	r := start(t, rigOptions{service: repository.Options{Verification: repository.VerifyOff}})
	var b strings.Builder
	b.WriteString(`{"modelType":"Submodel","id":"urn:large","submodelElements":[`)
	for i := range aas.MaxElements {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"modelType":"Property","idShort":"Value%06d","semanticId":{"type":"ExternalReference","keys":[{"type":"GlobalReference","value":"0173-1#02-AAO%06d#002"}]},"valueType":"xs:double","value":"%d.5"}`, i, i, i)
	}
	b.WriteString(`]}`)
	r.require(http.StatusCreated, "POST", "/submodels", b.String())
	path := inRepository + b64("urn:large") + "/submodel-elements/Value199999"
	r.require(http.StatusNoContent, "PATCH", path+"/$value", `"7"`)
	require.Equal(t, "7", r.require(http.StatusOK, "GET", path+"/$value", noBody).body)

	small := start(t, rigOptions{api: aasapi.Options{MaxBodyBytes: 10_000, MaxDocumentBytes: 20_000}})
	small.require(http.StatusCreated, "POST", "/submodels", `{"id":"urn:a","odd":"`+strings.Repeat("x", 15_000)+`"}`)
	small.require(http.StatusRequestEntityTooLarge, "POST", "/submodels", `{"id":"urn:b","odd":"`+strings.Repeat("x", 21_000)+`"}`)
}
