package email_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/email"
	"github.com/otkit/otkit/alerting/channel/internal/channeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func Example() {
	c, err := email.New(email.Options{
		Host: "mail.example.com", Username: "plant", Password: "secret",
		From: "Plant 1 <plant1@example.com>", To: []string{"operators@example.com"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Name())
	// Output: email
}

func options(port int) email.Options {
	return email.Options{
		Host: "127.0.0.1", Port: port, Encryption: email.None, From: "Plant 1 <plant1@example.com>",
		To: []string{"anna@example.com"}, Timeout: 2 * time.Minute,
	}
}

func channel(t testing.TB, o email.Options) *email.Channel {
	t.Helper()
	c, err := email.New(o)
	require.NoError(t, err)
	return c
}

func TestSend(t *testing.T) {
	for _, enc := range []email.Encryption{email.StartTLS, email.TLS, email.None} {
		t.Run(string(enc), func(t *testing.T) {
			s := newServer(t, enc == email.TLS)
			o := options(s.port)
			o.Encryption, o.TLS = enc, &tls.Config{RootCAs: s.root, MinVersion: tls.VersionTLS12}
			if enc != email.None {
				o.Username, o.Password = "plant", "p4ssw0rd!"
			}
			n := channeltest.Message()
			n.Title, n.Body = "[Error] Kühler: 100 °C", "line ä\n.\nline three "+strings.Repeat("x", 2000)
			require.NoError(t, channeltest.To(channel(t, o)).Send(t.Context(), n))
			require.Len(t, s.got(), 1)
			got := s.got()[0]
			require.Equal(t, "plant1@example.com", got.from)
			require.Equal(t, "anna@example.com", got.to)
			require.Equal(t, o.Username, got.user)
			require.Equal(t, enc != email.None, got.encrypted)

			m, err := mail.ReadMessage(strings.NewReader(got.text))
			require.NoError(t, err)
			subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
			require.NoError(t, err)
			require.Equal(t, n.Title, subject)
			require.Equal(t, "<"+n.ID+"@otkit.invalid>", m.Header.Get("Message-ID"))
			require.Equal(t, "<"+n.AlarmID+"@otkit.invalid>", m.Header.Get("In-Reply-To"))
			require.Equal(t, "<"+n.AlarmID+"@otkit.invalid>", m.Header.Get("References"))
			require.Equal(t, "auto-generated", m.Header.Get("Auto-Submitted"))
			require.Equal(t, "1", m.Header.Get("X-Priority"))
			body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
			require.NoError(t, err)
			require.Equal(t, n.Body, strings.TrimSpace(strings.ReplaceAll(string(body), "\r\n", "\n")))
		})
	}
}

func TestAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		rcpt, data error
		outcome    alerting.Outcome
	}{
		"greylisting":      {rcpt: answer(451, "try again later"), outcome: alerting.OutcomeRetryable},
		"no such user":     {rcpt: answer(550, "no such user"), outcome: alerting.OutcomePermanent},
		"mailbox is full":  {data: answer(452, "mailbox is full"), outcome: alerting.OutcomeRetryable},
		"needs a password": {rcpt: answer(530, "authentication required"), outcome: alerting.OutcomeRetryable},
		"looks like spam":  {data: answer(554, "looks like spam"), outcome: alerting.OutcomePermanent},
		"shutting down":    {rcpt: answer(421, "shutting down"), outcome: alerting.OutcomeRetryable},
		"message too long": {data: answer(552, "too long"), outcome: alerting.OutcomePermanent},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, false)
			s.rcpt, s.data = func(string) error { return c.rcpt }, func() error { return c.data }
			err := channeltest.To(channel(t, options(s.port))).Send(t.Context(), channeltest.Message())
			outcome, _ := channeltest.Outcome(t, err)
			require.Equal(t, c.outcome, outcome, "%v", err)
			require.Empty(t, s.got())
		})
	}
}

func TestOneRecipientIsRefused(t *testing.T) {
	s := newServer(t, false)
	grey := true
	s.rcpt = func(to string) error {
		if strings.HasPrefix(to, "bob") && grey {
			return answer(451, "try again later")
		}
		return nil
	}
	o := options(s.port)
	o.To = []string{"anna@example.com", "Bob <bob@example.com>", "cleo@example.com"}
	c := channel(t, o)
	require.Equal(t, o.To, c.Recipients())
	outcome, _ := channeltest.Outcome(t, channeltest.To(c).Send(t.Context(), channeltest.Message()))
	require.Equal(t, alerting.OutcomeRetryable, outcome)
	require.Len(t, s.got(), 2)
	grey = false
	n := channeltest.Message()
	n.Recipient = o.To[1]
	require.NoError(t, c.Send(t.Context(), n))
	require.Len(t, s.got(), 3)
	require.Equal(t, "bob@example.com", s.got()[2].to)
}

