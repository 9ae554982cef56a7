package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/otkit/otkit/transport/oneport"
)

// PartListener is a further port, which serves the HTTP routes of some parts, /health/live and /health/ready. Other
// paths are not found there, and gRPC connections are closed.
type PartListener struct {
	Listen   string       // TCP address, such as :5200
	Listener net.Listener // taken instead of Listen; the server closes it
	Parts    []string     // their names; at least one
}

// port is an open port of the server.
type port struct {
	*oneport.Port
	parts []string // that it serves; nil for everything
}

// listenAll opens the ports that Options name.
func (s *Server) listenAll() error {
	o := s.opts
	if o.Listen != "" || o.Listener != nil {
		if _, err := s.listen(o.Listen, o.Listener, nil); err != nil {
			return err
		}
	}
	for i, l := range o.PartListeners {
		if err := s.checkPartListener(i, l); err != nil {
			return err
		}
		if _, err := s.listen(l.Listen, l.Listener, slices.Clone(l.Parts)); err != nil {
			return fmt.Errorf("port of %s: %w", strings.Join(l.Parts, ", "), err)
		}
	}
	return nil
}

func (s *Server) checkPartListener(i int, l PartListener) error {
	switch {
	case l.Listen == "" && l.Listener == nil:
		return fmt.Errorf("server: Options.PartListeners[%d] needs Listen or Listener", i)
	case len(l.Parts) == 0:
		return fmt.Errorf("server: Options.PartListeners[%d].Parts is required", i)
	}
	for _, name := range l.Parts {
		if !slices.ContainsFunc(s.parts, func(p Part) bool { return p.Name == name }) {
			return fmt.Errorf("server: Options.PartListeners[%d].Parts: no part has the name %q", i, name)
		}
	}
	return nil
}

// listen opens a port. Those that serve everything share their limits of connections; one of parts has its own, so that
// a flood on one port takes no place of another.
func (s *Server) listen(addr string, l net.Listener, parts []string) (port, error) {
	if l != nil {
		addr = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return port{}, errStopping
	}
	o := oneport.Options{Addr: addr, Listener: l, TLS: s.opts.TLS, Probe: livePath, ProbeBody: `{"status":"Healthy","results":{}}`, Logger: s.log}
	if i := s.mainPort(); parts == nil && i >= 0 {
		o.LimitsOf = s.ports[i].Port
	} else {
		o.MaxConns, o.MaxConnsPerAddress, o.Unlimited = s.share(parts), max(0, s.opts.Access.ConnsPerAddress), s.opts.Access.TrustedProxies.ContainsAddr
	}
	opened, err := oneport.Listen(o)
	if err != nil {
		return port{}, err
	}
	s.ports = append(s.ports, port{opened, parts})
	return s.ports[len(s.ports)-1], nil
}

// share returns how many connections a port of the parts, nil for everything, may have; see Options.PartListeners.
func (s *Server) share(parts []string) int {
	all := oneport.FitConns(s.opts.MaxConns)
	if len(s.ports) == 0 && all < s.opts.MaxConns {
		s.log.Warn("the limit of open files allows fewer connections than the setting; raise it (ulimit -n)", "setting", s.opts.MaxConns, "connections", all)
	}
	n := len(s.opts.PartListeners)
	each := max(all/(n+7), 1)
	if parts != nil {
		return each
	}
	return max(all-n*each, 1)
}

// mainPort returns the index of the first port that serves everything, -1 if there is none.
func (s *Server) mainPort() int {
	return slices.IndexFunc(s.ports, func(p port) bool { return p.parts == nil })
}

// servePort serves a port until it closes.
func (s *Server) servePort(p port) {
	s.background(func() { s.report(p.Serve(s.stopping)) })
	s.background(func() { s.report(s.http.Serve(httpSide{p.HTTP(), p.parts})) })
	attrs := []any{"address", p.Addr().String(), "tls", s.opts.TLS != nil, "version", s.opts.Version}
	if p.parts == nil {
		s.background(func() { s.report(s.grpc.Serve(p.GRPC())) })
	} else {
		_ = p.GRPC().Close() // what speaks gRPC is closed
		attrs = append(attrs, "parts", strings.Join(p.parts, ","))
	}
	s.log.Info("server is listening", attrs...)
}

// Addr returns the address that the server listens on, nil when it has no port.
func (s *Server) Addr() net.Addr {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.mainPort(); i >= 0 {
		return s.ports[i].Addr()
	}
	return nil
}

// PartAddrs returns the addresses of Options.PartListeners, in their order.
func (s *Server) PartAddrs() (list []net.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.ports {
		if p.parts != nil {
			list = append(list, p.Addr())
		}
	}
	return list
}

// httpSide is the listener for HTTP of a port.
type httpSide struct {
	net.Listener
	parts []string
}

type partsKey struct{}

// baseContext returns the context of the requests to a port.
func baseContext(l net.Listener) context.Context {
	if side, ok := l.(httpSide); ok && side.parts != nil {
		return context.WithValue(context.Background(), partsKey{}, side.parts)
	}
	return context.Background()
}

// noteRoutes notes whose the routes are that have been registered since the last call.
func (s *Server) noteRoutes(r chi.Routes, part string) {
	if len(s.opts.PartListeners) == 0 {
		return
	}
	_ = chi.Walk(r, func(method, pattern string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		if key := method + " " + pattern; s.partOf[key] == "" {
			s.partOf[key] = part
		}
		return nil
	})
}

// routesOfPort answers that a path is not found where the port does not serve the part whose route it is.
func (s *Server) routesOfPort(r *chi.Mux) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		if len(s.opts.PartListeners) == 0 {
			return next
		}
		return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			if parts, some := req.Context().Value(partsKey{}).([]string); some && !s.onPort(r, parts, req) {
				r.NotFoundHandler()(w, req)
				return
			}
			next.ServeHTTP(w, req)
		})
	}
}

// onPort reports whether a port of some parts serves a request: it has its route, or another one with the same path, so
// that a wrong method is not allowed rather than not found.
func (s *Server) onPort(r *chi.Mux, parts []string, req *http.Request) bool {
	path := req.URL.RawPath
	if path == livePath || path == readyPath {
		return true
	}
	has := func(method string) (found, here bool) {
		pattern := r.Find(chi.NewRouteContext(), method, path)
		return pattern != "", pattern != "" && slices.Contains(parts, s.partOf[method+" "+pattern])
	}
	method := req.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	if found, here := has(method); found {
		return here
	}
	return slices.ContainsFunc([]string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		func(m string) bool { _, here := has(m); return here })
}
