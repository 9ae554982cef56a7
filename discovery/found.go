package discovery

import (
	"net/netip"
	"net/url"
)

// Found is a service that answered a scan. Its fields come from the network: whoever is on it may have sent them.
type Found struct {
	Instance  string            // the name of the instance, such as the id of a bridge
	HostName  string            // without the final dot
	Addresses []netip.Addr      // in the order to try: IPv4, IPv6, IPv6 link-local with its zone, loopback
	Port      int               // 1 to 65535
	Text      map[string]string // the attributes, valid UTF-8; one without a value has ""
}

// URLs returns the base URL for each address, in the order to try.
func (f Found) URLs(scheme string) []string {
	urls := make([]string, len(f.Addresses))
	for i, a := range f.Addresses {
		u := url.URL{Scheme: scheme, Host: netip.AddrPortFrom(a, uint16(f.Port)).String()}
		urls[i] = u.String()
	}
	return urls
}
