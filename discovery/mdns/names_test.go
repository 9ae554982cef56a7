package mdns

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/libp2p/zeroconf/v2"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
)

func TestLabelsComeBackAsTheyWere(t *testing.T) {
	for name, want := range map[string]string{
		"press-7":                "press-7",
		"Press 1.5 bar":          "Press 1.5 bar",
		`a\b"c;(d)@e`:            `a\b"c;(d)@e`,
		"Prüfstand 東京":           "Prüfstand 東京",
		".dots at the ends. ":    "dots at the ends",
		"new\nline":              "new line",
		"\xff":                   "\uFFFD",
		strings.Repeat("x", 70):  strings.Repeat("x", 63),
		strings.Repeat("é", 40):  strings.Repeat("é", 31),
		strings.Repeat("x.", 40): strings.TrimSuffix(strings.Repeat("x.", 32), "."),
	} {
		escaped, err := label(name)
		require.NoError(t, err, name)
		require.Equal(t, want, unescape(escaped))
		require.False(t, strings.HasSuffix(escaped, `\`))
	}
	for _, name := range []string{"", ".", " . "} {
		_, err := label(name)
		require.ErrorContains(t, err, "no name")
	}
}

func TestHostNamesAreOneLabelPerInstance(t *testing.T) {
	one, two := hostName("a", 1), hostName("b", 1)
	require.NotEqual(t, one, two)
	require.NotEqual(t, one, hostName("a", 2))
	require.Equal(t, one, hostName("a", 1))
	require.LessOrEqual(t, len(one), maxLabel)
	machine, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, machine[:1], one[:1])
}

func TestHostileAttributes(t *testing.T) {
	huge := strings.Repeat("v", 300)
	require.Equal(t, map[string]string{"flag": "", "empty": "", "key": "first", "eq": "a=b", "huge": huge, "bad": "a\uFFFDb", "esc": "tab\tend\\"},
		attributes([]string{"flag", "empty=", "key=first", "KEY=second", "key=third", "=without a key", "", "eq=a=b", "huge=" + huge,
			`bad=a\255b`, `esc=tab\009end\\`}))
	var many []string
	for i := range 10_000 {
		many = append(many, fmt.Sprint("k", i, "=v"))
	}
	require.Len(t, attributes(many), maxAttributes)
}

func TestTextFitsItsRecord(t *testing.T) {
	text, err := escapeText([]string{"name=" + strings.Repeat("ü", 200), `path=a\b`})
	require.NoError(t, err)
	require.Equal(t, "name="+strings.Repeat("ü", 125), text[0])
	require.Equal(t, `path=a\\b`, text[1])
	var many []string
	for range 100 {
		many = append(many, strings.Repeat("x", 255))
	}
	_, err = escapeText(many)
	require.ErrorContains(t, err, "25600 bytes, at most 8000 are allowed")
}

func FuzzUnescape(f *testing.F) {
	for _, s := range []string{"", `\`, `\0`, `\09`, `\065`, `\999`, `a\.b`, "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		require.True(t, utf8.ValidString(unescape(s)))
		if escaped, err := label(s); err == nil {
			again, err := label(unescape(escaped))
			require.NoError(t, err)
			require.Equal(t, escaped, again)
		}
	})
}

func TestAddressesAreInTheOrderToTry(t *testing.T) {
	var ips []net.IP
	for _, s := range []string{"fe80::1", "127.0.0.1", "2001:db8::1", "169.254.0.1", "10.0.0.9", "10.0.0.9", "0.0.0.0", "224.0.0.1", "ff02::1"} {
		ips = append(ips, net.ParseIP(s))
	}
	var got []string
	for _, a := range order(nil, ips, []net.Interface{{Name: "eth0"}, {Name: "wlan0"}}) {
		got = append(got, a.String())
	}
	require.Equal(t, []string{"10.0.0.9", "2001:db8::1", "169.254.0.1", "fe80::1%eth0", "fe80::1%wlan0", "127.0.0.1"}, got)
	require.Equal(t, []netip.Addr{netip.MustParseAddr("fe80::1%eth0")}, order(nil, ips[:1], []net.Interface{{Name: "eth0"}}),
		"an answer with nothing but a link-local address")
}

// A flood of answers costs no more than what a scan keeps.
func TestFindingsAreBounded(t *testing.T) {
	f := findings{byName: make(map[instance]*discovery.Found)}
	for i := range 3 * maxFound {
		e := &zeroconf.ServiceEntry{Port: 1, HostName: "h.local."}
		e.Instance = fmt.Sprint("i", i)
		for n := range 100 {
			e.AddrIPv4 = append(e.AddrIPv4, net.IPv4(10, 0, byte(i), byte(n+1)))
		}
		f.add(e, nil)
		f.add(e, nil)
	}
	list := f.list()
	require.Len(t, list, maxFound)
	for _, s := range list {
		require.Len(t, s.Addresses, maxAddresses)
	}
	f.add(&zeroconf.ServiceEntry{HostName: "h.local.", AddrIPv4: []net.IP{net.IPv4(10, 0, 0, 1)}}, nil)
	require.Len(t, f.list(), maxFound)
}

func TestBadServicesAreRefused(t *testing.T) {
	for _, c := range []struct {
		s    Service
		want string
	}{
		{Service{Type: "_x._tcp", Port: 1}, "no name"},
		{Service{Instance: "a", Type: "x", Port: 1}, `service type "x", like _name._tcp is required`},
		{Service{Instance: "a", Type: "_x._tcp.local", Port: 1}, "service type"},
		{Service{Instance: "a", Type: "_x._tcp"}, "port 0, 1 to 65535 are allowed"},
		{Service{Instance: "a", Type: "_x._tcp", Port: 70000}, "port 70000"},
	} {
		_, err := Advertise(c.s, Options{})
		require.ErrorContains(t, err, c.want)
	}
	_, err := NewScanner(ScannerOptions{}).Scan(t.Context(), "_a,_b._tcp")
	require.ErrorContains(t, err, "service type")
}
