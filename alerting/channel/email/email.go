package email

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strings"
	"time"

	"github.com/wneessen/go-mail"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/channel/internal/recipients"
	"github.com/otkit/otkit/fault"
)

// Encryption is how the connection to the mail server is protected.
type Encryption string

// The kinds of protection.
const (
	StartTLS Encryption = "starttls" // TLS after a plain greeting; if the server has none, Send fails
	TLS      Encryption = "tls"      // TLS from the start
	None     Encryption = "none"     // not encrypted; a password is sent only if the server supports a way to hide it
)

// Options of a [Channel].
type Options struct {
	Host       string
	Port       int        // default 587, 465 with TLS, 25 with None
	Encryption Encryption // default StartTLS
	Username   string     // empty: no authentication
	Password   string     // never logged
	From       string     // such as "Plant 1 <plant1@example.com>"
	To         []string
	Hello      string        // the name that is sent to the server; default that of the host
	TLS        *tls.Config   // default: the system's roots
	Timeout    time.Duration // of one step of the dialogue; default 20 s
}

// Channel sends e-mail. Safe for concurrent use.
type Channel struct {
	o  Options
	to recipients.List
}

// New returns a channel.
func New(o Options) (*Channel, error) {
	o.Encryption = cmp.Or(o.Encryption, StartTLS)
	o.Timeout = cmp.Or(o.Timeout, 20*time.Second)
	ports := map[Encryption]int{StartTLS: 587, TLS: 465, None: 25}
	if ports[o.Encryption] == 0 {
		return nil, fault.Option("email", "Options.Encryption", "must be starttls, tls or none")
	}
	o.Port = cmp.Or(o.Port, ports[o.Encryption])
	switch {
	case o.Host == "":
		return nil, fault.Option("email", "Options.Host", "is required")
	case o.Port < 1 || o.Port > 65535:
		return nil, fault.Option("email", "Options.Port", "must be 1 to 65535")
	case o.Timeout < 0:
		return nil, fault.Option("email", "Options.Timeout", "must not be negative")
	case len(o.To) == 0:
		return nil, fault.Option("email", "Options.To", "is required")
	}
	c := &Channel{o: o}
	c.to.Add(o.To...)
	for _, to := range o.To { // validates the addresses
		if _, err := c.message(alerting.Notification{}, to); err != nil {
			return nil, err
		}
	}
	if _, err := c.client(context.Background(), nil); err != nil {
		return nil, fmt.Errorf("email: %w", err)
	}
	return c, nil
}

// Name implements alerting.Channel.
func (c *Channel) Name() string { return alerting.ChannelEmail }

// Recipients implements alerting.RecipientLister.
func (c *Channel) Recipients() []string { return c.to.Recipients() }

// Send implements alerting.Channel.
func (c *Channel) Send(ctx context.Context, n alerting.Notification) error {
	to, err := c.to.Find(n)
	if err != nil {
		return err
	}
	m, err := c.message(n, to)
	if err != nil {
		return alerting.Permanent(err)
	}
	return c.deliver(ctx, m)
}

func (c *Channel) message(n alerting.Notification, to string) (*mail.Msg, error) {
	m := mail.NewMsg()
	if err := m.From(c.o.From); err != nil {
		return nil, fault.Option("email", "Options.From", "must be an address")
	}
	if err := m.To(to); err != nil {
		return nil, fault.Option("email", "Options.To", "has an invalid address")
	}
	m.Subject(n.Title)
	m.SetDateWithValue(time.Now())
	// One id for all attempts to send it, so that a mailbox can recognize a repeat.
	m.SetMessageIDWithValue(n.ID + "@otkit.invalid")
	if n.AlarmID != "" { // no message has this id; a mailbox shows messages that name it as one conversation
		alarm := "<" + n.AlarmID + "@otkit.invalid>"
		m.SetGenHeader(mail.HeaderInReplyTo, alarm)
		m.SetGenHeader(mail.HeaderReferences, alarm)
	}
	m.SetGenHeader("Auto-Submitted", "auto-generated")
	if n.Severity >= alarms.Error && !n.Resolved {
		m.SetImportance(mail.ImportanceHigh)
	}
	m.SetBodyString(mail.TypeTextPlain, n.Body)
	return m, nil
}

