package bridgeclient_test

import (
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/bridgeclient"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a bridge that answers with h.
func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

func client(t *testing.T, o bridgeclient.Options) *bridgeclient.Client {
	t.Helper()
	c, err := bridgeclient.New(o)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func TestCalls(t *testing.T) {
	c := client(t, bridgeclient.Options{})
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.Method + " " + r.URL.Path {
		case "GET /api/bridge/status":
			fmt.Fprint(w, `{"bridgeId":"b1","status":"bound","boundEngineId":"e","driverType":"Modbus","driverId":"d","version":"1","more":{}}`)
		case "POST /api/bridge/bind":
			if r.Header.Get("X-Bind-Secret") != "secret" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			if string(body) != `{"engineId":"e","engineUrl":"http://e","enginePins":["p"]}` || r.Header.Get("Content-Type") != "application/json" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			fmt.Fprint(w, `{"bridgeId":"b1","driverType":"Modbus","driverId":"d","tags":[{"name":"a","address":"40001","dataType":"Int","length":0,"scanInterval":500,"max":0}],
				"availableSubmodels":["Nameplate"],"activeSubmodels":[],"bindingToken":"t"}`)
		case "DELETE /api/bridge/bind":
			if r.Header.Get("Authorization") != "Bearer key" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.WriteHeader(http.StatusNoContent)
		default:
			t.Error(r.Method, r.URL)
		}
	})
	status, err := c.Status(t.Context(), url)
	require.NoError(t, err)
	require.Equal(t, link.Status{BridgeID: "b1", Status: "bound", BoundEngineID: "e", DriverType: "Modbus", DriverID: "d", Version: "1"}, status)
	request := link.BindRequest{EngineID: "e", EngineURL: "http://e", EnginePins: []string{"p"}}
	_, err = c.Bind(t.Context(), url, "", request)
	require.ErrorIs(t, err, discovery.ErrDenied)
	require.ErrorContains(t, err, "bind secret")
	m, err := c.Bind(t.Context(), url, "secret", request)
	require.NoError(t, err)
	zero := 0.0
	require.Equal(t, link.Manifest{BridgeID: "b1", DriverType: "Modbus", DriverID: "d", AvailableSubmodels: []string{"Nameplate"}, ActiveSubmodels: []string{},
		BindingToken: "t", Tags: []link.ManifestTag{{Name: "a", Address: "40001", DataType: "Int", ScanInterval: 500, Max: &zero}}}, m)
	require.NoError(t, c.Release(t.Context(), url, "key"))
	require.ErrorIs(t, c.Release(t.Context(), url, "other"), discovery.ErrDenied)
}

