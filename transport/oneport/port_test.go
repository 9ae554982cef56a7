package oneport

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/otkit/otkit/internal/realtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const serving = grpc_health_v1.HealthCheckResponse_SERVING

func TestBothProtocolsAtOnce(t *testing.T) {
	ca := newAuthority(t)
	f := ca.files(t, "server")
	cfg, err := Certificates(CertificateOptions{CertFile: f.cert, KeyFile: f.key})
	require.NoError(t, err)
	clientTLS := &tls.Config{RootCAs: ca.pool}

	for name, tt := range map[string]struct {
		server *tls.Config
		scheme string
		creds  credentials.TransportCredentials
		body   string
	}{
		"plain": {nil, "http://", insecure.NewCredentials(), "HTTP/1.1 GET tls=false client="},
		"TLS":   {cfg, "https://", credentials.NewTLS(clientTLS), "HTTP/1.1 GET tls=true client="},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, Options{TLS: tt.server})
			var group errgroup.Group
			for range 20 {
				group.Go(func() error {
					body, err := get(t, tt.scheme+p.Addr().String(), clientTLS)
					if err == nil && body != tt.body {
						err = errors.New(body)
					}
					return err
				})
				group.Go(func() error {
					status, err := check(t, p.Addr().String(), tt.creds)
					if err == nil && status != serving {
						err = errors.New(status.String())
					}
					return err
				})
			}
			require.NoError(t, group.Wait())
		})
	}
}

func TestCurl(t *testing.T) {
	curl := realtest.Need(t, "curl")
	ca := newAuthority(t)
	f := ca.files(t, "server")
	cfg, err := Certificates(CertificateOptions{CertFile: f.cert, KeyFile: f.key})
	require.NoError(t, err)
	plain, secure := start(t, Options{}), start(t, Options{TLS: cfg})

	for _, args := range [][]string{
		{"http://" + plain.Addr().String()},
		{"--http2", "http://" + plain.Addr().String()},
		{"--http1.0", "http://" + plain.Addr().String()},
		{"-X", "PROPFIND", "http://" + plain.Addr().String()},
		{"-X", "PUT", "-d", "x", "http://" + plain.Addr().String()},
		{"--http1.1", "https://" + secure.Addr().String()},
		{"--http2", "https://" + secure.Addr().String()},
		{"--no-alpn", "https://" + secure.Addr().String()},
		{"--tls-max", "1.2", "https://" + secure.Addr().String()},
	} {
		t.Run(fmt.Sprint(args[:len(args)-1]), func(t *testing.T) {
			out, err := exec.Command(curl, append([]string{"-sS", "--max-time", "60", "--cacert", f.ca}, args...)...).CombinedOutput()
			require.NoError(t, err, string(out))
			require.Regexp(t, "^HTTP/1.[01] [A-Z]+ tls=", string(out))
		})
	}
	out, err := exec.Command(curl, "-sS", "--max-time", "60", "http://"+secure.Addr().String()).CombinedOutput()
	require.NoError(t, err)
	require.Contains(t, string(out), "HTTPS")
}

// TestBadClientsDelayNobody keeps clients of every bad sort open while good ones are served, and
// sees each bad one dropped at the end of its time.
func TestBadClientsDelayNobody(t *testing.T) {
	ca := newAuthority(t)
	f := ca.files(t, "server")
	cfg, err := Certificates(CertificateOptions{CertFile: f.cert, KeyFile: f.key})
	require.NoError(t, err)
	for name, server := range map[string]*tls.Config{"plain": nil, "TLS": cfg} {
		t.Run(name, func(t *testing.T) {
			p := start(t, Options{TLS: server, SniffTimeout: 3 * time.Second})
			var bad []net.Conn
			for _, first := range []string{"", "P", "PR", "\x16", "\x16\x03\x01\x02"} {
				c, err := net.Dial("tcp", p.Addr().String())
				require.NoError(t, err)
				defer func() { _ = c.Close() }()
				_, err = io.WriteString(c, first)
				require.NoError(t, err)
				if server == nil && len(first) > 0 && first[0] == 0x16 {
					continue // without TLS these are the HTTP server's to refuse
				}
				bad = append(bad, c)
			}
			scheme, creds := "http://", insecure.NewCredentials()
			if server != nil {
				scheme, creds = "https://", credentials.NewTLS(&tls.Config{RootCAs: ca.pool})
			}
			_, err := get(t, scheme+p.Addr().String(), &tls.Config{RootCAs: ca.pool})
			require.NoError(t, err)
			_, err = check(t, p.Addr().String(), creds)
			require.NoError(t, err)
			for _, c := range bad {
				require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
				_, err := io.Copy(io.Discard, c)
				require.False(t, isTimeout(err), "the port has not dropped the client")
			}
		})
	}
}

func isTimeout(err error) bool {
	var netErr net.Error
	return errors.As(err, &netErr) && netErr.Timeout()
}

func TestGarbageGetsAnHTTPAnswer(t *testing.T) {
	p := start(t, Options{})
	for _, garbage := range []string{"\x00\x01\x02\x03\r\n\r\n", "PRX\r\n\r\n", "\xff\xff\xff\xff\xff\r\n\r\n", "P\r\n\r\n"} {
		c, err := net.Dial("tcp", p.Addr().String())
		require.NoError(t, err)
		_, err = io.WriteString(c, garbage)
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		require.Equal(t, 400, resp.StatusCode)
		require.NoError(t, c.Close())
	}
}

