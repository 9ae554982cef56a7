package server_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
)

// importState is TagImport of the document, as far as it is looked at.
type importState struct {
	ID, Phase string
	Rows      int
	Result    map[string]any
	Error     struct {
		Code   string
		Errors []struct{ Field string }
	}
}

// ended waits for the end of an import.
func (p *platform) ended(path string) (s importState) {
	p.t.Helper()
	require.Eventually(p.t, func() bool {
		s = importState{}
		p.call(nobody, http.MethodGet, path, nil).into(p.t, &s)
		return s.Phase == "done" || s.Phase == "failed" || s.Phase == "canceled"
	}, patience, 5*time.Millisecond)
	return s
}

func (p *platform) loadLater(query, contentType string, body io.Reader) (path string) {
	p.t.Helper()
	a := p.load("?async=true"+query, contentType, body)
	require.Equal(p.t, 202, a.status, "%s", a.body)
	return a.header.Get("Location")
}

func TestAnImportNeedNotBeWaitedFor(t *testing.T) {
	t.Parallel()
	p := start(t)
	var sheet strings.Builder
	sheet.WriteString("tagId,driverId,dataType\n")
	for i := range 3000 {
		fmt.Fprintf(&sheet, "new.%d,line,Int\n", i)
	}
	s := p.ended(p.loadLater("", "text/csv", strings.NewReader(sheet.String())))
	require.Equal(t, "done", s.Phase)
	require.Equal(t, 3000, s.Rows)
	require.Equal(t, map[string]any{"count": 3000.0, "added": 3000.0, "changed": 0.0, "unchanged": 0.0, "removed": 0.0}, s.Result)
	require.NotNil(t, p.configOf("new.2999"))

	xlsx := p.export("?format=xlsx")
	s = p.ended(p.loadLater("&dryRun=true", xlsx.header.Get("Content-Type"), bytes.NewReader(xlsx.body)))
	require.EqualValues(t, 0, s.Result["count"], "what was exported differs in nothing")

	s = p.ended(p.loadLater("", "text/csv", strings.NewReader(sheet.String()+"bad,line,Double\n")))
	require.Equal(t, "failed", s.Phase)
	require.Equal(t, "INVALID_SPREADSHEET", s.Error.Code)
	require.Equal(t, "row 3002, column dataType", s.Error.Errors[0].Field)

	requireProblem(t, p.load("?async=true", "text/csv", http.NoBody), 400, "INVALID_REQUEST")
	requireProblem(t, p.callWrong(nobody, http.MethodGet, configPath+"/imports/none", nil), 404, "IMPORT_NOT_FOUND")
	requireProblem(t, p.callWrong(nobody, http.MethodDelete, configPath+"/imports/none", nil), 404, "IMPORT_NOT_FOUND")
}

// slow is a body that has not arrived yet.
func slow(t *testing.T) (body io.Reader, arrive func()) {
	r, w := io.Pipe()
	t.Cleanup(func() { _ = w.Close() })
	return r, func() {
		_, err := io.WriteString(w, "tagId,driverId,dataType\nslow,line,Int\n")
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
}

func TestImportsComeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	p := start(t)
	body, arrive := slow(t)
	first := make(chan answer, 1)
	go func() { first <- p.load("", "text/csv", body) }()
	require.Eventually(t, func() bool {
		a := p.load("?async=true", "text/csv", strings.NewReader("tagId,driverId,dataType\nother,line,Int\n"))
		return a.status == 409 && requireProblem(t, a, 409, "IMPORT_RUNNING") != nil && a.header.Get("Retry-After") == "2"
	}, patience, 5*time.Millisecond)
	arrive()
	require.Equal(t, 200, (<-first).status)
	require.NotNil(t, p.configOf("slow"))
	s := p.ended(p.loadLater("", "text/csv", strings.NewReader("tagId,driverId,dataType\nnext,line,Int\n")))
	require.Equal(t, "done", s.Phase)
	path := configPath + "/imports/" + s.ID
	a := p.call(nobody, http.MethodDelete, path, nil)
	require.Equal(t, 200, a.status)
	require.Contains(t, string(a.body), `"phase":"done"`, "what is done stays done")
}

