package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/drivertypes"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/drivers"
)

const driversPath = "/api/v1/drivers"

// withTypes lets drivers be created: those of the program, and one whose settings have a secret.
func withTypes(o *engine.Options) {
	type settings struct {
		PIN string `secret:"true"`
	}
	o.Tags.DriverTypes = append(drivertypes.Polling(), driverconfig.Type{Name: "Locked", Title: "Locked",
		New: func(s driverconfig.Settings, _ *slog.Logger) (tags.Driver, []tags.Tag, error) {
			var in settings
			return newDevice(lineValues), nil, driverconfig.Decode(s.Settings, &in, "Settings")
		}, Schema: func() json.RawMessage { return driverconfig.Schema(settings{}) }})
}

// conditional calls with If-Match.
func (p *platform) conditional(method, path, etag string, body any) answer {
	p.t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(p.t, err)
	r := p.request(p.t.Context(), accounts.Admin, method, path, nil)
	if body != nil {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(raw)), int64(len(raw))
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("If-Match", etag)
	resp, err := p.client.Do(r)
	require.NoError(p.t, err)
	defer func() { require.NoError(p.t, resp.Body.Close()) }()
	all, err := io.ReadAll(resp.Body)
	require.NoError(p.t, err)
	return answer{resp.StatusCode, resp.Header, all}
}

func TestDriversAreMadeChangedAndRemovedWhileOthersRun(t *testing.T) {
	t.Parallel()
	p := start(t, withTypes)
	var types []map[string]any
	p.call(accounts.Viewer, http.MethodGet, "/api/v1/driver-types", nil).into(t, &types)
	require.Equal(t, []any{"Locked", "Modbus", "Simulation"}, []any{types[0]["name"], types[1]["name"], types[2]["name"]})
	require.Equal(t, "https://json-schema.org/draft/2020-12/schema", types[1]["settingsSchema"].(map[string]any)["$schema"])

	definition := map[string]any{"id": "made", "type": "simulation", "pollIntervalMs": 20, "settings": map[string]any{"TagsPerDevice": 2}}
	made := p.call(accounts.Admin, http.MethodPost, driversPath, definition)
	require.Equal(t, 201, made.status, "%s", made.body)
	require.Equal(t, driversPath+"/made", made.header.Get("Location"))
	require.Equal(t, "api", made.object(t)["origin"])
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, driversPath, definition), 409, "DRIVER_EXISTS")
	require.Eventually(t, func() bool {
		s, err := p.Tags().Read("made.device1.tag2")
		return err == nil && s.Sample.Quality == tags.Good
	}, patience, time.Millisecond)

	// Two people edit it.
	shown := p.call(accounts.Viewer, http.MethodGet, driversPath+"/made", nil)
	require.Equal(t, made.header.Get("ETag"), shown.header.Get("ETag"))
	body := shown.object(t)
	body["settings"] = map[string]any{"TagsPerDevice": 3}
	first := p.conditional(http.MethodPut, driversPath+"/made", shown.header.Get("ETag"), body)
	require.Equal(t, 200, first.status, "%s", first.body)
	requireProblem(t, p.conditional(http.MethodPut, driversPath+"/made", shown.header.Get("ETag"), body), 412, "VERSION_CHANGED")
	requireProblem(t, p.conditional(http.MethodDelete, driversPath+"/made", `"1"`, nil), 412, "VERSION_CHANGED")
	require.Equal(t, 200, p.conditional(http.MethodPut, driversPath+"/made", "*", body).status)
	_, err := p.Tags().Read("made.device1.tag3")
	require.NoError(t, err)
	body["settings"] = map[string]any{"TagsPerDevice": -3}
	problem := requireProblem(t, p.call(accounts.Admin, http.MethodPut, driversPath+"/made", body), 400, "INVALID_DRIVER_SETTINGS")
	require.Equal(t, "settings.TagsPerDevice", problem["errors"].([]any)[0].(map[string]any)["field"])
	body["settings"], body["id"] = map[string]any{}, "other"
	requireProblem(t, p.call(accounts.Admin, http.MethodPut, driversPath+"/made", body), 400, "INVALID_DRIVER_SETTINGS")
	requireProblem(t, p.call(accounts.Admin, http.MethodPut, driversPath+"/absent", definitionOf("absent")), 404, "DRIVER_NOT_FOUND")

	// What the program brought stays as it is.
	requireProblem(t, p.call(accounts.Admin, http.MethodPut, driversPath+"/line", definitionOf("line")), 409, "DRIVER_FROM_SETTINGS")
	requireProblem(t, p.call(accounts.Admin, http.MethodDelete, driversPath+"/line", nil), 409, "DRIVER_FROM_SETTINGS")
	line := p.call(accounts.Viewer, http.MethodGet, driversPath+"/line", nil)
	require.Equal(t, "settings", line.object(t)["origin"])
	require.Empty(t, line.header.Get("ETag"))

	require.Equal(t, 204, p.conditional(http.MethodDelete, driversPath+"/made", `"5", `+p.etag("made"), nil).status)
	requireProblem(t, p.call(accounts.Viewer, http.MethodGet, driversPath+"/made", nil), 404, "DRIVER_NOT_FOUND")
	_, err = p.Tags().Read("made.device1.tag1")
	require.ErrorIs(t, err, tags.ErrTagNotFound)
	s, err := p.Tags().Read("line.level")
	require.NoError(t, err)
	require.Equal(t, tags.Good, s.Sample.Quality)
}

