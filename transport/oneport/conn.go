package oneport

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
)

// prefacePrefix opens the HTTP/2 preface. No HTTP/1 method begins with it.
const prefacePrefix = "PRI"

// conn is a connection whose first bytes were inspected; reading returns them again.
type conn struct {
	net.Conn
	tls   *tls.Conn // nil without TLS
	http2 bool
	seen  [len(prefacePrefix)]byte
	n     int // bytes of seen that are filled
	given int // bytes of seen that were read again
}

// sniff reads until it is clear whether the client speaks HTTP/2.
func (c *conn) sniff() error {
	for {
		n, err := c.Conn.Read(c.seen[c.n:])
		c.n += n
		if string(c.seen[:c.n]) != prefacePrefix[:c.n] {
			return nil
		}
		if c.n == len(prefacePrefix) {
			c.http2 = true
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Read returns the inspected bytes first, then those that follow.
func (c *conn) Read(b []byte) (int, error) {
	if c.given < c.n {
		n := copy(b, c.seen[c.given:c.n])
		c.given += n
		return n, nil
	}
	return c.Conn.Read(b)
}

// asNetConn hides the TLS state of a connection without TLS, as net/http takes the method's mere
// presence for a sign of TLS.
func (c *conn) asNetConn() net.Conn {
	if c.tls == nil {
		return c
	}
	return &tlsConn{c}
}

type tlsConn struct{ *conn }

// ConnectionState returns the TLS state; net/http puts it into http.Request.TLS.
func (c *tlsConn) ConnectionState() tls.ConnectionState { return c.tls.ConnectionState() }

// chooseProtocol returns a configuration that negotiates ALPN as the package documents.
func chooseProtocol(base *tls.Config) *tls.Config {
	outer := base.Clone()
	outer.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		cfg := base
		if base.GetConfigForClient != nil {
			own, err := base.GetConfigForClient(hello)
			if err != nil {
				return nil, err
			}
			if own != nil {
				cfg = own
			}
		}
		cfg = cfg.Clone()
		cfg.GetConfigForClient = nil
		cfg.NextProtos = []string{"http/1.1"}
		if slices.Contains(hello.SupportedProtos, "h2") && !slices.Contains(hello.SupportedProtos, "http/1.1") {
			cfg.NextProtos = []string{"h2"}
		}
		return cfg, nil
	}
	return outer
}

// answerPlainHTTP answers a client that speaks plain HTTP to a TLS port with an explanation.
func answerPlainHTTP(err error) {
	var header tls.RecordHeaderError
	if !errors.As(err, &header) || header.Conn == nil {
		return
	}
	switch string(header.RecordHeader[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "OPTIO", "DELET", "PATCH":
		_, _ = io.WriteString(header.Conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"+
			"Content-Type: text/plain\r\n\r\nThis port speaks HTTPS.\n")
	}
}
