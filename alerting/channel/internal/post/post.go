package post

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/internal/version"
)

// maxAnswer is the number of bytes that are read of an answer.
const maxAnswer = 64 << 10

// Client sends requests. Safe for concurrent use.
type Client struct {
	http    *http.Client
	secrets []string
	now     func() time.Time
}

// New returns a client over c, or over one of its own if c is nil. Errors do not contain the secrets: tokens, passwords, and
// URLs with a token.
func New(c *http.Client, secrets ...string) *Client {
	own := &http.Client{}
	if c != nil {
		*own = *c
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if own.Timeout == 0 {
		own.Timeout = 30 * time.Second
	}
	return &Client{http: own, secrets: secrets, now: time.Now}
}

// BaseURL parses the URL of a peer: http or https, with a host and without user, query or fragment.
// The error contains no part of it.
func BaseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("must be an http or https URL without user, query or fragment")
	}
	return strings.TrimRight(text, "/"), nil
}

// HookURL parses a URL that may have a token in its path or query. The error contains no part of it.
func HookURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Fragment != "" {
		return "", errors.New("must be an http or https URL")
	}
	return text, nil
}

// HookSecrets returns the parts of a URL that may be tokens: its longer path segments and its query values.
func HookSecrets(text string) []string {
	secrets := []string{text}
	u, err := url.Parse(text)
	if err != nil {
		return secrets
	}
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if len(segment) >= 6 {
			secrets = append(secrets, segment)
		}
	}
	if p, ok := u.User.Password(); ok {
		secrets = append(secrets, p)
	}
	return secrets
}

// Answer is the answer of a peer.
type Answer struct {
	Status int
	Proto  int // major version of HTTP
	Header http.Header
	Body   []byte // its first 64 KiB
}

// JSON sends a value as JSON with further headers.
func (c *Client) JSON(ctx context.Context, target string, headers map[string]string, value any) (Answer, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return Answer{}, alerting.Permanent(errors.New("the message cannot be written as JSON"))
	}
	return c.Bytes(ctx, target, "application/json", headers, body)
}

// Form sends a form with further headers.
func (c *Client) Form(ctx context.Context, target string, headers map[string]string, form url.Values) (Answer, error) {
	return c.Bytes(ctx, target, "application/x-www-form-urlencoded", headers, []byte(form.Encode()))
}

// Bytes sends a body by POST. If there is an answer, it is returned with the error too. An error is
// retryable if the peer has not accepted the request, and ambiguous if that is unknown. See [Client.Check] for answers.
func (c *Client) Bytes(ctx context.Context, target, contentType string, headers map[string]string, body []byte) (Answer, error) {
	var sent atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return Answer{}, alerting.Permanent(errors.New("the address of the peer is not valid"))
	}
	req.Header.Set("Content-Type", contentType)
	req.Header.Set("User-Agent", "otkit/"+version.String())
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	res, err := c.http.Do(req)
	if err != nil {
		err = c.clean(err)
		if sent.Load() {
			return Answer{}, alerting.Ambiguous(err)
		}
		return Answer{}, alerting.Retryable(err, 0)
	}
	defer func() { _ = res.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // the status is enough
	a := Answer{Status: res.StatusCode, Proto: res.ProtoMajor, Header: res.Header, Body: text}
	return a, c.Check(a, string(text))
}

// Check returns the error for an answer, nil for 2xx. text is the peer's description of it.
func (c *Client) Check(a Answer, text string) error {
	if a.Status >= 200 && a.Status < 300 {
		return nil
	}
	err := errors.New(c.Redact(strings.TrimSpace(fmt.Sprintf("peer answered %d %s %s", a.Status, http.StatusText(a.Status), short(text)))))
	switch {
	case a.Status == http.StatusTooManyRequests, a.Status == http.StatusServiceUnavailable,
		a.Status == http.StatusRequestTimeout, a.Status == http.StatusTooEarly:
		return alerting.Retryable(err, c.retryAfter(a.Header))
	case a.Status == http.StatusUnauthorized, a.Status == http.StatusForbidden: // an operator can correct the credentials
		return alerting.Retryable(err, 0)
	case a.Status >= 500: // it may have failed after the message was accepted
		return alerting.Ambiguous(err)
	}
	return alerting.Permanent(err)
}

// retryAfter parses Retry-After, which has seconds or a date.
func (c *Client) retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if n, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(n, 0), 7*24*3600)) * time.Second
	}
	if t, err := http.ParseTime(text); err == nil {
		return max(t.Sub(c.now()), 0)
	}
	return 0
}

// clean removes the URL, which may have a token, from an error of net/http.
func (c *Client) clean(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return cleaned{c.Redact(err.Error()), err}
}

// cleaned is an error with another text.
type cleaned struct {
	text string
	err  error
}

func (e cleaned) Error() string { return e.text }
func (e cleaned) Unwrap() error { return e.err }

// Redact removes the secrets from a text.
func (c *Client) Redact(text string) string {
	for _, s := range c.secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
			text = strings.ReplaceAll(text, url.QueryEscape(s), "***")
		}
	}
	return text
}

// short returns one short line of a peer's text.
func short(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, ""))
	return Cut(strings.Join(strings.Fields(text), " "), 200)
}

// Cut shortens a text to a number of characters. A shortened text ends with an ellipsis.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
