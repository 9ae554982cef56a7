package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	release "github.com/otkit/otkit/internal/version"
)

// errNotSent marks a request that did not leave: whatever it was to change has not changed.
var errNotSent = errors.New("not sent")

type notSent struct{ error }

func (e notSent) Is(target error) bool { return target == errNotSent }
func (e notSent) Unwrap() error        { return e.error }

// defaultSilence is how long an engine may be silent before a request is given up.
const defaultSilence = time.Minute

type silenceKey struct{}

// withSilence gives the requests of a context another limit of silence.
func withSilence(ctx context.Context, d time.Duration) context.Context {
	return context.WithValue(ctx, silenceKey{}, d)
}

// sender sends requests with the token of the session. It implements the interface of the generated client.
type sender struct {
	http   *http.Client
	store  *store
	server string
	fixed  string // token of the environment
}

func newSender(st *store, server, caFile string) (*sender, error) {
	saved, err := st.session(server)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if file := cmp.Or(caFile, saved.CAFile); file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate in PEM form", file)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &sender{store: st, server: server, fixed: os.Getenv("OTCTL_TOKEN"), http: &http.Client{Transport: transport,
		// A redirect could send a token or a write elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

// Do sends a request. One that is answered with 401, which does nothing, is sent again if the session can be renewed.
func (s *sender) Do(r *http.Request) (*http.Response, error) {
	token, err := s.token(r.Context())
	if err != nil {
		return nil, err
	}
	answer, err := s.once(r, token)
	if err != nil || answer.StatusCode != http.StatusUnauthorized || token == "" || s.fixed != "" {
		return answer, err
	}
	if r.Body != nil && r.GetBody == nil {
		return answer, nil
	}
	renewed, err := s.renew(r.Context(), token)
	if err != nil || renewed == "" {
		return answer, err
	}
	_ = answer.Body.Close() // nothing of it is wanted
	again := r.Clone(r.Context())
	if r.GetBody != nil {
		if again.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
	return s.once(again, renewed)
}

// once sends a request, and gives it up when the engine is silent.
func (s *sender) once(r *http.Request, token string) (*http.Response, error) {
	limit, ok := r.Context().Value(silenceKey{}).(time.Duration)
	if !ok {
		limit = defaultSilence
	}
	silent := fmt.Errorf("%s does not answer for %s", s.server, limit)
	ctx, cancel := context.WithCancelCause(r.Context())
	timer := time.AfterFunc(limit, func() { cancel(silent) })
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	r = r.WithContext(ctx)
	r.Header.Set("User-Agent", "otctl/"+release.String())
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if r.Body != nil {
		r.Body = &sentBody{r.Body, timer, limit}
	}
	answer, err := s.http.Do(r)
	if err != nil {
		timer.Stop()
		gone, ended := errors.Is(context.Cause(ctx), silent), ctx.Err() != nil
		if gone {
			err = silent
		}
		cancel(nil)
		switch {
		case connected.Load() && !ended:
			return nil, fmt.Errorf("the connection to the engine at %s was lost before it answered: %w", s.server, reason(err))
		case connected.Load():
			return nil, err
		case gone:
			return nil, notSent{err}
		}
		return nil, notSent{fmt.Errorf("the engine at %s cannot be reached: %w", s.server, reason(err))}
	}
	timer.Stop()
	answer.Body = &readBody{answer.Body, timer, limit, cancel, ctx, silent}
	return answer, nil
}

// reason returns why there is no connection, without the request and the addresses that were tried.
func reason(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	var dial *net.OpError
	if !errors.As(err, &dial) || dial.Op != "dial" { // such as that of a proxy, whose address is of use
		return err
	}
	err = dial.Err
	var call *os.SyscallError
	if errors.As(err, &call) {
		err = call.Err
	}
	return err
}

// sentBody restarts the timer as the body leaves.
type sentBody struct {
	io.ReadCloser
	timer *time.Timer
	limit time.Duration
}

func (b *sentBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.limit)
	return b.ReadCloser.Read(p)
}

// readBody runs the timer while a read waits, and not while the reader is busy.
type readBody struct {
	io.ReadCloser
	timer  *time.Timer
	limit  time.Duration
	cancel context.CancelCauseFunc
	ctx    context.Context
	silent error
}

func (b *readBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.limit)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if err != nil && err != io.EOF && errors.Is(context.Cause(b.ctx), b.silent) {
		err = b.silent
	}
	return n, err
}

func (b *readBody) Close() error {
	b.timer.Stop()
	b.cancel(nil)
	return b.ReadCloser.Close()
}
