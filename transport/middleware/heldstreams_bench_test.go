package middleware_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/transport/middleware"
)

// BenchmarkHeldStreams measures what 100 open streams hold between events of 20 tags: without compression, as Stream
// compresses, and with the history that Stream does without.
func BenchmarkHeldStreams(b *testing.B) {
	var event bytes.Buffer
	event.WriteString("event: change\ndata: {\"changes\":[")
	for i := range 20 {
		fmt.Fprintf(&event, `{"tagName":"line%d.temperature","newValue":{"doubleValue":%d.%02d},"timestamp":"2026-11-24T10:00:00.%03dZ","quality":"Good"},`, i, i*7, i*13%100, i*37)
	}
	event.WriteString("]}\n\n")
	for _, way := range []string{"plain", "stream", "history"} {
		b.Run(way, func(b *testing.B) {
			compress, err := middleware.Compress(middleware.CompressOptions{Stream: way == "stream"})
			require.NoError(b, err)
			for b.Loop() {
				held, sent := holdStreams(b, compress, way != "plain", event.Bytes())
				b.ReportMetric(held/1000, "kB/stream")
				b.ReportMetric(sent, "bytes/event")
			}
		})
	}
}

// holdStreams opens 100 streams, sends 10 events on each, and returns the memory of one and the bytes of an event.
func holdStreams(b *testing.B, compress func(http.Handler) http.Handler, accept bool, event []byte) (memory, sent float64) {
	b.Helper()
	const streams, events = 100, 10
	var open, closed sync.WaitGroup
	leave, writers := make(chan struct{}), make([]*countingWriter, streams)
	h := compress(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range events {
			_, _ = w.Write(event)
			_ = http.NewResponseController(w).Flush()
		}
		open.Done()
		<-leave
	}))
	before := heldMemory()
	for i := range writers {
		r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/", nil)
		if accept {
			r.Header.Set("Accept-Encoding", "gzip")
		}
		writers[i] = &countingWriter{header: http.Header{}}
		open.Add(1)
		closed.Go(func() { h.ServeHTTP(writers[i], r) })
	}
	open.Wait()
	memory = float64(heldMemory()-before) / streams
	for _, w := range writers {
		sent += float64(w.bytes) / streams / events
	}
	close(leave)
	closed.Wait()
	return memory, sent
}

// heldMemory returns the bytes of the heap and of stacks that are in use.
func heldMemory() int64 {
	runtime.GC()
	runtime.GC() // empties pools, too
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse) //nolint:gosec // far below 2^63
}

// countingWriter counts what is sent.
type countingWriter struct {
	header http.Header
	bytes  int
}

func (w *countingWriter) Header() http.Header         { return w.header }
func (w *countingWriter) WriteHeader(int)             {}
func (w *countingWriter) FlushError() error           { return nil }
func (w *countingWriter) Write(b []byte) (int, error) { w.bytes += len(b); return len(b), nil }
