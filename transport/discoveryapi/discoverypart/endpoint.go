package discoverypart

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/otkit/otkit/discovery"
	"github.com/otkit/otkit/transport/bridgelink"
)

// Endpoint is where the engine listens.
type Endpoint struct {
	Addr func() net.Addr // nil, or returns nil: it has no port
	TLS  *tls.Config     // nil: without TLS
}

func (e Endpoint) scheme() string {
	if e.TLS != nil {
		return "https"
	}
	return "http"
}

// port returns the port, and the address if it is not that of all interfaces.
func (e Endpoint) port() (port int, only netip.Addr, ok bool) {
	if e.Addr == nil {
		return 0, only, false
	}
	a, ok := e.Addr().(*net.TCPAddr)
	if !ok {
		return 0, only, false
	}
	if ap := a.AddrPort(); ap.Addr().IsValid() && !ap.Addr().IsUnspecified() {
		only = ap.Addr().Unmap()
	}
	return a.Port, only, true
}

// pins returns the key of the certificate in use.
func (e Endpoint) pins() []string {
	if e.TLS == nil {
		return nil
	}
	config := e.TLS
	hello := &tls.ClientHelloInfo{SupportedVersions: []uint16{tls.VersionTLS13}, CipherSuites: []uint16{tls.TLS_AES_128_GCM_SHA256},
		SignatureSchemes: []tls.SignatureScheme{tls.ECDSAWithP256AndSHA256, tls.ECDSAWithP384AndSHA384, tls.ECDSAWithP521AndSHA512, tls.PSSWithSHA256, tls.Ed25519},
		SupportedCurves:  []tls.CurveID{tls.X25519, tls.CurveP256}}
	if config.GetConfigForClient != nil {
		if c, err := config.GetConfigForClient(hello); err == nil && c != nil {
			config = c
		}
	}
	var chain [][]byte
	if config.GetCertificate != nil {
		if c, err := config.GetCertificate(hello); err == nil && c != nil {
			chain = c.Certificate
		}
	}
	if chain == nil && len(config.Certificates) > 0 {
		chain = config.Certificates[0].Certificate
	}
	if len(chain) == 0 {
		return nil
	}
	leaf, err := x509.ParseCertificate(chain[0])
	if err != nil {
		return nil
	}
	return []string{bridgelink.Pin(leaf)}
}

// CheckEngineURL returns what is wrong with a URL at which bridges are to reach the engine.
func CheckEngineURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("must be like https://engine.example.com:5001")
	}
	return nil
}

// engineURL returns where a bridge reaches the engine.
func (d *Discovery) engineURL(ctx context.Context, bridgeURL string) (string, error) {
	if text := d.opts.EngineURL; text != "" {
		if d.opts.Endpoint.TLS == nil && strings.HasPrefix(text, "https:") {
			return "", discovery.ErrNoEngineURL.Because("bridges verify an https URL by the key of the engine's own certificate; it has none")
		}
		return text, nil
	}
	port, only, ok := d.opts.Endpoint.port()
	if !ok {
		return "", discovery.ErrNoEngineURL.Because("it has no port of its own; set the URL")
	}
	if !only.IsValid() || only.IsLoopback() {
		local, err := localAddr(ctx, bridgeURL)
		switch {
		case err != nil:
			return "", discovery.ErrConnection.Wrap(err)
		case !only.IsValid():
			only = local
		case !local.IsLoopback():
			return "", discovery.ErrNoEngineURL.Because("it listens on a loopback address, which bridges on other machines cannot reach")
		}
	}
	u := url.URL{Scheme: d.opts.Endpoint.scheme(), Host: net.JoinHostPort(only.WithZone("").String(), strconv.Itoa(port))}
	return u.String(), nil
}

// localAddr returns the address of this machine on the way to a URL. It sends nothing.
func localAddr(ctx context.Context, to string) (netip.Addr, error) {
	u, err := url.Parse(to)
	if err != nil {
		return netip.Addr{}, err
	}
	port := u.Port()
	if port == "" {
		port = "80" // any will do
	}
	dialer := net.Dialer{Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, "udp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return netip.Addr{}, err
	}
	defer func() { _ = conn.Close() }()
	a, ok := conn.LocalAddr().(*net.UDPAddr)
	if !ok {
		return netip.Addr{}, errors.New("no local address")
	}
	return a.AddrPort().Addr().Unmap(), nil
}

// Announcement is what the network learns of the engine.
type Announcement struct {
	Instance  string // unique
	Type      string // discovery.EngineService
	Port      int
	Text      []string
	Addresses []netip.Addr // empty: those of all interfaces
}

// start announces the engine, which works without. One that listens on a loopback address is of no use to others.
func (d *Discovery) start() {
	port, only, ok := d.opts.Endpoint.port()
	if d.opts.Advertise == nil || !ok || only.IsLoopback() {
		return
	}
	a := Announcement{Instance: d.opts.EngineID, Type: discovery.EngineService, Port: port, Text: []string{"engineId=" + d.service.EngineID(), "version=" + d.opts.Version}}
	if d.opts.Name != "" {
		a.Text = append(a.Text, "name="+d.opts.Name)
	}
	if d.opts.EngineURL != "" {
		a.Text = append(a.Text, "url="+d.opts.EngineURL)
	}
	if d.opts.Endpoint.TLS != nil {
		a.Text = append(a.Text, "tls=1")
	}
	if only.IsValid() {
		a.Addresses = []netip.Addr{only}
	}
	announced, err := d.opts.Advertise(a)
	if err != nil {
		d.opts.Logger.Warn("failed to announce the engine on the network", "error", err)
		return
	}
	d.announce = announced
}
