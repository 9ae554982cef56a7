package fcm

import (
	"cmp"
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/post"
	"github.com/otkit/otkit/alerting/channel/internal/recipients"
	"github.com/otkit/otkit/fault"
)

// Limits of a notification; FCM accepts 4096 bytes in all.
const (
	maxTitle = 150
	maxBody  = 500
)

// Options of a [Channel].
type Options struct {
	// Credentials is the key file of a service account, JSON as the console issues it. Never logged.
	Credentials []byte
	// Devices are registration tokens, Topics are names of topics; at least one of either.
	Devices  []string
	Topics   []string
	BaseURL  string // default https://fcm.googleapis.com
	TokenURL string // default that of the credentials
	Client   *http.Client
	Now      func() time.Time // default time.Now
}

// Channel pushes to devices. Safe for concurrent use.
type Channel struct {
	url    string
	post   *post.Client
	to     recipients.List // addresses are "token:..." or "topic:..."
	tokens tokens
}

type credentials struct {
	ProjectID   string `json:"project_id"`
	KeyID       string `json:"private_key_id"`
	PrivateKey  string `json:"private_key"`
	ClientEmail string `json:"client_email"`
	TokenURI    string `json:"token_uri"`
}

// New returns a channel.
func New(o Options) (*Channel, error) {
	var cred credentials
	if json.Unmarshal(o.Credentials, &cred) != nil || cred.ProjectID == "" || cred.ClientEmail == "" {
		return nil, fault.Option("fcm", "Options.Credentials", "must be the JSON key file of a service account")
	}
	key, err := jwt.ParseRSAPrivateKeyFromPEM([]byte(cred.PrivateKey))
	if err != nil {
		return nil, fault.Option("fcm", "Options.Credentials", "has no RSA private key")
	}
	base, err := post.BaseURL(cmp.Or(o.BaseURL, "https://fcm.googleapis.com"))
	if err != nil {
		return nil, fault.Option("fcm", "Options.BaseURL", "%v", err)
	}
	tokenURL, err := post.BaseURL(cmp.Or(o.TokenURL, cred.TokenURI, "https://oauth2.googleapis.com/token"))
	if err != nil {
		return nil, fault.Option("fcm", "Options.TokenURL", "%v", err)
	}
	if len(o.Devices)+len(o.Topics) == 0 {
		return nil, fault.Option("fcm", "Options.Devices", "or Topics is required")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	client := post.New(o.Client, append([]string{cred.PrivateKey}, o.Devices...)...)
	c := &Channel{
		url:    base + "/v1/projects/" + url.PathEscape(cred.ProjectID) + "/messages:send",
		post:   client,
		tokens: tokens{key: key, cred: cred, audience: tokenURL, post: client, now: o.Now, asking: make(chan struct{}, 1)},
	}
	for _, d := range o.Devices {
		c.to.AddAs(alerting.RecipientKey(d), "token:"+d)
	}
	for _, t := range o.Topics {
		c.to.Add("topic:" + t)
	}
	return c, nil
}

// Name implements alerting.Channel.
func (c *Channel) Name() string { return alerting.ChannelFCM }

// Recipients implements alerting.RecipientLister.
func (c *Channel) Recipients() []string { return c.to.Recipients() }

// Send implements alerting.Channel.
func (c *Channel) Send(ctx context.Context, n alerting.Notification) error {
	to, err := c.to.Find(n)
	if err != nil {
		return err
	}
	token, err := c.tokens.get(ctx)
	if err != nil {
		return err
	}
	a, err := c.post.JSON(ctx, c.url, map[string]string{"Authorization": "Bearer " + token}, message(n, to))
	if a.Status == http.StatusUnauthorized {
		c.tokens.forget(token)
		return alerting.Retryable(errors.New("peer did not accept the access token"), 0)
	}
	return err
}

func message(n alerting.Notification, to string) map[string]any {
	m := map[string]any{
		to[:5]:         to[6:],
		"notification": map[string]string{"title": post.Cut(n.Title, maxTitle), "body": post.Cut(n.Body, maxBody)},
		"data": map[string]string{
			"id": n.ID, "severity": n.Severity.String(), "source": post.Cut(n.Source, maxTitle), "at": n.At.UTC().Format(time.RFC3339Nano),
			"resolved": fmt.Sprint(n.Resolved),
		},
		// A device shows one notification of a tag: a message that is sent twice is shown once.
		"android": map[string]any{"priority": "high", "notification": map[string]string{"tag": n.ID}},
	}
	return map[string]any{"message": m}
}

const scope = "https://www.googleapis.com/auth/firebase.messaging"

// assertion returns the signed request for an access token, RFC 7523.
func assertion(key *rsa.PrivateKey, cred credentials, audience string, now time.Time) (string, error) {
	t := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{
		"iss": cred.ClientEmail, "scope": scope, "aud": audience, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	if cred.KeyID != "" {
		t.Header["kid"] = cred.KeyID
	}
	return t.SignedString(key)
}