func (p *platform) etag(id string) string {
	p.t.Helper()
	return p.call(accounts.Viewer, http.MethodGet, driversPath+"/"+id, nil).header.Get("ETag")
}

func definitionOf(id string) map[string]any { return map[string]any{"id": id, "type": "Simulation"} }

func TestConfiguredTagsOutliveTheirDriverUnlessTheyAreToGo(t *testing.T) {
	t.Parallel()
	p := start(t, withTypes)
	p.configure(map[string]any{"tagId": "made.own", "driverId": "made", "address": "device1.tag1", "dataType": "Float"})
	reason := func() tags.Reason {
		s, err := p.Tags().Read("made.own")
		require.NoError(t, err)
		return s.Sample.Reason
	}
	require.Equal(t, tags.ReasonNoDriver, reason())
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, driversPath, definitionOf("made")).status)
	require.Eventually(t, func() bool { return reason() == tags.ReasonNone }, patience, time.Millisecond)

	off := definitionOf("made")
	off["enabled"] = false
	require.Equal(t, 200, p.call(accounts.Admin, http.MethodPut, driversPath+"/made", off).status)
	require.Equal(t, tags.ReasonNoDriver, reason())
	_, err := p.Tags().Read("made.device1.tag1")
	require.NoError(t, err, "a driver that is disabled keeps its tags")
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, driversPath, definitionOf("made")), 409, "DRIVER_EXISTS")

	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, driversPath+"/made", nil).status)
	require.Equal(t, tags.ReasonNoDriver, reason())
	_, err = p.Tags().Read("made.device1.tag1")
	require.ErrorIs(t, err, tags.ErrTagNotFound)

	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, driversPath, definitionOf("made")).status)
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, driversPath+"/made?tags=true", nil).status)
	_, err = p.Tags().Read("made.own")
	require.ErrorIs(t, err, tags.ErrTagNotFound)
	require.Nil(t, p.configOf("made.own"))
}