func TestNoTLS(t *testing.T) {
	s := newServer(t, false)
	s.TLSConfig = nil
	o := options(s.port)
	o.Encryption = email.StartTLS
	outcome, _ := channeltest.Outcome(t, channeltest.To(channel(t, o)).Send(t.Context(), channeltest.Message()))
	require.Equal(t, alerting.OutcomeRetryable, outcome)
	require.Empty(t, s.got(), "nothing is sent in the clear")
}

func TestUntrustedServer(t *testing.T) {
	for _, enc := range []email.Encryption{email.StartTLS, email.TLS} {
		s := newServer(t, enc == email.TLS)
		o := options(s.port)
		o.Encryption, o.Username, o.Password = enc, "plant", "p4ssw0rd!"
		outcome, _ := channeltest.Outcome(t, channeltest.To(channel(t, o)).Send(t.Context(), channeltest.Message()))
		require.Equal(t, alerting.OutcomeRetryable, outcome)
		require.Empty(t, s.got())
	}
}

func TestWrongPassword(t *testing.T) {
	s := newServer(t, true)
	o := options(s.port)
	o.Encryption, o.TLS = email.TLS, &tls.Config{RootCAs: s.root, MinVersion: tls.VersionTLS12}
	o.Username, o.Password = "plant", "wr0ng"
	err := channeltest.To(channel(t, o)).Send(t.Context(), channeltest.Message())
	outcome, _ := channeltest.Outcome(t, err)
	require.Equal(t, alerting.OutcomeRetryable, outcome, "an operator mends it: %v", err)
	require.NotContains(t, err.Error(), "wr0ng")
}

func TestPasswordIsNotSentInTheClear(t *testing.T) {
	s := newServer(t, false)
	o := options(s.port)
	o.Username, o.Password = "plant", "p4ssw0rd!"
	err := channeltest.To(channel(t, o)).Send(t.Context(), channeltest.Message())
	outcome, _ := channeltest.Outcome(t, err)
	require.NotEqual(t, alerting.OutcomeAmbiguous, outcome)
	require.Empty(t, s.got())
}

func TestHangingServer(t *testing.T) {
	for name, c := range map[string]struct {
		lines   string
		last    string // the last line of the channel
		outcome alerting.Outcome
	}{
		"before the greeting": {"", "", alerting.OutcomeRetryable},
		"after the greeting":  {"220 localhost\r\n", "EHLO", alerting.OutcomeRetryable},
		"after EHLO":          {"220 localhost\r\n250 localhost\r\n", "MAIL", alerting.OutcomeRetryable},
		"after RCPT":          {"220 localhost\r\n250 localhost\r\n250 ok\r\n250 ok\r\n", "DATA", alerting.OutcomeRetryable},
		"after the message":   {"220 localhost\r\n250 localhost\r\n250 ok\r\n250 ok\r\n354 go\r\n", ".\r\n", alerting.OutcomeAmbiguous},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, giveUp := context.WithCancel(t.Context())
			defer giveUp()
			c2 := channel(t, options(hanging(t, c.lines, c.last, giveUp)))
			sent := make(chan error, 1)
			go func() { sent <- channeltest.To(c2).Send(ctx, channeltest.Message()) }()
			select {
			case err := <-sent:
				outcome, _ := channeltest.Outcome(t, err)
				require.Equal(t, c.outcome, outcome, "%v", err)
				require.ErrorIs(t, ctx.Err(), context.Canceled, "it has hung")
			case <-time.After(time.Minute): // half of its own timeout
				require.Fail(t, "it does not end with the context")
			}
		})
	}
}

func TestAnswerIsLost(t *testing.T) {
	s := newServer(t, false)
	s.dies = true
	err := channeltest.To(channel(t, options(s.port))).Send(t.Context(), channeltest.Message())
	outcome, _ := channeltest.Outcome(t, err)
	require.Equal(t, alerting.OutcomeAmbiguous, outcome, "%v", err)
	require.Len(t, s.got(), 1, "the server has it")
}

func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	outcome, _ := channeltest.Outcome(t, channeltest.To(channel(t, options(l.Addr().(*net.TCPAddr).Port))).Send(t.Context(), channeltest.Message()))
	require.Equal(t, alerting.OutcomeRetryable, outcome)
}

func TestOptions(t *testing.T) {
	for field, change := range map[string]func(*email.Options){
		"Host": func(o *email.Options) { o.Host = "" }, "Port": func(o *email.Options) { o.Port = 70000 },
		"Encryption": func(o *email.Options) { o.Encryption = "ssl" }, "From": func(o *email.Options) { o.From = "nobody" },
		"To": func(o *email.Options) { o.To = nil }, "To has": func(o *email.Options) { o.To = []string{"a@b.c", "x\r\nBcc: y@z"} },
		"Timeout": func(o *email.Options) { o.Timeout = -1 },
	} {
		o := options(25)
		change(&o)
		_, err := email.New(o)
		require.ErrorContains(t, err, "email: Options."+field)
	}
}
