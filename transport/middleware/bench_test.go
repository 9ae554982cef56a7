package middleware

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// discardWriter is the cheapest ResponseWriter, so that only the layers are measured.
type discardWriter struct{ header http.Header }

func (d discardWriter) Header() http.Header         { return d.header }
func (d discardWriter) Write(b []byte) (int, error) { return len(b), nil }
func (d discardWriter) WriteHeader(int)             {}

// BenchmarkLayers measures what each layer adds to a request.
func BenchmarkLayers(b *testing.B) {
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	log := slog.New(slog.NewJSONHandler(io.Discard, nil))
	trace, access := Trace(TraceOptions{}), AccessLog(log)
	for _, bench := range []struct {
		name string
		h    http.Handler
	}{
		{"bare", bare},
		{"trace", trace(bare)},
		{"accesslog", access(bare)},
		{"recover", Recover(bare)},
		{"headers", SecurityHeaders(bare)},
		{"path", EscapedPath(bare)},
		{"all", trace(access(Recover(SecurityHeaders(EscapedPath(JSONBody(nil)(bare))))))},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := httptest.NewRequest("GET", "/api/v1/tags/sim.temperature", nil)
			w := discardWriter{http.Header{}}
			b.ReportAllocs()
			for b.Loop() {
				bench.h.ServeHTTP(w, r)
			}
		})
	}
}

func BenchmarkJSONBody(b *testing.B) {
	names := `{"tagNames":["` + strings.Repeat(`sim.device-0001.temperature","`, 499) + `x"]}`
	h := JSONBody(nil)(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	b.SetBytes(int64(len(names)))
	b.ReportAllocs()
	for b.Loop() {
		r, _ := http.NewRequest("POST", "/", strings.NewReader(names))
		h.ServeHTTP(discardWriter{http.Header{}}, r)
	}
}
