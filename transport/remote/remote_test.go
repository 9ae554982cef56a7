package remote

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"
)

func TestWhereACallComesFrom(t *testing.T) {
	for name, c := range map[string]struct {
		trusted string // networks, separated by blanks
		from    string
		headers string // lines
		addr    string
		local   bool
		known   bool
	}{
		"direct":                               {from: "203.0.113.7:99", addr: "203.0.113.7", known: true},
		"loopback":                             {from: "127.0.0.1:99", addr: "127.0.0.1", local: true, known: true},
		"another loopback":                     {from: "127.8.9.1:99", addr: "127.8.9.1", local: true, known: true},
		"IPv6 loopback":                        {from: "[::1]:99", addr: "::1", local: true, known: true},
		"loopback in IPv6":                     {from: "[::ffff:127.0.0.1]:99", addr: "127.0.0.1", local: true, known: true},
		"IPv4 in IPv6":                         {from: "[::ffff:203.0.113.7]:99", addr: "203.0.113.7", known: true},
		"zone":                                 {from: "[fe80::1%eth0]:99", addr: "fe80::1", known: true},
		"nonsense":                             {from: "bufconn", addr: "invalid"},
		"loopback through an unknown proxy":    {from: "127.0.0.1:9", headers: "X-Forwarded-For: 203.0.113.7", addr: "127.0.0.1"},
		"Forwarded by an unknown proxy":        {from: "127.0.0.1:9", headers: "Forwarded: for=127.0.0.1", addr: "127.0.0.1"},
		"X-Real-IP by an unknown proxy":        {from: "127.0.0.1:9", headers: "X-Real-IP: 127.0.0.1", addr: "127.0.0.1"},
		"Via":                                  {from: "127.0.0.1:9", headers: "Via: 1.1 proxy", addr: "127.0.0.1"},
		"an empty header":                      {from: "127.0.0.1:9", headers: "X-Forwarded-For:", addr: "127.0.0.1"},
		"a stranger that says it is loopback":  {from: "203.0.113.7:9", headers: "X-Forwarded-For: 127.0.0.1", addr: "203.0.113.7"},
		"trusted":                              {trusted: "10.0.0.5", from: "10.0.0.5:9", headers: "X-Forwarded-For: 203.0.113.7", addr: "203.0.113.7", known: true},
		"trusted, direct":                      {trusted: "127.0.0.1", from: "127.0.0.1:9", addr: "127.0.0.1", local: true, known: true},
		"trusted, of this machine":             {trusted: "127.0.0.1", from: "127.0.0.1:9", headers: "X-Forwarded-For: 127.0.0.1", addr: "127.0.0.1", local: true, known: true},
		"what is loopback elsewhere":           {trusted: "10.0.0.5", from: "10.0.0.5:9", headers: "X-Forwarded-For: 127.0.0.1", addr: "127.0.0.1", known: true},
		"a stranger's part is left of its own": {trusted: "127.0.0.1", from: "127.0.0.1:9", headers: "X-Forwarded-For: 127.0.0.1, 203.0.113.7", addr: "203.0.113.7", known: true},
		"a proxy's client says it is loopback": {trusted: "127.0.0.1 10.0.0.0/8", from: "127.0.0.1:9", headers: "X-Forwarded-For: 127.0.0.1, 10.1.2.3", addr: "127.0.0.1", known: true},
		"two proxies":                          {trusted: "10.0.0.0/8", from: "10.0.0.5:9", headers: "X-Forwarded-For: 1.2.3.4, 203.0.113.7, 10.0.0.6", addr: "203.0.113.7", known: true},
		"two lines":                            {trusted: "10.0.0.0/8", from: "10.0.0.5:9", headers: "X-Forwarded-For: 203.0.113.7\nX-Forwarded-For: 10.0.0.6", addr: "203.0.113.7", known: true},
		"with ports":                           {trusted: "10.0.0.5", from: "10.0.0.5:9", headers: "X-Forwarded-For: [2001:db8::7]:80", addr: "2001:db8::7", known: true},
		"IPv6 proxy":                           {trusted: "fd00::/8", from: "[fd00::2]:9", headers: "X-Forwarded-For: 2001:db8::7", addr: "2001:db8::7", known: true},
		"IPv4 proxy in IPv6":                   {trusted: "10.0.0.5", from: "[::ffff:10.0.0.5]:9", headers: "X-Forwarded-For: ::ffff:203.0.113.7", addr: "203.0.113.7", known: true},
		"unreadable":                           {trusted: "10.0.0.0/8", from: "10.0.0.5:9", headers: "X-Forwarded-For: 203.0.113.7, unknown, 10.0.0.6", addr: "10.0.0.6"},
		"nothing readable":                     {trusted: "10.0.0.5", from: "10.0.0.5:9", headers: "X-Forwarded-For: unknown", addr: "10.0.0.5"},
		"trusted says somebody, not who":       {trusted: "127.0.0.1", from: "127.0.0.1:9", headers: "X-Real-IP: 203.0.113.7", addr: "127.0.0.1"},
		"RFC 7239":                             {trusted: "10.0.0.0/8", from: "10.0.0.5:9", headers: `Forwarded: for=1.2.3.4, For="[2001:db8:cafe::17]:4711";proto=https;by=203.0.113.43, for=10.0.0.6`, addr: "2001:db8:cafe::17", known: true},
		"RFC 7239, quoted comma":               {trusted: "10.0.0.5", from: "10.0.0.5:9", headers: `Forwarded: for=203.0.113.7;host="a,for=127.0.0.1"`, addr: "203.0.113.7", known: true},
		"RFC 7239, open quote":                 {trusted: "10.0.0.5", from: "10.0.0.5:9", headers: `Forwarded: for=127.0.0.1;host="a, for=203.0.113.7`, addr: "10.0.0.5"},
		"RFC 7239, twice":                      {trusted: "10.0.0.5", from: "10.0.0.5:9", headers: `Forwarded: for=127.0.0.1;for=203.0.113.7`, addr: "10.0.0.5"},
		"RFC 7239, hidden":                     {trusted: "10.0.0.5", from: "10.0.0.5:9", headers: `Forwarded: for=_secret`, addr: "10.0.0.5"},
		"RFC 7239, without for":                {trusted: "10.0.0.5", from: "10.0.0.5:9", headers: `Forwarded: proto=https`, addr: "10.0.0.5"},
		"both, and one is the client's":        {trusted: "127.0.0.1", from: "127.0.0.1:9", headers: "Forwarded: for=127.0.0.1\nX-Forwarded-For: 203.0.113.7", addr: "127.0.0.1"},
		"both, alike":                          {trusted: "127.0.0.1", from: "127.0.0.1:9", headers: "Forwarded: for=203.0.113.7\nX-Forwarded-For: 203.0.113.7", addr: "203.0.113.7", known: true},
		"too many hops":                        {trusted: "10.0.0.0/8", from: "10.0.0.5:9", headers: "X-Forwarded-For: " + strings.Repeat("10.0.0.6,", 40) + "10.0.0.6", addr: "10.0.0.6"},
	} {
		t.Run(name, func(t *testing.T) {
			trusted, err := ParseNetworks(strings.Fields(c.trusted))
			require.NoError(t, err)
			r := httptest.NewRequest("GET", "/", nil)
			r.RemoteAddr = c.from
			md := metadata.MD{}
			for line := range strings.Lines(c.headers) {
				key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
				r.Header.Add(key, strings.TrimSpace(value))
				md.Append(key, strings.TrimSpace(value))
			}
			p := Proxies{Trusted: trusted}
			want := Caller{Local: c.local, Known: c.known}
			if c.addr != "invalid" {
				want.Addr = netip.MustParseAddr(c.addr)
			}
			require.Equal(t, want, p.HTTP(r))
			require.Equal(t, want, p.GRPC(text(c.from), md))
			p.Middleware(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				got, ok := From(r.Context())
				require.True(t, ok)
				require.Equal(t, want, got)
				require.Equal(t, want.Addr, addressOf(r.RemoteAddr), "logs and limits have the same address")
			})).ServeHTTP(httptest.NewRecorder(), r)
		})
	}
}

