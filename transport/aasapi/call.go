package aasapi

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/transport/problem"
)

// call is one request on its way through a handler.
type call struct {
	*API
	w     http.ResponseWriter
	r     *http.Request
	query url.Values
	view  aas.View
}

// handler answers one operation. What it has not answered when it gives an error is answered with the
// Result object of the error.
type handler func(c *call) error

func (a *API) handle(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{API: a, w: w, r: r}
		err := c.readQuery()
		if err == nil {
			err = h(c)
		}
		if err != nil {
			problem.Write(w, r, err, problem.Result)
		}
	})
}

func (c *call) ctx() context.Context { return c.r.Context() }

// param gives a parameter of the path as it was meant: decoded once.
func (c *call) param(name string) (string, error) {
	raw := chi.URLParam(c.r, name)
	value, err := url.PathUnescape(raw)
	if err != nil {
		return "", invalid(name, "is not percent-encoded rightly")
	}
	return value, nil
}

// id gives a parameter of the path that is an id in base64url.
func (c *call) id(name string) (string, error) {
	value, err := c.param(name)
	if err != nil {
		return "", err
	}
	return decodeID(name, value)
}

// path gives the idShortPath of the request's URL.
func (c *call) path() (aas.Path, error) {
	value, err := c.param("idShortPath")
	if err != nil {
		return nil, err
	}
	return aas.ParsePath(value)
}

// body reads a JSON body.
func (c *call) body() ([]byte, error) {
	if sent := c.r.Header.Get("Content-Type"); sent != "" && sent != "application/json" {
		media, params, err := mime.ParseMediaType(sent)
		if charset, said := params["charset"]; err != nil || media != "application/json" || said && !strings.EqualFold(charset, "utf-8") {
			return nil, problem.ErrMediaType.Because("application/json is wanted")
		}
	}
	limit := c.opts.MaxBodyBytes
	if c.r.ContentLength > limit {
		c.w.Header().Set("Connection", "close") // the rest of the body is not worth waiting for
		return nil, problem.FromDecode(&http.MaxBytesError{Limit: limit})
	}
	if c.r.ContentLength < 0 || c.r.Body == nil {
		data, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
		return data, problem.FromDecode(err)
	}
	// What is announced is trusted only so far: it costs the client nothing.
	data := make([]byte, 0, min(c.r.ContentLength, 64<<10)+1)
	for {
		n, err := c.r.Body.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, problem.FromDecode(err)
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

// urlPath is the path of the request as the client encoded it.
func (c *call) urlPath() string { return c.r.URL.EscapedPath() }

// oldVersion says whether version 3.0 of the API was asked for. It differs from 3.1 in one body: the
// values of all elements are an array there.
func (c *call) oldVersion() bool { return strings.HasPrefix(c.r.URL.Path, prefixes[1]+"/") }

const contentJSON = "application/json"

// json answers with a JSON body.
func (c *call) json(status int, body []byte) error {
	h := c.w.Header()
	h.Set("Content-Type", contentJSON)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(body) // a client that has gone is told nothing
	}
	return nil
}

func (c *call) noContent() error {
	c.w.WriteHeader(http.StatusNoContent)
	return nil
}

// created answers 201 with where the new thing is, and the thing.
func (c *call) created(location string, body []byte) error {
	c.w.Header().Set("Location", location)
	return c.json(http.StatusCreated, body)
}

// tag tells the version of a document, for If-Match.
func (c *call) tag(version uint64) {
	if version > 0 {
		c.w.Header().Set("ETag", `"`+strconv.FormatUint(version, 10)+`"`)
	}
}

// unchanged says whether the caller has this version already; then it has been answered. Live values
// change without the version.
func (c *call) unchanged(d aas.Document) bool {
	c.tag(d.Version)
	known := c.r.Header.Get("If-None-Match")
	if known == "" || d.Live || d.Version == 0 {
		return false
	}
	want := strconv.FormatUint(d.Version, 10)
	for one := range strings.SplitSeq(known, ",") {
		one = strings.TrimPrefix(strings.TrimSpace(one), "W/")
		if one == "*" || strings.Trim(one, `"`) == want {
			c.w.WriteHeader(http.StatusNotModified)
			return true
		}
	}
	return false
}

// match gives the condition that the request puts on a write. A tag that is none of ours matches no
// version.
func (c *call) match() (aas.Match, error) {
	const never = 1<<64 - 1
	if c.r.Header.Get("If-None-Match") == "*" {
		return aas.Match{Absent: true}, nil
	}
	values := slices.DeleteFunc(slices.Clone(c.r.Header.Values("If-Match")), func(v string) bool { return strings.TrimSpace(v) == "" })
	switch {
	case len(values) == 0:
		return aas.Match{}, nil
	case len(values) > 1 || strings.Contains(values[0], ","):
		return aas.Match{}, invalid("If-Match", "takes one entity tag")
	}
	given := strings.TrimSpace(values[0])
	if given == "*" {
		return aas.Match{Exists: true}, nil
	}
	inner, opened := strings.CutPrefix(given, `"`)
	inner, closed := strings.CutSuffix(inner, `"`)
	version, err := strconv.ParseUint(inner, 10, 64)
	if !opened || !closed || err != nil || version == 0 || inner[0] == '0' || inner[0] == '+' {
		version = never
	}
	return aas.Match{Version: version}, nil
}

// below is the path of something below the request's path.
func (c *call) below(segment string) string {
	return fmt.Sprintf("%s/%s", strings.TrimSuffix(c.urlPath(), "/"), segment)
}

// has says whether the route has a parameter.
func (c *call) has(name string) (string, bool) {
	value := chi.URLParam(c.r, name)
	return value, value != ""
}
