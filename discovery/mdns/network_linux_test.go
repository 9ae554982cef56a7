package mdns_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/mdns"
	"github.com/otkit/otkit/internal/realtest"
)

// An edge device boots before its network, its cable is pulled, and its address changes.
func TestInterfacesComeAndGo(t *testing.T) {
	if !realtest.Isolated(t) {
		return
	}
	_, err := mdns.NewScanner(mdns.ScannerOptions{}).Scan(t.Context(), "_x._tcp")
	require.ErrorIs(t, err, mdns.ErrNoInterface)
	log := make(warnings, 10)
	advertise(t, mdns.Service{Instance: "a", Type: "_x._tcp", Port: 1}, mdns.Options{CheckInterval: 50 * time.Millisecond, Logger: slog.New(log)})
	require.Equal(t, "mDNS advertisement failed; retrying", <-log)

	other := realtest.NewNetwork(t)
	add := func(name, address string) { other.Cable(t, name, address, "far"+name, "10.9.0.1/24") }
	finds := func(address string) {
		eventually(t, "_x._tcp", func(found []discovery.Found) bool {
			return len(found) == 1 && found[0].Addresses[0].String() == address
		})
	}
	add("d0", "10.1.0.1/24")
	finds("10.1.0.1")
	require.Equal(t, "mDNS advertisement resumed", <-log)
	realtest.Run(t, "ip", "addr", "del", "10.1.0.1/24", "dev", "d0")
	realtest.Run(t, "ip", "addr", "add", "10.1.0.2/24", "dev", "d0")
	finds("10.1.0.2")
	realtest.Run(t, "ip", "addr", "flush", "dev", "d0", "scope", "global")
	eventually(t, "_x._tcp", func(found []discovery.Found) bool {
		return len(found) == 1 && len(found[0].Addresses) == 1 && found[0].Addresses[0].Zone() == "d0" &&
			strings.HasPrefix(found[0].URLs("http")[0], "http://[fe80::")
	})
	time.AfterFunc(500*time.Millisecond, func() { _ = exec.CommandContext(t.Context(), "ip", "link", "del", "d0").Run() })
	require.Len(t, scan(t, "_x._tcp", 1500*time.Millisecond), 1, "the cable is pulled during a scan")
	require.Equal(t, "mDNS advertisement failed; retrying", <-log)
	add("d1", "10.2.0.1/24")
	finds("10.2.0.1")
	require.Equal(t, "mDNS advertisement resumed", <-log)
	require.Empty(t, log)
}

// Whatever the network sends: a scan ends in time with a bounded answer, and a service goes on answering.
func TestFloods(t *testing.T) {
	if !realtest.Isolated(t) {
		return
	}
	realtest.NewNetwork(t).Cable(t, "d0", "10.1.0.1/24", "far0", "10.1.0.2/24")
	realtest.Run(t, "ip", "route", "add", "224.0.0.0/4", "dev", "d0")
	advertise(t, mdns.Service{Instance: "ours", Type: "_x._tcp", Port: 1}, mdns.Options{})
	eventually(t, "_x._tcp", func(found []discovery.Found) bool { return len(found) == 1 })

	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(224, 0, 0, 0), Port: 5353})
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	sent, torn := make(chan int), []byte{0, 0, 0x84, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0, 0xc0, 0x0c}
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			_, _ = conn.WriteTo(answer(n), &net.UDPAddr{IP: net.IPv4(224, 0, 0, 251), Port: 5353})
			_, _ = conn.WriteTo(torn, &net.UDPAddr{IP: net.IPv4(224, 0, 0, 251), Port: 5353})
		}
		sent <- n
	}()
	before := heap()
	found, err := mdns.NewScanner(mdns.ScannerOptions{}).Scan(ctx, "_x._tcp")
	require.NoError(t, err)
	require.LessOrEqual(t, len(found), 1024)
	after := heap()
	t.Logf("%d answers sent, %d services found, heap %d MB", <-sent, len(found), (after-before)>>20)
	require.Less(t, after-before, int64(128<<20))
	for _, f := range found {
		require.LessOrEqual(t, len(f.Addresses), 16)
		require.LessOrEqual(t, len(f.Text), 64)
	}
	eventually(t, "_x._tcp", func(found []discovery.Found) bool { return len(found) >= 1 && found[len(found)-1].Instance == "ours" })
}

// heap is in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // far from the limit
}

// answer is a hostile answer: several services with many addresses and a great text.
func answer(n int) []byte {
	m := &dns.Msg{MsgHdr: dns.MsgHdr{Response: true}, Compress: true}
	header := func(name string, kind uint16) dns.RR_Header {
		return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: 3600}
	}
	for i := range 4 {
		name := fmt.Sprintf("i%d-%d._x._tcp.local.", n, i)
		text := make([]string, 150)
		for k := range text {
			text[k] = fmt.Sprintf(`k%d=\255%s`, k, strings.Repeat("v", 60))
		}
		m.Answer = append(m.Answer, &dns.PTR{Hdr: header("_x._tcp.local.", dns.TypePTR), Ptr: name},
			&dns.SRV{Hdr: header(name, dns.TypeSRV), Port: 1, Target: "h.local."}, &dns.TXT{Hdr: header(name, dns.TypeTXT), Txt: text})
	}
	for i := range 100 {
		m.Extra = append(m.Extra, &dns.A{Hdr: header("h.local.", dns.TypeA), A: net.IPv4(10, 1, 1, byte(i+1))})
	}
	packet, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return packet
}
