package remote

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/otkit/otkit/transport/internal/call"
)

// Proxies are those whose headers Forwarded (RFC 7239) and X-Forwarded-For count. A proxy must write one of the two
// and either write or remove the other; when both are there and differ, the caller is not known.
type Proxies struct{ Trusted Networks }

// names are the headers by which a call shows that it came through a proxy.
type names struct {
	forwarded, forwardedFor string
	others                  [4]string
}

var (
	httpNames = names{"Forwarded", "X-Forwarded-For", [...]string{"X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip", "Via"}}
	grpcNames = names{"forwarded", "x-forwarded-for", [...]string{"x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"}}
)

func (n *names) in(header map[string][]string) bool {
	return len(header[n.forwarded]) > 0 || len(header[n.forwardedFor]) > 0 ||
		slices.ContainsFunc(n.others[:], func(name string) bool { return len(header[name]) > 0 })
}

// maxHops bounds how many proxies are followed.
const maxHops = 32

// HTTP resolves the caller of a request.
func (p Proxies) HTTP(r *http.Request) Caller {
	network := ""
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		network = local.Network()
	}
	return p.resolve(addressOf(r.RemoteAddr), network, &httpNames, r.Header)
}

// GRPC resolves the caller of a gRPC call from its peer's address and its metadata, whose keys are in lower case.
func (p Proxies) GRPC(peer net.Addr, metadata map[string][]string) Caller {
	if peer == nil {
		return Caller{}
	}
	return p.resolve(addressOfConn(peer), peer.Network(), &grpcNames, metadata)
}

// Middleware resolves the caller of each request, for From. RemoteAddr of a request that came through trusted proxies
// becomes the address of the caller.
func (p Proxies) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := p.HTTP(r)
		peer := addressOf(r.RemoteAddr)
		ctx := &call.Context{Context: r.Context()}
		ctx.SetCaller(call.Caller(c))
		r = r.WithContext(ctx)
		if c.Addr != peer {
			r.RemoteAddr = c.Addr.String()
		}
		next.ServeHTTP(w, r)
	})
}

func (p Proxies) resolve(peer netip.Addr, network string, n *names, header map[string][]string) Caller {
	unix := strings.HasPrefix(network, "unix")
	direct := Caller{Addr: peer, Known: peer.IsValid() || unix, Local: unix || peer.IsLoopback()}
	if !n.in(header) {
		return direct
	}
	unknown := Caller{Addr: peer}
	if !peer.IsValid() || !p.Trusted.Contains(peer) {
		return unknown
	}
	a, b := header[n.forwarded], header[n.forwardedFor]
	var chain []netip.Addr
	switch {
	case len(a) > 0 && len(b) > 0:
		x, y := p.walk(peer, forwardedFor(a)), p.walk(peer, listed(b))
		if x != y {
			return unknown
		}
		return x
	case len(a) > 0:
		chain = forwardedFor(a)
	case len(b) > 0:
		chain = listed(b)
	}
	if len(chain) == 0 { // it says that there is somebody, and not who
		return unknown
	}
	return p.walk(peer, chain)
}

// walk goes from the connection's end back along the proxies that are trusted. An invalid address ends the walk: who is
// beyond it is not known.
func (p Proxies) walk(peer netip.Addr, chain []netip.Addr) Caller {
	c := Caller{Addr: peer, Known: true, Local: peer.IsLoopback()}
	for i := len(chain) - 1; i >= 0 && p.Trusted.Contains(c.Addr); i-- {
		if !chain[i].IsValid() || len(chain)-i > maxHops {
			return Caller{Addr: c.Addr}
		}
		c.Addr = chain[i]
		// What is loopback to a proxy on another machine is not loopback here.
		c.Local = c.Local && c.Addr.IsLoopback()
	}
	return c
}

// listed reads the values of X-Forwarded-For. An element that is not an address is the zero Addr.
func listed(values []string) []netip.Addr {
	var chain []netip.Addr
	for _, value := range values {
		for element := range strings.SplitSeq(value, ",") {
			chain = append(chain, addressOf(strings.TrimSpace(element)))
		}
	}
	return chain
}

// forwardedFor reads the parameter for of each element of Forwarded. An element without a readable one is the zero Addr.
func forwardedFor(values []string) []netip.Addr {
	var chain []netip.Addr
	for _, value := range values {
		for _, element := range splitQuoted(value, ',') {
			chain = append(chain, nodeOf(element))
		}
	}
	return chain
}

func nodeOf(element string) (node netip.Addr) {
	found := false
	for _, pair := range splitQuoted(element, ';') {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || !strings.EqualFold(strings.TrimSpace(name), "for") {
			continue
		}
		if found { // said twice
			return netip.Addr{}
		}
		found = true
		value = strings.TrimSpace(value)
		if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' {
			value = value[1 : n-1]
		}
		node = addressOf(value)
	}
	return node
}

// splitQuoted splits at a separator outside of quotes. After a quote that is not closed there is one element more, which
// cannot be read.
func splitQuoted(text string, separator byte) []string {
	var parts []string
	start, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == separator && !quoted:
			parts = append(parts, text[start:i])
			start = i + 1
		}
	}
	parts = append(parts, text[start:])
	if quoted {
		parts = append(parts, "")
	}
	return parts
}
