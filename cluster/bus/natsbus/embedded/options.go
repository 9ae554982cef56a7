package embedded

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/cluster/bus/natsbus"
	"github.com/otkit/otkit/fault"
)

// Options configure a Bus. Listen is required.
type Options struct {
	Listen    string   // host:port for the servers of other engines, such as :6222; port 0 for any that is free
	Advertise string   // host:port where other engines reach Listen; default: the address that they see
	Routes    []string // host:port of other engines; see also Bus.SetRoutes

	Password string // of the plant, the same on all engines; without TLS it passes the network as it is
	// TLS encrypts the routes and may require certificates. It is used by both ends of them: a server has GetCertificate or Certificates, and ClientAuth with
	// ClientCAs; a client has GetClientCertificate or Certificates, and RootCAs.
	TLS *tls.Config

	Prefix string // see natsbus.Options; servers of plants with other prefixes refuse one another
	Name   string // of this server, which no other may have; default: random

	Now    func() time.Time // of Status.Since; default time.Now
	Logger *slog.Logger     // default: discards
}

func (o Options) withDefaults() (Options, error) {
	o.Prefix = cmp.Or(o.Prefix, "otkit")
	if bus.CheckSubject(o.Prefix) != nil || len(o.Prefix) > 100 {
		return o, fault.Option("embedded", "Options.Prefix", "must have 1 to 100 letters, digits, - and _ in tokens separated by dots, not %q", o.Prefix)
	}
	if o.Listen == "" {
		return o, fault.Option("embedded", "Options.Listen", "is required")
	}
	if _, _, err := hostPort(o.Listen, 0); err != nil {
		return o, fault.Option("embedded", "Options.Listen", "%s", err)
	}
	if o.Advertise != "" {
		if host, _, err := hostPort(o.Advertise, 1); err != nil || host == "" {
			return o, fault.Option("embedded", "Options.Advertise", "must be like engine-1:6222, not %q", o.Advertise)
		}
	}
	if _, err := o.routes(); err != nil {
		return o, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// hostPort divides an address.
func hostPort(address string, lowest int) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < lowest || port > 65535 {
		return "", 0, fault.New(fault.Invalid, "", "must be like engine-1:6222 or :6222, not "+strconv.Quote(address))
	}
	return host, port, nil
}

// user is the name that servers give each other with the password.
const user = "otkit"

func (o Options) routes() ([]*url.URL, error) {
	list := make([]*url.URL, len(o.Routes))
	for i, route := range o.Routes {
		if host, _, err := hostPort(route, 1); err != nil || host == "" {
			return nil, fault.Option("embedded", "Options.Routes["+strconv.Itoa(i)+"]", "must be like engine-1:6222, not %q", route)
		}
		list[i] = &url.URL{Scheme: "nats-route", Host: route}
		if o.Password != "" {
			list[i].User = url.UserPassword(user, o.Password)
		}
	}
	return list, nil
}

const (
	// noPort lets the listener for clients fail before it asks the system for anything. With the server's option for no listener, DontListen, routes are never
	// opened (as of nats-server 2.15).
	noPort = 1 << 16

	// A server of another engine that has stopped, or a network that swallows everything, is noticed after three pings.
	pingInterval = time.Second
	maxPingsOut  = 2
)

// server returns the options of the server.
func (o Options) server() (*server.Options, error) {
	host, port, err := hostPort(o.Listen, 0)
	if err != nil {
		return nil, err
	}
	routes, err := o.routes()
	if err != nil {
		return nil, err
	}
	s := &server.Options{
		ServerName: o.Name, Host: "127.0.0.1", Port: noPort, NoSigs: true, NoSystemAccount: true,
		Cluster: server.ClusterOpts{Name: o.Prefix, Host: host, Port: port, Advertise: o.Advertise, NoAdvertise: true, PoolSize: -1,
			Compression: server.CompressionOpts{Mode: server.CompressionOff}, PingInterval: pingInterval, MaxPingsOut: maxPingsOut,
			TLSConfig: o.TLS, TLSTimeout: 5, AuthTimeout: 5},
		Routes: routes, ConnectErrorReports: 3600, ReconnectErrorReports: 3600, // attempts, one a second
	}
	if port == 0 {
		s.Cluster.Port = server.RANDOM_PORT
	}
	if o.Password != "" {
		s.Cluster.Username, s.Cluster.Password = user, o.Password
	}
	return s, nil
}

// client returns the options of the connection to the server.
func (o Options) client(s *server.Server) natsbus.Options {
	return natsbus.Options{Server: s, Prefix: o.Prefix, Now: o.Now, Logger: o.Logger}
}
