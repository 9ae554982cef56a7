package oneport

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/otkit/otkit/transport/remote"
)

// Defaults of Options.
const (
	DefaultMaxConns     = 16384
	DefaultSniffTimeout = 10 * time.Second
)

// Options of a Port. One of Addr and Listener is needed.
type Options struct {
	Addr     string       // TCP address to listen on, such as ":5001"
	Listener net.Listener // taken instead of Addr; the Port closes it
	TLS      *tls.Config  // nil serves without TLS; NextProtos is set by the Port. See Certificates
	MaxConns int          // concurrently open connections; some more wait for a place. 0 is DefaultMaxConns; see FitConns
	// MaxConnsPerAddress is how many of them one address may have, an IPv6 /64 being one; 0 is no limit. Unlimited reports
	// whether an address, such as that of a proxy, has no such limit; it may be nil.
	MaxConnsPerAddress int
	Unlimited          func(net.Addr) bool
	// LimitsOf is a port with which this one shares the limits and the count of connections; MaxConns, MaxConnsPerAddress
	// and Unlimited are not read then. It may be nil.
	LimitsOf *Port
	// Probe is the path of a liveness probe: a GET or HEAD of it is answered with 200 and ProbeBody also beyond the limits.
	Probe, ProbeBody string

	SniffTimeout time.Duration // for the TLS handshake and the first bytes together. 0 is DefaultSniffTimeout
	Logger       *slog.Logger  // nil discards
}

// Port is one listening port with two sides. Its methods are safe for concurrent use.
type Port struct {
	listener net.Listener
	tls      *tls.Config
	timeout  time.Duration
	log      *slog.Logger

	http, grpc       *side
	gate             *gate
	lobby            lobby
	probe, probeBody string
	refused          atomic.Uint64
	warned           time.Time // when it was last logged that a limit is reached; of accept alone

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // Serve and the goroutines that look at connections

	mu      sync.Mutex
	closed  bool
	pending map[net.Conn]struct{} // accepted, not handed to a side yet
}

