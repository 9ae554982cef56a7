package auth

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// issuerTransport is how the outside issuer is asked. It keeps requests to https or this host,
// redirects included, bounds what is read, and answers a repeated question from memory for a
// short time: go-oidc asks for keys again with every token that it cannot verify, so a stranger
// could otherwise make us flood the issuer.
type issuerTransport struct {
	base http.RoundTripper
	now  func() time.Time

	mu   sync.Mutex
	last struct {
		url    string
		at     time.Time
		status int
		header http.Header
		body   []byte
	}
}

// RoundTrip implements http.RoundTripper.
func (t *issuerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := checkScheme(r.URL); err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last.url == r.URL.String() && t.now().Sub(t.last.at) < oidcKeyAge {
		return t.answer(r), nil
	}
	resp, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, oidcMaxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(body) > oidcMaxBytes {
		return nil, fmt.Errorf("answer has more than %d bytes", oidcMaxBytes)
	}
	t.last.url, t.last.at, t.last.status, t.last.header, t.last.body = r.URL.String(), t.now(), resp.StatusCode, resp.Header, body
	return t.answer(r), nil
}

func (t *issuerTransport) answer(r *http.Request) *http.Response {
	return &http.Response{
		Status: http.StatusText(t.last.status), StatusCode: t.last.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: t.last.header.Clone(), Body: io.NopCloser(bytes.NewReader(t.last.body)),
		ContentLength: int64(len(t.last.body)), Request: r,
	}
}