func TestSlowPrefaceIsStillGRPC(t *testing.T) {
	p := start(t, Options{})
	c, err := net.Dial("tcp", p.Addr().String())
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	for _, b := range []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") {
		_, err = c.Write([]byte{b})
		require.NoError(t, err)
	}
	_, err = c.Write([]byte{0, 0, 0, 4, 0, 0, 0, 0, 0}) // an empty SETTINGS frame
	require.NoError(t, err)
	header := make([]byte, 9)
	_, err = io.ReadFull(c, header)
	require.NoError(t, err)
	require.EqualValues(t, 4, header[3], "the gRPC server answers with SETTINGS")
}

func TestLimitOfConnections(t *testing.T) {
	p := start(t, Options{MaxConns: 2, SniffTimeout: time.Minute})
	var idle []net.Conn
	for range 2 {
		c, err := net.Dial("tcp", p.Addr().String())
		require.NoError(t, err)
		defer func() { _ = c.Close() }()
		idle = append(idle, c)
	}
	require.Eventually(t, func() bool { return p.gate.open() == 2 }, time.Minute, time.Millisecond)

	done := make(chan error, 1)
	go func() {
		_, err := get(t, "http://"+p.Addr().String(), nil)
		done <- err
	}()
	select {
	case err := <-done:
		t.Fatalf("a third connection was served: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	require.NoError(t, idle[0].Close())
	require.NoError(t, <-done, "it is served once there is room")
	require.NoError(t, idle[1].Close())
	require.Eventually(t, func() bool { return p.gate.open() <= 1 }, time.Minute, time.Millisecond,
		"closed connections give their places back")
}

func TestCloseEndsEverything(t *testing.T) {
	p, err := Listen(Options{Addr: "127.0.0.1:0", SniffTimeout: time.Hour})
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- p.Serve(t.Context()) }()

	silent, err := net.Dial("tcp", p.Addr().String()) // being looked at
	require.NoError(t, err)
	defer func() { _ = silent.Close() }()
	waiting, err := net.Dial("tcp", p.Addr().String()) // looked at, and nobody accepts it
	require.NoError(t, err)
	defer func() { _ = waiting.Close() }()
	_, err = io.WriteString(waiting, "GET / HTTP/1.1\r\n\r\n")
	require.NoError(t, err)
	require.Eventually(t, func() bool { return p.gate.open() >= 2 }, time.Minute, time.Millisecond)

	var accepts sync.WaitGroup
	errs := make([]error, 1)
	accepts.Go(func() { _, errs[0] = p.GRPC().Accept() })
	require.NoError(t, p.Close())
	accepts.Wait()
	require.ErrorIs(t, errs[0], net.ErrClosed)
	_, err = p.HTTP().Accept()
	require.ErrorIs(t, err, net.ErrClosed)
	require.NoError(t, <-served)
	for _, c := range []net.Conn{silent, waiting} {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
		_, err = c.Read(make([]byte, 1))
		require.Error(t, err)
		require.False(t, isTimeout(err))
	}
	require.NoError(t, p.Close(), "a second Close is harmless")
	require.NoError(t, p.Serve(t.Context()), "Serve after Close ends at once")
	require.Zero(t, p.gate.open())
}

func TestServeEndsWithItsContext(t *testing.T) {
	p, err := Listen(Options{Addr: "127.0.0.1:0"})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, p.Serve(ctx))
	_, err = p.HTTP().Accept()
	require.ErrorIs(t, err, net.ErrClosed)
}

func TestOneSideClosed(t *testing.T) {
	p := start(t, Options{})
	require.NoError(t, p.HTTP().Close())
	_, err := get(t, "http://"+p.Addr().String(), nil)
	require.Error(t, err)
	status, err := check(t, p.Addr().String(), insecure.NewCredentials())
	require.NoError(t, err)
	require.Equal(t, serving, status)
}

// flaky fails its first calls of Accept in the way of a system that has run out of files.
type flaky struct {
	net.Listener
	failures int
}

func (f *flaky) Accept() (net.Conn, error) {
	if f.failures > 0 {
		f.failures--
		return nil, errors.New("too many open files")
	}
	return f.Listener.Accept()
}

func TestAcceptGoesOnAfterFailures(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := start(t, Options{Listener: &flaky{Listener: l, failures: 3}})
	_, err = get(t, "http://"+p.Addr().String(), nil)
	require.NoError(t, err)
}

func TestServeReportsALostListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p, err := Listen(Options{Listener: l})
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.ErrorIs(t, p.Serve(t.Context()), net.ErrClosed)
}

func TestBadOptions(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	for name, o := range map[string]Options{
		"Addr": {}, "Listener": {Addr: ":0", Listener: l}, "MaxConns": {Addr: ":0", MaxConns: -1},
		"SniffTimeout": {Addr: ":0", SniffTimeout: -1}, "Addr:": {Addr: "no port"},
	} {
		_, err := Listen(o)
		require.ErrorContains(t, err, name)
	}
}
