package remote

import (
	"context"
	"net"
	"net/netip"
	"strings"

	"github.com/otkit/otkit/transport/internal/call"
)

// Caller is where a call comes from. The zero value is an unknown place.
type Caller struct {
	// Addr is the address of the caller, without a zone and never an IPv4 address inside of IPv6. Where that cannot be
	// told it is the address of the last proxy that is known. It is invalid for Unix sockets.
	Addr netip.Addr
	// Local reports whether the call comes from this machine: from a loopback address or a Unix socket, and through
	// no proxy but trusted ones on loopback addresses.
	Local bool
	// Known reports whether Addr is the address of the caller itself. It is false when the call came through a proxy
	// that is not trusted, or whose header cannot be read.
	Known bool
}

// Host returns what limits count the caller by: an IPv4 address, the /64 of an IPv6 address, or "local" for a Unix
// socket.
func (c Caller) Host() string { return hostOf(c.Addr) }

func hostOf(addr netip.Addr) string {
	switch {
	case !addr.IsValid():
		return "local"
	case addr.Is4() || addr.IsLoopback():
		return addr.String()
	}
	// One host usually has a whole /64 to choose its address from.
	if network, err := addr.Prefix(64); err == nil {
		return network.String()
	}
	return addr.String()
}

// String returns the address for logs.
func (c Caller) String() string {
	if !c.Addr.IsValid() {
		return "local"
	}
	return c.Addr.String()
}

// With returns a context that carries a caller.
func With(ctx context.Context, c Caller) context.Context {
	inner := call.Caller(c)
	return context.WithValue(ctx, call.CallerKey, &inner)
}

// From returns the caller of a call, and false if it was not resolved.
func From(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(call.CallerKey).(*call.Caller)
	if !ok {
		return Caller{}, false
	}
	return Caller(*c), true
}

// Shown returns what a log shows of where a call comes from: the connection's address, or that of the caller when
// the connection is a trusted proxy's.
func Shown(ctx context.Context, connection net.Addr) string {
	if c, ok := From(ctx); ok && c.Addr != addressOfConn(connection) {
		return c.String()
	}
	return connection.String()
}

// HostOf returns what limits count a connection by; see [Caller.Host]. An address that is not an IP address is "local".
func HostOf(addr net.Addr) string { return hostOf(addressOfConn(addr)) }

func addressOfConn(addr net.Addr) netip.Addr {
	if tcp, ok := addr.(*net.TCPAddr); ok {
		return plain(tcp.AddrPort().Addr())
	}
	return addressOf(addr.String())
}

// addressOf reads "ip", "ip:port", "[ip]" or "[ip]:port"; what is none of these is the zero Addr.
func addressOf(text string) netip.Addr {
	// The address of a connection is the usual case; trying it as an address first would make an error each time.
	if i := strings.LastIndexByte(text, ':'); i > 0 && (text[i-1] == ']' || strings.IndexByte(text, ':') == i) {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil {
			return netip.Addr{}
		}
		return plain(withPort.Addr())
	}
	addr, err := netip.ParseAddr(text)
	if err == nil {
		return plain(addr)
	}
	if n := len(text); n > 2 && text[0] == '[' && text[n-1] == ']' {
		addr, err = netip.ParseAddr(text[1 : n-1])
		if err != nil || addr.Is4() {
			return netip.Addr{}
		}
		return plain(addr)
	}
	return netip.Addr{}
}

// plain removes what one address can be dressed up with.
func plain(addr netip.Addr) netip.Addr { return addr.Unmap().WithZone("") }
