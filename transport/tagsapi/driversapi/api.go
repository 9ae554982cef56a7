package driversapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/transport/internal/restapi"
	"github.com/otkit/otkit/transport/problem"
)

// Options are the options of [New]. The zero value works.
type Options struct {
	// Body wraps every handler, behind the guard: limits and checks of request bodies. Default: none.
	Body func(http.Handler) http.Handler
	// RemoveTags removes the configured tags of a driver, for a DELETE that asks for it. It is called before the driver is removed;
	// check only asks whether it may be done. Default: such a request is refused.
	RemoveTags func(r *http.Request, driverID string, force, check bool) error
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

// read decodes the body of a request. optional allows it to be empty.
func read(r *http.Request, into any, optional bool) error {
	err := json.NewDecoder(r.Body).Decode(into)
	if optional && errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return problem.FromDecode(err)
	}
	return nil
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
	if err := read(r, &body, false); err != nil {
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
	holds := restapi.IfMatch(r.Header.Values("If-Match"))
	if holds == nil {
		return nil
	}
	return func(revision int64) error {
		if !holds(restapi.ETag(revision)) {
			return drivers.ErrChanged
		}
		return nil
	}
}

func (a *API) replace(w http.ResponseWriter, r *http.Request) error {
	name := restapi.PathParam(r, "id")
	var body definition
	if err := read(r, &body, false); err != nil {
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
	i, err := a.service.Update(r.Context(), def, match(r))
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
	if !withTags {
		if err := a.service.Delete(r.Context(), name, match(r)); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if a.opts.RemoveTags == nil {
		return problem.ErrInvalidRequest.Invalid(fault.Field{Field: "tags", Message: "is not supported here"})
	}
	// Whether the tags may be removed is asked first, and they go after their driver: so none is configured while its driver does not
	// know it.
	if err := a.opts.RemoveTags(r, name, force, true); err != nil {
		return err
	}
	if err := a.service.Delete(r.Context(), name, match(r)); err != nil {
		return err
	}
	if err := a.opts.RemoveTags(r, name, true, false); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
