package middleware

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// echoed is a handler behind MaxBody(limit) and JSONBody that gives the body back, with its length
// and content type.
func echoed(t *testing.T, limit int64) http.Handler {
	maxBody, err := MaxBody(limit)
	require.NoError(t, err)
	others := map[string][]string{"/import": {"text/csv"}, "/files/": {"application/zip"}}
	return maxBody(JSONBody(others)(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			refuse(w, r, err)
			return
		}
		w.Header().Set("Got-Type", r.Header.Get("Content-Type"))
		if r.ContentLength >= 0 && int(r.ContentLength) != len(body) {
			panic("ContentLength is wrong")
		}
		_, _ = w.Write(body)
	})))
}

func TestJSONBody(t *testing.T) {
	tests := []struct {
		name, path, contentType, body string
		status                        int
		says                          string
	}{
		{"JSON", "/", "application/json", `{"a":1}`, 200, `{"a":1}`},
		{"charset", "/", "Application/JSON; charset=UTF-8", `[1]`, 200, `[1]`},
		{"no content type", "/", "", ` "x" `, 200, ` "x" `},
		{"empty body", "/", "application/json", "", 200, ""},
		{"empty body of another type", "/", "text/plain", "", 200, ""},
		{"text", "/", "text/plain", `{}`, 415, "the Content-Type must be application/json"},
		{"form", "/", "application/x-www-form-urlencoded", `a=1`, 415, "UNSUPPORTED_MEDIA_TYPE"},
		{"merge patch", "/", "application/merge-patch+json", `{}`, 415, ""},
		{"latin 1", "/", "application/json; charset=iso-8859-1", `{}`, 415, ""},
		{"broken content type", "/", ";;", `{}`, 415, ""},
		{"malformed", "/", "application/json", `{"a":}`, 400, "malformed JSON at byte 6"},
		{"cut off", "/", "application/json", `{"a":1`, 400, "malformed JSON at byte 6"},
		{"trailing text", "/", "application/json", `{"a":1} x`, 400, "malformed JSON at byte 9"},
		{"second value", "/", "application/json", `{}{}`, 400, "malformed JSON at byte 3"},
		{"only blanks", "/", "application/json", "  ", 400, "malformed JSON"},
		{"not UTF-8", "/", "application/json", "\"\xff\"", 400, "not UTF-8"},
		{"byte order mark", "/", "application/json", "\ufeff{}", 400, "malformed JSON at byte 1"},
		{"too deep", "/", "application/json", strings.Repeat("[", 20_000), 400, "nested too deeply"},
		{"other type on its route", "/import", "text/csv; header=present", "a,b", 200, "a,b"},
		{"JSON on that route", "/import", "application/json", "{", 400, "malformed"},
		{"third type on that route", "/import", "application/zip", "x", 415, "the Content-Type must be application/json or text/csv"},
		{"below a path", "/files/7/data", "application/zip", "PK", 200, "PK"},
		{"beside a path", "/files", "application/zip", "PK", 415, ""},
		{"AAS family", "/api/v1/aas", "application/json", "{", 400, `"errorCode":"INVALID_REQUEST"`},
		{"at the limit", "/", "application/json", `"` + strings.Repeat("x", 29_998) + `"`, 200, "xxx"},
		{"too large", "/", "application/json", `"` + strings.Repeat("x", 29_999) + `"`, 413, "at most 30000 bytes"},
		{"too large on another route", "/import", "text/csv", strings.Repeat("x", 30_001), 413, "BODY_TOO_LARGE"},
	}
	h := echoed(t, 30_000)
	for _, tt := range tests {
		for _, length := range []string{"known", "chunked"} {
			t.Run(tt.name+"/"+length, func(t *testing.T) {
				r := httptest.NewRequest("POST", tt.path, strings.NewReader(tt.body))
				if length == "chunked" {
					r.ContentLength = -1
				}
				if tt.contentType != "" {
					r.Header.Set("Content-Type", tt.contentType)
				}
				w := serve(h, r)
				require.Equal(t, tt.status, w.Code, w.Body)
				require.Contains(t, w.Body.String(), tt.says)
				if tt.contentType == "" {
					require.Equal(t, "application/json", w.Header().Get("Got-Type"))
				}
			})
		}
	}
}

func TestRequestsWithoutABodyPassUntouched(t *testing.T) {
	var seen *http.Request
	h := JSONBody(nil)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r }))
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Content-Type", "text/plain")
	require.Equal(t, 200, serve(h, r).Code)
	require.Same(t, r, seen)
	require.Equal(t, "text/plain", r.Header.Get("Content-Type"))
}

func TestABodyThatHasNoMeaningIsLeftOut(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "DELETE"} {
		for contentType, body := range map[string]string{"application/json": "{", "text/plain": strings.Repeat("x", 2000)} {
			r := httptest.NewRequest(method, "/", strings.NewReader(body))
			r.Header.Set("Content-Type", contentType)
			w := serve(echoed(t, 1000), r)
			require.Equal(t, 200, w.Code, method)
			require.Empty(t, w.Body.String(), method)
		}
	}
}

// TestLimitsOverAConnection sees what a client sees: an answer also when it goes on sending.
func TestLimitsOverAConnection(t *testing.T) {
	server := httptest.NewServer(echoed(t, 1000))
	defer server.Close()
	for name, body := range map[string]io.Reader{
		"known":   bytes.NewReader(make([]byte, 5<<20)),
		"chunked": io.MultiReader(bytes.NewReader(make([]byte, 5<<20))),
	} {
		req, err := http.NewRequestWithContext(t.Context(), "POST", server.URL, body)
		require.NoError(t, err)
		req.Header.Set("Expect", "100-continue") // as curl does, so that the answer is not lost to a reset
		transport := &http.Transport{ExpectContinueTimeout: 10e9}
		resp, err := transport.RoundTrip(req)
		require.NoError(t, err, name)
		require.Equal(t, 413, resp.StatusCode)
		require.NoError(t, resp.Body.Close())
		transport.CloseIdleConnections()
	}
}

func TestBadMaxBody(t *testing.T) {
	_, err := MaxBody(-1)
	require.ErrorContains(t, err, "MaxBody")
}

// FuzzJSONBody checks that what passes is one JSON value and comes through unchanged.
func FuzzJSONBody(f *testing.F) {
	f.Add("application/json", []byte(`{"a":[1,2.5e3,"x"]}`))
	f.Add("", []byte(`{} {}`))
	f.Add("text/plain", []byte("x"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		h := echoed(t, 1<<20)
		r := httptest.NewRequest("POST", "/", bytes.NewReader(body))
		r.Header["Content-Type"] = []string{contentType}
		w := serve(h, r)
		switch w.Code {
		case 200:
			if !bytes.Equal(w.Body.Bytes(), body) {
				t.Fatalf("%q became %q", body, w.Body)
			}
		case 400, 415:
		default:
			t.Fatalf("status %d for %q", w.Code, body)
		}
	})
}
