package server_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/transport/aasapi"
)

// requireResult checks an error body of the standard's API.
func requireResult(t testing.TB, a answer, status int) {
	t.Helper()
	require.Equal(t, status, a.status, "%s", a.body)
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	messages := a.object(t)["messages"].([]any)
	require.NotEmpty(t, messages)
	require.NotEmpty(t, messages[0].(object)["text"])
}

func TestBothSurfacesServeTheSameShells(t *testing.T) {
	t.Parallel()
	onBothStores(t, func(t *testing.T, p *platform) {
		for _, id := range oddIDs {
			p.create(shells, shellBody(id, "Shell"))
			for _, prefix := range aasapi.Prefixes() {
				a := requireStatusCode(t, p.standard(http.MethodGet, prefix+"/shells/"+base64.RawURLEncoding.EncodeToString([]byte(id)), nil), 200)
				require.Equal(t, id, a.object(t)["id"])
			}
		}
		requireStatusCode(t, p.standard(http.MethodPost, "/api/v3.1/submodels", `{"modelType":"Submodel","id":"m","idShort":"M"}`), 201)
		require.Equal(t, "M", p.get(submodels + "/m").object(t)["idShort"])
	})
}

// standard makes a request as Admin to the standard's API, which is not in the document.
func (p *platform) standard(method, path string, body any) answer {
	p.t.Helper()
	return p.callWrong(accounts.Admin, method, path, body)
}

func TestTheStandardsOperationsAskForTheirRoles(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.Server.Access.ProtectOpenSurfaces = true })
	for _, op := range aasapi.Operations() {
		path := aasapi.Prefixes()[0] + strings.ReplaceAll(pathParameter.ReplaceAllString(op.Path, "bm90aGluZw"), "{", "")
		for role, status := range expected(op, true) {
			var body any
			if op.Method != http.MethodGet && op.Method != http.MethodDelete {
				body = "{"
			}
			a := p.callWrong(role, op.Method, path, body)
			if status == 0 {
				require.NotContains(t, []int{401, 403}, a.status, "%s as %q: %s", op.ID, role, a.body)
				continue
			}
			requireResult(t, a, status)
		}
	}
	requireResult(t, p.callWrong(accounts.Viewer, http.MethodGet, "/api/v3.1/nothing", nil), 404)
	requireResult(t, p.callWrong(accounts.Viewer, http.MethodGet, "/api/v3.1", nil), 404)
	a := p.callWrong(accounts.Viewer, http.MethodPatch, "/api/v3.1/shells", nil)
	requireResult(t, a, 405)
	require.Equal(t, "GET, HEAD, OPTIONS, POST", a.header.Get("Allow"))
	requireResult(t, p.callWrong(accounts.Viewer, "PURGE", "/api/v3.1/shells", nil), 405)
	requireStatusCode(t, p.callWrong(accounts.Viewer, http.MethodOptions, "/api/v3.1/shells", nil), 204)
}