// Who uses a tag that goes with its driver keeps the driver from being removed, whichever layer has the tag.
func TestADriverWhoseTagsAreInUseStays(t *testing.T) {
	t.Parallel()
	p := start(t, withTypes)
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, driversPath, definitionOf("made")).status)
	made := p.call(accounts.Admin, http.MethodPost, "/api/v1/derived-tags", map[string]any{"id": "twice", "expression": `tag("made.device1.tag1") * 2`, "dataType": "Float"})
	require.Equal(t, 201, made.status, "%s", made.body)
	for _, query := range []string{"", "?tags=true"} {
		body := requireProblem(t, p.call(accounts.Admin, http.MethodDelete, driversPath+"/made"+query, nil), 409, "TAG_IN_USE")
		require.Equal(t, "made.device1.tag1", body["errors"].([]any)[0].(map[string]any)["field"])
	}
	require.True(t, p.Tags().HasDriver("made"))
	requireProblem(t, p.conditional(http.MethodDelete, driversPath+"/made?force=true", `"1"`, nil), 412, "VERSION_CHANGED")

	// A definition that does not define the tag any more is as a removal of it.
	other := map[string]any{"id": "made", "type": "Modbus", "ipAddress": "127.0.0.1", "port": 1}
	inUse := requireProblem(t, p.call(accounts.Admin, http.MethodPut, driversPath+"/made", other), 409, "TAG_IN_USE")
	require.Equal(t, "made.device1.tag1", inUse["errors"].([]any)[0].(map[string]any)["field"])
	same := definitionOf("made")
	same["pollIntervalMs"] = 1234
	require.Equal(t, 200, p.call(accounts.Admin, http.MethodPut, driversPath+"/made", same).status)
	require.Equal(t, 200, p.call(accounts.Admin, http.MethodPut, driversPath+"/made?force=true", other).status)
	_, gone := p.Tags().Read("made.device1.tag1")
	require.ErrorIs(t, gone, tags.ErrTagNotFound)
	requireProblem(t, p.conditional(http.MethodPut, driversPath+"/made", "", same), 400, "INVALID_REQUEST")
	require.Equal(t, 200, p.call(accounts.Admin, http.MethodPut, driversPath+"/made", same).status)

	// Configured, the tag stays when the driver goes.
	p.configure(map[string]any{"tagId": "made.device1.tag1", "driverId": "made", "address": "device1.tag1", "dataType": "Float"})
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, driversPath+"/made", nil).status)
	s, err := p.Tags().Read("made.device1.tag1")
	require.NoError(t, err)
	require.Equal(t, tags.ReasonNoDriver, s.Sample.Reason)

	// What was left of a driver that is gone is removed by the same call.
	requireProblem(t, p.call(accounts.Admin, http.MethodDelete, driversPath+"/made?tags=true", nil), 409, "TAG_IN_USE")
	requireProblem(t, p.call(accounts.Admin, http.MethodDelete, driversPath+"/made", nil), 404, "DRIVER_NOT_FOUND")
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, driversPath+"/made?tags=true&force=true", nil).status)
	require.Nil(t, p.configOf("made.device1.tag1"))
	requireProblem(t, p.call(accounts.Admin, http.MethodDelete, driversPath+"/made?tags=true", nil), 404, "DRIVER_NOT_FOUND")

	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, driversPath, definitionOf("made")).status)
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, driversPath+"/made?force=true", nil).status)
	found := false
	for _, r := range p.audit("?object=made") {
		found = found || r.Action == "deleteDriver" && strings.Contains(string(r.Before), `"removedTags":["made.device1.tag1"]`)
	}
	require.True(t, found, "the log names the tags that went")
}

