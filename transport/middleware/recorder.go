package middleware

import (
	"bufio"
	"net"
	"net/http"
)

// Recorder is a ResponseWriter that remembers what was answered. Flush, Hijack and
// http.ResponseController reach the writer beneath.
type Recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// Record returns w as a Recorder. If w already is one, Record returns it, so that layers share it.
func Record(w http.ResponseWriter) *Recorder {
	if rec, ok := w.(*Recorder); ok {
		return rec
	}
	return &Recorder{ResponseWriter: w}
}

// Status returns the status of the answer: 200 when the handler has returned without saying, 101 for a
// hijacked connection.
func (rec *Recorder) Status() int {
	if rec.status == 0 {
		return http.StatusOK
	}
	return rec.status
}

// Bytes returns the length of the body so far.
func (rec *Recorder) Bytes() int64 { return rec.bytes }

// Started reports whether the answer has begun, so that its status can no longer change.
func (rec *Recorder) Started() bool { return rec.status != 0 }

// WriteHeader remembers the final status.
func (rec *Recorder) WriteHeader(status int) {
	if rec.status == 0 && (status >= 200 || status == http.StatusSwitchingProtocols) {
		rec.status = status
	}
	rec.ResponseWriter.WriteHeader(status)
}

// Write counts the body's bytes.
func (rec *Recorder) Write(b []byte) (int, error) {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	n, err := rec.ResponseWriter.Write(b)
	rec.bytes += int64(n)
	return n, err
}

// Flush sends what is buffered, for code that asks for http.Flusher.
func (rec *Recorder) Flush() { _ = rec.FlushError() }

// FlushError sends what is buffered.
func (rec *Recorder) FlushError() error {
	if rec.status == 0 {
		rec.status = http.StatusOK
	}
	return http.NewResponseController(rec.ResponseWriter).Flush()
}

// Hijack takes the connection over.
func (rec *Recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := http.NewResponseController(rec.ResponseWriter).Hijack()
	if err == nil && rec.status == 0 {
		rec.status = http.StatusSwitchingProtocols
	}
	return c, rw, err
}

// Unwrap returns the underlying writer, for http.ResponseController.
func (rec *Recorder) Unwrap() http.ResponseWriter { return rec.ResponseWriter }
