package channeltest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
)

// Message is a notification to send.
func Message() alerting.Notification {
	return alerting.Notification{
		ID: "01890000-0000-7000-8000-000000000001", EventID: "01890000-0000-7000-8000-000000000002", AlarmID: "01890000-0000-7000-8000-000000000003", Code: 7, Severity: alarms.Error,
		Source: "plc-1", SourceType: "Equipment", Message: "too hot: <5 & @all>", Title: "[Error] plc-1: too hot <5 & @all>",
		Body: "Firing: too hot\nline two", Labels: map[string]string{"job": "j"}, At: time.Date(2026, 3, 29, 1, 2, 3, 4000, time.UTC),
	}
}

// Recipients are all the recipients of a channel.
type Recipients struct{ alerting.Channel }

// To returns the recipients of a channel.
func To(c alerting.Channel) Recipients { return Recipients{c} }

// Send sends to one recipient after the other, and returns the first error.
func (r Recipients) Send(ctx context.Context, n alerting.Notification) error {
	a, ok := r.Channel.(alerting.RecipientLister)
	if !ok {
		return r.Channel.Send(ctx, n)
	}
	var first error
	for _, n.Recipient = range a.Recipients() {
		if err := r.Channel.Send(ctx, n); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// Request is a request that a peer received.
type Request struct {
	Path   string
	Query  string
	Header http.Header
	Proto  int
	Body   string
}

// Peer is a server that answers with Answer and keeps what it receives.
type Peer struct {
	*httptest.Server
	mu     sync.Mutex
	got    []Request
	Answer func(w http.ResponseWriter, r Request) // set before anything is sent; default 200
}

// NewPeer starts a peer.
func NewPeer(t testing.TB) *Peer {
	p := &Peer{}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

// NewTLSPeer starts a peer that speaks HTTP/2 over TLS; its Client trusts it.
func NewTLSPeer(t testing.TB) *Peer {
	p := &Peer{}
	p.Server = httptest.NewUnstartedServer(p)
	p.EnableHTTP2 = true
	p.StartTLS()
	t.Cleanup(p.Close)
	return p
}

// ServeHTTP implements http.Handler.
func (p *Peer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	req := Request{Path: r.URL.EscapedPath(), Query: r.URL.RawQuery, Header: r.Header, Proto: r.ProtoMajor, Body: string(body)}
	p.mu.Lock()
	p.got = append(p.got, req)
	p.mu.Unlock()
	if p.Answer != nil {
		p.Answer(w, req)
	}
}

// Got returns the requests received so far.
func (p *Peer) Got() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Request(nil), p.got...)
}

// Say returns an Answer with a status and a body.
func Say(status int, body string) func(http.ResponseWriter, Request) {
	return func(w http.ResponseWriter, _ Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Outcome returns the class of an error and its Retry-After.
func Outcome(t testing.TB, err error) (alerting.Outcome, time.Duration) {
	t.Helper()
	var e *alerting.SendError
	require.ErrorAs(t, err, &e)
	return e.Outcome, e.RetryAfter
}

// TestHTTP checks what every channel over HTTP must do. make returns a channel that sends to the base URL;
// secrets are texts that no error may contain. on is the path prefix of the message itself, for channels
// that ask for a token first.
func TestHTTP(t *testing.T, make func(t testing.TB, base string) alerting.Channel, on string, secrets ...string) {
	t.Helper()
	for name, c := range map[string]struct {
		answer  func(http.ResponseWriter, Request)
		outcome alerting.Outcome
		after   time.Duration
	}{
		"400":                   {Say(400, strings.Join(secrets, " ")), alerting.OutcomePermanent, 0},
		"401":                   {Say(401, "x"), alerting.OutcomeRetryable, 0},
		"403":                   {Say(403, strings.Join(secrets, " ")), alerting.OutcomeRetryable, 0},
		"404":                   {Say(404, "x"), alerting.OutcomePermanent, 0},
		"429 with Retry-After":  {retryAfter(429, "17"), alerting.OutcomeRetryable, 17 * time.Second},
		"503 with Retry-After":  {retryAfter(503, "9"), alerting.OutcomeRetryable, 9 * time.Second},
		"503 without":           {Say(503, "x"), alerting.OutcomeRetryable, 0},
		"500":                   {Say(500, strings.Repeat("x", 1<<20)), alerting.OutcomeAmbiguous, 0},
		"a redirect":            {redirect, alerting.OutcomePermanent, 0},
		"an answer that breaks": {func(http.ResponseWriter, Request) { panic(http.ErrAbortHandler) }, alerting.OutcomeAmbiguous, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := NewPeer(t)
			p.Answer = func(w http.ResponseWriter, r Request) {
				if strings.HasPrefix(r.Path, on) {
					c.answer(w, r)
					return
				}
				_, _ = io.WriteString(w, `{"access_token":"t","expires_in":3600}`)
			}
			err := To(make(t, p.URL)).Send(t.Context(), Message())
			outcome, after := Outcome(t, err)
			require.Equal(t, c.outcome, outcome, "%v", err)
			require.Equal(t, c.after, after)
			noSecret(t, err, secrets)
			for _, r := range p.Got() {
				require.NotContains(t, r.Path, "/elsewhere", "redirects are not followed")
			}
		})
	}
	t.Run("nobody there", func(t *testing.T) {
		p := NewPeer(t)
		base := p.URL
		p.Close()
		err := To(make(t, base)).Send(t.Context(), Message())
		outcome, _ := Outcome(t, err)
		require.Equal(t, alerting.OutcomeRetryable, outcome)
		noSecret(t, err, secrets)
	})
	t.Run("no answer", func(t *testing.T) {
		p := NewPeer(t)
		hold := blocked()
		defer close(hold)
		ctx, giveUp := context.WithCancel(t.Context())
		defer giveUp()
		p.Answer = func(w http.ResponseWriter, r Request) {
			if strings.HasPrefix(r.Path, on) {
				giveUp() // now that the message has arrived
				<-hold
			}
			_, _ = io.WriteString(w, `{"access_token":"t","expires_in":3600}`)
		}
		err := To(make(t, p.URL)).Send(ctx, Message())
		outcome, _ := Outcome(t, err)
		require.Equal(t, alerting.OutcomeAmbiguous, outcome)
		noSecret(t, err, secrets)
	})
}

func blocked() chan struct{} { return make(chan struct{}) }

func noSecret(t testing.TB, err error, secrets []string) {
	t.Helper()
	for _, s := range secrets {
		require.NotContains(t, err.Error(), s)
	}
}

func retryAfter(status int, value string) func(http.ResponseWriter, Request) {
	return func(w http.ResponseWriter, _ Request) {
		w.Header().Set("Retry-After", value)
		w.WriteHeader(status)
	}
}

func redirect(w http.ResponseWriter, _ Request) {
	w.Header().Set("Location", "/elsewhere")
	w.WriteHeader(http.StatusTemporaryRedirect)
}
