package server_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
)

const derivedBase = "/api/v1/derived-tags"

// awaitTag waits until a tag has a value.
func (p *platform) awaitTag(name, value string) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		s, err := p.Tags().Read(name)
		return err == nil && s.Sample.Value.String() == value && s.Sample.Quality.String() == "Good"
	}, patience, 1e6, name)
}

func TestDerivedTags(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.awaitTag("line.level", "21.5")
	sum := map[string]any{"id": "cell.sum", "expression": `tag("line.level") * 2`, "unit": "mm"}
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, derivedBase, sum), 403, "FORBIDDEN")
	a := p.call(accounts.Admin, http.MethodPost, derivedBase, sum)
	require.Equal(t, 201, a.status, "%s", a.body)
	require.Equal(t, derivedBase+"/cell.sum", a.header.Get("Location"))
	require.Equal(t, `"1"`, a.header.Get("ETag"))
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, derivedBase, sum), 409, "TAG_EXISTS")
	p.awaitTag("cell.sum", "43")
	body := p.call(accounts.Viewer, http.MethodGet, derivedBase+"/cell.sum", nil).object(t)
	require.Equal(t, "Float", body["dataType"])
	require.Equal(t, []any{"line.level"}, body["inputs"])
	require.Equal(t, "Good", body["quality"])

	alias := map[string]any{"id": "cell.ü %2F/set", "target": "line.level"}
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, derivedBase, alias).status)
	path := derivedBase + "/" + url.PathEscape("cell.ü %2F/set")
	require.Equal(t, "ReadWrite", p.call(accounts.Viewer, http.MethodGet, path, nil).object(t)["accessMode"])
	a = p.call(accounts.Admin, http.MethodPost, "/api/v1/tags/derived/"+url.PathEscape("cell.ü %2F/set")+"/write", map[string]any{"value": "30"})
	require.Equal(t, 200, a.status, "%s", a.body)
	p.awaitTag("cell.ü %2F/set", "30")
	p.awaitTag("line.level", "30")
	p.awaitTag("cell.sum", "60")

	bad := map[string]any{"id": "cell.bad", "expression": `tag("line.levl") * 2`}
	require.Contains(t, string(p.call(accounts.Admin, http.MethodPost, derivedBase, bad).body), `tag \"line.levl\" does not exist`)
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, derivedBase+"?allowMissing=true", map[string]any{"id": "cell.bad", "expression": `tag("line.levl") * 2.0`}).status)
	requireProblem(t, p.call(accounts.Admin, http.MethodPut, derivedBase+"/cell.sum", map[string]any{"expression": `tag("cell.sum") + 1`}), 400, "DERIVED_TAG_CYCLE")
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, derivedBase+"/try", map[string]any{"expression": `tag("line.level") +`}), 400, "INVALID_DERIVED_TAG")
	body = p.call(accounts.Admin, http.MethodPost, derivedBase+"/try", map[string]any{"expression": `tag("line.level") / 0`}).object(t)
	require.Equal(t, "Bad", body["quality"])
	require.Contains(t, body["message"], "division by zero")

	page := p.call(accounts.Viewer, http.MethodGet, derivedBase+"?input=line.level&pageSize=1", nil).object(t)
	require.Len(t, page["derivedTags"], 1)
	requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, derivedBase+"?page=0", nil), 400, "INVALID_REQUEST")
	requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, derivedBase+"?pageSize=501", nil), 400, "PAGE_SIZE_EXCEEDED")
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, derivedBase+"/none", nil), 404, "DERIVED_TAG_NOT_FOUND")
}