// line is the connection of one dialogue. It is closed when a context ends, even during a step.
type line struct {
	conn net.Conn
	stop func() bool
}

func (l *line) open(ctx context.Context, conn net.Conn) {
	l.conn = conn
	l.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
}

func (l *line) close() {
	if l.conn != nil {
		l.stop()
		_ = l.conn.Close()
	}
}

func (c *Channel) client(ctx context.Context, l *line) (*mail.Client, error) {
	opts := []mail.Option{
		mail.WithPort(c.o.Port), mail.WithTimeout(c.o.Timeout), mail.WithTLSPolicy(c.policy()), mail.WithoutNoop(),
		mail.WithDialContextFunc(func(dctx context.Context, network, address string) (net.Conn, error) {
			conn, err := c.dial(dctx, network, address)
			if err == nil {
				l.open(ctx, conn) // dctx ends with dialing
			}
			return conn, err
		}),
	}
	if c.o.TLS != nil {
		opts = append(opts, mail.WithTLSConfig(c.tls()))
	}
	if c.o.Hello != "" {
		opts = append(opts, mail.WithHELO(c.o.Hello))
	}
	if c.o.Username != "" {
		opts = append(opts, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(c.o.Username), mail.WithPassword(c.o.Password))
	}
	return mail.NewClient(c.o.Host, opts...)
}

// policy returns what follows the greeting. With TLS from the start, dial has encrypted the connection, which the
// opportunistic policy accepts.
func (c *Channel) policy() mail.TLSPolicy {
	switch c.o.Encryption {
	case StartTLS:
		return mail.TLSMandatory
	case TLS:
		return mail.TLSOpportunistic
	}
	return mail.NoTLS
}

func (c *Channel) tls() *tls.Config {
	config := c.o.TLS.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config.ServerName = cmp.Or(config.ServerName, c.o.Host)
	return config
}

func (c *Channel) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.o.Encryption == TLS {
		return (&tls.Dialer{Config: c.tls()}).DialContext(ctx, network, address)
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

func (c *Channel) deliver(ctx context.Context, m *mail.Msg) error {
	var l line
	client, err := c.client(ctx, &l)
	if err != nil {
		return alerting.Permanent(c.clean(err))
	}
	defer l.close()
	conversation, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return c.refused(err)
	}
	err = client.SendWithSMTPClient(conversation, m)
	if m.IsDelivered() {
		_ = conversation.Quit() // an error after the server accepted the message is not a failure
		return nil
	}
	return c.outcome(err)
}

// refused classifies errors before the message itself: it has not arrived.
func (c *Channel) refused(err error) error {
	var answer *textproto.Error
	if errors.As(err, &answer) && answer.Code >= 500 && !credentials(answer.Code) {
		return alerting.Permanent(c.clean(err))
	}
	return alerting.Retryable(c.clean(err), 0)
}

// credentials reports whether an answer is about username and password (RFC 4954), which an operator can correct.
func credentials(code int) bool { return code == 530 || code == 534 || code == 535 }

func (c *Channel) outcome(err error) error {
	var e *mail.SendError
	if !errors.As(err, &e) {
		return alerting.Ambiguous(c.clean(err))
	}
	switch code := e.ErrorCode(); {
	case credentials(code):
		return alerting.Retryable(c.clean(err), 0)
	case code >= 500:
		return alerting.Permanent(c.clean(err))
	case code >= 400:
		return alerting.Retryable(c.clean(err), 0) // greylisting, a full mailbox, too many connections
	case e.Reason == mail.ErrSMTPDataClose:
		return alerting.Ambiguous(c.clean(err)) // the server had the whole message, and its answer is lost
	}
	return alerting.Retryable(c.clean(err), 0)
}

// clean returns an error of one short line without the password.
func (c *Channel) clean(err error) error {
	text := err.Error()
	if c.o.Password != "" {
		text = strings.ReplaceAll(text, c.o.Password, "***")
	}
	if cut := []rune(strings.Join(strings.Fields(text), " ")); len(cut) > 300 {
		text = string(cut[:299]) + "…"
	} else {
		text = string(cut)
	}
	return cleaned{text, err}
}

type cleaned struct {
	text string
	err  error
}

func (e cleaned) Error() string { return e.text }
func (e cleaned) Unwrap() error { return e.err }
