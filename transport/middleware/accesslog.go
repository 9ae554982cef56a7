package middleware

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/otkit/otkit/internal/logging"
	"github.com/otkit/otkit/transport/problem"
)

// AccessLog writes one line for each request when it is done: at level Debug for probes and scrapes
// (/health, /metrics) that are answered, else Info. Tokens in the query are masked; headers and bodies
// are not logged.
func AccessLog(log *slog.Logger) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ctx := r.Context()
			if !log.Enabled(ctx, slog.LevelInfo) {
				next.ServeHTTP(w, r)
				return
			}
			rec, start := Record(w), time.Now()
			method, path := r.Method, loggedPath(r)
			defer func() { // also when the handler panics to cut the connection
				logging.Request{Method: method, Path: path, Status: rec.Status(), Bytes: rec.Bytes(), Began: start, Ended: time.Now(),
					Remote: r.RemoteAddr, Subject: problem.Subject(ctx), TraceID: problem.TraceID(ctx)}.Log(ctx, log, levelOf(path, rec.Status()))
			}()
			next.ServeHTTP(rec, r)
		})
	}
}

// levelOf returns the level of a request's line. A probe that fails tells of itself in the health report
// and as a change of state, but nothing else would name who was refused.
func levelOf(path string, status int) slog.Level {
	probe := strings.HasPrefix(path, "/health") || path == "/metrics" || strings.HasPrefix(path, "/metrics?")
	if probe && (status < http.StatusBadRequest || status >= http.StatusInternalServerError) {
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// loggedPath returns path and query without secrets.
func loggedPath(r *http.Request) string {
	if r.URL.RawQuery == "" {
		return r.URL.Path
	}
	return r.URL.Path + "?" + maskQuery(r.URL.RawQuery)
}

// maskQuery replaces the values of members that carry secrets. Names are compared as they would be
// decoded, so that an encoded name does not slip through.
func maskQuery(query string) string {
	lower := strings.ToLower(query)
	if !strings.ContainsRune(query, '%') && !strings.Contains(lower, "token") && !strings.Contains(lower, "secret") &&
		!strings.Contains(lower, "password") {
		return query
	}
	members := strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' })
	for i, member := range members {
		name, _, _ := strings.Cut(member, "=")
		if isSecretName(name) {
			members[i] = name + "=***"
		}
	}
	return strings.Join(members, "&")
}

// isSecretName reports whether a query member of this name carries a secret.
func isSecretName(name string) bool {
	decoded, err := url.QueryUnescape(name)
	if err != nil {
		return true // what cannot be read is not shown
	}
	switch strings.ToLower(decoded) {
	case "access_token", "accesstoken", "refresh_token", "refreshtoken", "id_token", "token", "password", "client_secret", "secret":
		return true
	}
	return false
}
