package remote

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/internal/version"
	"github.com/otkit/otkit/predictive"
)

// Options configure a [Model].
type Options struct {
	// URL is asked for predictions: http or https, without user or fragment.
	URL string
	// Token is sent as "Authorization: Bearer". Empty: none. Without https, anyone on the way can read it.
	Token string
	// TLS is for https URLs. Default: the authorities of the system.
	TLS *tls.Config
	// Timeout bounds a prediction. Default: 5 seconds.
	Timeout time.Duration
	// Step, Roles and Samples are the inputs of the model; see [predictive.InputSpec].
	Step    time.Duration
	Roles   []string
	Samples int
	// MaxConns bounds the predictions that run at the same time; others wait. Default: 8.
	MaxConns int
	// MaxAnswer bounds an answer in bytes. Default: 64 KiB.
	MaxAnswer int64
	// Failures is how many failures in a row leave the server alone. Default: 3.
	Failures int
	// Pause is how long it is left alone, doubled with each failure that follows up to ten times as long. Default: 5 seconds.
	Pause time.Duration
	// Dial connects to the server. Default: that of a [net.Dialer].
	Dial  func(ctx context.Context, network, address string) (net.Conn, error)
	Clock func() time.Time // default: time.Now
	Log   *slog.Logger     // default: none
}

// Model is a [predictive.Model] that asks a server. It is safe for concurrent use.
type Model struct {
	o       Options
	http    *http.Client
	slots   chan struct{}
	breaker *breaker
}

var _ interface {
	predictive.Model
	predictive.InputSpecifier
} = (*Model)(nil)

const pkg = "remote"

// New returns a model. It does not ask the server yet.
func New(o Options) (*Model, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" {
		return nil, fault.Option(pkg, "Options.URL", "must be an http or https URL without user and fragment")
	}
	if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, fault.Option(pkg, "Options.Token", "has characters other than printable ASCII")
	}
	switch {
	case o.Timeout < 0:
		return nil, fault.Option(pkg, "Options.Timeout", "is %s, want 0 or more", o.Timeout)
	case o.Pause < 0:
		return nil, fault.Option(pkg, "Options.Pause", "is %s, want 0 or more", o.Pause)
	case o.MaxConns < 0 || o.MaxAnswer < 0 || o.Failures < 0:
		return nil, fault.Option(pkg, "Options.MaxConns", "MaxAnswer and Failures must not be negative")
	}
	o.Timeout, o.Pause = cmp.Or(o.Timeout, 5*time.Second), cmp.Or(o.Pause, 5*time.Second)
	o.MaxConns, o.MaxAnswer, o.Failures = cmp.Or(o.MaxConns, 8), cmp.Or(o.MaxAnswer, 64<<10), cmp.Or(o.Failures, 3)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Dial == nil {
		o.Dial = (&net.Dialer{Timeout: o.Timeout}).DialContext
	}
	secure := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.TLS != nil {
		secure = o.TLS.Clone()
	}
	transport := &http.Transport{
		DialContext:         o.Dial,
		TLSClientConfig:     secure,
		TLSHandshakeTimeout: o.Timeout, IdleConnTimeout: time.Minute,
		MaxIdleConnsPerHost: o.MaxConns, MaxResponseHeaderBytes: 64 << 10,
	}
	return &Model{o: o, slots: make(chan struct{}, o.MaxConns), breaker: &breaker{failures: o.Failures, pause: o.Pause, now: o.Clock, log: o.Log},
		http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// InputSpec implements [predictive.InputSpecifier].
func (m *Model) InputSpec() predictive.InputSpec {
	return predictive.InputSpec{Step: m.o.Step, Roles: m.o.Roles, Samples: m.o.Samples}
}

// Close closes connections that are not in use.
func (m *Model) Close() { m.http.CloseIdleConnections() }

// Predict asks the server.
func (m *Model) Predict(ctx context.Context, in predictive.ModelInput) (predictive.ModelOutput, error) {
	body, err := json.Marshal(newQuestion(in))
	if err != nil {
		return predictive.ModelOutput{}, unavailable("the question cannot be written as JSON").Wrap(err)
	}
	probe, err := m.breaker.enter()
	if err != nil {
		return predictive.ModelOutput{}, err
	}
	answer, err := m.post(ctx, body)
	switch down := (*downError)(nil); {
	case errors.Is(ctx.Err(), context.Canceled):
		m.breaker.leave(probe) // says nothing about the server
		return predictive.ModelOutput{}, ctx.Err()
	case errors.As(err, &down):
		m.breaker.fail(probe, down)
		m.http.CloseIdleConnections() // what cut one connection may have cut them all
		return predictive.ModelOutput{}, unavailable("%s", down.reason).Wrap(down.err)
	}
	m.breaker.succeed()
	if err != nil {
		return predictive.ModelOutput{}, err
	}
	return readAnswer(in.ModelType, answer)
}

// downError is the error of a server that does not work at all.
type downError struct {
	reason string
	err    error
}

func (e *downError) Error() string {
	if e.err == nil {
		return e.reason
	}
	return e.reason + ": " + e.err.Error()
}
func (e *downError) Unwrap() error { return e.err }

// post returns the body of an answer with status 200.
func (m *Model) post(ctx context.Context, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, m.o.Timeout)
	defer cancel()
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return nil, &downError{"the server of the model is busy", ctx.Err()}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.o.URL, bytes.NewReader(body))
	if err != nil {
		return nil, unavailable("the URL of the model is not valid").Wrap(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "otkit/"+version.String())
	// A prediction changes nothing: net/http may repeat it when a kept connection turns out to be closed. The header itself is not sent.
	req.Header["X-Idempotency-Key"] = nil
	if m.o.Token != "" {
		req.Header.Set("Authorization", "Bearer "+m.o.Token)
	}
	res, err := m.http.Do(req)
	if err != nil {
		return nil, unreachable(err)
	}
	defer func() { _ = res.Body.Close() }()
	switch status := res.StatusCode; {
	case status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout:
		return nil, &downError{fmt.Sprintf("the server of the model answered %d", status), nil}
	case status >= 300 && status < 400:
		return nil, unavailable("the server of the model answered %d; redirects are not followed", status)
	case status != http.StatusOK:
		return nil, unavailable("the server of the model answered %d", status)
	}
	answer, err := io.ReadAll(io.LimitReader(res.Body, m.o.MaxAnswer+1))
	switch {
	case err != nil:
		return nil, unreachable(err)
	case int64(len(answer)) > m.o.MaxAnswer:
		return nil, unavailable("the answer of the model has more than %d bytes", m.o.MaxAnswer)
	}
	return answer, nil
}

// unreachable returns the error of a request without a whole answer. The reason names no address: anyone may read it.
func unreachable(err error) error {
	var (
		certificate *tls.CertificateVerificationError
		name        *net.DNSError
		network     net.Error
		op          *url.Error
	)
	if errors.As(err, &op) { // its text has the URL, which may have a key
		err = op.Err
	}
	reason := "the server of the model cannot be reached"
	switch {
	case errors.As(err, &certificate):
		reason = "the certificate of the model's server is not trusted"
	case errors.Is(err, http.ErrSchemeMismatch):
		reason = "the server of the model does not answer with TLS"
	case errors.As(err, &name):
		reason = "the name of the model's server cannot be resolved"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		reason = "the server of the model did not answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		reason = "the server of the model closed the connection"
	}
	return &downError{reason, err}
}

func unavailable(format string, args ...any) *fault.Error {
	return predictive.ErrModelNotAvailable.Because(format, args...)
}