func TestDerivedTagsAreChangedUnderACondition(t *testing.T) {
	t.Parallel()
	p := start(t)
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, derivedBase, map[string]any{"id": "d", "expression": `tag("line.level") * 2`}).status)
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, derivedBase, map[string]any{"id": "e", "expression": `tag("d") + 1`}).status)
	call := func(method, match string, body any) answer {
		r := p.request(t.Context(), accounts.Admin, method, derivedBase+"/d", body)
		r.Header.Set("If-Match", match)
		return p.do(r)
	}
	next := map[string]any{"expression": `tag("line.level") * 3`}
	requireProblem(t, call(http.MethodPut, `"2"`, next), 412, "VERSION_CHANGED")
	require.Equal(t, `"2"`, call(http.MethodPut, `"7", "1"`, next).header.Get("ETag"))
	require.Equal(t, `"3"`, call(http.MethodPut, `*`, next).header.Get("ETag"))
	requireProblem(t, call(http.MethodPut, `W/"3"`, next), 412, "VERSION_CHANGED")
	requireProblem(t, call(http.MethodDelete, `"2"`, nil), 409, "TAG_IN_USE")
	a := p.call(accounts.Admin, http.MethodDelete, derivedBase+"/d", nil)
	requireProblem(t, a, 409, "TAG_IN_USE")
	require.Contains(t, string(a.body), "derivedTag e")
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, derivedBase+"/d?force=true", nil).status)
	require.Eventually(t, func() bool {
		body := p.call(accounts.Viewer, http.MethodGet, derivedBase+"/e", nil).object(t)
		return body["qualityReason"] == "ConfigError" && body["message"] == `tag "d" does not exist`
	}, patience, 1e6)

	a = p.call(accounts.Admin, http.MethodGet, "/api/v1/audit?action=replaceDerivedTag", nil)
	require.Contains(t, string(a.body), "* 2")
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	p := start(t)
	const base = "/api/v1/tag-templates"
	pump := map[string]any{"id": "pump", "parameters": []any{map[string]any{"name": "address", "type": "String"}},
		"tags":        []any{map[string]any{"tagId": "${instance}.level", "driverId": "line", "address": "${address}", "dataType": "Float"}},
		"derivedTags": []any{map[string]any{"id": "${instance}.twice", "expression": `tag("${instance}.level") * 2`, "dataType": "Float"}}}
	requireProblem(t, p.call(accounts.Operator, http.MethodPost, base, pump), 403, "FORBIDDEN")
	a := p.call(accounts.Admin, http.MethodPost, base, pump)
	require.Equal(t, 201, a.status, "%s", a.body)
	require.Equal(t, `"1"`, a.header.Get("ETag"))
	one := map[string]any{"values": map[string]any{"address": "level"}}
	require.Equal(t, []any{"p1.level", "p1.twice"}, p.call(accounts.Admin, http.MethodPut, base+"/pump/instances/p1?dryRun=true", one).object(t)["added"])
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, base+"/pump/instances/p1", nil), 404, "TEMPLATE_INSTANCE_NOT_FOUND")
	require.Equal(t, 200, p.call(accounts.Admin, http.MethodPut, base+"/pump/instances/p1", one).status)
	p.awaitTag("p1.twice", "43")
	require.Equal(t, "pump/p1", p.call(accounts.Viewer, http.MethodGet, derivedBase+"/p1.twice", nil).object(t)["owner"])
	requireProblem(t, p.call(accounts.Admin, http.MethodDelete, derivedBase+"/p1.twice", nil), 409, "DERIVED_TAG_OF_TEMPLATE")
	requireProblem(t, p.call(accounts.Admin, http.MethodPut, base+"/pump/instances/p2", map[string]any{}), 400, "INVALID_TEMPLATE")
	requireProblem(t, p.call(accounts.Admin, http.MethodDelete, base+"/pump", nil), 409, "TEMPLATE_IN_USE")

	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, derivedBase, map[string]any{"id": "user", "expression": `tag("p1.level") + 1`}).status)
	requireProblem(t, p.call(accounts.Admin, http.MethodDelete, base+"/pump/instances/p1", nil), 409, "TAG_IN_USE")
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, base+"/pump/instances/p1?force=true", nil).status)
	_, err := p.Tags().Read("p1.level")
	require.Error(t, err)
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, base+"/pump", nil).status)
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, base+"/pump", nil), 404, "TEMPLATE_NOT_FOUND")
}
