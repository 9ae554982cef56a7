package derivedapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/tags/tagtemplate"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/problem"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// References returns who uses tags, which are then not removed unless the caller insists. Default: nobody.
	References func(ctx context.Context, tagIDs []string) ([]tagconfig.Reference, error)
	// Current returns a tag with its newest sample, and false if there is none. Default: there is none.
	Current func(name string) (tags.Snapshot, bool)
	// Body wraps every handler, behind the guard: limits and checks of request bodies. Default: none.
	Body func(http.Handler) http.Handler
}

// API is the REST API of derived tags and templates.
type API struct {
	service   *derived.Service
	templates *tagtemplate.Service
	opts      Options
}

// New returns the API over derived tags and templates.
func New(service *derived.Service, templates *tagtemplate.Service, o Options) (*API, error) {
	switch {
	case service == nil:
		return nil, fault.Option("derivedapi", "service", "is required")
	case templates == nil:
		return nil, fault.Option("derivedapi", "templates", "is required")
	}
	if o.References == nil {
		o.References = func(context.Context, []string) ([]tagconfig.Reference, error) { return nil, nil }
	}
	if o.Current == nil {
		o.Current = func(string) (tags.Snapshot, bool) { return tags.Snapshot{}, false }
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	return &API{service: service, templates: templates, opts: o}, nil
}

const derivedTags = "/api/v1/derived-tags"

// Mount registers the routes.
func (a *API) Mount(r chi.Router) {
	handle := func(method, path string, h func(http.ResponseWriter, *http.Request) error) {
		r.Method(method, path, a.opts.Body(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				restapi.Error(w, r, err)
			}
		})))
	}
	handle(http.MethodGet, derivedTags, a.list)
	handle(http.MethodPost, derivedTags, a.add)
	handle(http.MethodPost, derivedTags+"/try", a.try)
	handle(http.MethodGet, derivedTags+"/{id}", a.get)
	handle(http.MethodPut, derivedTags+"/{id}", a.replace)
	handle(http.MethodDelete, derivedTags+"/{id}", a.remove)
	handle(http.MethodGet, templates, a.listTemplates)
	handle(http.MethodPost, templates, a.addTemplate)
	handle(http.MethodGet, templates+"/{id}", a.getTemplate)
	handle(http.MethodPut, templates+"/{id}", a.replaceTemplate)
	handle(http.MethodDelete, templates+"/{id}", a.removeTemplate)
	handle(http.MethodGet, templates+"/{id}/instances", a.listInstances)
	handle(http.MethodGet, templates+"/{id}/instances/{instanceId}", a.getInstance)
	handle(http.MethodPut, templates+"/{id}/instances/{instanceId}", a.putInstance)
	handle(http.MethodDelete, templates+"/{id}/instances/{instanceId}", a.removeInstance)
}

// ifMatch returns the condition that the header If-Match of a request states.
func ifMatch(r *http.Request) derived.Precondition {
	holds := restapi.Precondition(r.Header.Values("If-Match"), derived.ErrChanged)
	if holds == nil {
		return nil
	}
	return func(revision int64) error {
		err := holds(restapi.ETag(revision))
		if err == nil && revision == 0 {
			err = derived.ErrChanged
		}
		return err
	}
}

func bad(field, message string) error {
	return problem.ErrInvalidRequest.Invalid(fault.Field{Field: field, Message: message})
}

// flag returns a boolean member of the query.
func flag(r *http.Request, name string) (bool, error) {
	word := r.URL.Query().Get(name)
	if word == "" {
		return false, nil
	}
	value, err := strconv.ParseBool(word)
	if err != nil {
		return false, bad(name, "must be true or false")
	}
	return value, nil
}

func number(r *http.Request, name string) (int, error) {
	word := r.URL.Query().Get(name)
	if word == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(word)
	switch {
	case err != nil:
		return 0, bad(name, "must be an integer")
	case n < 1:
		return 0, bad(name, "must be at least 1")
	}
	return n, nil
}

// write answers with v, with an ETag if revision is not 0.
func write(w http.ResponseWriter, status int, v any, revision int64) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if revision > 0 {
		w.Header().Set("ETag", restapi.ETag(revision))
	}
	_ = restapi.WriteJSON(w, status, body) // the client may have gone
	return nil
}

// DerivedTagKind is the kind of a derived tag as a user of tags.
const DerivedTagKind = "derivedTag"

// mustBeUnused returns an error if somebody uses tags.
func (a *API) mustBeUnused(ctx context.Context, ids ...string) error {
	users, err := a.opts.References(ctx, ids)
	if err != nil {
		return err
	}
	return tagconfig.InUse(users)
}

// sameID returns an error if the id of a body is not that of the path.
func sameID(id, body string, invalid *fault.Error) error {
	if body != "" && body != id {
		return invalid.Invalid(fault.Field{Field: "id", Message: "must be that of the path"})
	}
	return nil
}
