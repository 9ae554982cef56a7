package fcm_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/fcm"
	"github.com/otkit/otkit/alerting/channel/internal/channeltest"
)

func Example() {
	_, err := fcm.New(fcm.Options{Credentials: []byte(`{}`), Topics: []string{"alarms"}})
	fmt.Println(err)
	// Output: fcm: Options.Credentials must be the JSON key file of a service account
}

var key = func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return k
}()

func credentials(t testing.TB) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	data, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "plant", "private_key_id": "k1", "client_email": "otkit@plant.example.com",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": "https://tokens.example.com",
	})
	require.NoError(t, err)
	return data
}

func channel(t testing.TB, base string, o fcm.Options) *fcm.Channel {
	t.Helper()
	o.Credentials, o.BaseURL, o.TokenURL = credentials(t), base, base+"/token"
	if len(o.Devices)+len(o.Topics) == 0 {
		o.Devices = []string{"dev1ce-token"}
	}
	c, err := fcm.New(o)
	require.NoError(t, err)
	return c
}

// google returns a new token for each request of one.
func google(p *channeltest.Peer, send func(w http.ResponseWriter, r channeltest.Request)) {
	tokens := 0
	p.Answer = func(w http.ResponseWriter, r channeltest.Request) {
		if r.Path == "/token" {
			tokens++
			_, _ = fmt.Fprintf(w, `{"access_token":"t%d","expires_in":3600,"token_type":"Bearer"}`, tokens)
		} else if send != nil {
			send(w, r)
		}
	}
}

func paths(p *channeltest.Peer) string {
	var list []string
	for _, r := range p.Got() {
		list = append(list, strings.TrimPrefix(r.Path, "/v1/projects/plant"))
	}
	return strings.Join(list, " ")
}

func TestSend(t *testing.T) {
	p := channeltest.NewPeer(t)
	google(p, nil)
	now := time.Now()
	c := channel(t, p.URL, fcm.Options{Devices: []string{"d1"}, Topics: []string{"alarms"}, Now: func() time.Time { return now }})
	require.NoError(t, channeltest.To(c).Send(t.Context(), channeltest.Message()))
	require.Equal(t, "/token /messages:send /messages:send", paths(p))
	require.Equal(t, []string{alerting.RecipientKey("d1"), "topic:alarms"}, c.Recipients(), "the token of a device is a secret")

	form, err := url.ParseQuery(p.Got()[0].Body)
	require.NoError(t, err)
	require.Equal(t, "urn:ietf:params:oauth:grant-type:jwt-bearer", form.Get("grant_type"))
	token, err := jwt.Parse(form.Get("assertion"), func(*jwt.Token) (any, error) { return &key.PublicKey, nil },
		jwt.WithValidMethods([]string{"RS256"}), jwt.WithIssuer("otkit@plant.example.com"), jwt.WithAudience(p.URL+"/token"), jwt.WithExpirationRequired())
	require.NoError(t, err)
	require.Equal(t, "k1", token.Header["kid"])

	got := p.Got()[1]
	require.Equal(t, "Bearer t1", got.Header.Get("Authorization"))
	var body struct {
		Message struct {
			Token        string
			Notification map[string]string
			Data         map[string]string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(got.Body), &body))
	require.Equal(t, "d1", body.Message.Token)
	require.Equal(t, channeltest.Message().Title, body.Message.Notification["title"])
	require.Equal(t, "Error", body.Message.Data["severity"])
	require.Contains(t, p.Got()[2].Body, `"topic":"alarms"`)

	next := channeltest.Message()
	next.ID = "2"
	require.NoError(t, channeltest.To(c).Send(t.Context(), next))
	require.Len(t, p.Got(), 5, "the token is kept")
	now = now.Add(59*time.Minute + time.Second)
	next.ID = "3"
	require.NoError(t, channeltest.To(c).Send(t.Context(), next))
	require.Equal(t, "Bearer t2", p.Got()[6].Header.Get("Authorization"), "until it is about to end")
}

func TestRefusedTokenIsForgotten(t *testing.T) {
	p := channeltest.NewPeer(t)
	google(p, func(w http.ResponseWriter, r channeltest.Request) {
		if r.Header.Get("Authorization") == "Bearer t1" {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = io.WriteString(w, "t1")
		}
	})
	c := channel(t, p.URL, fcm.Options{})
	err := channeltest.To(c).Send(t.Context(), channeltest.Message())
	outcome, _ := channeltest.Outcome(t, err)
	require.Equal(t, alerting.OutcomeRetryable, outcome)
	require.NoError(t, channeltest.To(c).Send(t.Context(), channeltest.Message()))
}

func TestTokenTrouble(t *testing.T) {
	for _, c := range []struct {
		status  int
		body    string
		outcome alerting.Outcome
	}{
		{200, `{}`, alerting.OutcomeRetryable}, {200, `x`, alerting.OutcomeRetryable}, {500, `x`, alerting.OutcomeRetryable},
		{400, `{"error":"invalid_grant"}`, alerting.OutcomeRetryable},
	} {
		p := channeltest.NewPeer(t)
		p.Answer = channeltest.Say(c.status, c.body)
		outcome, _ := channeltest.Outcome(t, channeltest.To(channel(t, p.URL, fcm.Options{})).Send(t.Context(), channeltest.Message()))
		require.Equal(t, c.outcome, outcome, c.body)
		require.Equal(t, "/token", paths(p))
	}
}

func TestFaults(t *testing.T) {
	channeltest.TestHTTP(t, func(t testing.TB, base string) alerting.Channel { return channel(t, base, fcm.Options{}) }, "/v1/", "dev1ce-token")
}

func TestOptions(t *testing.T) {
	good := credentials(t)
	for text, o := range map[string]fcm.Options{
		"Credentials must": {Credentials: []byte("s3cret")},
		"no RSA":           {Credentials: []byte(`{"project_id":"p","client_email":"e","private_key":"s3cret"}`)},
		"BaseURL":          {Credentials: good, BaseURL: "x"},
		"TokenURL":         {Credentials: good, TokenURL: "x"},
		"Devices":          {Credentials: good},
	} {
		_, err := fcm.New(o)
		require.ErrorContains(t, err, text)
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestWhoWaitsForATokenGivesUpWithItsContext(t *testing.T) {
	p := channeltest.NewPeer(t)
	asked, answer := make(chan struct{}), make(chan struct{})
	p.Answer = func(w http.ResponseWriter, r channeltest.Request) {
		if r.Path == "/token" {
			close(asked)
			<-answer
			_, _ = io.WriteString(w, `{"access_token":"t","expires_in":3600}`)
		}
	}
	c := channel(t, p.URL, fcm.Options{})
	first := make(chan error, 1)
	go func() { first <- channeltest.To(c).Send(t.Context(), channeltest.Message()) }()
	<-asked
	ctx, giveUp := context.WithCancel(t.Context())
	giveUp()
	err := channeltest.To(c).Send(ctx, channeltest.Message())
	outcome, _ := channeltest.Outcome(t, err)
	require.Equal(t, alerting.OutcomeRetryable, outcome)
	require.ErrorIs(t, err, context.Canceled)
	close(answer)
	require.NoError(t, <-first)
	require.NoError(t, channeltest.To(c).Send(t.Context(), channeltest.Message()))
	require.Equal(t, "/token /messages:send /messages:send", paths(p), "one token serves all")
}