func TestDevicesAreTriedAndBrowsed(t *testing.T) {
	t.Parallel()
	p := start(t, withTypes)
	tried := p.call(accounts.Admin, http.MethodPost, driversPath+"/test?points=3", definitionOf(""))
	require.Equal(t, 200, tried.status, "%s", tried.body)
	require.Equal(t, true, tried.object(t)["ok"])
	require.Len(t, tried.object(t)["points"], 3)
	nobodyThere := p.call(accounts.Admin, http.MethodPost, driversPath+"/test", map[string]any{"type": "Modbus", "ipAddress": "127.0.0.1", "port": 1})
	require.Equal(t, 200, nobodyThere.status)
	require.Equal(t, false, nobodyThere.object(t)["connected"])
	require.NotEmpty(t, nobodyThere.object(t)["error"])
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, driversPath+"/test", map[string]any{"type": "Modbus"}), 400, "INVALID_DRIVER_SETTINGS")
	requireProblem(t, p.callWrong(accounts.Admin, http.MethodPost, driversPath+"/test?points=0", definitionOf("")), 400, "INVALID_REQUEST")
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, driversPath+"/absent/test", nil), 404, "DRIVER_NOT_FOUND")

	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, driversPath, definitionOf("made")).status)
	require.Equal(t, 200, p.call(accounts.Admin, http.MethodPost, driversPath+"/made/test", nil).status)
	page := p.call(accounts.Admin, http.MethodPost, driversPath+"/made/browse?page=2&pageSize=7", nil)
	require.Equal(t, 200, page.status, "%s", page.body)
	require.Len(t, page.object(t)["points"], 3)
	require.Equal(t, json.Number("10"), page.object(t)["totalCount"])
	require.Equal(t, 201, p.call(accounts.Admin, http.MethodPost, driversPath, map[string]any{"id": "plc", "type": "Modbus", "ipAddress": "127.0.0.1", "enabled": false}).status)
	requireProblem(t, p.call(accounts.Admin, http.MethodPost, driversPath+"/plc/browse", nil), 409, "BROWSE_NOT_SUPPORTED")
}

func TestSecretsOfDriversAreInNoAnswerAndNoLog(t *testing.T) {
	t.Parallel()
	p := start(t, withTypes)
	definition := map[string]any{"id": "made", "type": "locked", "settings": map[string]any{"pin": "4711-geheim"}}
	made := p.call(accounts.Admin, http.MethodPost, driversPath, definition)
	require.Equal(t, 201, made.status, "%s", made.body)
	require.JSONEq(t, `{"pin":"********"}`, string(mustJSON(t, made.object(t)["settings"])))
	body := made.object(t)
	body["pollIntervalMs"] = 500
	require.Equal(t, 200, p.call(accounts.Admin, http.MethodPut, driversPath+"/made", body).status)
	require.Equal(t, 200, p.call(accounts.Admin, http.MethodPost, driversPath+"/test", definition).status)
	require.Equal(t, 204, p.call(accounts.Admin, http.MethodDelete, driversPath+"/made", nil).status)
	records := p.audit("?object=made")
	require.Len(t, records, 4)
	for _, r := range records {
		require.NotContains(t, string(r.After)+string(r.Before)+r.Detail, "geheim", r.Action)
	}
	require.Contains(t, string(records[1+1].After), `"pollIntervalMs":500`)
	require.Contains(t, string(records[0].Before), `"pollIntervalMs":500`)
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return raw
}

func TestStoredDriversThatCannotStartAreReported(t *testing.T) {
	t.Parallel()
	store := drivers.NewMemory()
	for _, d := range []drivers.Definition{{ID: "line", Type: "Simulation", Enabled: true, Revision: 1}, {ID: "old", Type: "Profinet", Enabled: true, Revision: 1}} {
		require.NoError(t, store.Insert(t.Context(), d))
	}
	p := start(t, withTypes, func(o *engine.Options) { o.Tags.DriverStore = store })
	line := p.call(accounts.Viewer, http.MethodGet, driversPath+"/line", nil).object(t)
	require.Equal(t, "settings", line["origin"])
	require.Equal(t, "Simulation", line["shadowed"].(map[string]any)["type"])
	old := p.call(accounts.Viewer, http.MethodGet, driversPath+"/old", nil).object(t)
	require.Equal(t, "Stopped", old["status"].(map[string]any)["state"])
	require.Contains(t, old["status"].(map[string]any)["lastError"], "Profinet")
	health := p.call(accounts.Admin, http.MethodGet, "/health", nil)
	require.Contains(t, string(health.body), "2 stored drivers were not started")
}
