package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagconfig"
)

const configPath = "/api/v1.0/config/tags"

// configure applies items by bulk update.
func (p *platform) configure(items ...map[string]any) answer {
	p.t.Helper()
	a := p.call(nobody, http.MethodPost, configPath+"/bulk", items)
	require.Equal(p.t, 200, a.status, "%s", a.body)
	return a
}

func (p *platform) configOf(id string) map[string]any {
	p.t.Helper()
	var items []map[string]any
	p.call(nobody, http.MethodGet, configPath, nil).into(p.t, &items)
	for _, item := range items {
		if item["tagId"] == id {
			return item
		}
	}
	return nil
}

func TestTheConfigurationMemberByMember(t *testing.T) {
	t.Parallel()
	p := start(t)
	require.Equal(t, map[string]any{
		"tagId": "line.level", "driverId": "line", "address": "level", "dataType": "Float", "unit": "%", "description": "Tank level",
		"minValue": 0.0, "maxValue": 100.0, "scalingFactor": 1.0, "offset": 0.0, "accessMode": "ReadWrite",
	}, p.configOf("line.level"))
	require.NotContains(t, p.configOf("line.flag"), "minValue")

	empty := start(t, func(o *engine.Options) { o.Tags.Drivers = nil })
	require.JSONEq(t, `[]`, string(empty.call(nobody, http.MethodGet, configPath, nil).body))
	requireProblem(t, empty.call(nobody, http.MethodPost, configPath+"/bulk", `[]`), 400, "INVALID_REQUEST")
	require.NoFileExists(t, filepath.Join(empty.dir, "config", "equipment_model.json"))
}

func TestBulkActsAtOnceAndLasts(t *testing.T) {
	t.Parallel()
	p := start(t)
	a := p.configure(
		map[string]any{"tagId": "line.level", "driverId": "line", "dataType": "Float", "unit": "m", "minValue": -1, "maxValue": 1000, "scalingFactor": 2, "offset": 1, "newMember": "kept"},
		map[string]any{"tagId": "new.tag", "driverId": "line", "address": "count", "dataType": "Int", "unit": "old"},
		map[string]any{"tagId": "new.tag", "driverId": "line", "address": "count", "dataType": "Int", "unit": "pcs"},
	)
	require.Equal(t, []string{"count", "message"}, keys(a.object(t)))
	require.Equal(t, json.Number("2"), a.object(t)["count"])

	read := func(name string) map[string]any {
		return p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/"+name, nil).object(t)["tag"].(map[string]any)
	}
	require.Equal(t, "m", read("line.level")["unit"])
	require.Equal(t, json.Number("1000"), read("line.level")["maxValue"])
	require.Equal(t, "ReadWrite", read("line.level")["accessMode"]) // what the driver knows stays
	require.Equal(t, "pcs", read("new.tag")["unit"])
	require.Eventually(t, func() bool {
		return jsonText(t, read("line.level")["currentValue"]) == `{"doubleValue":44}` && jsonText(t, read("new.tag")["currentValue"]) == `{"int64Value":9223372036854775806}`
	}, patience, time.Millisecond)

	var file struct {
		ModelName, Version string
		Variables          []map[string]any
	}
	text, err := os.ReadFile(filepath.Join(p.dir, "config", "equipment_model.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &file))
	require.NotEmpty(t, file.ModelName)
	require.NotEmpty(t, file.Version)
	require.Len(t, file.Variables, 2)
	require.Equal(t, "line.level", file.Variables[0]["tagId"])
}

func TestOneBadItemRefusesTheWholeRequest(t *testing.T) {
	t.Parallel()
	p := start(t)
	good := `{"tagId":"line.level","driverId":"line","dataType":"Float","unit":"bad"}`
	for item, field := range map[string]string{
		`{"driverId":"line","dataType":"Int"}`:                                         "[1].tagId",
		`{"tagId":"a","dataType":"Int"}`:                                               "[1].driverId",
		`{"tagId":"a","driverId":"line"}`:                                              "[1].dataType",
		`{"tagId":"a","driverId":"line","dataType":"Double"}`:                          "[1].dataType",
		`{"tagId":"a","driverId":"line","dataType":"Float","minValue":2,"maxValue":1}`: "[1].minValue",
		`{"tagId":"a","driverId":"line","dataType":"Float","scalingFactor":0}`:         "[1].scalingFactor",
		`{"tagId":"..","driverId":"line","dataType":"Int"}`:                            "[1].tagId",
	} {
		a := p.callWrong(nobody, http.MethodPost, configPath+"/bulk", "["+good+","+item+"]")
		body := requireProblem(t, a, 400, "INVALID_TAG_CONFIG")
		require.Equal(t, field, body["errors"].([]any)[0].(map[string]any)["field"], "%s", a.body)
		require.Equal(t, "%", p.configOf("line.level")["unit"])
	}
}

func TestAFileThatCannotBeWrittenChangesNothing(t *testing.T) {
	t.Parallel()
	p := start(t)
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, "config"), []byte("in the way"), 0o600))
	a := p.call(nobody, http.MethodPost, configPath+"/bulk", []map[string]any{{"tagId": "line.level", "driverId": "line", "dataType": "Float", "unit": "m"}})
	body := requireProblem(t, a, 500, "CONFIG_NOT_SAVED")
	require.NotContains(t, string(a.body), p.dir)
	require.NotEmpty(t, body["traceId"])
	require.Equal(t, "%", p.configOf("line.level")["unit"])
}

