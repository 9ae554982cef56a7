package logging

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Request is the line of a request or a gRPC call that is done.
type Request struct {
	Method  string
	Path    string
	Status  int    // of HTTP; 0 for gRPC
	Code    string // of gRPC
	Bytes   int64  // of an answer over HTTP
	Began   time.Time
	Ended   time.Time // the time of the line
	Remote  string
	Subject string
	TraceID string
}

// Log writes the line with a logger. A logger of [New] appends it without the records and attributes of slog, which cost
// more than the rest of a small request, and lets it wait if it writes to a [Batch]. The line is the same.
func (r Request) Log(ctx context.Context, log *slog.Logger, level slog.Level) {
	if !log.Enabled(ctx, level) {
		return
	}
	if h, ok := log.Handler().(*handler); ok && h.with == "" && level < slog.LevelWarn && r.isPlain() {
		h.request(level, &r)
		return
	}
	log.LogAttrs(ctx, level, "request", r.attrs()...)
}

func (r *Request) attrs() []slog.Attr {
	attrs := make([]slog.Attr, 0, 8)
	attrs = append(attrs, slog.String("method", r.Method), slog.String("path", r.Path))
	if r.Status != 0 {
		attrs = append(attrs, slog.Int("status", r.Status), slog.Int64("bytes", r.Bytes))
	} else {
		attrs = append(attrs, slog.String("status", r.Code))
	}
	return append(attrs, slog.String("duration", r.Ended.Sub(r.Began).String()), slog.String("remote", r.Remote),
		slog.String("subject", r.Subject), slog.String("traceId", r.TraceID))
}

// isPlain reports whether every text can be written without an escape.
func (r *Request) isPlain() bool {
	return isPlain(r.Method) && isPlain(r.Path) && isPlain(r.Code) && isPlain(r.Remote) && isPlain(r.Subject) && isPlain(r.TraceID)
}

func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// buffers are for the lines of requests.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// request writes a line whose texts are plain.
func (h *handler) request(level slog.Level, r *Request) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	if h.json {
		*buffer = r.appendJSON((*buffer)[:0], level)
	} else {
		*buffer = r.appendText((*buffer)[:0], level)
	}
	if batch, ok := h.out.(*Batch); ok {
		batch.later(*buffer)
		return
	}
	_, _ = h.out.Write(*buffer) // as slog does: a log that cannot be written is not logged
}

func (r *Request) appendText(b []byte, level slog.Level) []byte {
	b = appendMillis(append(b, "time="...), r.Ended)
	b = append(append(append(b, " level="...), level.String()...), " msg=request"...)
	b = appendText(append(b, " method="...), r.Method)
	b = appendText(append(b, " path="...), r.Path)
	if r.Status != 0 {
		b = strconv.AppendInt(append(b, " status="...), int64(r.Status), 10)
		b = strconv.AppendInt(append(b, " bytes="...), r.Bytes, 10)
	} else {
		b = appendText(append(b, " status="...), r.Code)
	}
	b = append(append(b, " duration="...), r.Ended.Sub(r.Began).String()...)
	b = appendText(append(b, " remote="...), r.Remote)
	b = appendText(append(b, " subject="...), r.Subject)
	return append(appendText(append(b, " traceId="...), r.TraceID), '\n')
}

// appendText appends a plain text as slog.TextHandler writes it.
func appendText(b []byte, s string) []byte {
	if s != "" && strings.IndexByte(s, ' ') < 0 && strings.IndexByte(s, '=') < 0 {
		return append(b, s...)
	}
	return append(append(append(b, '"'), s...), '"')
}

// appendMillis appends a time with three decimals of a second.
func appendMillis(b []byte, t time.Time) []byte {
	const seconds = len("2006-01-02T15:04:05")
	n := len(b)
	b = t.AppendFormat(b, time.RFC3339)
	var zone [len("+00:00")]byte
	rest := copy(zone[:], b[n+seconds:])
	ms := t.Nanosecond() / int(time.Millisecond)
	b = append(b[:n+seconds], '.', byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10))
	return append(b, zone[:rest]...)
}

func (r *Request) appendJSON(b []byte, level slog.Level) []byte {
	b = r.Ended.AppendFormat(append(b, `{"time":"`...), time.RFC3339Nano)
	b = append(append(append(b, `","level":"`...), level.String()...), `","msg":"request","method":"`...)
	b = append(append(append(b, r.Method...), `","path":"`...), r.Path...)
	if r.Status != 0 {
		b = strconv.AppendInt(append(b, `","status":`...), int64(r.Status), 10)
		b = strconv.AppendInt(append(b, `,"bytes":`...), r.Bytes, 10)
		b = append(b, `,"duration":"`...)
	} else {
		b = append(append(append(b, `","status":"`...), r.Code...), `","duration":"`...)
	}
	b = append(append(append(b, r.Ended.Sub(r.Began).String()...), `","remote":"`...), r.Remote...)
	b = append(append(append(b, `","subject":"`...), r.Subject...), `","traceId":"`...)
	return append(append(b, r.TraceID...), '"', '}', '\n')
}
