package natsbus

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/fault"
)

// Options configure a Bus. URLs or Server is required.
type Options struct {
	URLs   []string                   // of the servers of one NATS, such as nats://nats-1:4222 or tls://nats-1:4222
	Server nats.InProcessConnProvider // a server in this process, instead of URLs; see package embedded

	User, Password string      // may also be in the URLs
	Token          string      // instead of User and Password
	CredsFile      string      // file with a JWT and its key, instead of User, Password and Token
	TLS            *tls.Config // for tls:// and for servers that require it; nil uses the system's authorities

	// Prefix begins all subjects. Engines with another prefix are of another plant. Default otkit. The account of the engine must be
	// allowed to publish and to subscribe to Prefix.>.
	Prefix string
	Name   string // of the connection, as NATS shows it; default Prefix

	Timeout time.Duration    // of an attempt to connect; default 2 s
	Now     func() time.Time // of Status.Since; default time.Now
	Logger  *slog.Logger     // default: discards
}

func (o Options) withDefaults() (Options, error) {
	o.Prefix = cmp.Or(o.Prefix, "otkit")
	o.Name = cmp.Or(o.Name, o.Prefix)
	o.Timeout = cmp.Or(o.Timeout, 2*time.Second)
	switch {
	case len(o.URLs) == 0 && o.Server == nil:
		return o, fault.Option("natsbus", "Options.URLs", "is required")
	case len(o.URLs) > 0 && o.Server != nil:
		return o, fault.Option("natsbus", "Options.URLs", "must be empty with a Server")
	case bus.CheckSubject(o.Prefix) != nil || len(o.Prefix) > 100:
		return o, fault.Option("natsbus", "Options.Prefix", "must have 1 to 100 letters, digits, - and _ in tokens separated by dots, not %q", o.Prefix)
	case o.Password != "" && o.User == "":
		return o, fault.Option("natsbus", "Options.User", "is required with Password")
	case o.Timeout < 0:
		return o, fault.Option("natsbus", "Options.Timeout", "must not be negative, not %s", o.Timeout)
	case o.User != "" && o.Token != "", o.User != "" && o.CredsFile != "", o.Token != "" && o.CredsFile != "":
		return o, fault.Option("natsbus", "Options", "must have only one of User, Token and CredsFile")
	}
	for i, text := range o.URLs {
		if u, err := url.Parse(text); err != nil || u.Host == "" || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) {
			return o, fault.Option("natsbus", fmt.Sprintf("Options.URLs[%d]", i), "must be like nats://nats-1:4222 or tls://nats-1:4222") // it may have a password
		}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

const (
	// A server that has stopped, or a network that swallows everything, is noticed after three pings.
	pingInterval = time.Second
	maxPingsOut  = 2
	writeTimeout = 2 * time.Second // how long a server may take nothing
)

// connect connects once. closed is called when the connection has ended, failed when the server refuses something.
func (o Options) connect(closed func(*nats.Conn), failed func(error)) (*nats.Conn, error) {
	list := []nats.Option{
		nats.Name(o.Name), nats.Timeout(o.Timeout), nats.NoEcho(), nats.NoReconnect(),
		nats.PingInterval(pingInterval), nats.MaxPingsOutstanding(maxPingsOut), nats.FlusherTimeout(writeTimeout), nats.ReconnectOnFlusherError(),
		nats.ClosedHandler(closed), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { failed(err) }),
		func(n *nats.Options) error { n.Servers = o.URLs; return nil },
	}
	if o.Server != nil {
		list = append(list, nats.InProcessServer(o.Server))
	}
	if o.TLS != nil {
		list = append(list, nats.Secure(o.TLS))
	}
	switch {
	case o.CredsFile != "":
		list = append(list, nats.UserCredentials(o.CredsFile))
	case o.Token != "":
		list = append(list, nats.Token(o.Token))
	case o.User != "":
		list = append(list, nats.UserInfo(o.User, o.Password))
	}
	return nats.Connect("", list...)
}