func TestTheModelFileIsReadAgainWhenItChanges(t *testing.T) {
	t.Parallel()
	p := start(t)
	path := filepath.Join(p.dir, "config", "equipment_model.json")
	p.configure(map[string]any{"tagId": "line.level", "driverId": "line", "dataType": "Float", "unit": "m"})
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.ReplaceAll(text, []byte(`"unit":"m"`), []byte(`"unit":"ft"`)), 0o600))
	unit := func() any {
		return p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/line.level", nil).object(t)["tag"].(map[string]any)["unit"]
	}
	require.Eventually(t, func() bool { return unit() == "ft" }, patience, 10*time.Millisecond)

	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	require.Eventually(t, func() bool {
		return strings.Contains(string(p.call(nobody, http.MethodGet, "/health", nil).body), "the last good configuration is in force")
	}, patience, 10*time.Millisecond)
	require.Equal(t, "ft", unit())
}

func (p *platform) export(format string) answer {
	p.t.Helper()
	a := p.call(nobody, http.MethodGet, configPath+"/export"+format, nil)
	require.Equal(p.t, 200, a.status)
	return a
}

func (p *platform) load(query, contentType string, body io.Reader) answer {
	p.t.Helper()
	return p.loadAs(nobody, query, contentType, body)
}

func (p *platform) loadAs(role accounts.Role, query, contentType string, body io.Reader) answer {
	p.t.Helper()
	r := p.request(wrong(p.t.Context()), role, http.MethodPost, configPath+"/import"+query, nil)
	r.Body, r.ContentLength = io.NopCloser(body), -1
	r.Header.Set("Content-Type", contentType)
	return p.do(r)
}

