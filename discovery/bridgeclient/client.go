package bridgeclient

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/fault"
)

// Limits of what a bridge answers, in bytes.
const (
	maxHeader   = 64 << 10
	maxAnswer   = 64 << 10
	maxManifest = 64 << 20 // 200,000 tags with long texts
)

// Options configure a [Client]. The zero value works.
type Options struct {
	RootCAs     *x509.CertPool // authorities of the certificates of https bridges; default: those of the system
	Timeout     time.Duration  // of a status or a release; default 5 s
	BindTimeout time.Duration  // of a bind, whose answer may be long; default 30 s
}

// Client is a [discovery.Bridges]. It follows no redirects, uses no proxy, and reads answers up to a limit. Safe for concurrent use.
type Client struct {
	http *http.Client
	o    Options
}

var _ discovery.Bridges = (*Client)(nil)

// New returns a client.
func New(o Options) (*Client, error) {
	if o.Timeout < 0 || o.BindTimeout < 0 {
		return nil, fault.Option("bridgeclient", "Options.Timeout", "and BindTimeout must not be negative")
	}
	o.Timeout, o.BindTimeout = cmp.Or(o.Timeout, 5*time.Second), cmp.Or(o.BindTimeout, 30*time.Second)
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: o.Timeout}).DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: o.RootCAs, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: o.Timeout, IdleConnTimeout: 2 * time.Minute,
		MaxIdleConns: 200, MaxIdleConnsPerHost: 1, MaxResponseHeaderBytes: maxHeader,
	}
	return &Client{o: o, http: &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// Close closes connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Status implements [discovery.Bridges].
func (c *Client) Status(ctx context.Context, baseURL string) (link.Status, error) {
	var status link.Status
	err := c.call(ctx, request{method: http.MethodGet, url: baseURL + "/api/bridge/status", timeout: c.o.Timeout, limit: maxAnswer, answer: &status})
	return status, err
}

// Bind implements [discovery.Bridges].
func (c *Client) Bind(ctx context.Context, baseURL, secret string, r link.BindRequest) (link.Manifest, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return link.Manifest{}, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	if secret != "" {
		header.Set("X-Bind-Secret", secret)
	}
	var m manifest
	err = c.call(ctx, request{method: http.MethodPost, url: baseURL + "/api/bridge/bind", header: header, body: body, timeout: c.o.BindTimeout,
		limit: maxManifest, answer: &m})
	return m.manifest(), err
}

// Release implements [discovery.Bridges]. A bridge that is free already is no error.
func (c *Client) Release(ctx context.Context, baseURL, token string) error {
	return c.call(ctx, request{method: http.MethodDelete, url: baseURL + "/api/bridge/bind", header: http.Header{"Authorization": {"Bearer " + token}},
		timeout: c.o.Timeout, limit: maxAnswer})
}

type request struct {
	method, url string
	header      http.Header
	body        []byte
	timeout     time.Duration
	limit       int64
	answer      any // where the answer is decoded; nil: it is ignored
}

func (c *Client) call(ctx context.Context, r request) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return discovery.ErrConnection.Wrap(err)
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		return unreachable(err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := refusal(r, res.StatusCode); err != nil || r.answer == nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, r.limit+1))
	switch {
	case err != nil:
		return discovery.ErrConnection.Because("its answer ended early").Wrap(err)
	case int64(len(data)) > r.limit:
		return discovery.ErrBadAnswer.Because("it has more than %d bytes", r.limit)
	}
	if err := json.Unmarshal(data, r.answer); err != nil {
		return discovery.ErrBadAnswer.Because("it is not the JSON of a bridge").Wrap(err)
	}
	return nil
}

// unreachable returns the error for a request without an answer, with the reason but without addresses: viewers read it.
func unreachable(err error) error {
	e := discovery.ErrConnection
	var (
		certificate *tls.CertificateVerificationError
		name        *net.DNSError
		network     net.Error
	)
	switch {
	case errors.As(err, &certificate):
		e = e.Because("its certificate is not trusted")
	case errors.Is(err, http.ErrSchemeMismatch):
		e = e.Because("it does not answer with TLS")
	case errors.As(err, &name):
		e = e.Because("the name of its host cannot be resolved")
	case errors.Is(err, syscall.ECONNREFUSED):
		e = e.Because("connection refused")
	case errors.As(err, &network) && network.Timeout():
		e = e.Because("no answer in time")
	}
	return e.Wrap(err)
}

// refusal returns the error for a status; nil if the call succeeded.
func refusal(r request, status int) error {
	switch {
	case status >= 200 && status < 300, status == http.StatusNotFound && r.method == http.MethodDelete:
		return nil
	case status == http.StatusConflict && r.method == http.MethodPost:
		return discovery.ErrAlreadyBound
	case status == http.StatusUnauthorized && r.method == http.MethodPost:
		return discovery.ErrDenied.Because("the bind secret is missing or wrong")
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return discovery.ErrDenied.Because("it answered %d", status)
	case status >= 300 && status < 400:
		return discovery.ErrBadAnswer.Because("it answered %d; redirects are not followed", status)
	}
	err := discovery.ErrBadAnswer.Because("it answered %d", status)
	if status == http.StatusBadRequest && strings.HasPrefix(r.url, "http:") { // as ports with TLS do
		err = discovery.ErrBadAnswer.Because("it answered %d; the URL of a bridge with TLS begins with https", status)
	}
	return err
}

// manifest is a link.Manifest whose lists are limited while they are read: a short text may have millions of items.
type manifest struct {
	BridgeID, DriverType, DriverID string
	Tags                           limited[link.ManifestTag]
	AvailableSubmodels             limited[string]
	ActiveSubmodels                limited[string]
	Shell                          *link.Shell
	BindingToken                   string
}

func (m *manifest) manifest() link.Manifest {
	return link.Manifest{BridgeID: m.BridgeID, DriverType: m.DriverType, DriverID: m.DriverID, Tags: m.Tags, AvailableSubmodels: m.AvailableSubmodels,
		ActiveSubmodels: m.ActiveSubmodels, Shell: m.Shell, BindingToken: m.BindingToken}
}

// limited is a list of at most one more than link.MaxNames items, so that who checks it knows of too many.
type limited[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (l *limited[T]) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t == nil {
		return err
	} else if t != json.Delim('[') {
		return fmt.Errorf("a list is %s", strings.ToValidUTF8(fmt.Sprint(t), ""))
	}
	*l = limited[T]{}
	for d.More() && len(*l) <= link.MaxNames {
		var item T
		if err := d.Decode(&item); err != nil {
			return err
		}
		*l = append(*l, item)
	}
	return nil
}