func TestAnImportMayReplaceTheWholeConfiguration(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.configure(map[string]any{"tagId": "a", "driverId": "line", "dataType": "Int"}, map[string]any{"tagId": "b", "driverId": "line", "dataType": "Int"})
	sheet := "tagId,driverId,dataType\nb,line,Int\nc,line,Int\n"
	for _, query := range []string{"?mode=replace&dryRun=true", "?mode=replace"} {
		a := p.loadAs(accounts.Admin, query, "text/csv", strings.NewReader(sheet))
		require.Equal(t, 200, a.status, "%s", a.body)
		var got struct {
			Count   int
			Added   []struct{ TagID string }
			Removed []string
		}
		a.into(t, &got)
		require.Equal(t, 2, got.Count)
		require.Equal(t, []string{"a"}, got.Removed)
		require.Len(t, got.Added, 1)
		require.Equal(t, query != "?mode=replace", p.configOf("a") != nil, query)
	}
	require.NotNil(t, p.configOf("b"))
	require.NotNil(t, p.configOf("c"))
	require.NotNil(t, p.configOf("line.level"), "what drivers have stays")
	require.Equal(t, 404, p.call(accounts.Viewer, http.MethodGet, "/api/v1/tags/a", nil).status)
	r := p.audit("?action=tagImport")[0]
	require.Equal(t, []string{"a", "c"}, r.Objects)
	require.JSONEq(t, `{"a":{"driverId":"line","dataType":"Int"}}`, string(r.Before))
	require.JSONEq(t, `{"c":{"driverId":"line","dataType":"Int"}}`, string(r.After))
	require.Equal(t, "2 tags changed", r.Detail)
	requireProblem(t, p.load("?mode=all", "text/csv", strings.NewReader(sheet)), 400, "INVALID_REQUEST")
}

// An import adds and changes without a token, as a bulk does. It removes nothing that the operations that remove would not.
func TestAnImportRemovesForAdminsOnly(t *testing.T) {
	t.Parallel()
	p := start(t)
	p.configure(map[string]any{"tagId": "a", "driverId": "line", "dataType": "Int"})
	const sheet = "tagId,driverId,dataType\nb,line,Int\n"
	for _, query := range []string{"?mode=replace", "?mode=replace&force=true", "?mode=replace&async=true"} {
		requireProblem(t, p.loadAs(nobody, query, "text/csv", strings.NewReader(sheet)), 401, "UNAUTHORIZED")
		for _, role := range []accounts.Role{accounts.Viewer, accounts.Operator} {
			requireProblem(t, p.loadAs(role, query, "text/csv", strings.NewReader(sheet)), 403, "FORBIDDEN")
		}
	}
	require.NotNil(t, p.configOf("a"))
	require.Nil(t, p.configOf("b"))
	s := p.ended(p.loadLater("", "text/csv", strings.NewReader(sheet)))
	require.Equal(t, "done", s.Phase)
	require.Eventually(t, func() bool { return len(p.audit("?action=tagImport")) == 1 }, patience, 5*time.Millisecond)
}

func TestAnImportMayHaveAsManyTagsAsTheConfiguration(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.Tags.MaxConfigured = 2 })
	sheet := "tagId,driverId,dataType\na,line,Int\nb,line,Int\n"
	require.Equal(t, 200, p.load("", "text/csv", strings.NewReader(sheet)).status)
	requireProblem(t, p.load("", "text/csv", strings.NewReader(sheet+"c,line,Int\n")), 413, "SPREADSHEET_TOO_LARGE")
}

func TestALargeImportIsNotBoundByTheLimitOfBodies(t *testing.T) {
	t.Parallel()
	p := start(t, func(o *engine.Options) { o.Server.MaxBodyBytes = 5000 })
	sheet := "tagId,driverId,dataType,description\nbig,line,Int," + strings.Repeat("x", 4000) + "\nbig2,line,Int," + strings.Repeat("x", 4000) + "\n"
	require.Equal(t, 200, p.load("", "text/csv", strings.NewReader(sheet)).status)
	require.NotNil(t, p.configOf("big2"))
}
