package recorder

import (
	"bytes"
	"cmp"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/transport/audited"
	"github.com/otkit/otkit/transport/auth"
)

// HTTP implements auth.Recorder.
func (r *Recorder) HTTP(op auth.Operation, next http.Handler) http.Handler {
	d := r.opts.Descriptions[op.ID]
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, size := peekBody(req)
		end, err := r.start(req.Context(), "rest", op, audited.HTTP(req, body), size)
		if err != nil {
			r.opts.WriteError(w, req, err)
			return
		}
		watched := &watchedWriter{ResponseWriter: w, detail: d.Detail, judge: d.Result, most: maxAnswer}
		if d.Result != nil {
			watched.most = maxJudged
		}
		result := audit.Result{Outcome: audit.Unknown, Detail: "panic"}
		defer func() { end(result) }()
		next.ServeHTTP(watched, req)
		result = watched.result()
	})
}

// peekBody returns a JSON body of at most audit.MaxValue bytes and leaves it to be read again; of other bodies the size.
func peekBody(req *http.Request) (body []byte, size int64) {
	if req.Body == nil || req.Body == http.NoBody || req.ContentLength == 0 {
		return nil, 0
	}
	if kind := req.Header.Get("Content-Type"); kind != "" {
		media, _, err := mime.ParseMediaType(kind)
		if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
			return nil, req.ContentLength
		}
	}
	if req.ContentLength > audit.MaxValue {
		return nil, req.ContentLength
	}
	read, err := io.ReadAll(io.LimitReader(req.Body, audit.MaxValue+1))
	rest := io.Reader(req.Body)
	if err != nil {
		rest = failing{err}
	}
	req.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(read), rest), req.Body}
	if err != nil || len(read) > audit.MaxValue {
		return nil, req.ContentLength
	}
	return read, 0
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

const (
	maxAnswer = 4096    // bytes of an answer that are looked at
	maxJudged = 1 << 20 // likewise, of one that tells the result
)

// watchedWriter remembers the status, and the beginning of an answer that is of interest.
type watchedWriter struct {
	http.ResponseWriter
	detail bool
	judge  func(status int, body []byte) (audit.Result, bool) // may be nil
	most   int                                                // bytes of head
	status int
	head   []byte
}

// Unwrap serves http.ResponseController.
func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w *watchedWriter) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *watchedWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	if room := w.most - len(w.head); room > 0 && (w.detail || w.judge != nil || w.status >= http.StatusBadRequest) {
		w.head = append(w.head, b[:min(room, len(b))]...)
	}
	return w.ResponseWriter.Write(b)
}

func (w *watchedWriter) result() audit.Result {
	if w.judge != nil {
		if result, ok := w.judge(cmp.Or(w.status, http.StatusOK), w.head); ok {
			return result
		}
	}
	w.head = w.head[:min(maxAnswer, len(w.head))]
	if w.status >= http.StatusBadRequest {
		return resultOfStatus(w.status, w.head)
	}
	result := audit.Result{Outcome: audit.Succeeded}
	switch location := w.Header().Get("Location"); {
	case location != "":
		result.Detail = location
	case w.detail:
		result.Detail = audit.JSON(w.head)
	}
	return result
}