type text string

func (text) Network() string  { return "tcp" }
func (s text) String() string { return string(s) }

func TestUnixSocket(t *testing.T) {
	path := &net.UnixAddr{Name: "/run/otkit.sock", Net: "unix"}
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "@"
	r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(path)))
	require.Equal(t, Caller{Local: true, Known: true}, Proxies{}.HTTP(r))
	require.Equal(t, Caller{Local: true, Known: true}, Proxies{}.GRPC(path, metadata.MD{}))
	r.Header.Set("X-Forwarded-For", "127.0.0.1")
	require.Equal(t, Caller{}, Proxies{}.HTTP(r), "a proxy that nobody trusts")
	require.Equal(t, "local", Caller{}.Host())
}

func TestHostsShareALimit(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.7:80": "192.0.2.7", "[2001:db8:1:2::3]:80": "2001:db8:1:2::/64", "[2001:db8:1:2::4]:81": "2001:db8:1:2::/64",
		"[::ffff:192.0.2.7]:1": "192.0.2.7", "[::1]:5": "::1", "@": "local",
	} {
		require.Equal(t, want, HostOf(text(addr)), addr)
	}
}

func TestNetworks(t *testing.T) {
	n, err := ParseNetworks([]string{"10.1.2.3/8", " 192.0.2.7 ", "fd00::/8", "::ffff:172.16.0.0/108", "::1"})
	require.NoError(t, err)
	require.Equal(t, "10.0.0.0/8,192.0.2.7/32,fd00::/8,172.16.0.0/12,::1/128", n.String())
	for addr, in := range map[string]bool{"10.255.0.1": true, "11.0.0.1": false, "192.0.2.7": true, "192.0.2.8": false,
		"fd12::1": true, "fe80::1": false, "172.31.0.1": true, "::1": true} {
		require.Equal(t, in, n.Contains(netip.MustParseAddr(addr)), addr)
	}
	require.False(t, n.Contains(netip.Addr{}))
	require.Equal(t, "192.0.2.7/32", n.Public().String())
	everybody, err := ParseNetworks([]string{"0.0.0.0/0"})
	require.NoError(t, err)
	require.True(t, everybody.All(netip.MustParseAddr("10.0.0.1")))
	require.False(t, everybody.All(netip.MustParseAddr("::1")))
	require.Equal(t, "0.0.0.0/0", everybody.Public().String())
	for _, bad := range []string{"", "10", "10.0.0.0/33", "localhost", "fe80::1%eth0", "::ffff:10.0.0.0/8", "10.0.0.0/-1", "a/8"} {
		_, err := ParseNetworks([]string{bad})
		require.ErrorContains(t, err, "must be an address or a network", bad)
	}
}

