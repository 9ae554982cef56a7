package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/tags"
)

// An item that its running driver cannot use is taken, and everybody is told: the caller, the readers of the tag and those who look at health.
func TestAnItemThatItsDriverRefusesIsTold(t *testing.T) {
	t.Parallel()
	p := start(t, withTypes)
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, driversPath, map[string]any{"id": "press", "type": "Modbus", "ipAddress": "127.0.0.1", "port": 1,
		"settings": map[string]any{"Tags": []any{map[string]any{"Name": "force", "Address": "HR:0", "Type": "Float32"}}}}).status)
	wrong := map[string]any{"tagId": "press.force", "driverId": "press", "address": "ZZ:10", "dataType": "Float"}
	requireWarning := func(body map[string]any, tag string) {
		t.Helper()
		require.Len(t, body["warnings"], 1, body)
		first := body["warnings"].([]any)[0].(map[string]any)
		require.Equal(t, tag, first["tagId"])
		require.Equal(t, "address", first["member"])
		require.Contains(t, first["message"], "ZZ:10")
	}
	dry := p.call(accounts.Admin, http.MethodPost, configPath+"/import?dryRun=true", []any{wrong})
	require.Equal(t, 200, dry.status, "%s", dry.body)
	requireWarning(dry.object(t), "press.force")
	s, err := p.Tags().Read("press.force")
	require.NoError(t, err)
	require.Equal(t, "HR:0", s.Tag.Address)

	put := p.call(accounts.Admin, http.MethodPut, configPath+"/press.force", wrong)
	require.Equal(t, 201, put.status, "%s", put.body)
	requireWarning(put.object(t), "press.force")
	shown := p.call(accounts.Viewer, http.MethodGet, configPath+"/press.force", nil)
	require.Equal(t, put.header.Get("ETag"), shown.header.Get("ETag"))
	require.NotContains(t, shown.object(t), "warnings")
	again := p.conditional(http.MethodPut, configPath+"/press.force", put.header.Get("ETag"), put.object(t))
	require.Equal(t, 200, again.status, "an answer can be sent back: %s", again.body)
	s, err = p.Tags().Read("press.force")
	require.NoError(t, err)
	require.Equal(t, "ZZ:10", s.Tag.Address, "not the register of the driver's own definition")
	require.Equal(t, tags.Bad, s.Sample.Quality)
	require.Equal(t, tags.ReasonConfig, s.Sample.Reason)

	other := map[string]any{"tagId": "press.other", "driverId": "press", "address": "ZZ:10", "dataType": "Float"}
	absent := map[string]any{"tagId": "nobody.x", "driverId": "nobody", "address": "ZZ:10", "dataType": "Float"}
	bulk := p.call(accounts.Admin, http.MethodPost, configPath+"/bulk", []any{other, absent})
	require.Equal(t, 200, bulk.status)
	requireWarning(bulk.object(t), "press.other")
	imported := p.call(accounts.Admin, http.MethodPost, configPath+"/import", []any{wrong, map[string]any{"tagId": "press.third", "driverId": "press", "address": "ZZ:10", "dataType": "Float"}})
	require.Equal(t, 200, imported.status)
	requireWarning(imported.object(t), "press.third")

	refused := func() map[string]any {
		all := p.call(accounts.Viewer, http.MethodGet, "/health", nil).object(t)
		data, _ := all["results"].(map[string]any)["tag-configuration"].(map[string]any)["data"].(map[string]any)
		list, _ := data["refused"].(map[string]any)
		return list
	}
	require.Len(t, refused(), 3)
	require.Contains(t, refused()["press.force"], "ZZ:10")

	right := map[string]any{"tagId": "press.force", "driverId": "press", "address": "HR:4", "dataType": "Float"}
	require.Equal(t, 200, p.call(accounts.Admin, http.MethodPut, configPath+"/press.force", right).status)
	require.NotContains(t, refused(), "press.force")
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, driversPath+"/press", nil).status)
	require.Eventually(t, func() bool { return len(refused()) == 0 }, patience, time.Millisecond, "nobody refuses them now")
}

