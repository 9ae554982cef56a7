package middleware

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// listen runs a server until the test ends and gives its address.
func listen(t *testing.T, h http.Handler, o ServerOptions) string {
	server, err := NewServer(h, o)
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		_ = server.Close()
		require.ErrorIs(t, <-done, http.ErrServerClosed)
	})
	return l.Addr().String()
}

// TestSlowClientsAreCut has a client stop at each stage of a request.
func TestSlowClientsAreCut(t *testing.T) {
	addr := listen(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }),
		ServerOptions{HeaderTimeout: 100 * time.Millisecond, RequestTimeout: 200 * time.Millisecond, IdleTimeout: 100 * time.Millisecond})
	for name, sent := range map[string]string{
		"in the head":       "GET / HTTP/1.1\r\nHost: x\r\nX-Slow: ",
		"in the body":       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc",
		"after the request": "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"at once":           "",
	} {
		t.Run(name, func(t *testing.T) {
			c, err := net.Dial("tcp", addr)
			require.NoError(t, err)
			defer func() { _ = c.Close() }()
			_, err = io.WriteString(c, sent)
			require.NoError(t, err)
			require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
			_, err = io.Copy(io.Discard, c)
			require.NoError(t, err, "the server ends the connection")
		})
	}
}

func TestLargeHeadIsRefused(t *testing.T) {
	addr := listen(t, http.NotFoundHandler(), ServerOptions{})
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+addr, nil)
	require.NoError(t, err)
	req.Header.Set("X-Large", strings.Repeat("x", 80<<10))
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, 431, resp.StatusCode)
	http.DefaultClient.CloseIdleConnections()
}

// TestStreamOutlivesTheTimeouts has one handler that streams and one that only tries to.
func TestStreamOutlivesTheTimeouts(t *testing.T) {
	const limit = time.Second
	ended := make(chan error, 1)
	addr := listen(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/stream" {
			if err := Stream(w); err != nil {
				ended <- err
				return
			}
		}
		rc := http.NewResponseController(w)
		for range 4 {
			select {
			case <-r.Context().Done():
				ended <- r.Context().Err()
				return
			case <-time.After(limit / 2):
			}
			_, err := io.WriteString(w, "tick\n")
			if err = errors.Join(err, rc.Flush()); err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}), ServerOptions{RequestTimeout: limit, WriteTimeout: limit})

	for path, whole := range map[string]bool{"/stream": true, "/plain": false} {
		c, err := net.Dial("tcp", addr)
		require.NoError(t, err)
		_, err = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		require.NoError(t, err)
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.Equal(t, whole, err == nil && strings.Count(string(body), "tick") == 4, "%s: %v %q", path, err, body)
		require.Equal(t, whole, <-ended == nil, path)
		require.NoError(t, c.Close())
	}
}

func TestBadServerOptions(t *testing.T) {
	for field, o := range map[string]ServerOptions{
		"HeaderTimeout": {HeaderTimeout: -1}, "RequestTimeout": {RequestTimeout: -1}, "WriteTimeout": {WriteTimeout: -1},
		"IdleTimeout": {IdleTimeout: -1}, "MaxHeaderBytes": {MaxHeaderBytes: -1},
	} {
		_, err := NewServer(nil, o)
		require.ErrorContains(t, err, field)
	}
}
