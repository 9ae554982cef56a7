package modbus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"time"

	"github.com/simonvetter/modbus"
)

// Protocol is how requests are framed.
type Protocol string

// The protocols. The zero Protocol counts as TCP.
const (
	TCP        Protocol = "TCP"        // Modbus TCP
	RTUOverTCP Protocol = "RTUoverTCP" // serial frames through a TCP connection, as simple gateways carry them
	TLS        Protocol = "TLS"        // Modbus/TCP Security: Modbus TCP within TLS, both sides with certificates
)

// Options configures a driver. Only Address is required.
type Options struct {
	Address  string   // host:port or host; the port defaults to 502
	Protocol Protocol // default TCP
	UnitID   uint8    // unit of addresses that name none; default 1. Unit 0 can be had as 0/HR:1

	Timeout time.Duration // for the answer to one request; default 2 s
	MaxGap  int           // registers that may be read in vain to join two runs; default 8, negative for none. For bits, 16 count as one register
	Order   Order         // byte order of native types that name none; default ABCD
	Breaker Breaker

	Certificate *tls.Certificate // of this side; required for TLS
	RootCAs     *x509.CertPool   // of the device; required for TLS

	Logger *slog.Logger     // default: nothing is logged
	Now    func() time.Time // for the breaker; default time.Now
}

// Breaker says when a unit that does not answer is left out.
type Breaker struct {
	Failures   int           // so many requests in a row without a usable answer; default 3
	ProbeAfter time.Duration // for so long, then one request is tried; default 10 s
}

func (o Options) withDefaults() (Options, error) {
	if o.Protocol == "" {
		o.Protocol = TCP
	}
	if o.Order == "" {
		o.Order = ABCD
	}
	if o.UnitID == 0 {
		o.UnitID = 1
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Second
	}
	if o.MaxGap == 0 {
		o.MaxGap = 8
	}
	if o.Breaker.Failures == 0 {
		o.Breaker.Failures = 3
	}
	if o.Breaker.ProbeAfter == 0 {
		o.Breaker.ProbeAfter = 10 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	var bad []error
	fail := func(field, format string, args ...any) {
		bad = append(bad, fmt.Errorf("option %s %w", field, fmt.Errorf(format, args...)))
	}
	var err error
	if o.Address, err = withPort(o.Address); err != nil {
		fail("Address", "%w", err)
	}
	o.check(fail)
	return o, errors.Join(bad...)
}

func (o Options) check(fail func(field, format string, args ...any)) {
	switch o.Protocol {
	case TCP, RTUOverTCP:
	case TLS:
		if o.Certificate == nil {
			fail("Certificate", "is required for TLS")
		}
		if o.RootCAs == nil {
			fail("RootCAs", "is required for TLS")
		}
	default:
		fail("Protocol", "%.20q is not TCP, RTUoverTCP or TLS", o.Protocol)
	}
	if _, err := parseOrder(string(o.Order)); err != nil {
		fail("Order", "is not known: %w", err)
	}
	if o.Timeout < 0 {
		fail("Timeout", "must not be negative")
	}
	if o.MaxGap > maxReadRegisters {
		fail("MaxGap", "must be at most %d", maxReadRegisters)
	}
	if o.Breaker.Failures < 0 {
		fail("Breaker.Failures", "must not be negative")
	}
	if o.Breaker.ProbeAfter < 0 {
		fail("Breaker.ProbeAfter", "must not be negative")
	}
}

const defaultPort = "502"

func withPort(address string) (string, error) {
	if address == "" {
		return "", errors.New("is required")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		// A host alone, perhaps IPv6 with or without its brackets.
		host, port = strings.TrimSuffix(strings.TrimPrefix(address, "["), "]"), defaultPort
		if strings.ContainsAny(host, "[]/ ") || strings.Contains(host, ":") && net.ParseIP(host) == nil {
			return "", fmt.Errorf("%.80q is not host:port", address)
		}
	}
	if n, err := parseDecimal(port, 65535); err != nil || n == 0 || host == "" {
		return "", fmt.Errorf("%.80q is not host:port with a port of 1 to 65535", address)
	}
	return net.JoinHostPort(host, port), nil
}

// client is the configuration of the library for these options.
func (o Options) client() *modbus.ClientConfiguration {
	scheme := map[Protocol]string{TCP: "tcp", RTUOverTCP: "rtuovertcp", TLS: "tcp+tls"}[o.Protocol]
	return &modbus.ClientConfiguration{
		URL:     scheme + "://" + o.Address,
		Timeout: o.Timeout,
		// The library sleeps for as long as a serial line of this speed would be busy. The gateway
		// has the line and waits for it; what is left is the silence between frames.
		Speed:         10_000_000,
		TLSClientCert: o.Certificate,
		TLSRootCAs:    o.RootCAs,
		Logger:        slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
}
