package mdns

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/otkit/otkit/fault"
)

// ErrNoInterface means that this machine has no network interface that is up and takes part in multicast.
var ErrNoInterface = fault.New(fault.Unavailable, "MDNS_NO_INTERFACE", "no network interface for mDNS")

// multicast returns the interfaces that are up and take part in multicast, of those that names lists; no names are all.
func multicast(names []string) ([]net.Interface, error) {
	all, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoInterface, err)
	}
	found := slices.DeleteFunc(all, func(i net.Interface) bool {
		const needed = net.FlagUp | net.FlagMulticast
		return i.Flags&needed != needed || len(names) > 0 && !slices.Contains(names, i.Name)
	})
	if len(found) == 0 {
		return nil, ErrNoInterface
	}
	return found, nil
}

// addresses returns the addresses of an interface, loopback left out.
func addresses(i net.Interface) (ips []string) {
	list, _ := i.Addrs() // an interface that is just going has none
	for _, a := range list {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() {
			ips = append(ips, n.IP.String())
		}
	}
	return ips
}

// fingerprint changes when an interface or an address comes or goes.
func fingerprint(interfaces []net.Interface) string {
	var b strings.Builder
	for _, i := range interfaces {
		fmt.Fprintln(&b, i.Index, i.Name, addresses(i))
	}
	return b.String()
}