func TestSpreadsheetsGoOutAndComeBack(t *testing.T) {
	t.Parallel()
	p := start(t)
	for query, media := range map[string]string{
		"": "text/csv; charset=utf-8", "?format=csv": "text/csv; charset=utf-8", "?format=json": "application/json",
		"?format=xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	} {
		file := p.export(query)
		require.Equal(t, media, file.header.Get("Content-Type"))
		require.Regexp(t, `^attachment; filename=tags\.(csv|json|xlsx)$`, file.header.Get("Content-Disposition"))
		a := p.load("?dryRun=true", media, bytes.NewReader(file.body))
		require.Equal(t, 200, a.status, "%s", a.body)
		var got struct {
			DryRun         bool
			Count          int
			Added, Changed []any
			Unchanged      []string
		}
		a.into(t, &got)
		require.Equal(t, []string{"added", "changed", "count", "dryRun", "unchanged"}, keys(a.object(t)))
		require.True(t, got.DryRun)
		require.Zero(t, got.Count)
		require.Empty(t, got.Added)
		require.Empty(t, got.Changed)
		require.Contains(t, got.Unchanged, "line.level")
	}
	requireProblem(t, p.callWrong(nobody, http.MethodGet, configPath+"/export?format=pdf", nil), 400, "INVALID_REQUEST")
}

func TestADryRunTellsAndAnImportDoes(t *testing.T) {
	t.Parallel()
	p := start(t)
	sheet := "tagId,driverId,dataType,address,unit\r\nline.flag,line,Bool,flag,on/off\r\nnew.tag,line,Int,count,pcs\r\n"
	dry := p.load("?dryRun=true", "text/csv", strings.NewReader(sheet))
	require.Equal(t, 200, dry.status, "%s", dry.body)
	require.Nil(t, p.configOf("new.tag"))
	require.NoFileExists(t, filepath.Join(p.dir, "config", "equipment_model.json"))
	done := p.load("", "text/csv; charset=utf-8", strings.NewReader(sheet))
	require.Equal(t, 200, done.status, "%s", done.body)
	require.JSONEq(t, strings.Replace(string(dry.body), `"dryRun":true`, `"dryRun":false`, 1), string(done.body))
	var got struct {
		Count   int
		Added   []struct{ TagID string }
		Changed []tagconfig.Change
	}
	done.into(t, &got)
	require.Equal(t, 2, got.Count)
	require.Equal(t, "new.tag", got.Added[0].TagID)
	at := slices.IndexFunc(got.Changed[0].Fields, func(f tagconfig.FieldChange) bool { return f.Field == "unit" })
	require.Equal(t, tagconfig.FieldChange{Field: "unit", New: "on/off"}, got.Changed[0].Fields[at])
	require.Equal(t, "on/off", p.configOf("line.flag")["unit"])
	s, err := p.Tags().Read("new.tag")
	require.NoError(t, err)
	require.Equal(t, tags.Int, s.Tag.DataType)
}

func TestImportsAreRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.Tags.MaxImportBytes = 5000 })
	body := requireProblem(t, p.load("", "text/csv", strings.NewReader("tagId,driverId,dataType\nok,line,Int\nbad,line,Double\n")), 400, "INVALID_SPREADSHEET")
	require.Contains(t, body["errors"].([]any)[0].(map[string]any)["field"], "row 3")
	require.Nil(t, p.configOf("ok"))
	requireProblem(t, p.load("", "text/csv", http.NoBody), 400, "INVALID_REQUEST")
	requireProblem(t, p.load("", "text/csv", strings.NewReader("tagId,driverId,dataType\n")), 400, "INVALID_REQUEST")
	requireProblem(t, p.load("", "application/json", strings.NewReader("[]")), 400, "INVALID_REQUEST")
	requireProblem(t, p.load("?dryRun=perhaps", "text/csv", strings.NewReader("tagId\n")), 400, "INVALID_REQUEST")
	requireProblem(t, p.load("", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", strings.NewReader("no zip")), 400, "INVALID_SPREADSHEET")
	requireProblem(t, p.load("", "application/pdf", strings.NewReader("x")), 415, "UNSUPPORTED_MEDIA_TYPE")
	large := strings.Repeat("x", 6000)
	for _, media := range []string{"text/csv", "application/json"} {
		requireProblem(t, p.load("", media, strings.NewReader(large)), 413, "BODY_TOO_LARGE")
		requireProblem(t, p.load("", media, io.MultiReader(strings.NewReader(large))), 413, "BODY_TOO_LARGE")
	}
}
