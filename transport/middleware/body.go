package middleware

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/transport/problem"
)

// DefaultMaxBody is the limit of a request body, in bytes, unless set otherwise.
const DefaultMaxBody = 8 << 20

// MaxBody limits request bodies to so many bytes; 0 is DefaultMaxBody. A body whose length is said to
// be larger is refused with 413 immediately; reading beyond the limit returns an http.MaxBytesError, which
// problem.FromDecode understands.
func MaxBody(limit int64) (func(http.Handler) http.Handler, error) {
	if limit < 0 {
		return nil, fmt.Errorf("middleware: MaxBody is %d, must not be negative", limit)
	}
	if limit == 0 {
		limit = DefaultMaxBody
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !hasBody(r) {
				next.ServeHTTP(w, r)
				return
			}
			if r.ContentLength > limit {
				// The rest of the body is not worth waiting for.
				w.Header().Set("Connection", "close")
				refuse(w, r, &http.MaxBytesError{Limit: limit})
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, limit)
			next.ServeHTTP(w, r)
		})
	}, nil
}

func refuse(w http.ResponseWriter, r *http.Request, err error) {
	problem.Write(w, r, problem.FromDecode(err), problem.FamilyOf(r.URL.Path))
}

// hasBody reports whether a request has a body that counts. What is sent with a GET, a HEAD or a DELETE has
// no meaning (RFC 9110, 9.3) and is never read.
func hasBody(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodDelete:
		r.Body, r.ContentLength = http.NoBody, 0
	}
	return r.Body != nil && r.Body != http.NoBody
}

// JSONBody lets only bodies through that are one JSON value in UTF-8 and nothing after it. A body of
// another content type is 415, one without a content type is read as JSON, and malformed text is 400
// with its place. Requests without a body pass untouched, and that of a GET, a HEAD or a DELETE is left
// out, as it is by MaxBody. The body is read as a whole, so MaxBody
// must come before.
//
// others lists paths that take further content types: they pass unread when one of the types is sent.
// A key that ends in "/" stands for every path below it.
func JSONBody(others map[string][]string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !hasBody(r) {
				next.ServeHTTP(w, r)
				return
			}
			sent := r.Header.Get("Content-Type")
			if !isJSON(sent) {
				types := furtherTypes(others, r.URL.Path)
				if media, _, err := mime.ParseMediaType(sent); err == nil && slices.Contains(types, media) {
					next.ServeHTTP(w, r)
					return
				}
				if r.ContentLength > 0 || !isEmpty(r) {
					wanted := strings.Join(append([]string{"application/json"}, types...), " or ")
					problem.Write(w, r, problem.ErrMediaType.Because("the Content-Type must be %s", wanted), problem.FamilyOf(r.URL.Path))
					return
				}
			}
			body, err := readJSON(r)
			if err != nil {
				refuse(w, r, err)
				return
			}
			r.Body, r.ContentLength = http.NoBody, int64(len(body))
			if len(body) > 0 {
				r.Body = wholeBody{bytes.NewReader(body)}
				r.Header.Set("Content-Type", "application/json")
			}
			next.ServeHTTP(w, r)
		})
	}
}

// wholeBody is a body that has arrived. It is an io.Seeker, so that who finds it wrong can look where.
type wholeBody struct{ *bytes.Reader }

// Close implements io.Closer.
func (wholeBody) Close() error { return nil }

// isEmpty looks whether a body of unknown length has anything in it.
func isEmpty(r *http.Request) bool {
	_, err := io.ReadFull(r.Body, make([]byte, 1))
	return errors.Is(err, io.EOF)
}

// isJSON reports whether a content type stands for JSON. JSON is UTF-8 whatever is said (RFC 8259), and
// a patch format is not the thing itself, so that no "+json" type counts.
func isJSON(contentType string) bool {
	if contentType == "" || contentType == "application/json" {
		return true
	}
	media, params, err := mime.ParseMediaType(contentType)
	if err != nil || media != "application/json" {
		return false
	}
	charset, said := params["charset"]
	return !said || strings.EqualFold(charset, "utf-8")
}

// furtherTypes returns the content types other than JSON that a path takes.
func furtherTypes(others map[string][]string, path string) (types []string) {
	for {
		types = append(types, others[path]...)
		i := strings.LastIndexByte(strings.TrimSuffix(path, "/"), '/')
		if i < 0 {
			return types
		}
		path = path[:i+1]
	}
}

// readJSON reads a body and checks that it is JSON. An empty one counts as none.
func readJSON(r *http.Request) ([]byte, error) {
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		// What is announced is trusted only so far: it costs the client nothing.
		buf.Grow(int(min(r.ContentLength, 64<<10)) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(r.Body); err != nil {
		return nil, err
	}
	body := buf.Bytes()
	switch {
	case len(body) == 0:
		return nil, nil
	case !utf8.Valid(body):
		return nil, problem.ErrInvalidRequest.Because("body is not UTF-8")
	case json.Valid(body):
		return body, nil
	}
	var raw json.RawMessage
	if err := json.Unmarshal(body, &raw); err != nil { // says where
		return nil, err
	}
	return nil, problem.ErrInvalidRequest.Because("malformed JSON")
}
