package apns

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/post"
	"github.com/otkit/otkit/alerting/channel/internal/recipients"
	"github.com/otkit/otkit/fault"
)

const (
	maxTitle = 150 // characters; APNs accepts 4096 bytes in all
	maxBody  = 500
	// renew is the age at which a provider token is replaced: Apple refuses one older than an hour,
	// and more than one in 20 minutes.
	renew = 40 * time.Minute
	// keep is how long Apple tries to reach a device.
	keep = 24 * time.Hour
)

// Options of a [Channel].
type Options struct {
	Key     []byte   // the signing key, PEM as Apple issues it (.p8); never logged
	KeyID   string   // its id, ten characters
	TeamID  string   // ten characters
	Topic   string   // bundle id of the app
	Devices []string // device tokens, hex
	BaseURL string   // default https://api.push.apple.com
	// Client must speak HTTP/2. Default: one of its own.
	Client *http.Client
	Now    func() time.Time // default time.Now
}

// Channel pushes to devices. Safe for concurrent use.
type Channel struct {
	o    Options
	base string
	key  *ecdsa.PrivateKey
	post *post.Client
	to   recipients.List

	mu    sync.Mutex
	token string
	made  time.Time
}

// New returns a channel.
func New(o Options) (*Channel, error) {
	key, err := jwt.ParseECPrivateKeyFromPEM(o.Key)
	if err != nil {
		return nil, fault.Option("apns", "Options.Key", "must be a private EC key in PEM form")
	}
	for name, value := range map[string]string{"KeyID": o.KeyID, "TeamID": o.TeamID, "Topic": o.Topic} {
		if value == "" {
			return nil, fault.Option("apns", "Options."+name, "is required")
		}
	}
	if len(o.Devices) == 0 {
		return nil, fault.Option("apns", "Options.Devices", "is required")
	}
	base, err := post.BaseURL(cmp.Or(o.BaseURL, "https://api.push.apple.com"))
	if err != nil {
		return nil, fault.Option("apns", "Options.BaseURL", "%v", err)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Channel{o: o, base: base, key: key, post: post.New(o.Client, o.Devices...)}
	c.to.AddSecret(o.Devices...)
	return c, nil
}

// Name implements alerting.Channel.
func (c *Channel) Name() string { return alerting.ChannelAPNs }

// Recipients implements alerting.RecipientLister.
func (c *Channel) Recipients() []string { return c.to.Recipients() }

// Send implements alerting.Channel.
func (c *Channel) Send(ctx context.Context, n alerting.Notification) error {
	device, err := c.to.Find(n)
	if err != nil {
		return err
	}
	token, err := c.provider()
	if err != nil {
		return alerting.Permanent(errors.New("the provider token cannot be signed"))
	}
	now := c.o.Now()
	a, err := c.post.JSON(ctx, c.base+"/3/device/"+url.PathEscape(device), map[string]string{
		"Authorization": "bearer " + token, "apns-topic": c.o.Topic, "apns-push-type": "alert", "apns-priority": "10",
		"apns-expiration": strconv.FormatInt(now.Add(keep).Unix(), 10),
		// A device shows one notification of a collapse id: a message that is sent twice is shown once.
		"apns-collapse-id": n.ID,
	}, payload(n))
	if a.Status == 0 || a.Status == http.StatusOK {
		return err
	}
	return c.read(a, token)
}

func payload(n alerting.Notification) map[string]any {
	level := "active"
	if n.Severity >= alarms.Error && !n.Resolved {
		level = "time-sensitive"
	}
	return map[string]any{
		"aps": map[string]any{
			"alert": map[string]string{"title": post.Cut(n.Title, maxTitle), "body": post.Cut(n.Body, maxBody)},
			"sound": "default", "interruption-level": level,
		},
		"id": n.ID, "severity": n.Severity.String(), "resolved": n.Resolved,
	}
}

// read returns the error for Apple's reason.
func (c *Channel) read(a post.Answer, token string) error {
	var body struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(a.Body, &body) != nil {
		return c.post.Check(a, "")
	}
	if body.Reason == "ExpiredProviderToken" {
		c.forget(token)
		return alerting.Retryable(errors.New("peer did not accept the provider token: "+body.Reason), 0)
	}
	return c.post.Check(a, body.Reason)
}

// provider returns a provider token, a new one if the last is older than renew.
func (c *Channel) provider() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.o.Now()
	if age := now.Sub(c.made); c.token != "" && age >= 0 && age < renew {
		return c.token, nil
	}
	t := jwt.NewWithClaims(jwt.SigningMethodES256, jwt.MapClaims{"iss": c.o.TeamID, "iat": now.Unix()})
	t.Header["kid"] = c.o.KeyID
	signed, err := t.SignedString(c.key)
	if err != nil {
		return "", err
	}
	c.token, c.made = signed, now
	return signed, nil
}

func (c *Channel) forget(token string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token == token {
		c.token = ""
	}
}
