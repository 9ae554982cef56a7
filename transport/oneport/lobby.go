package oneport

import (
	"bytes"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// lobbyPlaces is how many connections wait for a place beyond the limits. When one more comes, the one that has waited
// longest is dropped: so a probe, which sends its request immediately, is answered however many hold their places.
const lobbyPlaces = 64

// maxHead is how much of a request is read in the lobby.
const maxHead = 4 << 10

// lobby holds the connections that wait, oldest first.
type lobby struct {
	mu     sync.Mutex
	guests []*guest
}

// guest is a connection in the lobby.
type guest struct {
	net.Conn
	host string
	gone chan struct{} // closed when it was dropped for another one
}

// enter lets a connection in, and drops the oldest one when there are too many; dropped reports whether it did.
func (l *lobby) enter(c net.Conn, host string) (g *guest, dropped bool) {
	g = &guest{Conn: c, host: host, gone: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.guests) >= lobbyPlaces {
		oldest := l.guests[0]
		l.guests = slices.Delete(l.guests, 0, 1)
		close(oldest.gone)
		_ = oldest.Close() // whoever reads from it sees that
		dropped = true
	}
	l.guests = append(l.guests, g)
	return g, dropped
}

// leave reports whether the guest was still there.
func (l *lobby) leave(g *guest) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.Index(l.guests, g)
	if i < 0 {
		return false
	}
	l.guests = slices.Delete(l.guests, i, i+1)
	return true
}

// wait answers a probe, or has another connection wait for a place. It ends when the connection is routed or dropped.
func (p *Port) wait(c *guest) {
	_ = c.SetDeadline(time.Now().Add(p.timeout)) // fails on a closed connection only; the read tells
	conn, head, err := p.readHead(c)
	switch {
	case err != nil:
		p.abandon(c, err)
		return
	case p.isProbe(head):
		_, _ = io.WriteString(conn.Conn, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nContent-Length: "+
			strconv.Itoa(len(p.probeBody))+"\r\n\r\n"+probeBody(head, p.probeBody))
		p.abandon(c, nil)
		return
	}
	counted, err := p.awaitPlace(c)
	if err != nil {
		if !bytes.HasPrefix(head, []byte(prefacePrefix)) {
			_ = c.SetDeadline(time.Now().Add(time.Second))
			_, _ = io.WriteString(conn.Conn, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Type: text/plain\r\n\r\nToo many connections.\n")
		}
		select {
		case <-c.gone: // it was counted
		default:
			p.refused.Add(1)
		}
		p.abandon(c, err)
		return
	}
	// Reading replays what was read, and closing frees the place.
	conn.Conn = &replay{Conn: conn.Conn, data: head, close: counted.Close}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		_ = counted.Close()
		return
	}
	delete(p.pending, c)
	p.pending[counted] = struct{}{}
	p.mu.Unlock()
	p.hand(counted, conn, conn.sniff())
}

// readHead reads until the request line is there.
func (p *Port) readHead(c net.Conn) (*conn, []byte, error) {
	conn, err := p.open(c)
	if err != nil {
		return nil, nil, err
	}
	head := make([]byte, 0, maxHead)
	for {
		n, err := conn.Conn.Read(head[len(head):cap(head)])
		head = head[:len(head)+n]
		if p.isProbe(head) { // to its end: closing before that would cut the answer
			if bytes.Contains(head, []byte("\r\n\r\n")) || len(head) == cap(head) {
				return conn, head, nil
			}
		} else if bytes.IndexByte(head, '\n') >= 0 || len(head) == cap(head) {
			return conn, head, nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

// isProbe reports whether a request is the one for liveness.
func (p *Port) isProbe(head []byte) bool {
	method, rest, _ := bytes.Cut(head, []byte(" "))
	target, _, whole := bytes.Cut(rest, []byte(" "))
	return p.probe != "" && whole && (string(method) == "GET" || string(method) == "HEAD") && string(target) == p.probe
}

func probeBody(head []byte, body string) string {
	if bytes.HasPrefix(head, []byte("HEAD")) {
		return ""
	}
	return body
}

var errNoPlace = errors.New("too many connections")

// awaitPlace waits for a place as long as the lobby keeps the connection.
func (p *Port) awaitPlace(c *guest) (*counted, error) {
	timer := time.NewTimer(p.timeout)
	defer timer.Stop()
	for {
		ok, freed := p.gate.take(c.RemoteAddr(), c.host)
		if ok {
			taken := &counted{Conn: c, gate: p.gate, host: c.host}
			if !p.lobby.leave(c) { // dropped meanwhile
				_ = taken.Close()
				return nil, errNoPlace
			}
			return taken, nil
		}
		select {
		case <-freed:
		case <-c.gone:
			return nil, errNoPlace
		case <-timer.C:
			return nil, errNoPlace
		case <-p.ctx.Done():
			return nil, errNoPlace
		}
	}
}

func (p *Port) abandon(c *guest, err error) {
	p.lobby.leave(c)
	p.mu.Lock()
	delete(p.pending, c)
	p.mu.Unlock()
	if err != nil {
		p.log.Debug("connection dropped", "remote", c.RemoteAddr().String(), "error", err)
	}
	_ = c.Close()
}

// replay is a connection that replays what was read from it.
type replay struct {
	net.Conn
	data  []byte
	close func() error
}

func (r *replay) Read(b []byte) (int, error) {
	if len(r.data) > 0 {
		n := copy(b, r.data)
		r.data = r.data[n:]
		return n, nil
	}
	return r.Conn.Read(b)
}

// Close also closes what lies beneath, so that its place is free.
func (r *replay) Close() error { return errors.Join(r.Conn.Close(), ignoreClosed(r.close())) }

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
