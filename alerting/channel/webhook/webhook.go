package webhook

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/post"
	"github.com/otkit/otkit/fault"
)

// The headers of a request.
const (
	HeaderKey       = "Idempotency-Key"
	HeaderTimestamp = "X-Otkit-Timestamp"
	HeaderSignature = "X-Otkit-Signature"
)

// Options of a [Channel].
type Options struct {
	URL     string            // where alarms are posted; may hold a token, so it is never logged
	Secret  string            // signs requests; empty: they are not signed
	Headers map[string]string // further headers, such as Authorization; their values are never logged
	Client  *http.Client      // default: one of its own
	Now     func() time.Time  // default time.Now
	// Concurrency is the number of alarms that are posted at the same time. The messages of one alarm are posted in order. Default 8.
	Concurrency int
}

// Channel posts alarms. Safe for concurrent use.
type Channel struct {
	o    Options
	post *post.Client
}

// New returns a channel.
func New(o Options) (*Channel, error) {
	var err error
	if o.URL, err = post.HookURL(o.URL); err != nil {
		return nil, fault.Option("webhook", "Options.URL", "%v", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Concurrency < 0 {
		return nil, fault.Option("webhook", "Options.Concurrency", "must not be negative, not %d", o.Concurrency)
	}
	o.Concurrency = cmp.Or(o.Concurrency, 8)
	if o.Client == nil {
		transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second,
			MaxIdleConnsPerHost: o.Concurrency, IdleConnTimeout: 90 * time.Second}
		o.Client = &http.Client{Transport: transport}
	}
	secrets := append(post.HookSecrets(o.URL), o.Secret)
	for name, value := range o.Headers {
		if name == "" || strings.ContainsAny(name+value, "\r\n") {
			return nil, fault.Option("webhook", "Options.Headers", "must be names and values of one line")
		}
		secrets = append(secrets, value)
	}
	return &Channel{o: o, post: post.New(o.Client, secrets...)}, nil
}

// Name implements alerting.Channel.
func (c *Channel) Name() string { return alerting.ChannelWebhook }

// AcceptsKey implements alerting.Idempotent.
func (c *Channel) AcceptsKey() bool { return true }

// Concurrency implements alerting.Concurrent.
func (c *Channel) Concurrency() int { return c.o.Concurrency }

// Send implements alerting.Channel.
func (c *Channel) Send(ctx context.Context, n alerting.Notification) error {
	body, err := json.Marshal(n)
	if err != nil {
		return alerting.Permanent(errors.New("the message cannot be written as JSON"))
	}
	headers := map[string]string{}
	for name, value := range c.o.Headers {
		headers[name] = value
	}
	headers[HeaderKey] = n.ID
	if c.o.Secret != "" {
		at := strconv.FormatInt(c.o.Now().Unix(), 10)
		headers[HeaderTimestamp], headers[HeaderSignature] = at, sign(c.o.Secret, at, body)
	}
	_, err = c.post.Bytes(ctx, c.o.URL, "application/json", headers, body)
	return err
}

func sign(secret, at string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(at + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// Verify reports whether a request was signed with the secret at most tolerance before or after now. It
// is for receivers of what a [Channel] sends.
func Verify(secret string, h http.Header, body []byte, now time.Time, tolerance time.Duration) bool {
	at := h.Get(HeaderTimestamp)
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || now.Sub(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	return hmac.Equal([]byte(sign(secret, at, body)), []byte(h.Get(HeaderSignature)))
}
