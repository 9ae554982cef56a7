package discovery_test

import (
	"fmt"
	"net/netip"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
)

func ExampleFound_URLs() {
	f := discovery.Found{Port: 5002, Addresses: []netip.Addr{
		netip.MustParseAddr("192.168.0.20"), netip.MustParseAddr("2001:db8::20"), netip.MustParseAddr("fe80::20%eth0")}}
	for _, u := range f.URLs("http") {
		fmt.Println(u)
	}
	// Output:
	// http://192.168.0.20:5002
	// http://[2001:db8::20]:5002
	// http://[fe80::20%25eth0]:5002
}

// The zone of a link-local address survives being written and parsed.
func TestURLsCanBeParsed(t *testing.T) {
	f := discovery.Found{Port: 1, Addresses: []netip.Addr{netip.MustParseAddr("fe80::20%Ethernet 2")}}
	u, err := url.Parse(f.URLs("https")[0])
	require.NoError(t, err)
	require.Equal(t, "fe80::20%Ethernet 2", u.Hostname())
	require.Equal(t, "1", u.Port())
}