// Listen opens the port. Connections are accepted once Serve runs.
func Listen(o Options) (*Port, error) {
	if o.MaxConns < 0 {
		return nil, fmt.Errorf("oneport: MaxConns is %d, must not be negative", o.MaxConns)
	}
	if o.MaxConnsPerAddress < 0 {
		return nil, fmt.Errorf("oneport: MaxConnsPerAddress is %d, must not be negative", o.MaxConnsPerAddress)
	}
	if o.SniffTimeout < 0 {
		return nil, fmt.Errorf("oneport: SniffTimeout is %v, must not be negative", o.SniffTimeout)
	}
	if (o.Addr == "") == (o.Listener == nil) {
		return nil, errors.New("oneport: one of Addr and Listener is needed")
	}
	if o.MaxConns == 0 {
		o.MaxConns = DefaultMaxConns
	}
	if o.SniffTimeout == 0 {
		o.SniffTimeout = DefaultSniffTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Listener == nil {
		l, err := net.Listen("tcp", o.Addr)
		if _, bad := errors.AsType[*net.AddrError](err); bad {
			return nil, fmt.Errorf("oneport: Addr: %w", err)
		}
		if err != nil {
			return nil, err // listen tcp :5001: bind: address already in use
		}
		o.Listener = l
	}
	p := &Port{
		listener: o.Listener,
		timeout:  o.SniffTimeout,
		log:      o.Logger,
		http:     newSide(o.Listener.Addr()),
		grpc:     newSide(o.Listener.Addr()),
		gate:     newGate(o),
		probe:    o.Probe, probeBody: o.ProbeBody,
		pending: make(map[net.Conn]struct{}),
	}
	if o.LimitsOf != nil {
		p.gate = o.LimitsOf.gate
	}
	if o.TLS != nil {
		p.tls = chooseProtocol(o.TLS)
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// HTTP returns the listener for an HTTP/1.1 server, to be served without TLS of its own: requests have
// their TLS state when they came over TLS. Closing it ends only this side.
func (p *Port) HTTP() net.Listener { return p.http }

// GRPC returns the listener for a gRPC server, which takes its credentials from Credentials. Closing
// it ends only this side.
func (p *Port) GRPC() net.Listener { return p.grpc }

// Addr returns the listening address.
func (p *Port) Addr() net.Addr { return p.listener.Addr() }

// Refused returns how many connections found no place.
func (p *Port) Refused() uint64 { return p.refused.Load() }

// Serve accepts connections until ctx ends or Close is called, and then returns nil after closing the
// port. It returns an error when the listener fails for good.
func (p *Port) Serve(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.wg.Add(1)
	p.mu.Unlock()
	stop := context.AfterFunc(ctx, p.shut)
	err := p.accept()
	stop()
	p.wg.Done()
	return errors.Join(err, p.Close())
}

// Close stops listening, drops the connections that no side has taken yet, ends both sides' Accept
// and waits until nothing of the Port runs any more. Connections that a server took stay open; they
// are the server's to end. It may be called more than once.
func (p *Port) Close() error {
	p.shut()
	p.wg.Wait()
	return nil
}

func (p *Port) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	p.cancel()
	_ = p.listener.Close() // an error means that it was closed before
	_ = p.http.Close()
	_ = p.grpc.Close()
	for c := range p.pending {
		_ = c.Close()
	}
}

func (p *Port) accept() error {
	var delay time.Duration
	for p.ctx.Err() == nil {
		c, err := p.listener.Accept()
		if err != nil {
			if p.ctx.Err() != nil {
				return nil //nolint:nilerr // Accept failed because the port closes
			}
			if errors.Is(err, net.ErrClosed) {
				return fmt.Errorf("oneport: accept: %w", err)
			}
			// Too many open files, a connection reset before it was accepted: the listener goes on.
			delay = min(max(5*time.Millisecond, 2*delay), time.Second)
			p.log.Warn("accept failed", "error", err, "retryIn", delay)
			select {
			case <-time.After(delay):
			case <-p.ctx.Done():
			}
			continue
		}
		delay = 0
		p.admit(c)
	}
	return nil
}

// limitLog is how often it is logged that a limit of connections is reached, at most.
const limitLog = time.Minute

// admit assigns a connection a place, or puts it in the lobby to wait.
func (p *Port) admit(c net.Conn) {
	host := remote.HostOf(c.RemoteAddr())
	ok, _ := p.gate.take(c.RemoteAddr(), host)
	if ok {
		taken := &counted{Conn: c, gate: p.gate, host: host}
		p.start(taken, func() { p.route(taken) })
		return
	}
	if now := time.Now(); now.Sub(p.warned) >= limitLog {
		p.warned = now
		p.log.Warn("limit of connections reached, new ones wait", "address", p.Addr().String(), "open", p.gate.open(), "limit", p.gate.most,
			"limitPerAddress", p.gate.perAddress, "remote", c.RemoteAddr().String())
	}
	g, dropped := p.lobby.enter(c, host)
	if dropped {
		p.refused.Add(1)
	}
	p.start(g, func() { p.wait(g) })
}

// start looks at a connection in a goroutine of its own.
func (p *Port) start(c net.Conn, look func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = c.Close()
		return
	}
	p.pending[c] = struct{}{}
	p.wg.Go(look)
}

// route finds out what a connection speaks and hands it to its side, or drops it.
func (p *Port) route(c *counted) {
	_ = c.SetDeadline(time.Now().Add(p.timeout)) // fails on a closed connection only; the read tells
	conn, err := p.open(c)
	if err == nil {
		err = conn.sniff()
	}
	p.hand(c, conn, err)
}

// hand passes a connection to the side of its protocol, unless err is set.
func (p *Port) hand(c *counted, conn *conn, err error) {
	p.mu.Lock()
	delete(p.pending, c)
	p.mu.Unlock()
	if err != nil {
		p.log.Debug("connection dropped", "remote", c.RemoteAddr().String(), "error", err)
		_ = c.Close()
		return
	}
	_ = c.SetDeadline(time.Time{})
	if conn.http2 {
		p.grpc.hand(conn.asNetConn())
	} else {
		p.http.hand(conn.asNetConn())
	}
}

// open does the TLS handshake where there is one.
func (p *Port) open(c net.Conn) (*conn, error) {
	if p.tls == nil {
		return &conn{Conn: c}, nil
	}
	t := tls.Server(c, p.tls)
	if err := t.Handshake(); err != nil {
		answerPlainHTTP(err)
		return nil, err
	}
	return &conn{Conn: t, tls: t}, nil
}
