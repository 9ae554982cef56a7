package middleware

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The values are shared between answers and never changed: a slice for each header of each answer is not made.
var (
	nosniff    = []string{"nosniff"}
	deny       = []string{"DENY"}
	noReferrer = []string{"no-referrer"}
	noStore    = []string{"no-store"}
)

// SecurityHeaders sets what an API should say to browsers: no guessing of content types, no framing,
// no referrer, nothing kept in caches. A handler may set its own values.
func SecurityHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h["X-Content-Type-Options"] = nosniff
		h["X-Frame-Options"] = deny
		h["Referrer-Policy"] = noReferrer
		h["Cache-Control"] = noStore
		next.ServeHTTP(w, r)
	})
}

// CORSOptions say which web pages of other origins may call.
type CORSOptions struct {
	Origins     []string      // such as "https://hmi.example.com"; "*" alone is any. Empty allows none
	Credentials bool          // cookies and the like may be sent; not with "*"
	MaxAge      time.Duration // how long a browser may remember the answer; 0 is ten minutes
}

const (
	corsMethods = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"
	corsExposed = "ETag, Location, Retry-After, WWW-Authenticate"
)

// CORS answers preflight requests and marks answers for the allowed origins. Without origins it does
// nothing.
func CORS(o CORSOptions) (func(http.Handler) http.Handler, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	if len(o.Origins) == 0 {
		return func(next http.Handler) http.Handler { return next }, nil
	}
	if o.MaxAge == 0 {
		o.MaxAge = 10 * time.Minute
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if o.mark(w.Header(), r) {
				w.WriteHeader(http.StatusNoContent)
				return
			}
			next.ServeHTTP(w, r)
		})
	}, nil
}

func (o CORSOptions) validate() error {
	if o.MaxAge < 0 {
		return fmt.Errorf("middleware: CORS MaxAge is %v, must not be negative", o.MaxAge)
	}
	for _, origin := range o.Origins {
		if origin == "*" {
			if o.Credentials {
				return errors.New(`middleware: CORS Origins must not be "*" with Credentials`)
			}
			if len(o.Origins) > 1 {
				return errors.New(`middleware: CORS Origins has "*" beside others`)
			}
			continue
		}
		u, err := url.Parse(origin)
		if err != nil || u.Scheme == "" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			return fmt.Errorf("middleware: CORS Origins: %q is not scheme://host[:port]", origin)
		}
	}
	return nil
}

// mark sets the headers for one request; true when it was a preflight, which ends there.
func (o CORSOptions) mark(h http.Header, r *http.Request) (preflight bool) {
	anyOrigin := o.Origins[0] == "*"
	if !anyOrigin {
		h.Add("Vary", "Origin")
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	preflight = r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
	if !anyOrigin && !slices.ContainsFunc(o.Origins, func(s string) bool { return strings.EqualFold(s, origin) }) {
		return preflight // without the headers the browser refuses
	}
	if anyOrigin {
		origin = "*"
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if o.Credentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	if !preflight {
		h.Set("Access-Control-Expose-Headers", corsExposed)
		return false
	}
	h.Add("Vary", "Access-Control-Request-Headers")
	h.Set("Access-Control-Allow-Methods", corsMethods)
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		h.Set("Access-Control-Allow-Headers", asked)
	}
	h.Set("Access-Control-Max-Age", strconv.Itoa(int(o.MaxAge.Seconds())))
	return true
}
