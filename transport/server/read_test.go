package server_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/tags"
)

func keys(v any) []string { return slices.Sorted(maps.Keys(v.(map[string]any))) }

// requireTime checks a timestamp of the wire: RFC 3339 in UTC with Z, of about now.
func requireTime(t testing.TB, v any) {
	t.Helper()
	text, ok := v.(string)
	require.True(t, ok, "%v", v)
	require.True(t, strings.HasSuffix(text, "Z"), text)
	at, err := time.Parse(time.RFC3339Nano, text)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), at, time.Minute)
}

func TestReadATagMemberByMember(t *testing.T) {
	t.Parallel()
	p := start(t)
	a := p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/line.level", nil)
	require.Equal(t, 200, a.status)
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	require.Equal(t, "no-store", a.header.Get("Cache-Control"))
	require.Equal(t, []string{"tag"}, keys(a.object(t)))
	tag := a.object(t)["tag"].(map[string]any)
	requireTime(t, tag["lastUpdated"])
	requireTime(t, tag["receivedAt"])
	delete(tag, "lastUpdated")
	delete(tag, "receivedAt")
	require.Equal(t, map[string]any{
		"name": "line.level", "driver": "line", "address": "level", "dataType": "Float", "accessMode": "ReadWrite",
		"currentValue": map[string]any{"doubleValue": json.Number("21.5")}, "quality": "Good",
		"unit": "%", "description": "Tank level", "minValue": json.Number("0"), "maxValue": json.Number("100"),
	}, tag)

	body := requireProblem(t, p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/line.absent", nil), 404, "TAG_NOT_FOUND")
	require.Equal(t, map[string]any{"tagName": "line.absent"}, body["metadata"])
	require.Equal(t, []string{"code", "detail", "metadata", "status", "title", "type"}, keys(body))
}

func TestEveryTypeOfValueOnTheWire(t *testing.T) {
	t.Parallel()
	p := start(t)
	for name, want := range map[string]string{
		"line.flag":  `{"boolValue":true}`,
		"line.count": `{"int64Value":9223372036854775806}`,
		"line.level": `{"doubleValue":21.5}`,
		"line.note":  `{"stringValue":"häßlich \"quoted\" \u003cb\u003e"}`,
		"line.image": `{"bytesValue":"AP8Q"}`,
		"line.empty": `null`,
	} {
		var got struct {
			Tag struct {
				CurrentValue           json.RawMessage
				Quality, QualityReason string
			}
		}
		a := p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/"+name, nil)
		a.into(t, &got)
		require.Equal(t, decoded(t, []byte(want)), decoded(t, got.Tag.CurrentValue), "%s", a.body)
		if name == "line.empty" {
			require.Equal(t, "Bad", got.Tag.Quality)
			require.Equal(t, "ConfigError", got.Tag.QualityReason)
		}
	}
}

func TestQualityFollowsTheDevice(t *testing.T) {
	t.Parallel()
	p := start(t)
	read := func() (quality, reason, value string) {
		var got struct {
			Tag struct {
				Quality, QualityReason string
				CurrentValue           json.RawMessage
			}
		}
		p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/line.level", nil).into(t, &got)
		return got.Tag.Quality, got.Tag.QualityReason, string(got.Tag.CurrentValue)
	}
	expect := func(quality, reason, value string) {
		t.Helper()
		require.Eventually(t, func() bool {
			q, r, v := read()
			return q == quality && r == reason && v == value
		}, patience, time.Millisecond)
	}
	p.line.set("level", tags.FloatValue(200))
	expect("Uncertain", "OutOfRange", `{"doubleValue":200}`)
	p.line.set("level", tags.FloatValue(50))
	expect("Good", "", `{"doubleValue":50}`)
	p.line.change(func() { p.line.down = true })
	expect("Bad", "NotConnected", `{"doubleValue":50}`)
}

func TestBatchReadGivesWhatItCan(t *testing.T) {
	t.Parallel()
	p := start(t)
	a := p.call(accounts.Viewer, http.MethodPost, "/api/v1/tags:batchRead", map[string]any{"tagNames": []string{"line.flag", "absent.1", "line.count", "line.flag", ""}})
	require.Equal(t, 200, a.status)
	require.Equal(t, []string{"errors", "tags"}, keys(a.object(t)))
	var got struct {
		Tags   []struct{ Name string }
		Errors []map[string]any
	}
	a.into(t, &got)
	require.Equal(t, []struct{ Name string }{{"line.flag"}, {"line.count"}, {"line.flag"}}, got.Tags)
	require.Equal(t, []map[string]any{
		{"code": "TAG_NOT_FOUND", "message": "tag not found: absent.1", "metadata": map[string]any{"tagName": "absent.1"}},
		{"code": "TAG_NOT_FOUND", "message": "tag not found: ", "metadata": map[string]any{"tagName": ""}},
	}, got.Errors)

	for _, path := range []string{"/api/v1/tags:batchRead", "/api/v1/tags%3AbatchRead", "/api/v1/tags%3abatchRead"} {
		a = p.callWrong(accounts.Viewer, http.MethodPost, path, `{"tagNames":[]}`)
		require.Equal(t, 200, a.status)
		require.JSONEq(t, `{"tags":[],"errors":[]}`, string(a.body))
	}
	names := make([]string, 501)
	for i := range names {
		names[i] = "line.flag"
	}
	requireProblem(t, p.callWrong(accounts.Viewer, http.MethodPost, "/api/v1/tags:batchRead", map[string]any{"tagNames": names}), 400, "BATCH_SIZE_EXCEEDED")
	p.call(accounts.Viewer, http.MethodPost, "/api/v1/tags:batchRead", map[string]any{"tagNames": names[:500]}).into(t, &got)
	require.Len(t, got.Tags, 500)
}

func TestListPagesAndFilters(t *testing.T) {
	t.Parallel()
	p := start(t)
	list := func(query string) (names []string, total int) {
		t.Helper()
		a := p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/tags"+query, nil)
		require.Equal(t, 200, a.status, "%s", a.body)
		require.Equal(t, []string{"tags", "totalCount"}, keys(a.object(t)))
		var got struct {
			Tags       []struct{ Name string }
			TotalCount int
		}
		a.into(t, &got)
		for _, tag := range got.Tags {
			names = append(names, tag.Name)
		}
		return names, got.TotalCount
	}
	all, total := list("?pageSize=500")
	require.Len(t, all, total)
	require.Len(t, all, len(lineTags())+1+1+9)
	require.True(t, slices.IsSorted(all))

	first, n := list("")
	require.Equal(t, total, n)
	require.Equal(t, all[:50], first)
	second, _ := list("?page=2")
	require.Equal(t, all[50:], second)
	none, n := list("?page=9223372036854775807")
	require.Equal(t, total, n)
	require.Empty(t, none)

	for query, want := range map[string][]string{
		"?namePattern=LINE.f%25":                                {"line.fixed", "line.flag"},
		"?namePattern=line.f_ag":                                {"line.flag"},
		"?namePattern=%25":                                      all[:50],
		"?namePattern=%5C%25":                                   {"%"},
		"?namePattern=%E6%97%A5_":                               {"日本"},
		"?namePattern=line.%25&driverFilter=sim":                nil,
		"?driverFilter=away":                                    {"away.valve"},
		"?driverFilter=Away":                                    nil,
		"?driverFilter=" + url.QueryEscape(oddDriver):           {oddDriver + ".a/ü %2F"},
		"?page=&pageSize=&namePattern=&driverFilter=&unknown=1": all[:50],
		"?page&pageSize=3":                                      all[:3],
		"?pageSize=2&page=2":                                    all[2:4],
	} {
		got, _ := list(query)
		require.Equal(t, want, got, query)
	}
}

func TestListRefusesBadPages(t *testing.T) {
	t.Parallel()
	p := start(t)
	for query, want := range map[string]struct{ code, field string }{
		"?page=0":                    {"INVALID_REQUEST", "page"},
		"?page=-1":                   {"INVALID_REQUEST", "page"},
		"?pageSize=0":                {"INVALID_REQUEST", "pageSize"},
		"?pageSize=-1":               {"INVALID_REQUEST", "pageSize"},
		"?pageSize=501":              {"PAGE_SIZE_EXCEEDED", ""},
		"?page=x":                    {"INVALID_REQUEST", "page"},
		"?page=1.5":                  {"INVALID_REQUEST", "page"},
		"?page=1&page=2":             {"INVALID_REQUEST", "page"},
		"?pageSize=1e3":              {"INVALID_REQUEST", "pageSize"},
		"?page=99999999999999999999": {"INVALID_REQUEST", "page"},
		"?namePattern=%5C":           {"INVALID_REQUEST", ""},
		"?namePattern=%FF":           {"INVALID_REQUEST", ""},
		"?namePattern=" + strings.Repeat("a", 1025): {"INVALID_REQUEST", ""},
	} {
		body := requireProblem(t, p.callWrong(accounts.Viewer, http.MethodGet, "/api/v1/tags"+query, nil), 400, want.code)
		if want.field != "" {
			require.Equal(t, want.field, body["errors"].([]any)[0].(map[string]any)["field"], query)
		}
	}
}

func TestDriversTellHowTheyAre(t *testing.T) {
	t.Parallel()
	p := start(t)
	a := p.call(accounts.Viewer, http.MethodGet, "/api/v1/drivers", nil)
	require.Equal(t, 200, a.status)
	var got []map[string]any
	a.into(t, &got)
	byID := map[string]map[string]any{}
	for _, d := range got {
		byID[d["driverId"].(string)] = d
	}
	require.Equal(t, []string{"away", "line", oddDriver, "sim"}, slices.Sorted(maps.Keys(byID)))
	require.Equal(t, "Online", byID["line"]["state"])
	require.Equal(t, "Scripted", byID["line"]["type"])
	require.InDelta(t, len(lineTags()), byID["line"]["tagCount"], 0)
	requireTime(t, byID["line"]["connectedSince"])
	cycle := byID["line"]["cycles"].([]any)[0].(map[string]any)
	require.InDelta(t, len(lineTags()), cycle["tagCount"], 0)
	require.Contains(t, cycle, "reachedMs")
	require.Contains(t, cycle, "requests")
	require.Empty(t, byID["line"]["breakers"], "it has none")
	require.Contains(t, []any{"Backoff", "Connecting"}, byID["away"]["state"])
	require.Empty(t, byID["away"]["cycles"])
	require.Equal(t, "no answer", byID["away"]["lastError"])
	requireTime(t, byID["away"]["lastErrorAt"])
	require.NotContains(t, byID["away"], "connectedSince")
}
