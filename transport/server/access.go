package server

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	grpctap "google.golang.org/grpc/tap"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/auth"
	"github.com/otkit/otkit/transport/internal/call"
	"github.com/otkit/otkit/transport/limit"
	"github.com/otkit/otkit/transport/metrics"
	"github.com/otkit/otkit/transport/remote"
)

// AccessOptions configure where callers may come from, and how much each may ask for. A negative limit is none.
type AccessOptions struct {
	// ProtectOpenSurfaces requires a login everywhere, also on the surfaces that the interface leaves open.
	ProtectOpenSurfaces bool
	// OpenSurfacesFrom are the networks whose callers need no login on the surfaces that the interface leaves open;
	// callers from loopback addresses and Unix sockets need none either. It has no effect with ProtectOpenSurfaces.
	OpenSurfacesFrom remote.Networks
	// TrustedProxies are those whose headers Forwarded and X-Forwarded-For count.
	TrustedProxies remote.Networks
	// AllowedHosts are names, besides those of this machine, by which callers without a token may address the server;
	// "*" is any.
	AllowedHosts []string

	// NameSettings has refusals name the setting of the engine command that admits the caller.
	NameSettings bool

	RequestsPerAddress   int // requests a second of one address, loopback not counted; default 1000
	RequestsPerPrincipal int // requests a second of one account; default 1000
	ConnsPerAddress      int // open connections of one address to a port, trusted proxies not counted; default 1000
}

func (o *AccessOptions) withDefaults() {
	o.RequestsPerAddress = cmp.Or(o.RequestsPerAddress, 1000)
	o.RequestsPerPrincipal = cmp.Or(o.RequestsPerPrincipal, 1000)
	o.ConnsPerAddress = cmp.Or(o.ConnsPerAddress, 1000)
}

var (
	errLoginRequired = auth.ErrUnauthenticated.Because("a login is required here")
	errUnknownHost   = fault.New(fault.Forbidden, "MISDIRECTED_REQUEST", "a request without a login must name a known host")

	// The same for the engine command.
	errProtected   = auth.ErrUnauthenticated.Because("Auth__ProtectOpenSurfaces requires a token here")
	errNotFromHere = auth.ErrUnauthenticated.Because("without a token this is open to loopback addresses and to those of Auth__OpenSurfacesFrom only")
	errAllowHost   = errUnknownHost.Because("Server__AllowedHosts adds names")
)

// access decides who may call without a token, and who calls too often.
type access struct {
	AccessOptions
	byPath       map[string]auth.Operation // those with an answer of their own to who asks too often
	origins      []string
	proxies      remote.Proxies
	hosts        remote.Hosts
	perAddress   *limit.Rate
	perPrincipal *limit.Rate

	refusedAddress, refusedHost, refusedOrigin, refusedToken atomic.Uint64
}

func newAccess(o Options, operations []auth.Operation) *access {
	byPath := make(map[string]auth.Operation)
	for _, op := range operations {
		if op.RateLimited != nil {
			byPath[op.Path] = op
		}
	}
	return &access{
		AccessOptions: o.Access, byPath: byPath, origins: o.CORSOrigins,
		proxies: remote.Proxies{Trusted: o.Access.TrustedProxies}, hosts: remote.NewHosts(o.Access.AllowedHosts),
		perAddress: limit.NewRate(o.Access.RequestsPerAddress, o.Now), perPrincipal: limit.NewRate(o.Access.RequestsPerPrincipal, o.Now),
	}
}

// openTo returns nil for a call that needs no token on an open surface.
func (a *access) openTo(ctx context.Context, c auth.Call) error {
	from, _ := remote.From(ctx)
	switch {
	case a.ProtectOpenSurfaces:
		return a.refusal(errLoginRequired, errProtected)
	case !from.Local && !(from.Known && a.OpenSurfacesFrom.Contains(from.Addr)) && !a.OpenSurfacesFrom.All(from.Addr):
		a.refusedAddress.Add(1)
		if !from.Known && a.NameSettings {
			return errNotFromHere.Because("this call from %s came through a proxy that Server__TrustedProxies does not name, or that does not tell the caller's address", from)
		}
		return a.refusal(errLoginRequired, errNotFromHere.Because("this call is from %s", from))
	case !a.hosts.Known(c.Host):
		a.refusedHost.Add(1)
		return a.refusal(errUnknownHost, errAllowHost).With("host", c.Host)
	case !a.ownOrigin(c):
		a.refusedOrigin.Add(1)
		return errForeign
	}
	return nil
}

// refusal returns the text for strangers, or for the engine command the one that names its setting.
func (a *access) refusal(plain, named *fault.Error) *fault.Error {
	if a.NameSettings {
		return named
	}
	return plain
}

// ownOrigin reports whether a call is of no web page, or of one whose origin is the server's own or a CORS origin.
func (a *access) ownOrigin(c auth.Call) bool {
	if c.Origin == "" || slices.ContainsFunc(a.origins, func(s string) bool { return s == "*" || strings.EqualFold(s, c.Origin) }) {
		return true
	}
	u, err := url.Parse(c.Origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, c.Host)
}

