package server_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/accounts"
	"github.com/otkit/otkit/engine"
)

// FuzzREST sends what no client library would: the server must refuse it, not fail at it.
func FuzzREST(f *testing.F) {
	for _, b := range bodies {
		f.Add(http.MethodPost, b.path, b.good, true)
		f.Add(http.MethodPost, b.path, "{", false)
	}
	for _, name := range oddNames {
		f.Add(http.MethodGet, "/api/v1/tags/"+pathOf(name), "", false)
		f.Add(http.MethodPost, "/api/v1/tags/line/"+pathOf(name)+"/write", `{"value":"1"}`, true)
	}
	for _, path := range []string{"/api/v1/tags?page=0&pageSize=501&namePattern=%5C", "/api/v1/tags/line.flag/history?start=x&maxPoints=5",
		"/api/v1/tags/stream?tagNames=&throttleMs=1", "/api/v1.0/config/tags/export?format=xlsx", "/docs/..%2f", "//", "*", "/%", "/api/v1/tags/writes/x", "/health"} {
		f.Add(http.MethodGet, path, "", true)
	}
	f.Add(http.MethodPost, "/api/v1/tags:batchWrite", `{"writes":[{"tagName":"line.count","value":{"int64Value":1e400}},{"tagName":"x","value":null}]}`, true)
	f.Add(http.MethodPost, "/api/v1.0/config/tags/bulk", `[{"tagId":"\u0000","driverId":"line","dataType":"Float","scalingFactor":1e-400,"minValue":1e308}]`, true)
	p := start(f, func(o *engine.Options) { o.Server.MaxBodyBytes = 100_000 })
	tokens := map[bool]string{true: p.token(accounts.Admin), false: p.token(accounts.Viewer)}
	f.Fuzz(func(t *testing.T, method, path, body string, admin bool) {
		if strings.Contains(path, "/auth/log") || strings.Contains(path, "stream") && !strings.Contains(body, "x") {
			method = http.MethodHead // nothing that ends the session or lasts
		}
		line := strings.NewReplacer("\r", "", "\n", "").Replace
		conn, err := net.Dial("tcp", p.Addr().String())
		require.NoError(t, err)
		defer func() { _ = conn.Close() }()
		require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
		_, err = io.WriteString(conn, line(method)+" "+line(path)+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer "+tokens[admin]+
			"\r\nContent-Length: "+jsonText(t, len(body))+"\r\n\r\n"+body)
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: line(method)})
		if err != nil {
			return // no HTTP at all: hung up on, or taken for HTTP/2
		}
		defer func() { _ = resp.Body.Close() }()
		require.NotEqual(t, 500, resp.StatusCode, "%q %q %q", method, path, body)
	})
}
