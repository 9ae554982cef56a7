package server_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
)

func TestConfigurationOfOneTag(t *testing.T) {
	t.Parallel()
	p := start(t)
	const path = configPath + "/a.b%2Fc"
	item := map[string]any{"tagId": "a.b/c", "driverId": "a", "dataType": "Float", "unit": "m"}
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, path, nil), 404, "TAG_NOT_FOUND")
	require.Equal(t, 403, p.call(accounts.Operator, http.MethodPut, path, item).status)
	require.Equal(t, 401, p.call(nobody, http.MethodPut, path, item).status)

	a := p.call(accounts.Admin, http.MethodPut, path, item)
	require.Equal(t, 201, a.status, "%s", a.body)
	etag := a.header.Get("ETag")
	require.NotEmpty(t, etag)
	a = p.call(accounts.Viewer, http.MethodGet, path, nil)
	require.Equal(t, etag, a.header.Get("ETag"))
	require.Equal(t, "m", a.object(t)["unit"])

	item["unit"] = "mm"
	a = p.call(accounts.Admin, http.MethodPut, path, item)
	require.Equal(t, 200, a.status, "%s", a.body)
	require.NotEqual(t, etag, a.header.Get("ETag"))
	r := p.audit("?action=putTagConfigItem")[0]
	require.Equal(t, []string{"a.b/c"}, r.Objects)
	require.JSONEq(t, `{"changed":1,"tags":{"a.b/c":{"unit":"m"}}}`, string(r.Before))

	item["tagId"] = "other"
	requireProblem(t, p.callWrong(accounts.Admin, http.MethodPut, path, item), 400, "INVALID_REQUEST")
	item["tagId"], item["dataType"] = "a.b/c", "Real"
	requireProblem(t, p.callWrong(accounts.Admin, http.MethodPut, path, item), 400, "INVALID_TAG_CONFIG")

	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, path, nil).status)
	requireProblem(t, p.call(accounts.Admin, http.MethodDelete, path, nil), 404, "TAG_NOT_FOUND")
}

func TestRemovalOfATagThatIsInUse(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.configure(map[string]any{"tagId": "used", "driverId": "line", "dataType": "Float"}, map[string]any{"tagId": "free", "driverId": "line", "dataType": "Float"},
		map[string]any{"tagId": "line.level", "driverId": "line", "dataType": "Float", "unit": "mm"})
	for i := range 25 {
		rule := map[string]any{"id": fmt.Sprintf("r%02d", i), "tagName": "used", "kind": "High", "limit": 90, "severity": "Warning"}
		require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, "/api/v1/alarm-rules", rule).status)
	}
	body := requireProblem(t, p.call(accounts.Admin, http.MethodDelete, configPath+"/used", nil), 409, "TAG_IN_USE")
	require.Len(t, body["errors"], 20)
	require.Contains(t, fmt.Sprint(body["errors"]), "is used by alarmRule r00")
	both := map[string]any{"tagIds": []string{"free", "used", "line.level", "unknown"}}
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, configPath+"/remove", both), 409, "TAG_IN_USE")
	require.Equal(t, "mm", p.configOf("line.level")["unit"], "nothing is removed")

	both["force"] = true
	a := p.call(accounts.Admin, http.MethodPost, configPath+"/remove", both)
	require.Equal(t, 200, a.status, "%s", a.body)
	require.Equal(t, "3", fmt.Sprint(a.object(t)["count"]))
	require.Equal(t, "%", p.configOf("line.level")["unit"], "it is what the driver knows again")
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/used", nil), 404, "TAG_NOT_FOUND")
	a = p.call(accounts.Viewer, http.MethodGet, "/api/v1/alarm-rules/r00", nil)
	require.Contains(t, string(a.body), "TagNotFound", "the rule says so")
	requireProblem(t, p.callWrong(accounts.Admin, http.MethodPost, configPath+"/remove", map[string]any{"tagIds": []string{}}), 400, "INVALID_REQUEST")
}
