package middleware

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/transport/problem"
)

// EscapedPath makes every router and binder see the path in one form: URL.RawPath is always set, to
// the path as the client encoded it, and a value in it is to be decoded exactly once. An encoded colon
// becomes a plain one, which decodes to the same and lets /tags%3AbatchRead find its route. A path that
// is not UTF-8 or has a zero byte names nothing: 404.
func EscapedPath(next http.Handler) http.Handler {
	colon := strings.NewReplacer("%3A", ":", "%3a", ":")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !utf8.ValidString(r.URL.Path) || strings.IndexByte(r.URL.Path, 0) >= 0 {
			problem.Write(w, r, problem.ErrNotFound, problem.FamilyOf(r.URL.Path))
			return
		}
		r.URL.RawPath = r.URL.EscapedPath()
		if strings.Contains(r.URL.RawPath, "%3") {
			r.URL.RawPath = colon.Replace(r.URL.RawPath)
		}
		next.ServeHTTP(w, r)
	})
}
