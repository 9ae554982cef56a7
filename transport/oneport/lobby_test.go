package oneport

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials/insecure"
)

// fill opens silent connections until the port has as many as it takes.
func fill(t *testing.T, p *running, n int) []net.Conn {
	var held []net.Conn
	for range n {
		c, err := net.Dial("tcp", p.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		held = append(held, c)
	}
	return held
}

func probe(t *testing.T, c net.Conn, request string) (*http.Response, string) {
	t.Helper()
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
	_, err := io.WriteString(c, request)
	require.NoError(t, err)
	method := http.MethodGet
	if request[0] == 'H' {
		method = http.MethodHead
	}
	r, err := http.ReadResponse(bufio.NewReader(c), &http.Request{Method: method})
	require.NoError(t, err)
	body, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.NoError(t, r.Body.Close())
	return r, string(body)
}

const live = "GET /live HTTP/1.1\r\nHost: a\r\n\r\n"

// At the limit, with the lobby full of connections that say nothing, the probe of liveness is answered at once.
func TestProbeAtTheLimit(t *testing.T) {
	for name, o := range map[string]Options{
		"all":        {MaxConns: 3},
		"by address": {MaxConns: 1000, MaxConnsPerAddress: 3},
	} {
		t.Run(name, func(t *testing.T) {
			o.SniffTimeout, o.Probe, o.ProbeBody = time.Minute, "/live", `{"ok":true}`
			p := start(t, o)
			fill(t, p, 3+2*lobbyPlaces)
			require.Eventually(t, func() bool { return p.gate.open() == 3 && p.Refused() >= lobbyPlaces }, time.Minute, time.Millisecond)
			r, body := probe(t, fill(t, p, 1)[0], live)
			require.Equal(t, 200, r.StatusCode)
			require.Equal(t, `{"ok":true}`, body)
			r, body = probe(t, fill(t, p, 1)[0], "HEAD /live HTTP/1.1\r\nHost: a\r\n\r\n")
			require.Equal(t, 200, r.StatusCode)
			require.Empty(t, body)
		})
	}
}

func TestProbeAtTheLimitWithTLS(t *testing.T) {
	ca := newAuthority(t)
	f := ca.files(t, "server")
	cfg, err := Certificates(CertificateOptions{CertFile: f.cert, KeyFile: f.key})
	require.NoError(t, err)
	p := start(t, Options{TLS: cfg, MaxConns: 1, SniffTimeout: time.Minute, Probe: "/live", ProbeBody: "ok"})
	held := fill(t, p, 1)
	require.Eventually(t, func() bool { return p.gate.open() == 1 }, time.Minute, time.Millisecond)
	c, err := tls.Dial("tcp", p.Addr().String(), &tls.Config{RootCAs: ca.pool, ServerName: "localhost"})
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	r, body := probe(t, c, live)
	require.Equal(t, 200, r.StatusCode)
	require.Equal(t, "ok", body)

	done := make(chan string, 1)
	go func() {
		body, err := get(t, "https://"+p.Addr().String(), &tls.Config{RootCAs: ca.pool})
		done <- fmt.Sprint(body, err)
	}()
	require.Eventually(t, func() bool { p.lobby.mu.Lock(); defer p.lobby.mu.Unlock(); return len(p.lobby.guests) == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, held[0].Close())
	require.Contains(t, <-done, "<nil>", "what was read in the lobby is not lost")
	require.Eventually(t, func() bool { return p.gate.open() == 0 }, time.Minute, time.Millisecond, "its place is given back")
}

func TestLimitOfAnAddress(t *testing.T) {
	p := start(t, Options{MaxConnsPerAddress: 2, SniffTimeout: 200 * time.Millisecond, Probe: "/live"})
	fill(t, p, 2)
	first := fill(t, p, 1)[0]
	require.NoError(t, first.SetDeadline(time.Now().Add(time.Minute)))
	_, err := io.WriteString(first, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	require.NoError(t, err)
	r, err := http.ReadResponse(bufio.NewReader(first), nil)
	require.NoError(t, err)
	require.Contains(t, []int{200, 503}, r.StatusCode, "it waits until one of the silent ones is dropped, or is told so")
	require.NoError(t, r.Body.Close())

	p = start(t, Options{MaxConnsPerAddress: 2, SniffTimeout: time.Minute, Unlimited: func(net.Addr) bool { return true }})
	fill(t, p, 5)
	require.Eventually(t, func() bool { return p.gate.open() == 5 }, time.Minute, time.Millisecond, "a proxy has no such limit")
}

func TestGRPCWaitsInTheLobby(t *testing.T) {
	p := start(t, Options{MaxConns: 1, SniffTimeout: time.Minute})
	held := fill(t, p, 1)
	require.Eventually(t, func() bool { return p.gate.open() == 1 }, time.Minute, time.Millisecond)
	done := make(chan error, 1)
	go func() {
		_, err := check(t, p.Addr().String(), insecure.NewCredentials())
		done <- err
	}()
	require.Eventually(t, func() bool { p.lobby.mu.Lock(); defer p.lobby.mu.Unlock(); return len(p.lobby.guests) == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, held[0].Close())
	require.NoError(t, <-done)
}

func TestFitConns(t *testing.T) {
	for files, want := range map[uint64]int{math.MaxUint64: 16384, 65536: 16384, 20000: 16384, 16384: 15296, 4096: 3520, 1024: 832, 256: 64, 64: 16, 1: 1} {
		got := fitConns(16384, files)
		require.Equal(t, want, got, files)
		require.Less(t, uint64(got), max(files, 2), files)
	}
	require.Equal(t, 100, fitConns(100, 1024), "a lower setting stays")
}
