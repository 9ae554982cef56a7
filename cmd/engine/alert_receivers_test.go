package main_test

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/mail"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/webhook"
	"github.com/otkit/otkit/openapi/client"
)

// mailbox is a real mail server that keeps what it gets.
type mailbox struct {
	mu      sync.Mutex
	letters []letter
}

type letter struct{ from, to, subject, text string }

// openMailbox serves mail at an address, such as 127.0.0.1:0, and gives that which it got.
func openMailbox(t testing.TB, addr string) (*mailbox, string) {
	t.Helper()
	listener, err := net.Listen("tcp", addr)
	require.NoError(t, err)
	return serveMail(t, listener), listener.Addr().String()
}

// deafListener hangs up on whoever connects, until it is opened.
type deafListener struct {
	net.Listener
	open atomic.Bool
}

func (l *deafListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || l.open.Load() {
			return conn, err
		}
		_ = conn.Close()
	}
}

// closedMailbox is one that takes no mail yet.
func closedMailbox(t testing.TB) (m *mailbox, addr string, open func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	deaf := &deafListener{Listener: listener}
	return serveMail(t, deaf), listener.Addr().String(), func() { deaf.open.Store(true) }
}

func serveMail(t testing.TB, listener net.Listener) *mailbox { return serveMailWith(t, listener, nil) }

func serveMailWith(t testing.TB, listener net.Listener, c *tls.Config) *mailbox {
	m := &mailbox{}
	server := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &delivery{box: m}, nil }))
	server.Domain, server.ErrorLog, server.TLSConfig = "localhost", quiet{}, c
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return m
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}

// delivery is one conversation with the mail server.
type delivery struct {
	box *mailbox
	now letter
}

func (d *delivery) Mail(from string, _ *smtp.MailOptions) error { d.now.from = from; return nil }
func (d *delivery) Rcpt(to string, _ *smtp.RcptOptions) error   { d.now.to = to; return nil }
func (d *delivery) Reset()                                      {}
func (d *delivery) Logout() error                               { return nil }

func (d *delivery) Data(r io.Reader) error {
	text, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m, err := mail.ReadMessage(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if d.now.subject, err = new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject")); err != nil {
		return err
	}
	content, err := io.ReadAll(m.Body)
	if err != nil {
		return err
	}
	d.now.text = string(content)
	d.box.mu.Lock()
	defer d.box.mu.Unlock()
	d.box.letters = append(d.box.letters, d.now)
	return nil
}

func (m *mailbox) got() []letter {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]letter(nil), m.letters...)
}

func (m *mailbox) subjects() []string {
	var list []string
	for _, l := range m.got() {
		list = append(list, l.subject)
	}
	return list
}

// mailTo sets up the channel email for a server at an address.
func mailTo(addr string) []string {
	host, port, _ := strings.Cut(addr, ":")
	return []string{"Alerting__Email__Host=" + host, "Alerting__Email__Port=" + port, "Alerting__Email__Security=none",
		"Alerting__Email__From=plant@example.com", "Alerting__Email__To=shift@example.com"}
}

const hookSecret = "what the receiver knows"

// hook is a receiver of the channel webhook.
type hook struct {
	*httptest.Server
	t    testing.TB
	room chan struct{} // has one for each message that is taken, the others wait; nil or closed: room for all

	mu      sync.Mutex
	down    bool // answers 503
	refused int
	taken   []alerting.Notification
}

func newHook(t testing.TB, down bool) *hook {
	t.Helper()
	return newHookWithRoom(t, down, nil)
}

// newHookWithRoom gives a receiver that takes as many messages as the channel has had, and then makes their
// sender wait: so that it stops in the midst of sending, however fast it is.
func newHookWithRoom(t testing.TB, down bool, room chan struct{}) *hook {
	t.Helper()
	h := &hook{t: t, down: down, room: room}
	h.Server = httptest.NewServer(http.HandlerFunc(h.take))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) take(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return // the engine was killed
	}
	var n alerting.Notification
	switch err := json.Unmarshal(text, &n); {
	case err != nil, !webhook.Verify(hookSecret, r.Header, text, time.Now(), time.Minute), r.Header.Get(webhook.HeaderKey) != n.ID:
		h.t.Errorf("not what the channel sends: %v %s %v", err, text, r.Header)
	}
	if h.refuse(w) {
		return
	}
	if h.room != nil {
		select {
		case <-h.room:
		case <-r.Context().Done(): // the engine was killed
			return
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.taken = append(h.taken, n)
}

func (h *hook) refuse(w http.ResponseWriter) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.down {
		h.refused++
		http.Error(w, "not now", http.StatusServiceUnavailable)
	}
	return h.down
}

