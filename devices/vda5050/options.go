package vda5050

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/fault"
)

// Vehicle is a vehicle of a fleet.
type Vehicle struct {
	DeviceID     string
	Manufacturer string // as in its topics, at most 200 bytes
	SerialNumber string // as in its topics, at most 200 bytes
}

// Reports takes what vehicles report. devices.Service is one. If it has the method Get of devices.Service too, [Connect] asks it which
// vehicles an emergency stop is latched for, and stops them when they are reached.
type Reports interface {
	Report(deviceID string, t devices.Telemetry) error
	Connected(deviceID string) error
	Disconnected(deviceID string) error
}

// Options are the options of [Connect]. URL, Vehicles and Reports are required.
type Options struct {
	URL      string // of the broker: mqtt://host:1883 or mqtts://host:8883
	Username string
	Password string
	// ClientID is the name of the client, of which a broker lets one in: a second one ends the connection of the first. Default
	// otkit-vda5050- and random digits.
	ClientID  string
	TLS       *tls.Config // for mqtts; nil uses the system's authorities
	Interface string      // first level of the topics; default uagv
	Vehicles  []Vehicle
	Reports   Reports
	// KeepAlive is how often a connection without messages is tried. A broker that does not answer for as long again is lost. Whole
	// seconds, default 15 s.
	KeepAlive time.Duration
	// Deviation is how far from its target a vehicle may stop, in metres. Default 0.2.
	Deviation float64
	// AcceptTimeout is how long a vehicle may take to report that it has an order or an instant action. One that does not is told to
	// cancel the order; what it did is not known. Default 5 s.
	AcceptTimeout time.Duration
	// CancelTimeout is how long a vehicle may take to cancel an order. Default 4 s.
	CancelTimeout time.Duration
	// Valid reports whether the vehicles may still be used, such as devices.Service.Owns. It is asked before each message and each connection. nil: always.
	Valid func() bool

	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: discards
}

const defaultInterface = "uagv"

func (o Options) withDefaults() (Options, *url.URL, error) {
	o.ClientID, o.Interface = cmp.Or(o.ClientID, fmt.Sprintf("otkit-vda5050-%08x", rand.Uint32())), cmp.Or(o.Interface, defaultInterface)
	o.Deviation, o.AcceptTimeout, o.CancelTimeout = cmp.Or(o.Deviation, 0.2), cmp.Or(o.AcceptTimeout, 5*time.Second), cmp.Or(o.CancelTimeout, 4*time.Second)
	o.KeepAlive = cmp.Or(o.KeepAlive, 15*time.Second)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Valid == nil {
		o.Valid = func() bool { return true }
	}
	u, err := url.Parse(o.URL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "mqtt" && u.Scheme != "mqtts" || u.User != nil:
		return o, nil, fault.Option("vda5050", "Options.URL", "must be mqtt://host:port or mqtts://host:port, without a user")
	case len(o.Vehicles) == 0:
		return o, nil, fault.Option("vda5050", "Options.Vehicles", "are required")
	case !isLevel(o.Interface) || o.Interface[0] == '$':
		return o, nil, fault.Option("vda5050", "Options.Interface", "must be one level of a topic that does not begin with $, not %q", o.Interface)
	case o.KeepAlive < time.Second || o.KeepAlive > time.Hour || o.KeepAlive%time.Second != 0:
		return o, nil, fault.Option("vda5050", "Options.KeepAlive", "must be 1 s to 1 h in whole seconds, not %s", o.KeepAlive)
	case !(o.Deviation > 0) || o.AcceptTimeout < 0 || o.CancelTimeout < 0:
		return o, nil, fault.Option("vda5050", "Options", "must have Deviation, AcceptTimeout and CancelTimeout above 0")
	}
	return o, u, checkVehicles(o.Vehicles)
}

// Validate returns what is wrong with the options, except for a missing Reports. It does not connect.
func (o Options) Validate() error {
	_, _, err := o.withDefaults()
	return err
}

func checkVehicles(list []Vehicle) error {
	ids, topics := map[string]bool{}, map[string]bool{}
	for i, v := range list {
		option := func(member, format string, args ...any) error {
			return fault.Option("vda5050", fmt.Sprintf("Options.Vehicles[%d].%s", i, member), format, args...)
		}
		switch {
		case v.DeviceID == "" || ids[v.DeviceID]:
			return option("DeviceID", "must be there and unique, not %q", v.DeviceID)
		case !isLevel(v.Manufacturer):
			return option("Manufacturer", "must be one level of a topic, not %q", v.Manufacturer)
		case !isLevel(v.SerialNumber):
			return option("SerialNumber", "must be one level of a topic, not %q", v.SerialNumber)
		case topics[v.topic()]:
			return option("SerialNumber", "must be unique among those of a Manufacturer, not %q", v.SerialNumber)
		}
		ids[v.DeviceID], topics[v.topic()] = true, true
	}
	return nil
}

// SharedClientID returns a client id that is the same wherever the vehicles are: of several engines that take turns with them, the one that connects ends
// what is left of the connection of the one before.
func (o Options) SharedClientID() string {
	topics := make([]string, len(o.Vehicles))
	for i, v := range o.Vehicles {
		topics[i] = v.topic()
	}
	slices.Sort(topics)
	h := fnv.New32a()
	_, _ = h.Write([]byte(strings.Join(append(topics, cmp.Or(o.Interface, defaultInterface)), "\n")))
	return fmt.Sprintf("otkit-vda5050-%08x", h.Sum32())
}

// topic returns the levels of its topics that name the vehicle.
func (v Vehicle) topic() string { return v.Manufacturer + "/" + v.SerialNumber }

// isLevel reports whether text can be one level of a topic. Brokers disconnect a client that uses characters which cannot be printed.
func isLevel(text string) bool {
	for _, r := range text {
		if r == '+' || r == '#' || r == '/' || !unicode.IsPrint(r) {
			return false
		}
	}
	return text != "" && len(text) <= 200 && utf8.ValidString(text)
}
