package apns_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/apns"
	"github.com/otkit/otkit/alerting/channel/internal/channeltest"
)

func Example() {
	_, err := apns.New(apns.Options{Key: []byte("no key")})
	fmt.Println(err)
	// Output: apns: Options.Key must be a private EC key in PEM form
}

var key = func() *ecdsa.PrivateKey {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return k
}()

func options(t testing.TB, base string) apns.Options {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	return apns.Options{
		Key:   pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
		KeyID: "ABC123DEFG", TeamID: "DEF123GHIJ", Topic: "com.example.plant", Devices: []string{"00fc13adff785122"}, BaseURL: base,
	}
}

func channel(t testing.TB, o apns.Options) *apns.Channel {
	t.Helper()
	c, err := apns.New(o)
	require.NoError(t, err)
	return c
}

func TestSend(t *testing.T) {
	p := channeltest.NewTLSPeer(t)
	now := time.Now()
	o := options(t, p.URL)
	o.Client, o.Now = p.Client(), func() time.Time { return now }
	c := channel(t, o)
	n := channeltest.Message()
	n.Body = strings.Repeat("ä", 5000)
	require.NoError(t, channeltest.To(c).Send(t.Context(), n))
	got := p.Got()[0]
	require.Equal(t, 2, got.Proto, "HTTP/2")
	require.Equal(t, "/3/device/00fc13adff785122", got.Path)
	require.Equal(t, "com.example.plant", got.Header.Get("apns-topic"))
	require.Equal(t, "alert", got.Header.Get("apns-push-type"))
	require.Equal(t, n.ID, got.Header.Get("apns-collapse-id"))
	require.Less(t, len(got.Body), 4096)
	var body struct {
		APS struct {
			Alert map[string]string `json:"alert"`
		} `json:"aps"`
	}
	require.NoError(t, json.Unmarshal([]byte(got.Body), &body))
	require.Equal(t, n.Title, body.APS.Alert["title"])

	bearer := strings.TrimPrefix(got.Header.Get("Authorization"), "bearer ")
	token, err := jwt.Parse(bearer, func(*jwt.Token) (any, error) { return &key.PublicKey, nil },
		jwt.WithValidMethods([]string{"ES256"}), jwt.WithIssuer("DEF123GHIJ"))
	require.NoError(t, err)
	require.Equal(t, "ABC123DEFG", token.Header["kid"])

	for i, c2 := range []struct {
		after time.Duration
		same  bool
	}{{39 * time.Minute, true}, {2 * time.Minute, false}} {
		now = now.Add(c2.after)
		n.ID = fmt.Sprint(i)
		require.NoError(t, channeltest.To(c).Send(t.Context(), n))
		require.Equal(t, c2.same, "bearer "+bearer == p.Got()[i+1].Header.Get("Authorization"))
	}
}

func TestReasons(t *testing.T) {
	for _, c := range []struct {
		status  int
		reason  string
		outcome alerting.Outcome
	}{
		{400, "BadDeviceToken", alerting.OutcomePermanent}, {410, "Unregistered", alerting.OutcomePermanent},
		{403, "InvalidProviderToken", alerting.OutcomeRetryable}, {403, "ExpiredProviderToken", alerting.OutcomeRetryable},
		{429, "TooManyRequests", alerting.OutcomeRetryable}, {503, "Shutdown", alerting.OutcomeRetryable},
		{500, "InternalServerError", alerting.OutcomeAmbiguous},
	} {
		p := channeltest.NewTLSPeer(t)
		p.Answer = channeltest.Say(c.status, `{"reason":"`+c.reason+`"}`)
		o := options(t, p.URL)
		o.Client = p.Client()
		err := channeltest.To(channel(t, o)).Send(t.Context(), channeltest.Message())
		outcome, _ := channeltest.Outcome(t, err)
		require.Equal(t, c.outcome, outcome, c.reason)
		require.ErrorContains(t, err, c.reason)
	}
}

func TestExpiredTokenIsForgotten(t *testing.T) {
	p := channeltest.NewTLSPeer(t)
	times := 0
	p.Answer = func(w http.ResponseWriter, _ channeltest.Request) {
		if times++; times == 1 {
			channeltest.Say(403, `{"reason":"ExpiredProviderToken"}`)(w, channeltest.Request{})
		}
	}
	o := options(t, p.URL)
	o.Client = p.Client()
	c := channel(t, o)
	require.Error(t, channeltest.To(c).Send(t.Context(), channeltest.Message()))
	require.NoError(t, channeltest.To(c).Send(t.Context(), channeltest.Message()))
	require.NotEqual(t, p.Got()[0].Header.Get("Authorization"), p.Got()[1].Header.Get("Authorization"))
}

func TestUntrustedPeer(t *testing.T) {
	p := channeltest.NewTLSPeer(t)
	outcome, _ := channeltest.Outcome(t, channeltest.To(channel(t, options(t, p.URL))).Send(t.Context(), channeltest.Message()))
	require.Equal(t, alerting.OutcomeRetryable, outcome)
	require.Empty(t, p.Got())
}

func TestFaults(t *testing.T) {
	channeltest.TestHTTP(t, func(t testing.TB, base string) alerting.Channel { return channel(t, options(t, base)) }, "", "00fc13adff785122")
}

func TestOptions(t *testing.T) {
	for field, change := range map[string]func(*apns.Options){
		"Key": func(o *apns.Options) { o.Key = []byte("s3cret") }, "KeyID": func(o *apns.Options) { o.KeyID = "" },
		"TeamID": func(o *apns.Options) { o.TeamID = "" }, "Topic": func(o *apns.Options) { o.Topic = "" },
		"Devices": func(o *apns.Options) { o.Devices = nil }, "BaseURL": func(o *apns.Options) { o.BaseURL = "x" },
	} {
		o := options(t, "https://x")
		change(&o)
		_, err := apns.New(o)
		require.ErrorContains(t, err, "apns: Options."+field)
		require.NotContains(t, err.Error(), "s3cret")
	}
}