// A bridge may lie in every way; the client returns soon, with an error that says what is wrong.
func TestBridgesThatLie(t *testing.T) {
	const short = 300 * time.Millisecond
	var visited atomic.Bool
	third := serve(t, func(http.ResponseWriter, *http.Request) { visited.Store(true) })
	write := func(w http.ResponseWriter, text string) {
		for {
			if _, err := io.WriteString(w, text); err != nil {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		want   error
		text   string
	}{
		"a redirect":             {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, third, http.StatusTemporaryRedirect) }, discovery.ErrBadAnswer, "it answered 307; redirects are not followed"},
		"a body that is endless": {func(w http.ResponseWriter, _ *http.Request) { write(w, strings.Repeat(" ", 1000)) }, discovery.ErrBadAnswer, "bytes"},
		"a header that is endless": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			defer conn.Close()
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
			for i := 0; ; i++ {
				if _, err := fmt.Fprintf(conn, "X-%d: %s\r\n", i, strings.Repeat("x", 1000)); err != nil {
					return
				}
			}
		}, discovery.ErrConnection, ""},
		"no answer": {func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, discovery.ErrConnection, "no answer in time"},
		"an answer drop by drop": {func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(10 * time.Millisecond)
			}
		}, discovery.ErrConnection, "its answer ended early"},
		"half an answer": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"bridgeId":`)
		}, discovery.ErrConnection, "its answer ended early"},
		"something else": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, discovery.ErrBadAnswer, "it is not the JSON of a bridge"},
		"another type":   {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"bridgeId": 7}`) }, discovery.ErrBadAnswer, "it is not the JSON of a bridge"},
		"an error":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, discovery.ErrBadAnswer, "it answered 500"},
		"TLS is wanted":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }, discovery.ErrBadAnswer, "it answered 400; the URL of a bridge with TLS begins with https"},
		"not found":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }, discovery.ErrBadAnswer, "it answered 404"},
		"no HTTP": {func(w http.ResponseWriter, _ *http.Request) {
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(conn, "\x00\x01\x02\n")
			_ = conn.Close()
		}, discovery.ErrConnection, ""},
	} {
		t.Run(name, func(t *testing.T) {
			slow := name == "no answer" || name == "an answer drop by drop"
			o := bridgeclient.Options{Timeout: time.Minute, BindTimeout: time.Minute}
			if slow {
				o.Timeout = short
			}
			bridge := client(t, o)
			url := serve(t, c.answer)
			_, err := bridge.Status(t.Context(), url)
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.text)
			if !slow {
				_, err = bridge.Bind(t.Context(), url, "", link.BindRequest{})
				require.ErrorIs(t, err, c.want)
			}
			require.False(t, visited.Load(), "nothing goes to another host")
		})
	}
	bridge := client(t, bridgeclient.Options{Timeout: short})
	_, err := bridge.Status(t.Context(), "http://127.0.0.1:1")
	requireUnreachable(t, err, "connection refused")
	_, err = bridge.Status(t.Context(), strings.Replace(serve(t, http.NotFound), "http://", "https://", 1))
	requireUnreachable(t, err, "it does not answer with TLS")
	_, err = bridge.Bind(t.Context(), serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) }), "", link.BindRequest{})
	require.ErrorIs(t, err, discovery.ErrAlreadyBound)
	require.NoError(t, bridge.Release(t.Context(), serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }), "x"), "it is free")
}

// requireUnreachable checks what callers read: the reason, and no address.
func requireUnreachable(t *testing.T, err error, why string) {
	t.Helper()
	require.ErrorIs(t, err, discovery.ErrConnection)
	e, _ := fault.From(err)
	require.Equal(t, discovery.ErrConnection.Message+": "+why, e.Message)
}

func TestLongManifests(t *testing.T) {
	tags := make([]link.ManifestTag, 200_000)
	for i := range tags {
		tags[i] = link.ManifestTag{Name: fmt.Sprintf("line 1.station %d.value", i), Address: fmt.Sprint(i), DataType: "Float", Description: strings.Repeat("x", 100)}
	}
	text, err := json.Marshal(link.Manifest{BridgeID: "b1", Tags: tags})
	require.NoError(t, err)
	c := client(t, bridgeclient.Options{})
	m, err := c.Bind(t.Context(), serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }), "", link.BindRequest{})
	require.NoError(t, err)
	require.Len(t, m.Tags, 200_000)

	// Millions of empty tags are short, and would need gigabytes.
	m, err = c.Bind(t.Context(), serve(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"tags":[{}`+strings.Repeat(",{}", 300_000)+`]}`)
	}), "", link.BindRequest{})
	require.NoError(t, err)
	require.Len(t, m.Tags, 200_001, "one too many, which whoever checks it sees")
}

func TestBridgesWithTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"bridgeId":"b1"}`) }))
	defer s.Close()
	_, err := client(t, bridgeclient.Options{}).Status(t.Context(), s.URL)
	requireUnreachable(t, err, "its certificate is not trusted")
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	status, err := client(t, bridgeclient.Options{RootCAs: pool}).Status(t.Context(), s.URL)
	require.NoError(t, err)
	require.Equal(t, "b1", status.BridgeID)
}

func TestBadOptions(t *testing.T) {
	_, err := bridgeclient.New(bridgeclient.Options{Timeout: -1})
	require.ErrorContains(t, err, "Timeout")
}
