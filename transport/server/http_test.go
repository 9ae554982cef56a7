package server_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
)

// bodies are the operations that read a JSON body, each with one that it takes.
var bodies = []struct{ path, good, required string }{
	{"/api/v1/auth/login", `{"username":"viewer","password":"` + password + `"}`, "username"},
	{"/api/v1/auth/refresh", `{"refreshToken":"x"}`, "refreshToken"},
	{"/api/v1/tags:batchRead", `{"tagNames":["line.flag"]}`, "tagNames"},
	{"/api/v1/tags:batchWrite", `{"writes":[]}`, "writes"},
	{"/api/v1/tags/line/flag/write", `{"value":"true"}`, "value"},
	{"/api/v1.0/config/tags/bulk", `[{"tagId":"a.b","driverId":"a","dataType":"Int"}]`, ""},
	{"/api/v1.0/config/tags/import", `[{"tagId":"a.b","driverId":"a","dataType":"Int"}]`, ""},
}

func TestBadBodiesAreRefusedAlikeEverywhere(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.Server.MaxBodyBytes, o.Tags.MaxImportBytes = 2000, 2000 })
	post := func(path, contentType string, body io.Reader) answer {
		r, err := http.NewRequestWithContext(wrong(t.Context()), http.MethodPost, p.url+path, body)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+p.token(accounts.Admin))
		if contentType != "" {
			r.Header.Set("Content-Type", contentType)
		}
		return p.do(r)
	}
	json := "application/json"
	for _, b := range bodies {
		for _, malformed := range []string{"{", b.good + "x", b.good + b.good, "\xff", `{"a":`, "nul", "'a'"} {
			requireProblem(t, post(b.path, json, strings.NewReader(malformed)), 400, "INVALID_REQUEST")
		}
		require.Equal(t, 400, post(b.path, json, strings.NewReader(`"text"`)).status, b.path)
		require.Equal(t, 400, post(b.path, json, strings.NewReader(`null`)).status, b.path)
		require.Equal(t, 400, post(b.path, json, http.NoBody).status, b.path)
		require.Equal(t, 400, post(b.path, "", nil).status, b.path)
		for _, media := range []string{"text/plain", "application/xml", "application/merge-patch+json", "application/json; charset=utf-16", "nonsense"} {
			requireProblem(t, post(b.path, media, strings.NewReader(b.good)), 415, "UNSUPPORTED_MEDIA_TYPE")
		}
		large := b.good + strings.Repeat(" ", 2000)
		requireProblem(t, post(b.path, json, strings.NewReader(large)), 413, "BODY_TOO_LARGE")
		requireProblem(t, post(b.path, json, io.MultiReader(strings.NewReader(large))), 413, "BODY_TOO_LARGE") // of unknown length
		for _, media := range []string{"", "application/json; charset=UTF-8", "Application/JSON"} {
			good := post(b.path, media, strings.NewReader(b.good)).status
			require.NotContains(t, []int{400, 413, 415}, good, "%s %s", b.path, media)
		}
		if b.required != "" {
			problem := requireProblem(t, post(b.path, json, strings.NewReader(`{"unknown":1}`)), 400, "INVALID_REQUEST")
			require.Contains(t, jsonText(t, problem["errors"]), `{"field":"`+b.required+`","message":"is required"}`)
		}
	}
}

func TestAWrongTypeIsNamedWithItsMember(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, c := range []struct{ path, body, field string }{
		{"/api/v1/auth/login", `{"username":1,"password":"x"}`, "username"},
		{"/api/v1/auth/refresh", `{"refreshToken":true}`, "refreshToken"},
		{"/api/v1/tags:batchRead", `{"tagNames":"line.flag"}`, "tagNames"},
		{"/api/v1/tags:batchRead", `{"tagNames":[1]}`, "tagNames"},
		{"/api/v1/tags:batchRead", `{"tagNames":["line.flag",null]}`, "tagNames[1]"},
		{"/api/v1/tags:batchWrite", `{"writes":{}}`, "writes"},
		{"/api/v1/tags:batchWrite", `{"writes":[{"tagName":1,"value":{"boolValue":true}}]}`, "writes.tagName"},
		{"/api/v1/tags/line/flag/write", `{"value":true}`, "value"},
		{"/api/v1/tags/line/flag/write", `{"value":"true","confirm":"yes"}`, "confirm"},
		{"/api/v1.0/config/tags/bulk", `[{"tagId":"a","driverId":"a","dataType":"Int"},{"tagId":"b","driverId":"a","dataType":"Int","minValue":"low"}]`, "[1].minValue"},
		{"/api/v1.0/config/tags/import", `[{"tagId":"a","driverId":"a","dataType":"Int","minValue":"low"}]`, "[0].minValue"},
	} {
		a := p.callWrong(accounts.Admin, http.MethodPost, c.path, c.body)
		require.Equal(t, 400, a.status, "%s %s", c.path, a.body)
		errs, _ := a.object(t)["errors"].([]any)
		require.Len(t, errs, 1, "%s %s", c.path, a.body)
		require.Equal(t, c.field, errs[0].(map[string]any)["field"], "%s", a.body)
		require.NotContains(t, string(a.body), "Go ", "a word of the program")
	}
}

