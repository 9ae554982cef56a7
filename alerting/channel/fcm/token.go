package fcm

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/post"
)

// tokens gets access tokens and keeps the newest until a minute before it ends.
type tokens struct {
	key      *rsa.PrivateKey
	cred     credentials
	audience string
	post     *post.Client
	now      func() time.Time

	asking chan struct{} // has an element while a token is requested
	mu     sync.Mutex
	token  string
	until  time.Time
}

func (t *tokens) get(ctx context.Context) (string, error) {
	if token := t.kept(); token != "" {
		return token, nil
	}
	select {
	case t.asking <- struct{}{}:
		defer func() { <-t.asking }()
	case <-ctx.Done():
		return "", alerting.Retryable(fmt.Errorf("waiting for an access token: %w", ctx.Err()), 0)
	}
	if token := t.kept(); token != "" { // the caller before has fetched one
		return token, nil
	}
	return t.ask(ctx)
}

// kept returns the stored token, or "" if it is missing or ends soon.
func (t *tokens) kept() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now().Before(t.until) {
		return t.token
	}
	return ""
}

func (t *tokens) ask(ctx context.Context) (string, error) {
	now := t.now()
	signed, err := assertion(t.key, t.cred, t.audience, now)
	if err != nil {
		return "", alerting.Permanent(errors.New("the access token cannot be asked for: signing failed"))
	}
	a, err := t.post.Form(ctx, t.audience, nil, url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"}, "assertion": {signed},
	})
	if err != nil {
		return "", unsent(err)
	}
	var body struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
	}
	if json.Unmarshal(a.Body, &body) != nil || body.AccessToken == "" {
		return "", alerting.Retryable(errors.New("the answer to the request for an access token has none"), 0)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.token = body.AccessToken
	t.until = now.Add(time.Duration(min(max(body.ExpiresIn, 0), 24*3600))*time.Second - time.Minute)
	return t.token, nil
}

// unsent marks an error in getting a token as retryable, because the message has not been sent. A refused request is
// retryable too: an operator can correct the credentials.
func unsent(err error) error {
	var e *alerting.SendError
	if errors.As(err, &e) {
		return alerting.Retryable(e.Err, e.RetryAfter)
	}
	return err
}

// forget discards a token that was refused.
func (t *tokens) forget(token string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.token == token {
		t.token = ""
	}
}
