package remote

import (
	"net/netip"
	"os"
	"strings"
)

// Hosts are the names by which callers may address the server.
type Hosts struct {
	any   bool
	names map[string]bool
}

// NewHosts returns the names of this machine and more. A more of "*" is every name.
func NewHosts(more []string) Hosts {
	h := Hosts{names: map[string]bool{"localhost": true}}
	if own, err := os.Hostname(); err == nil && own != "" {
		own = normal(own)
		short, _, _ := strings.Cut(own, ".")
		for _, name := range []string{own, short, short + ".local"} {
			h.names[name] = true
		}
	}
	for _, name := range more {
		if name == "*" {
			h.any = true
		}
		h.names[normal(name)] = true
	}
	return h
}

// Known reports whether host, as the header Host or :authority has it, is one of the names or an IP address. A page that
// has its name resolved to an address of this machine (DNS rebinding) sends its own name.
func (h Hosts) Known(host string) bool {
	if h.any {
		return true
	}
	host = withoutPort(host)
	if addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")); err == nil {
		return addr.IsValid()
	}
	host = normal(host)
	return h.names[host] || strings.HasSuffix(host, ".localhost")
}

func normal(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// withoutPort removes the port of host:port and [address]:port.
func withoutPort(host string) string {
	i := strings.LastIndexByte(host, ':')
	if i < 0 || strings.HasSuffix(host, "]") || strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
		return host
	}
	return host[:i]
}