// limitPrincipal is the guard's limit of calls by account.
func (a *access) limitPrincipal(ctx context.Context, op auth.Operation) error {
	p, ok := auth.From(ctx)
	if !ok {
		return nil
	}
	key := p.Issuer + " " + p.Subject
	if op.OwnRate {
		key += " " + op.ID
	}
	if err := a.perPrincipal.Allow(key); err != nil {
		return limited(op, err)
	}
	return nil
}

// limited returns the answer of an operation to a caller who asks too often.
func limited(op auth.Operation, err error) error {
	if op.RateLimited != nil {
		return op.RateLimited
	}
	return err
}

// limitAddress counts a call of an address. A process on this machine has other ways to harm it, and a proxy on it that
// nobody has named would be held back with all who are behind it.
func (a *access) limitAddress(ctx context.Context) error {
	from, ok := remote.From(ctx)
	if !ok || from.Local || from.Addr.IsLoopback() {
		return nil
	}
	return a.perAddress.Allow(from.Host())
}

// limitHTTP is limitAddress for requests. The probe of liveness always answers.
func (a *access) limitHTTP(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != livePath {
			if err := a.limitAddress(r.Context()); err != nil {
				refuse(w, r, limited(a.byPath[r.URL.Path], err))
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// tap begins the context of a gRPC call to a port of the server, where the metadata need not be copied.
func tap(ctx context.Context, info *grpctap.Info) (context.Context, error) {
	return &call.Context{Context: ctx, Metadata: info.Header}, nil
}

// resolve returns the context of a gRPC call with its caller.
func (a *access) resolve(ctx context.Context) context.Context {
	c := call.Of(ctx)
	if c == nil || c.Metadata == nil || c.HasCaller() { // the call came to a server of the host
		metadata, _ := metadata.FromIncomingContext(ctx)
		c = &call.Context{Context: ctx, Metadata: metadata}
		ctx = c
	}
	if p, ok := peer.FromContext(ctx); ok {
		c.SetCaller(call.Caller(a.proxies.GRPC(p.Addr, c.Metadata)))
	}
	return ctx
}

func (a *access) resolveUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	return handler(a.resolve(ctx), req)
}

func (a *access) resolveStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	return handler(srv, resolvedStream{stream, a.resolve(stream.Context())})
}

type resolvedStream struct {
	grpc.ServerStream
	ctx context.Context
}

// Context implements grpc.ServerStream.
func (s resolvedStream) Context() context.Context { return s.ctx }

func (a *access) limitUnary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	if err := a.limitAddress(ctx); err != nil {
		return nil, err
	}
	return handler(ctx, req)
}

func (a *access) limitStream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
	if err := a.limitAddress(stream.Context()); err != nil {
		return err
	}
	return handler(srv, stream)
}

// openness is to whom the surfaces without a token are open, in a word and in words.
func (a *access) openness() (word, text string) {
	switch {
	case a.ProtectOpenSurfaces:
		return "protected", "surfaces without a token are protected"
	case len(a.OpenSurfacesFrom) == 0:
		return "loopback", "surfaces without a token are open to loopback addresses"
	case len(a.OpenSurfacesFrom.Public()) > 0:
		return "wide", "surfaces without a token are open widely (Auth__OpenSurfacesFrom): strangers can silence alarms and change tags"
	}
	return "networks", "surfaces without a token are open to private networks (Auth__OpenSurfacesFrom)"
}

// warn logs once that surfaces are open widely.
func (s *Server) warnOpen() {
	if word, _ := s.access.openness(); word == "wide" {
		s.log.Warn("surfaces without a token are open widely: anybody in these networks can silence alarms, raise them and change tags",
			"setting", "Auth__OpenSurfacesFrom", "networks", s.opts.Access.OpenSurfacesFrom.Public().String())
	}
}

// onRefused counts a refusal and passes it on.
func (s *Server) onRefused(ctx context.Context, op auth.Operation, err error) {
	if fault.KindOf(err) == fault.Unavailable || fault.KindOf(err) == fault.Canceled { // the sender tries again
		return
	}
	if fault.KindOf(err) == fault.Unauthenticated {
		s.access.refusedToken.Add(1)
	}
	if s.opts.OnRefused != nil {
		s.opts.OnRefused(ctx, op, err)
	}
}

// accessStats are the figures for the metrics.
func (s *Server) accessStats() metrics.AccessStats {
	word, _ := s.access.openness()
	return metrics.AccessStats{OpenTo: word, Refused: map[string]uint64{
		"token": s.access.refusedToken.Load(), "address": s.access.refusedAddress.Load(), "host": s.access.refusedHost.Load(),
		"origin": s.access.refusedOrigin.Load(), "rate_address": s.access.perAddress.Refused(), "rate_principal": s.access.perPrincipal.Refused(),
		"connections": s.refusedConns(),
	}}
}

func (s *Server) refusedConns() (n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, port := range s.ports {
		n += port.Refused()
	}
	return n
}