func TestUnknownPathsAndMethods(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, path := range []string{"/", "/api", "/api/v1", "/api/v1/tags/", "/api/v1/tags/a/b/c/d", "/api/v1/Tags", "/api/v1/tags:batchDelete",
		"/api/v1/tags/%00", "/api/v1/tags/%FF", "/API/v1/tags", "/api/v1.0/config", "//api/v1/tags", "/health/", "/favicon.ico"} {
		requireProblem(t, p.callWrong(accounts.Admin, http.MethodGet, path, nil), 404, "NOT_FOUND")
	}
	for _, c := range []struct{ method, path, allow string }{
		{http.MethodDelete, "/api/v1/tags", "GET, HEAD, OPTIONS"},
		{http.MethodPut, "/api/v1/tags/line.flag", "GET, HEAD, OPTIONS"},
		{http.MethodGet, "/api/v1/tags:batchRead", "OPTIONS, POST"},
		{http.MethodHead, "/api/v1/tags:batchWrite", "OPTIONS, POST"},
		{http.MethodGet, "/api/v1/auth/login", "OPTIONS, POST"},
		{http.MethodGet, "/api/v1/tags/line/flag/write", "OPTIONS, POST"},
		{http.MethodPost, "/health", "GET, HEAD, OPTIONS"},
		{http.MethodPatch, "/api/v1.0/config/tags/bulk", "DELETE, GET, HEAD, OPTIONS, POST, PUT"}, // it may be a tag, too
		{"TRACE", "/api/v1/drivers", "GET, HEAD, OPTIONS, POST"},
		{"BREW", "/api/v1/drivers", "GET, HEAD, OPTIONS, POST"},
	} {
		a := p.callWrong(nobody, c.method, c.path, nil)
		require.Equal(t, c.allow, a.header.Get("Allow"), "%s %s", c.method, c.path)
		if c.method == http.MethodHead {
			require.Equal(t, 405, a.status)
			continue
		}
		requireProblem(t, a, 405, "METHOD_NOT_ALLOWED")

		a = p.callWrong(nobody, http.MethodOptions, c.path, nil)
		require.Equal(t, 204, a.status)
		require.Equal(t, c.allow, a.header.Get("Allow"))
		require.Empty(t, a.body)
	}
}

func TestHeadAnswersAsGet(t *testing.T) {
	t.Parallel()
	p := start(t)
	for _, path := range []string{"/api/v1/tags", "/api/v1/tags/line.flag", "/api/v1/tags/absent", "/api/v1/drivers", "/health", "/health/live",
		"/api/v1.0/config/tags", "/api/v1.0/config/tags/export", "/openapi.yaml", "/api/v1/tags/stream?tagNames=line.flag", "/api/v1/tags/stream"} {
		head := p.callWrong(accounts.Viewer, http.MethodHead, path, nil)
		require.Empty(t, head.body)
		if strings.Contains(path, "/stream?") {
			require.Equal(t, 200, head.status)
			require.Equal(t, "text/event-stream", head.header.Get("Content-Type"))
			continue
		}
		get := p.callWrong(accounts.Viewer, http.MethodGet, path, nil)
		require.Equal(t, get.status, head.status, path)
		require.Equal(t, get.header.Get("Content-Type"), head.header.Get("Content-Type"), path)
	}
	require.Equal(t, 401, p.callWrong(nobody, http.MethodHead, "/api/v1/tags", nil).status)
}