// A misspelt member is refused by our own calls, with the one that may be meant. The bulk of the specification warns, and is silent about what is like none.
func TestMisspeltMembersAreTold(t *testing.T) {
	t.Parallel()
	p := start(t, withTypes)
	for _, c := range []struct {
		method, path string
		body         map[string]any
		field, meant string
	}{
		{http.MethodPut, configPath + "/x", map[string]any{"driverId": "line", "addrss": "1", "dataType": "Float"}, "addrss", "address"},
		{http.MethodPost, configPath + "/remove", map[string]any{"tagIds": []string{"x"}, "forse": true}, "forse", "Force"},
		{http.MethodPost, driversPath, map[string]any{"id": "d", "type": "Simulation", "ipaddrss": "x"}, "ipaddrss", "ipAddress"},
		{http.MethodPost, driversPath + "/test", map[string]any{"type": "Simulation", "timeoutms2": 5}, "timeoutms2", "timeoutMs"},
		{http.MethodPost, "/api/v1/derived-tags", map[string]any{"id": "d", "expresion": `tag("line.level")`}, "expresion", "expression"},
		{http.MethodPost, "/api/v1/derived-tags/try", map[string]any{"expresion": `tag("line.level")`}, "expresion", "expression"},
		{http.MethodPost, "/api/v1/tag-templates", map[string]any{"id": "d", "derivedtag": []any{}}, "derivedtag", "derivedTags"},
		{http.MethodPost, "/api/v1/tag-templates", map[string]any{"id": "d", "tags": []any{map[string]any{"tagId": "x", "addrss": "1"}}}, "tags[0].addrss", "address"},
		{http.MethodPost, "/api/v1/tag-templates", map[string]any{"id": "d", "parameters": []any{map[string]any{"name": "x", "typ": "Int"}}}, "parameters[0].typ", "type"},
		{http.MethodPut, "/api/v1/tag-templates/d/instances/e", map[string]any{"value": map[string]any{}}, "value", "values"},
	} {
		got := requireProblem(t, p.callWrong(accounts.Admin, c.method, c.path, c.body), 400, "INVALID_REQUEST")
		first := got["errors"].([]any)[0].(map[string]any)
		require.Equal(t, c.field, first["field"], c.path)
		require.True(t, strings.EqualFold("is not a known member; did you mean "+c.meant+"?", first["message"].(string)), "%s: %s", c.path, first["message"])
	}
	bulk := p.callWrong(accounts.Admin, http.MethodPost, configPath+"/bulk", []any{
		map[string]any{"tagId": "x", "driverId": "nobody", "addrss": "1", "dataType": "Float"},
		map[string]any{"tagId": "y", "driverId": "nobody", "address": "1", "dataType": "Float", "owner": "me"},
	})
	require.Equal(t, 200, bulk.status, "%s", bulk.body)
	require.Equal(t, []any{
		map[string]any{"tagId": "x", "member": "addrss", "message": "is not a known member; did you mean address?"},
	}, bulk.object(t)["warnings"])
	require.NotNil(t, p.configOf("x"))
}

// An import of JSON warns as a bulk does, and one that nobody waits for shows it in its state.
func TestImportsWarnToo(t *testing.T) {
	t.Parallel()
	p := start(t, withTypes)
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, driversPath, map[string]any{"id": "press", "type": "Modbus", "ipAddress": "127.0.0.1", "port": 1}).status)
	file := `[{"tagId": "x", "driverId": "nobody", "addrss": "1", "dataType": "Float"}, {"tagId": "y", "driverId": "nobody", "dataType": "Float", "owner": "me"},
		{"tagId": "press.z", "driverId": "press", "address": "ZZ:10", "dataType": "Float"}]`
	requireWarnings := func(answer map[string]any) {
		t.Helper()
		require.EqualValues(t, "2", answer["warningCount"], answer)
		list := answer["warnings"].([]any)
		require.Equal(t, map[string]any{"tagId": "x", "member": "addrss", "message": "is not a known member; did you mean address?"}, list[0])
		require.Equal(t, "press.z", list[1].(map[string]any)["tagId"])
		require.Equal(t, "address", list[1].(map[string]any)["member"])
	}
	dry := p.load("?dryRun=true", "application/json", strings.NewReader(file))
	require.Equal(t, 200, dry.status, "%s", dry.body)
	requireWarnings(dry.object(t))
	path := p.loadLater("", "application/json", strings.NewReader(file))
	require.Equal(t, "done", p.ended(path).Phase)
	state := p.call(nobody, http.MethodGet, path, nil).object(t)
	requireWarnings(state["result"].(map[string]any))
}
