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

// maxAnswer bounds what is read of an answer.
const maxAnswer = 64 << 10

// Client sends requests. Safe for concurrent use.
type Client struct {
	http    *http.Client
	secrets []string
	now     func() time.Time
}

// New makes a client over another one, or over one of its own when c is nil. The secrets are what no
// error may hold: tokens, passwords, and URLs that have a token in them.
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

// BaseURL reads the URL of a peer: http or https, with a host and without user, query or fragment.
// The error holds no part of it.
func BaseURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("must be an http or https URL without user, query or fragment")
	}
	return strings.TrimRight(text, "/"), nil
}

// HookURL reads a URL that may have a token in its path or query. The error holds no part of it.
func HookURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Fragment != "" {
		return "", errors.New("must be an http or https URL")
	}
	return text, nil
}

// HookSecrets returns what of a URL may be a token: its longer path segments and its query values.
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

// Answer is what a peer has answered.
type Answer struct {
	Status int
	Proto  int // major version of HTTP
	Header http.Header
	Body   []byte // at most 64 KiB of it
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

// Bytes sends a body by POST. The answer is given with the error too, where there is one. An error is
// retryable when the request was surely not taken, and ambiguous when it was sent and there is no
// telling. See [Client.Check] for answers.
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
	text, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // the status says enough
	a := Answer{Status: res.StatusCode, Proto: res.ProtoMajor, Header: res.Header, Body: text}
	return a, c.Check(a, string(text))
}

// Check returns the error of an answer, nil for 2xx. The text is what the peer says about it.
func (c *Client) Check(a Answer, text string) error {
	if a.Status >= 200 && a.Status < 300 {
		return nil
	}
	err := errors.New(c.Redact(strings.TrimSpace(fmt.Sprintf("peer answered %d %s %s", a.Status, http.StatusText(a.Status), short(text)))))
	switch {
	case a.Status == http.StatusTooManyRequests, a.Status == http.StatusServiceUnavailable,
		a.Status == http.StatusRequestTimeout, a.Status == http.StatusTooEarly:
		return alerting.Retryable(err, c.retryAfter(a.Header))
	case a.Status == http.StatusUnauthorized, a.Status == http.StatusForbidden: // an operator mends the credentials
		return alerting.Retryable(err, 0)
	case a.Status >= 500: // it may have failed after the message was taken
		return alerting.Ambiguous(err)
	}
	return alerting.Permanent(err)
}

// retryAfter reads Retry-After, which has seconds or a date.
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

// clean takes the URL off an error of net/http: it may hold a token.
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

// Redact takes the secrets out of a text.
func (c *Client) Redact(text string) string {
	for _, s := range c.secrets {
		if s != "" {
			text = strings.ReplaceAll(text, s, "***")
			text = strings.ReplaceAll(text, url.QueryEscape(s), "***")
		}
	}
	return text
}

// short makes one short line of what a peer has said.
func short(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, ""))
	return Cut(strings.Join(strings.Fields(text), " "), 200)
}

// Cut shortens a text to a number of characters; one that is cut ends with an ellipsis.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
