package bridgelink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
	platformv1 "github.com/otkit/otkit/proto/platform/v1"
)

// Keepalive of the connection. A server of ours lets clients ask every 10 s; asking and waiting together stay below link.SilenceLimit.
const (
	askAfter = 12 * time.Second
	waitFor  = 15 * time.Second
)

// dialTimeout is how long Dial waits for the connection if its context does not end earlier.
const dialTimeout = 20 * time.Second

// DialOptions configure [Dial].
type DialOptions struct {
	URL  string   // of the engine: http or https, host and port; without a port 80 or 443. Required
	Pins []string // keys that the engine's certificate may have, see Pin. Required for https
	// Gzip compresses what the bridge sends: a half to three quarters less travels, and a sample takes about 0.4 µs of a processor more.
	Gzip bool
}

// Dial opens a link to an engine. It returns when the connection is established; ctx ends only the dialing. If the engine's key is not
// pinned, the error is an [ErrPin]. Errors do not name the address.
func Dial(ctx context.Context, o DialOptions) (link.BridgeConn, error) {
	target, creds, err := o.target()
	if err != nil {
		return nil, err
	}
	call := []grpc.CallOption{grpc.MaxCallRecvMsgSize(maxMessage)}
	if o.Gzip {
		call = append(call, grpc.UseCompressor(gzip.Name))
	}
	conn, err := grpc.NewClient("passthrough:///"+target,
		grpc.WithTransportCredentials(creds.TransportCredentials()), grpc.WithDefaultCallOptions(call...),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: askAfter, Timeout: waitFor}))
	if err != nil {
		return nil, fmt.Errorf("bridgelink: %w", err)
	}
	dialing, cancelDial := context.WithTimeout(ctx, dialTimeout)
	defer cancelDial()
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(dialing, cancel)
	stream, err := platformv1.NewBridgeLinkClient(conn).Connect(life)
	if !stop() && err == nil {
		err = dialing.Err()
	}
	if err != nil {
		cancel()
		_ = conn.Close() // nothing was sent
		if creds.refused() {
			return nil, ErrPin
		}
		if dialing.Err() != nil {
			err = dialing.Err()
		}
		return nil, received(plain(err))
	}
	return &bridgeConn{conn: conn, stream: stream, cancel: cancel}, nil
}

// plain returns why there is no connection without what gRPC wraps around it, which has the address once more.
func plain(err error) error {
	s, ok := status.FromError(err)
	if !ok || s.Code() != codes.Unavailable {
		return err
	}
	_, quoted, ok := strings.Cut(s.Message(), "connection error: desc = ")
	text, unquoted := strconv.Unquote(quoted)
	if !ok || unquoted != nil {
		return err
	}
	text = strings.TrimPrefix(strings.TrimPrefix(text, "transport: "), "Error while dialing: ")
	if _, reason, ok := strings.Cut(text, ": "); ok && strings.HasPrefix(text, "dial ") {
		text = reason
	}
	return errText(text)
}

// target returns host and port, and the credentials.
func (o *DialOptions) target() (string, *pinCredentials, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", nil, fault.Option("bridgelink", "DialOptions.URL", "%q is not an http or https URL with a host", o.URL)
	}
	port := u.Port()
	if u.Scheme == "http" {
		if port == "" {
			port = "80"
		}
		return net.JoinHostPort(u.Hostname(), port), &pinCredentials{}, nil
	}
	if port == "" {
		port = "443"
	}
	if len(o.Pins) == 0 {
		return "", nil, fault.Option("bridgelink", "DialOptions.Pins", "is required for https")
	}
	if i := slices.IndexFunc(o.Pins, func(pin string) bool { return !validPin(pin) }); i >= 0 {
		return "", nil, fault.Option("bridgelink", "DialOptions.Pins", "%q is not sha256/ and the base64 of a SHA-256", o.Pins[i])
	}
	return net.JoinHostPort(u.Hostname(), port), &pinCredentials{pins: o.Pins}, nil
}

// pinCredentials remember that they refused a key: gRPC returns it as text only.
type pinCredentials struct {
	pins []string
	no   atomic.Bool
}

func (c *pinCredentials) refused() bool { return c.no.Load() }

// TransportCredentials returns the credentials in the form of gRPC.
func (c *pinCredentials) TransportCredentials() credentials.TransportCredentials {
	if c.pins == nil {
		return insecure.NewCredentials()
	}
	config := pinned(slices.Clone(c.pins))
	verify := config.VerifyConnection
	config.VerifyConnection = func(s tls.ConnectionState) error {
		err := verify(s)
		if errors.Is(err, ErrPin) {
			c.no.Store(true)
		}
		return err
	}
	return credentials.NewTLS(config)
}

// bridgeConn is a link.BridgeConn.
type bridgeConn struct {
	conn   *grpc.ClientConn
	stream grpc.BidiStreamingClient[platformv1.BridgeFrame, platformv1.EngineFrame]
	cancel context.CancelFunc

	mu sync.Mutex // held while a frame is sent, which may take several messages
}

// Send implements link.BridgeConn.
func (c *bridgeConn) Send(f link.FromBridge) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for m := range bridgeMessages(f) {
		if err := c.stream.Send(m); err != nil {
			return fmt.Errorf("send: %w", err) // io.EOF when the link has ended; Recv tells why
		}
	}
	return nil
}

// Recv implements link.BridgeConn.
func (c *bridgeConn) Recv() (link.FromEngine, error) {
	m, err := c.stream.Recv()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return link.FromEngine{}, io.EOF
		}
		return link.FromEngine{}, received(err)
	}
	return engineFrame(m)
}

// Close implements link.BridgeConn.
func (c *bridgeConn) Close() error {
	c.cancel()
	_ = c.conn.Close() // an error means that it was closed before
	return nil
}
