package auth

import (
	"fmt"
	"net/http"

	"github.com/go-chi/chi/v5"
)

// Router wraps a router so that every handler registered through it stands behind the check of its
// row in the table, which happens before parameters are bound or the body is read. A route
// without a row is not registered and makes [Guard.Err] an error.
//
// Handle and HandleFunc register for every method that the table has for the path. Mount is
// refused, because the guard could not see what is mounted: use Route.
func (g *Guard) Router(r chi.Router) chi.Router {
	return &guardedRouter{Router: r, guard: g}
}

type guardedRouter struct {
	chi.Router // what needs no guarding: ServeHTTP, Use, Routes, NotFound, MethodNotAllowed
	guard      *Guard
	prefix     string
}

func (r *guardedRouter) wrap(inner chi.Router, prefix string) *guardedRouter {
	return &guardedRouter{Router: inner, guard: r.guard, prefix: prefix}
}

// With implements chi.Router.
func (r *guardedRouter) With(middlewares ...func(http.Handler) http.Handler) chi.Router {
	return r.wrap(r.Router.With(middlewares...), r.prefix)
}

// Group implements chi.Router.
func (r *guardedRouter) Group(fn func(chi.Router)) chi.Router {
	inner := r.With()
	if fn != nil {
		fn(inner)
	}
	return inner
}

// Route implements chi.Router.
func (r *guardedRouter) Route(pattern string, fn func(chi.Router)) chi.Router {
	prefix := r.prefix + pattern
	inner := r.Router.Route(pattern, func(inner chi.Router) {
		if fn != nil {
			fn(r.wrap(inner, prefix))
		}
	})
	return r.wrap(inner, prefix)
}

// Mount implements chi.Router; it always fails.
func (r *guardedRouter) Mount(pattern string, _ http.Handler) {
	r.guard.refuse(fmt.Errorf("auth: %s%s: Mount hides its routes from the guard, use Route", r.prefix, pattern))
}

// Handle implements chi.Router.
func (r *guardedRouter) Handle(pattern string, h http.Handler) {
	found := false
	for _, op := range r.guard.table.operations {
		if op.Method != "" && httpKey("", op.Path) == httpKey("", r.prefix+pattern) {
			r.Method(op.Method, pattern, h)
			found = true
		}
	}
	if !found {
		r.guard.refuse(fmt.Errorf("auth: %s has no row in the table of operations", r.prefix+pattern))
	}
}

// HandleFunc implements chi.Router.
func (r *guardedRouter) HandleFunc(pattern string, h http.HandlerFunc) { r.Handle(pattern, h) }

// Method implements chi.Router.
func (r *guardedRouter) Method(method, pattern string, h http.Handler) {
	key := httpKey(method, r.prefix+pattern)
	op, ok := r.guard.table.http[key]
	if !ok {
		r.guard.refuse(fmt.Errorf("auth: %s has no row in the table of operations", key))
		return
	}
	if r.guard.opts.Inside != nil {
		h = r.guard.opts.Inside(op, h)
	}
	r.Router.Method(method, pattern, r.guard.Handler(op, h))
}

// MethodFunc implements chi.Router.
func (r *guardedRouter) MethodFunc(method, pattern string, h http.HandlerFunc) {
	r.Method(method, pattern, h)
}

// Connect implements chi.Router.
func (r *guardedRouter) Connect(pattern string, h http.HandlerFunc) {
	r.Method(http.MethodConnect, pattern, h)
}

// Delete implements chi.Router.
func (r *guardedRouter) Delete(pattern string, h http.HandlerFunc) {
	r.Method(http.MethodDelete, pattern, h)
}

// Get implements chi.Router.
func (r *guardedRouter) Get(pattern string, h http.HandlerFunc) {
	r.Method(http.MethodGet, pattern, h)
}

// Head implements chi.Router.
func (r *guardedRouter) Head(pattern string, h http.HandlerFunc) {
	r.Method(http.MethodHead, pattern, h)
}

// Options implements chi.Router.
func (r *guardedRouter) Options(pattern string, h http.HandlerFunc) {
	r.Method(http.MethodOptions, pattern, h)
}

// Patch implements chi.Router.
func (r *guardedRouter) Patch(pattern string, h http.HandlerFunc) {
	r.Method(http.MethodPatch, pattern, h)
}

// Post implements chi.Router.
func (r *guardedRouter) Post(pattern string, h http.HandlerFunc) {
	r.Method(http.MethodPost, pattern, h)
}

// Put implements chi.Router.
func (r *guardedRouter) Put(pattern string, h http.HandlerFunc) {
	r.Method(http.MethodPut, pattern, h)
}

// Query implements chi.Router.
func (r *guardedRouter) Query(pattern string, h http.HandlerFunc) {
	r.Method("QUERY", pattern, h)
}

// Trace implements chi.Router.
func (r *guardedRouter) Trace(pattern string, h http.HandlerFunc) {
	r.Method(http.MethodTrace, pattern, h)
}

// Handler puts one handler behind the check of an operation.
func (g *Guard) Handler(op Operation, h http.Handler) http.Handler {
	g.serves(op.ID)
	if op.Access == Open {
		return h
	}
	if g.opts.Recorder != nil && op.Audited() {
		h = g.opts.Recorder.HTTP(op, h)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, err := g.admit(r.Context(), op, httpCaller{r, op.QueryToken})
		if err != nil {
			g.opts.WriteError(w, r, err)
			return
		}
		if ctx != r.Context() {
			r = r.WithContext(ctx)
		}
		h.ServeHTTP(w, r)
	})
}

type httpCaller struct {
	r     *http.Request
	query bool
}

// Token implements Request.
func (c httpCaller) Token() (string, bool) { return requestToken(c.r, c.query) }

// Header implements Request.
func (c httpCaller) Header(name string) []string { return c.r.Header.Values(name) }

func (c httpCaller) site() (host, origin string) { return c.r.Host, c.r.Header.Get("Origin") }

func (httpCaller) message() any { return nil }

func requestToken(r *http.Request, query bool) (string, bool) {
	values := r.Header.Values("Authorization")
	if len(values) > 0 || !query {
		return bearer(values)
	}
	switch given := r.URL.Query()["access_token"]; len(given) {
	case 0:
		return "", true
	case 1:
		return given[0], isToken(given[0])
	}
	return "", false
}
