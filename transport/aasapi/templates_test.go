package aasapi_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/realtest"
)

// TestPublishedTemplates sends the templates that the IDTA has published, and reads them in every form.
func TestPublishedTemplates(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(realtest.Data(t, "idta"), "templates", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	elements := 0
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := start(t, rigOptions{service: repository.Options{Verification: repository.VerifyOff}})
			r.require(http.StatusNoContent, "DELETE", aPump, noBody)
			r.require(http.StatusNoContent, "DELETE", aData, noBody)
			r.require(http.StatusNoContent, "DELETE", "/concept-descriptions/"+b64("urn:concept:speed"), noBody)
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var env map[string][]json.RawMessage
			require.NoError(t, json.Unmarshal(data, &env))
			for member, path := range map[string]string{"assetAdministrationShells": "/shells", "submodels": "/submodels", "conceptDescriptions": "/concept-descriptions"} {
				for _, raw := range env[member] {
					var doc struct{ ID string }
					require.NoError(t, json.Unmarshal(raw, &doc))
					a := r.send("POST", path, string(raw))
					if a.status == http.StatusConflict {
						continue // some templates have a document twice
					}
					require.Equal(t, http.StatusCreated, a.status, "%s", a.body)
					r.equal(a.body, path+"/"+b64(doc.ID)+"?extent=withBlobValue")
					if path == "/submodels" {
						elements += readTemplate(t, r, path+"/"+b64(doc.ID))
					}
				}
			}
			require.Len(t, r.walk("/concept-descriptions"), len(distinct(t, env["conceptDescriptions"])))
			env2, err := aas.Decode[aas.Environment]([]byte(r.require(http.StatusOK, "GET", "/serialization", noBody).body))
			require.NoError(t, err)
			require.Len(t, env2.Submodels, len(distinct(t, env["submodels"])))
		})
	}
	t.Logf("%d elements were read", elements)
}

// readTemplate reads a submodel and each of its elements in every form, and returns their number.
func readTemplate(t *testing.T, r *rig, at string) int {
	t.Helper()
	for _, tail := range []string{"/$value", "/$metadata", "/$reference", "/submodel-elements/$value", "?level=core"} {
		r.require(http.StatusOK, "GET", at+tail, noBody)
	}
	var paths []string
	require.NoError(t, json.Unmarshal([]byte(r.require(http.StatusOK, "GET", at+"/$path", noBody).body), &paths))
	for _, path := range paths {
		element := at + "/submodel-elements/" + path
		require.NotEmpty(t, r.require(http.StatusOK, "GET", element, noBody).body)
		r.require(http.StatusOK, "GET", element+"/$reference", noBody)
		value := r.send("GET", element+"/$value", noBody)
		require.Contains(t, []int{http.StatusOK, http.StatusBadRequest}, value.status, "%s: %s", path, value.body)
	}
	return len(paths)
}

func distinct(t *testing.T, docs []json.RawMessage) map[string]bool {
	t.Helper()
	ids := make(map[string]bool)
	for _, raw := range docs {
		var doc struct{ ID string }
		require.NoError(t, json.Unmarshal(raw, &doc))
		ids[doc.ID] = true
	}
	return ids
}
