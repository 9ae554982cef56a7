package middleware

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/otkit/otkit/transport/problem"
)

// Recover turns a panic of a handler into a 500 in the error body of the surface, and logs the stack
// under the trace id of the answer. When the answer has begun already, the connection is cut, so that
// the client does not take half an answer for a whole one. http.ErrAbortHandler is passed on.
func Recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := Record(w)
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler { //nolint:errorlint // a panic value, as net/http compares it
				panic(v)
			}
			err := PanicError(v)
			if rec.Started() {
				problem.Report(r.Context(), err, slog.String("method", r.Method), slog.String("path", r.URL.Path))
				panic(http.ErrAbortHandler)
			}
			problem.Write(rec, r, err, problem.FamilyOf(r.URL.Path))
		}()
		next.ServeHTTP(rec, r)
	})
}

// PanicError returns a recovered panic as an error, with the stack of the caller.
func PanicError(value any) error { return panicError{value, debug.Stack()} }

// panicError is a recovered panic.
type panicError struct {
	value any
	stack []byte
}

func (p panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", p.value, p.stack) }