// makeRoom lets it take so many messages more.
func (h *hook) makeRoom(n int) {
	for range n {
		h.room <- struct{}{}
	}
}

func (h *hook) up() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = false
}

func (h *hook) counts() (taken, refused int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.taken), h.refused
}

func (h *hook) got() []alerting.Notification {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]alerting.Notification(nil), h.taken...)
}

// keys gives the keys of what was taken, by source and whether it was resolved.
func (h *hook) keys() map[string]map[string]bool {
	keys := map[string]map[string]bool{}
	for _, n := range h.got() {
		about := n.Source
		if n.Resolved {
			about = "resolved " + about
		}
		if keys[about] == nil {
			keys[about] = map[string]bool{}
		}
		keys[about][n.ID] = true
	}
	return keys
}

func (h *hook) settings() []string {
	return []string{"Alerting__Webhook__Url=" + h.URL, "Alerting__Webhook__Secret=" + hookSecret}
}

// with joins lists of settings.
func with(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// alert is one of a webhook's body, firing since now.
func alert(severity, instance, summary string) client.WebhookAlert {
	return client.WebhookAlert{Status: "firing", Labels: map[string]string{"alertname": "Test", "severity": severity, "instance": instance},
		Annotations: map[string]string{"summary": summary}, StartsAt: time.Now().UTC()}
}

// alerts are many of them, of one severity.
func alerts(severity, prefix string, n int) []client.WebhookAlert {
	list := make([]client.WebhookAlert, n)
	for i := range list {
		list[i] = alert(severity, fmt.Sprintf("%s-%d", prefix, i), "Something is wrong")
	}
	return list
}

// tell posts alerts to the webhook, as a sender without a token, and gives the answer.
func (e *engine) tell(list ...client.WebhookAlert) *client.PostAlertWebhookResponse {
	e.t.Helper()
	api, err := client.NewClientWithResponses(e.url)
	require.NoError(e.t, err)
	answer, err := api.PostAlertWebhookWithResponse(e.t.Context(), client.WebhookPayload{Version: "4", Status: "firing", Alerts: list})
	require.NoError(e.t, err)
	return answer
}

// told posts alerts that must all be taken.
func (e *engine) told(list ...client.WebhookAlert) {
	e.t.Helper()
	answer := e.tell(list...)
	require.NotNil(e.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	require.Equal(e.t, len(list), answer.JSON200.ProcessedCount, "%s", answer.Body)
}

// activeAlarms gives what family A lists, by source.
func (s *session) activeAlarms() map[string]client.AlarmInfo {
	s.t.Helper()
	size := 500
	answer, err := s.ListAlarmsWithResponse(s.t.Context(), &client.ListAlarmsParams{PageSize: &size})
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	found := map[string]client.AlarmInfo{}
	for _, a := range answer.JSON200.Alarms {
		require.NotEqual(s.t, found[a.Source].Code, a.Code, "active twice: %s", a.Source)
		found[a.Source] = a
	}
	return found
}

// openAlarms gives what family B lists as active, by source.
func (s *session) openAlarms() map[string]client.ActiveAlarm {
	s.t.Helper()
	answer, err := s.GetActiveAlarmsWithResponse(s.t.Context())
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	found := map[string]client.ActiveAlarm{}
	for _, a := range *answer.JSON200 {
		found[a.SourceID] = a
	}
	return found
}

// records gives the alert history of sources that have a text in them.
func (s *session) records(source string) client.AlertHistoryPage {
	s.t.Helper()
	size := 100
	answer, err := s.ListAlertHistoryWithResponse(s.t.Context(), &client.ListAlertHistoryParams{Source: source, PageSize: &size})
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	return *answer.JSON200
}

// acknowledge gives the status of acknowledging an occurrence.
func (s *session) acknowledge(id, comment string) int {
	s.t.Helper()
	answer, err := s.AcknowledgeAlarmWithResponse(s.t.Context(), id, client.AcknowledgeRequest{Comment: comment})
	require.NoError(s.t, err)
	return answer.StatusCode()
}

// raisedSince gives the occurrences of a source in family A's history.
func (s *session) raisedSince(source string, since time.Time) []client.AlarmInfo {
	s.t.Helper()
	size := 500
	answer, err := s.GetAlarmHistoryWithResponse(s.t.Context(), &client.GetAlarmHistoryParams{Start: since, End: time.Now().Add(time.Minute), Source: source, PageSize: &size})
	require.NoError(s.t, err)
	require.NotNil(s.t, answer.JSON200, "%s %s", answer.Status(), answer.Body)
	require.Less(s.t, len(answer.JSON200.Alarms), size, "there may be more")
	var found []client.AlarmInfo
	for _, a := range answer.JSON200.Alarms {
		if a.Source == source {
			found = append(found, a)
		}
	}
	return found
}
