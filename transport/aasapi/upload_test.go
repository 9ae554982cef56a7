package aasapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/exchange"
	"github.com/otkit/otkit/transport/aasapi"
)

// uploadOf writes an environment with one submodel, and for AASX a file.
func uploadOf(t *testing.T, id string, f exchange.Format) []byte {
	t.Helper()
	m, err := aas.Decode[aas.Submodel](fmt.Appendf(nil, `{"id":%q,"idShort":"M","submodelElements":[{"modelType":"File","idShort":"f","contentType":"text/plain","value":"/aasx/f.txt"}]}`, id))
	require.NoError(t, err)
	p := &aasx.Package{Environment: aas.Environment{Submodels: []*aas.Submodel{m}}}
	if f == exchange.AASX {
		p.Files = []aasx.File{{Name: "/aasx/f.txt", ContentType: "text/plain", Data: []byte("text")}}
	}
	var b bytes.Buffer
	require.NoError(t, exchange.Write(&b, p, f))
	return b.Bytes()
}

func TestUploads(t *testing.T) {
	r := start(t, rigOptions{})
	report := func(a answer) (got struct {
		Created, Replaced, Files int
		Unused                   []string
		Findings                 []struct{ Field, Message string }
	}) {
		t.Helper()
		require.Equal(t, 200, a.status, a.body)
		require.NoError(t, json.Unmarshal([]byte(a.body), &got))
		return got
	}
	for i, path := range []string{v31 + "/upload", "/api/v3.0/upload", "/upload"} {
		for f, media := range map[exchange.Format]string{exchange.AASX: "application/asset-administration-shell-package+xml", exchange.JSON: "application/json", exchange.XML: "text/xml"} {
			id := fmt.Sprintf("urn:%d:%s", i, f)
			data := uploadOf(t, id, f)
			files := 0
			if f == exchange.AASX {
				files = 1
			}
			// As a form, by the name of the file.
			body, header := form(t, "plant."+string(f), "application/octet-stream", data)
			got := report(r.sendTo("POST", path, body, "Content-Type", header))
			require.Equal(t, 1, got.Created)
			require.Equal(t, files, got.Files)
			r.require(200, "GET", "/submodels/"+b64(id), noBody)
			if files > 0 {
				require.Equal(t, "text", r.require(200, "GET", "/submodels/"+b64(id)+"/submodel-elements/f/attachment", noBody).body)
			}
			require.Equal(t, 409, r.sendTo("POST", path, body, "Content-Type", header).status)
			// As it is, by its media type, or by how it begins.
			require.Equal(t, 1, report(r.sendTo("POST", path+"?replace=true", string(data), "Content-Type", media)).Replaced)
			require.Equal(t, 1, report(r.sendTo("POST", path+"?replace=true", string(data), "Content-Type", "application/octet-stream")).Replaced)
		}
	}
}

func TestUploadsThatAreRefused(t *testing.T) {
	r := start(t, rigOptions{api: aasapi.Options{MaxFileBytes: 10_000}})
	const wrong = `{"submodels":[{"modelType":"Submodel","id":"urn:wrong","submodelElements":[{"modelType":"Property","idShort":"1 2","valueType":"xs:int","value":"x"}]},{"modelType":"Submodel","id":"urn:right"}]}`
	a := r.require(200, "POST", "/upload", wrong)
	require.Contains(t, a.body, `submodels[0].submodelElements[0].`)
	a = r.require(400, "POST", "/upload?verification=strict&replace=true", wrong)
	require.Contains(t, a.body, `submodels[0].submodelElements[0].`)
	r.require(400, "POST", "/upload?verification=soft&replace=true", wrong)
	r.require(400, "POST", "/upload?replace=perhaps", wrong)
	r.require(400, "POST", "/upload", `{"submodels":[{"modelType":"Submodel","id":"urn:x"},{"modelType":1}]}`)
	r.require(404, "GET", "/submodels/"+b64("urn:x"), noBody)
	r.require(400, "POST", "/upload", "PK\x03\x04 and nothing else", "Content-Type", "application/octet-stream")
	r.require(415, "POST", "/upload", "hello", "Content-Type", "text/plain")
	r.require(413, "POST", "/upload", string(make([]byte, 20_000)))
	r.require(405, "GET", "/upload", noBody)
}
