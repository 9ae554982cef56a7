package middleware_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/middleware"
)

// compressed serves a handler with what it writes compressed.
func compressed(t testing.TB, o middleware.CompressOptions, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	compress, err := middleware.Compress(o)
	require.NoError(t, err)
	s := httptest.NewServer(compress(h))
	t.Cleanup(s.Close)
	return s
}

// ask asks with a header Accept-Encoding, which the client does not act on by itself then.
func ask(t testing.TB, url, accept string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	r.Header.Set("Accept-Encoding", accept)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

func TestCompress(t *testing.T) {
	long := strings.Repeat(`{"tagId":"line.temperature"},`, 200)
	tests := map[string]struct {
		accept, media, text string
		compressed          bool
	}{
		"a long text":            {"gzip", "application/json", long, true},
		"problem details":        {"gzip", "application/problem+json", long, true},
		"csv":                    {"gzip, deflate, br", "text/csv; charset=utf-8", long, true},
		"any coding":             {"br, *;q=0.1", "text/csv", long, false}, // gzip is not named
		"a short text":           {"gzip", "application/json", "{}", false},
		"a client that does not": {"gzip;q=0", "application/json", long, false},
		"another coding":         {"br", "application/json", long, false},
		"a spreadsheet":          {"gzip", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", long, false},
		"a package":              {"gzip", "application/asset-administration-shell-package", long, false},
		"an image":               {"gzip", "image/png", long, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := compressed(t, middleware.CompressOptions{}, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", test.media)
				_, _ = io.WriteString(w, test.text)
			})
			answer := ask(t, s.URL, test.accept)
			require.Equal(t, test.media, answer.Header.Get("Content-Type"))
			require.Contains(t, answer.Header.Values("Vary"), "Accept-Encoding")
			var body io.Reader = answer.Body
			if test.compressed {
				require.Equal(t, "gzip", answer.Header.Get("Content-Encoding"))
				var err error
				body, err = gzip.NewReader(answer.Body)
				require.NoError(t, err)
			} else {
				require.Empty(t, answer.Header.Get("Content-Encoding"))
			}
			text, err := io.ReadAll(body)
			require.NoError(t, err)
			require.Equal(t, test.text, string(text))
		})
	}
}

// Each event of a stream arrives when it is flushed, however short it is.
func TestCompressStream(t *testing.T) {
	events := make(chan string)
	s := compressed(t, middleware.CompressOptions{Stream: true}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for e := range events {
			_, _ = io.WriteString(w, e)
			if http.NewResponseController(w).Flush() != nil {
				return
			}
		}
	})
	texts := []string{": open\n", "data: 1\n", "data: " + strings.Repeat("line.temperature ", 5000) + "\n"}
	first := make(chan struct{})
	go func() { events <- texts[0]; close(first) }()
	answer := ask(t, s.URL, "gzip")
	<-first
	require.Equal(t, "gzip", answer.Header.Get("Content-Encoding"))
	unzipped, err := gzip.NewReader(answer.Body)
	require.NoError(t, err)
	lines := bufio.NewReader(unzipped)
	for i, e := range texts {
		if i > 0 {
			events <- e
		}
		line, err := lines.ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, e, line)
	}
	close(events)
	_, err = lines.ReadString('\n')
	require.ErrorIs(t, err, io.EOF)
}

// An answer that breaks off does not look like a whole one.
func TestCompressedAnswerBreaksOff(t *testing.T) {
	s := compressed(t, middleware.CompressOptions{}, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/csv")
		_, _ = io.WriteString(w, strings.Repeat("tag,value\n", 1000))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	answer := ask(t, s.URL, "gzip")
	unzipped, err := gzip.NewReader(answer.Body)
	require.NoError(t, err)
	_, err = io.ReadAll(unzipped)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
}

// BenchmarkCompress measures what a list of 1,000 tags takes, beside the same list as it is.
func BenchmarkCompress(b *testing.B) {
	var list strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&list, `{"name":"line%d.temperature","address":"HR:%d","dataType":"Float","currentValue":{"doubleValue":%d.%02d},"quality":"Good"},`, i, i*2, i*7%120, i*13%100)
	}
	text := []byte(list.String())
	for _, way := range []string{"plain", "gzip", "stream"} {
		b.Run(way, func(b *testing.B) {
			compress, err := middleware.Compress(middleware.CompressOptions{Stream: way == "stream"})
			require.NoError(b, err)
			h := compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write(text)
			}))
			r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/", nil)
			if way != "plain" {
				r.Header.Set("Accept-Encoding", "gzip")
			}
			var sent int
			b.ReportAllocs()
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				sent = w.Body.Len()
			}
			b.ReportMetric(float64(sent), "bytes/answer")
		})
	}
}
