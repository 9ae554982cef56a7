package driversapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/transport/internal/restapi"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// Body wraps every handler, behind the guard: limits and checks of request bodies. Default: none.
	Body func(http.Handler) http.Handler
	// MayRemove returns an error if something uses a tag that goes with a driver: those that its settings define, and with configured
	// those of the tag configuration too. Default: nothing uses any.
	MayRemove func(ctx context.Context, driverID string, configured bool) error
	// MayChange returns an error if something uses a tag that the settings of a driver define now, and that is not among known, which
	// new ones define. Default: nothing uses any.
	MayChange func(ctx context.Context, driverID string, known []tags.Tag) error
	// RemoveTags removes the configured tags of a driver that is removed, and returns how many there were. Default: there are none.
	RemoveTags func(ctx context.Context, driverID string) (int, error)
}

// API is the REST API of drivers.
type API struct {
	service *drivers.Service
	opts    Options
}

// New returns the API over a service.
func New(service *drivers.Service, o Options) (*API, error) {
	if service == nil {
		return nil, errors.New("driversapi: service is required")
	}
	if o.Body == nil {
		o.Body = restapi.Unchanged
	}
	if o.MayRemove == nil {
		o.MayRemove = func(context.Context, string, bool) error { return nil }
	}
	if o.MayChange == nil {
		o.MayChange = func(context.Context, string, []tags.Tag) error { return nil }
	}
	if o.RemoveTags == nil {
		o.RemoveTags = func(context.Context, string) (int, error) { return 0, nil }
	}
	return &API{service: service, opts: o}, nil
}

// Mount registers the routes.
func (a *API) Mount(r chi.Router) {
	const base = "/api/v1/drivers"
	handle := func(method, path string, h func(w http.ResponseWriter, r *http.Request) error) {
		r.Method(method, path, a.opts.Body(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := h(w, r); err != nil {
				restapi.Error(w, r, err)
			}
		})))
	}
	handle(http.MethodGet, "/api/v1/driver-types", a.types)
	handle(http.MethodGet, base, a.list)
	handle(http.MethodPost, base, a.create)
	handle(http.MethodPost, base+"/test", a.testDefinition)
	handle(http.MethodGet, base+"/{id}", a.get)
	handle(http.MethodPut, base+"/{id}", a.replace)
	handle(http.MethodDelete, base+"/{id}", a.remove)
	handle(http.MethodPost, base+"/{id}/test", a.test)
	handle(http.MethodPost, base+"/{id}/browse", a.browse)
}

// read decodes a definition, also one that is an answer with changes.
func read(r *http.Request, into *definition) error {
	return restapi.DecodeStrict(r, into, "origin", "createdAt", "updatedAt", "status", "shadowed")
}

func answer(w http.ResponseWriter, status int, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_ = restapi.WriteJSON(w, status, body) // the client may have gone
	return nil
}

func detail(w http.ResponseWriter, status int, i drivers.Info) error {
	if i.Origin == drivers.FromAPI {
		w.Header().Set("ETag", restapi.ETag(i.Revision))
	}
	return answer(w, status, detailOf(i))
}

func (a *API) types(w http.ResponseWriter, _ *http.Request) error {
	list := []driverType{}
	for _, t := range a.service.Types() {
		list = append(list, typeOf(t))
	}
	return answer(w, http.StatusOK, list)
}

func (a *API) list(w http.ResponseWriter, _ *http.Request) error {
	list := []listed{}
	for _, i := range a.service.List() {
		list = append(list, listedOf(&i))
	}
	return answer(w, http.StatusOK, list)
}

func (a *API) get(w http.ResponseWriter, r *http.Request) error {
	name := restapi.PathParam(r, "id")
	i, err := a.service.Get(name)
	if err != nil {
		return err
	}
	return detail(w, http.StatusOK, i)
}

func (a *API) create(w http.ResponseWriter, r *http.Request) error {
	var body definition
	if err := read(r, &body); err != nil {
		return err
	}
	def, err := body.definition()
	if err != nil {
		return err
	}
	i, err := a.service.Create(r.Context(), def)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/v1/drivers/"+url.PathEscape(i.ID))
	return detail(w, http.StatusCreated, i)
}

// match returns the condition of a request on the revision.
func match(r *http.Request) func(int64) error {
	holds := restapi.Precondition(r.Header.Values("If-Match"), drivers.ErrChanged)
	if holds == nil {
		return nil
	}
	return func(revision int64) error { return holds(restapi.ETag(revision)) }
}

func (a *API) replace(w http.ResponseWriter, r *http.Request) error {
	name := restapi.PathParam(r, "id")
	var body definition
	if err := read(r, &body); err != nil {
		return err
	}
	def, err := body.definition()
	if err != nil {
		return err
	}
	if def.ID != "" && def.ID != name {
		return drivers.ErrInvalid.Invalid(fault.Field{Field: "id", Message: "must be that of the path"})
	}
	def.ID = name
	force, err := flag(r, "force")
	if err != nil {
		return err
	}
	i, err := a.service.UpdateIf(r.Context(), def, match(r), func(known []tags.Tag) error {
		if force {
			return nil
		}
		return a.opts.MayChange(r.Context(), name, known)
	})
	if err != nil {
		return err
	}
	return detail(w, http.StatusOK, i)
}

func (a *API) remove(w http.ResponseWriter, r *http.Request) error {
	name := restapi.PathParam(r, "id")
	withTags, err := flag(r, "tags")
	if err != nil {
		return err
	}
	force, err := flag(r, "force")
	if err != nil {
		return err
	}
	// Tags go after their driver, so that none is configured while its driver does not know it.
	err = a.service.Delete(r.Context(), name, a.mayRemove(r, name, withTags, force))
	if withTags && errors.Is(err, drivers.ErrNotFound) && len(r.Header.Values("If-Match")) == 0 {
		return a.removeLeft(w, r, name, force, err)
	}
	if err == nil && withTags {
		if _, err = a.opts.RemoveTags(context.WithoutCancel(r.Context()), name); err != nil {
			err = tagsLeft(err)
		}
	}
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// mayRemove returns the condition of a removal: that of If-Match, and that nothing uses the tags.
func (a *API) mayRemove(r *http.Request, name string, withTags, force bool) func(int64) error {
	holds := match(r)
	return func(revision int64) error {
		if holds != nil {
			if err := holds(revision); err != nil {
				return err
			}
		}
		if force {
			return nil
		}
		return a.opts.MayRemove(r.Context(), name, withTags)
	}
}

// removeLeft removes the configured tags of a driver that a call before has removed without them.
func (a *API) removeLeft(w http.ResponseWriter, r *http.Request, name string, force bool, notFound error) error {
	if !force {
		if err := a.opts.MayRemove(r.Context(), name, true); err != nil {
			return err
		}
	}
	n, err := a.opts.RemoveTags(r.Context(), name)
	switch {
	case err != nil:
		return tagsLeft(err)
	case n == 0:
		return notFound
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// tagsLeft returns the error of a removal that has removed the driver alone.
func tagsLeft(err error) error {
	if f, ok := fault.From(err); ok {
		return f.Because("the driver is removed, its configured tags are not: repeat the call").Wrap(err)
	}
	return err
}
