package modbus

import (
	"cmp"
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
	RTU        Protocol = "RTU"        // serial frames on a serial port of this machine
)

// serial holds for the protocols whose frames have no number that ties an answer to its request.
func (p Protocol) serial() bool { return p == RTU || p == RTUOverTCP }

// Options configures a driver. Only Address is required.
type Options struct {
	Address  string   // host:port or host, the port defaults to 502; for RTU the serial port, such as /dev/ttyUSB0 or COM3
	Protocol Protocol // default TCP
	Line     Line     // for RTU
	UnitID   uint8    // unit of addresses that name none; default 1. Unit 0 can be had as 0/HR:1

	Timeout time.Duration // for the answer to one request; default 2 s
	Breaker Breaker

	MaxRegisters int // see Unit, as the next three
	MaxGap       int
	RequestPause time.Duration
	Order        Order
	Units        map[uint8]Unit // what is different for single units

	Certificate *tls.Certificate // of this side; required for TLS
	RootCAs     *x509.CertPool   // of the device; required for TLS

	Logger *slog.Logger     // default: nothing is logged
	Now    func() time.Time // for the breaker; default time.Now
}

// Unit is how a unit is polled. A zero member of an entry of Options.Units takes what the
// Options have for all units.
type Unit struct {
	MaxRegisters int           // most registers in one request, for reading (default 125) and writing (at most 123). For bits, 16 count as one register
	MaxGap       int           // registers that may be read in vain to join two runs; default 8, negative for none. For bits, 16 count as one register
	RequestPause time.Duration // least time from the end of a request, of whatever unit, to the next one to this unit; default and negative: none
	Order        Order         // byte order of native types that name none; default ABCD
}

// unit returns how a unit is polled.
func (o *Options) unit(id uint8) Unit {
	u, own := o.Units[id]
	if !own {
		return Unit{o.MaxRegisters, o.MaxGap, o.RequestPause, o.Order}
	}
	return Unit{
		MaxRegisters: cmp.Or(u.MaxRegisters, o.MaxRegisters), MaxGap: cmp.Or(u.MaxGap, o.MaxGap),
		RequestPause: cmp.Or(u.RequestPause, o.RequestPause), Order: cmp.Or(u.Order, o.Order),
	}
}

// limits returns the registers that may be read in vain to join two runs of a unit, and the most that
// one request may read.
func (o *Options) limits(unit uint8) (gap, most int) {
	u := o.unit(unit)
	return max(u.MaxGap, 0), u.MaxRegisters
}

// maxWritten returns the most registers that one request to a unit may write.
func (o *Options) maxWritten(unit uint8) int {
	return min(o.unit(unit).MaxRegisters, maxWriteRegisters)
}

func (d *Driver) longestPause() time.Duration {
	longest := max(d.options.RequestPause, 0)
	for _, u := range d.options.Units {
		longest = max(longest, u.RequestPause)
	}
	return longest
}

// Line holds the settings of a serial line. The zero Line is 19200 bit/s, 8 data bits, even parity and 1 stop
// bit, as the protocol has it.
type Line struct {
	Baud     int    // bit/s
	DataBits int    // 7 or 8
	Parity   Parity // default Even
	StopBits int    // 1 or 2; default 1, without parity 2
}

// Parity is how the characters of a serial line are checked.
type Parity string

// The parities.
const (
	Even Parity = "Even"
	Odd  Parity = "Odd"
	None Parity = "None"
)

// Breaker sets when polling of a silent unit is paused. Polling of a single unit never is.
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
	if o.MaxRegisters == 0 {
		o.MaxRegisters = maxReadRegisters
	}
	o.Line = o.Line.withDefaults()
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
	if o.Protocol == RTU {
		if o.Address == "" {
			fail("Address", "is required")
		}
		o.Line.check(fail)
	} else if o.Address, err = withPort(o.Address); err != nil {
		fail("Address", "%w", err)
	}
	o.check(fail)
	return o, errors.Join(bad...)
}

