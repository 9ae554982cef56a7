package remote

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
)

// Networks is a list of networks.
type Networks []netip.Prefix

var errNetwork = errors.New("must be an address or a network such as 10.1.0.0/16 or fd00::/8")

// ParseNetworks reads addresses and CIDRs. The error names the one that is wrong.
func ParseNetworks(texts []string) (Networks, error) {
	list := make(Networks, 0, len(texts))
	for _, text := range texts {
		p, err := ParseNetwork(text)
		if err != nil {
			return nil, fmt.Errorf("%q %w", text, err)
		}
		list = append(list, p)
	}
	return list, nil
}

// ParseNetwork reads an address or a CIDR. An IPv4 network that is written as IPv6 (::ffff:10.0.0.0/104) is taken as
// what it is.
func ParseNetwork(text string) (netip.Prefix, error) {
	text = strings.TrimSpace(text)
	if !strings.Contains(text, "/") {
		addr, err := netip.ParseAddr(text)
		if err != nil || addr.Zone() != "" {
			return netip.Prefix{}, errNetwork
		}
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, errNetwork
	}
	if addr := p.Addr(); addr.Is4In6() {
		if p.Bits() < 96 {
			return netip.Prefix{}, errNetwork
		}
		p = netip.PrefixFrom(addr.Unmap(), p.Bits()-96)
	}
	return p.Masked(), nil
}

// Contains reports whether an address is in one of the networks.
func (n Networks) Contains(addr netip.Addr) bool {
	for _, p := range n {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// ContainsAddr is Contains for the address of a connection.
func (n Networks) ContainsAddr(addr net.Addr) bool { return n.Contains(addressOfConn(addr)) }

// All reports whether the networks hold every address of the family that addr is of; of IPv4 when it is invalid.
func (n Networks) All(addr netip.Addr) bool {
	for _, p := range n {
		if p.Bits() == 0 && p.Addr().Is4() == (addr.Is4() || !addr.IsValid()) {
			return true
		}
	}
	return false
}

// confined are the networks whose addresses the internet does not carry.
var confined = func() Networks {
	list, err := ParseNetworks([]string{"127.0.0.0/8", "::1", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
		"100.64.0.0/10", "169.254.0.0/16", "fc00::/7", "fe80::/10"})
	if err != nil {
		panic(err)
	}
	return list
}()

// Public returns the networks that reach beyond private and link-local addresses.
func (n Networks) Public() Networks {
	var list Networks
	for _, p := range n {
		inside := false
		for _, c := range confined {
			inside = inside || c.Bits() <= p.Bits() && c.Contains(p.Addr())
		}
		if !inside {
			list = append(list, p)
		}
	}
	return list
}

// String returns the networks, separated by commas.
func (n Networks) String() string {
	texts := make([]string, len(n))
	for i, p := range n {
		texts[i] = p.String()
	}
	return strings.Join(texts, ",")
}
