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
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/aasapi/internal/ifmatch"
	"github.com/otkit/otkit/transport/problem"
)

// call is one request on its way through a handler.
type call struct {
	*API
	w     http.ResponseWriter
	r     *http.Request
	query url.Values
	view  aas.View
	// omitted is how much of the answer its reader's version of the metamodel has no form for.
	omitted int
}

// handler answers one operation. What it has not answered when it returns an error is answered with the
// Result object of the error.
type handler func(c *call) error

func (a *API) handle(h handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := &call{API: a, w: w, r: r}
		c.setVersion()
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

// param returns a parameter of the path as it was meant: decoded once.
func (c *call) param(name string) (string, error) {
	raw := chi.URLParam(c.r, name)
	value, err := url.PathUnescape(raw)
	if err != nil {
		return "", invalid(name, "is not percent-encoded rightly")
	}
	return value, nil
}

// id returns a parameter of the path that is an id in base64url.
func (c *call) id(name string) (string, error) {
	value, err := c.param(name)
	if err != nil {
		return "", err
	}
	return decodeID(name, value)
}

// path returns the idShortPath of the request's URL.
func (c *call) path() (aas.Path, error) {
	value, err := c.param("idShortPath")
	if err != nil {
		return nil, err
	}
	return aas.ParsePath(value)
}

// body reads a JSON body.
func (c *call) body() ([]byte, error) { return c.bodyUpTo(c.opts.MaxBodyBytes) }

// document reads the JSON body of a whole document.
func (c *call) document() ([]byte, error) { return c.bodyUpTo(c.opts.MaxDocumentBytes) }

func (c *call) bodyUpTo(limit int64) ([]byte, error) {
	if sent := c.r.Header.Get("Content-Type"); sent != "" && sent != "application/json" {
		media, params, err := mime.ParseMediaType(sent)
		if charset, said := params["charset"]; err != nil || media != "application/json" || said && !strings.EqualFold(charset, "utf-8") {
			return nil, problem.ErrMediaType.Because("application/json is wanted")
		}
	}
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

const contentJSON = "application/json"

// json answers with a JSON body.
func (c *call) json(status int, body []byte) error {
	h := c.w.Header()
	h.Set("Content-Type", contentJSON)
	c.warn()
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.w.WriteHeader(status)
	if c.r.Method != http.MethodHead {
		_, _ = c.w.Write(body) // the client may have gone
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

// tag sets the header ETag to the version of a document, for If-Match.
func (c *call) tag(version uint64) {
	if version > 0 {
		c.w.Header().Set("ETag", ifmatch.Tag(version))
	}
}

// unchanged reports whether the caller has this version already; then it has been answered. Live values
// change without the version.
func (c *call) unchanged(d repository.Document) bool {
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

// match returns the condition that the request puts on a write. A tag that is none of ours matches no
// version.
func (c *call) match() (repository.Match, error) {
	if c.r.Header.Get("If-None-Match") == "*" {
		return repository.Match{Absent: true}, nil
	}
	return ifmatch.Parse(c.r.Header.Values("If-Match"), func() (uint64, error) {
		kind, name := c.subject()
		id, err := c.id(name)
		if err != nil {
			return 0, err
		}
		return c.service.VersionOf(c.ctx(), kind, id)
	})
}

// subject returns what kind of document the request is about, and the parameter with its id.
func (c *call) subject() (kind repository.Kind, parameter string) {
	switch pattern := chi.RouteContext(c.ctx()).RoutePattern(); {
	case strings.Contains(pattern, aSubmodel):
		return repository.KindSubmodel, "submodelIdentifier"
	case strings.Contains(pattern, aShell):
		return repository.KindShell, "aasIdentifier"
	case strings.Contains(pattern, aConcept):
		return repository.KindConceptDescription, "cdIdentifier"
	case strings.Contains(pattern, shellDesc):
		return repository.KindShellDescriptor, "aasIdentifier"
	case strings.Contains(pattern, modelDesc):
		return repository.KindSubmodelDescriptor, "submodelIdentifier"
	}
	return repository.KindPackage, "packageId"
}

// below is the path of something below the request's path.
func (c *call) below(segment string) string {
	return fmt.Sprintf("%s/%s", strings.TrimSuffix(c.urlPath(), "/"), segment)
}

// has reports whether the route has a parameter, which may be empty in the request's path.
func (c *call) has(name string) bool {
	return slices.Contains(chi.RouteContext(c.ctx()).URLParams.Keys, name)
}

// matchForNew returns the condition for adding something to a document. Whether there is one already is
// asked of what is new, so that the condition on the document goes without it; see [unmatched].
func (c *call) matchForNew() (ofNew, ofDocument repository.Match, err error) {
	match, err := c.match()
	return repository.Match{Absent: match.Absent}, repository.Match{Exists: match.Exists, Version: match.Version}, err
}