func (o Options) check(fail func(field, format string, args ...any)) {
	switch o.Protocol {
	case TCP, RTUOverTCP, RTU:
	case TLS:
		if o.Certificate == nil {
			fail("Certificate", "is required for TLS")
		}
		if o.RootCAs == nil {
			fail("RootCAs", "is required for TLS")
		}
	default:
		fail("Protocol", "%.20q is not TCP, RTU, RTUoverTCP or TLS", o.Protocol)
	}
	if o.Timeout < 0 {
		fail("Timeout", "must not be negative")
	}
	Unit{o.MaxRegisters, o.MaxGap, o.RequestPause, o.Order}.check("", fail)
	for id, u := range o.Units {
		u.Order = cmp.Or(u.Order, ABCD)
		u.check(fmt.Sprintf("Units[%d].", id), fail)
	}
	if o.Breaker.Failures < 0 {
		fail("Breaker.Failures", "must not be negative")
	}
	if o.Breaker.ProbeAfter < 0 {
		fail("Breaker.ProbeAfter", "must not be negative")
	}
}

func (u Unit) check(path string, fail func(field, format string, args ...any)) {
	if _, err := parseOrder(string(u.Order)); err != nil {
		fail(path+"Order", "is not known: %w", err)
	}
	if u.MaxGap > maxReadRegisters {
		fail(path+"MaxGap", "must be at most %d", maxReadRegisters)
	}
	if u.MaxRegisters < 0 || u.MaxRegisters > maxReadRegisters {
		fail(path+"MaxRegisters", "must be 1 to %d", maxReadRegisters)
	}
	if u.RequestPause > maxPause {
		fail(path+"RequestPause", "must be at most %s", maxPause)
	}
}

// maxPause bounds the pause between two requests; a longer one is a slip of the keyboard.
const maxPause = 10 * time.Second

func (l Line) withDefaults() Line {
	l.Baud, l.DataBits, l.Parity = cmp.Or(l.Baud, 19200), cmp.Or(l.DataBits, 8), cmp.Or(l.Parity, Even)
	if l.StopBits == 0 {
		l.StopBits = 1
		if l.Parity == None {
			l.StopBits = 2
		}
	}
	return l
}

func (l Line) check(fail func(field, format string, args ...any)) {
	if l.Baud < 300 || l.Baud > 4_000_000 {
		fail("Line.Baud", "must be 300 to 4000000")
	}
	if l.DataBits < 7 || l.DataBits > 8 {
		fail("Line.DataBits", "must be 7 or 8")
	}
	if l.StopBits < 1 || l.StopBits > 2 {
		fail("Line.StopBits", "must be 1 or 2")
	}
	if l.Parity != Even && l.Parity != Odd && l.Parity != None {
		fail("Line.Parity", "%.20q is not Even, Odd or None", l.Parity)
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
	scheme := map[Protocol]string{TCP: "tcp", RTUOverTCP: "rtuovertcp", TLS: "tcp+tls", RTU: "rtu"}[o.Protocol]
	c := &modbus.ClientConfiguration{
		URL:     scheme + "://" + o.Address,
		Timeout: o.Timeout,
		// The library sleeps for as long as a serial line of this speed would be busy. The gateway
		// has the line and waits for it; what is left is the silence between frames.
		Speed:         10_000_000,
		TLSClientCert: o.Certificate,
		TLSRootCAs:    o.RootCAs,
		Logger:        slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
	if o.Protocol == RTU {
		c.Speed, c.DataBits, c.StopBits = uint(o.Line.Baud), uint(o.Line.DataBits), uint(o.Line.StopBits)
		c.Parity = map[Parity]uint{Even: modbus.PARITY_EVEN, Odd: modbus.PARITY_ODD, None: modbus.PARITY_NONE}[o.Line.Parity]
	}
	return c
}