func TestHosts(t *testing.T) {
	h := NewHosts([]string{"Plant.Example.com"})
	own, err := os.Hostname()
	require.NoError(t, err)
	for _, host := range []string{"localhost", "LOCALHOST:5001", "localhost.", "a.localhost:1", "127.0.0.1", "127.0.0.1:5001", "[::1]:5001",
		"[::1]", "[fe80::1%25eth0]:80", "10.0.0.5:5001", own, strings.ToUpper(own) + ":1", "plant.example.com:443", "PLANT.EXAMPLE.COM."} {
		require.True(t, h.Known(host), host)
	}
	for _, host := range []string{"", ":5001", "evil.example", "evil.example:5001", "localhost.evil.example", "127.0.0.1.evil.example",
		"evil.example:127.0.0.1", "x.plant.example.com", "127.0.0.1@evil.example", "[evil.example]:80", "localhost:5001:evil"} {
		require.False(t, h.Known(host), host)
	}
	require.True(t, NewHosts([]string{"*"}).Known("evil.example"))
}

func FuzzResolve(f *testing.F) {
	f.Add("127.0.0.1:1", `for="[::1]:80", for=_x;by=1`, "127.0.0.1, unknown")
	f.Add("10.0.0.5:1", `for=127.0.0.1;host="a,\"b"`, "")
	f.Add("[::ffff:10.0.0.5]:1", "", "[::1]")
	trusted, err := ParseNetworks([]string{"10.0.0.0/8", "127.0.0.1"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, from, forwarded, list string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = from
		r.Header["Forwarded"] = []string{forwarded}
		r.Header["X-Forwarded-For"] = []string{list, "203.0.113.7"}
		c := Proxies{Trusted: trusted}.HTTP(r)
		if c.Local {
			t.Fatalf("local: %v", c)
		}
		if c.Known && c.Addr != netip.MustParseAddr("203.0.113.7") {
			t.Fatalf("%v", c)
		}
	})
}
