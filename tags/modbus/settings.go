package modbus

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/simonvetter/modbus"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
)

// settings is the member Settings of a driver of this type.
type settings struct {
	Protocol       string // TCP (default), RTU, RTUoverTCP or TLS, without regard to case
	SlaveID        int    `json:"SlaveId"` // 1..255, default 1
	PollIntervalMs int64  // of tags that have none; 0 takes the engine's
	TimeoutMs      int64  // see Options.Timeout
	MaxRegisters   int    // see Unit.MaxRegisters
	MaxGap         *int   // see Unit.MaxGap; 0 is none
	RequestPauseMs *int64 // see Unit.RequestPause; 0 is none
	ByteOrder      string // ABCD, CDAB, BADC, DCBA, or BigEndian, LittleEndian for the bytes of a register
	WordOrder      string // BigEndian (high word first) or LittleEndian; not beside ABCD and its like

	Units []unitSettings // what is different for single units

	SerialPort string // for RTU, such as /dev/ttyUSB0
	BaudRate   int    // see Line
	DataBits   int
	Parity     string // Even (default), Odd or None, without regard to case
	StopBits   int

	BreakerFailures int   // see Breaker.Failures
	BreakerProbeMs  int64 // see Breaker.ProbeAfter

	CertFile, KeyFile, CAFile string // PEM files; required for TLS

	Tags []tagSettings
}

// unitSettings overrides the common settings for one unit. Absent members keep the common value.
type unitSettings struct {
	SlaveID        *int  `json:"SlaveId"` // 0..255
	PollIntervalMs int64 // of tags that have none; 0 takes the driver's
	MaxRegisters   int
	MaxGap         *int
	RequestPauseMs *int64
	ByteOrder      string
	WordOrder      string
}

type tagSettings struct {
	Name        string
	Address     writtenAddress
	Type        string // a native type of the package comment, or Int or Float
	ByteOrder   string
	WordOrder   string
	AccessMode  string // ReadOnly (default) or ReadWrite
	Unit        string
	Description string

	MinValue, MaxValue    *float64
	ScalingFactor, Offset float64

	PollIntervalMs int64
	StaleAfterMs   int64
	Deadband       struct {
		Absolute, Percent float64
		HeartbeatMs       int64
	}
	Confirm bool
}

// writtenAddress may be a number, since YAML without quotes makes one of 40001.
type writtenAddress string

// minNumber is the first classic address that is taken as a number. Below it are the coils and the
// discrete inputs: YAML reads 040000, a coil, as the octal number 16384, a discrete input.
const minNumber = 30001

// UnmarshalJSON implements json.Unmarshaler.
func (a *writtenAddress) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseUint(string(data), 10, 32)
	switch {
	case err != nil:
		return json.Unmarshal(data, (*string)(a))
	case n < minNumber:
		return fmt.Errorf("must be in quotes, as a number below %d", minNumber)
	}
	*a = writtenAddress(data)
	return nil
}

// FromSettings is a driverconfig.Factory. The members of Settings are those of the example; all but
// the tags' Name, Address and Type have defaults. Tags are ReadOnly unless their settings have another access, whatever
// their table. Without ByteOrder a tag has the driver's. A tag with an integer type is an Int, or a
// Float if its ScalingFactor or Offset is not a whole number. The error names each bad member by its
// path, such as Settings.Tags[3].Address. An Address of 30001 or above may be a number: unquoted in
// YAML.
func FromSettings(s driverconfig.Settings, log *slog.Logger) (tags.Driver, []tags.Tag, error) {
	in := settings{SlaveID: 1}
	if err := driverconfig.Decode(s.Settings, &in, "Settings"); err != nil {
		return nil, nil, err
	}
	var bad faults
	o := in.options(s, &bad)
	o.Logger = log
	if len(bad) > 0 {
		return nil, nil, driverconfig.ErrInvalid.Invalid(bad...)
	}
	d, err := New(o)
	if err != nil {
		return nil, nil, driverconfig.ErrInvalid.Wrap(err)
	}
	list := make([]tags.Tag, len(in.Tags))
	seen := make(map[string]bool, len(in.Tags))
	for i := range in.Tags {
		at := bad.at(fmt.Sprintf("Settings.Tags[%d].", i))
		if seen[in.Tags[i].Name] {
			at("Name", "is given twice")
		}
		seen[in.Tags[i].Name] = true
		var unit uint8
		list[i], unit = in.Tags[i].tag(s, d, at)
		if list[i].PollInterval == 0 {
			list[i].PollInterval = milliseconds(in.intervalOf(unit))
		}
		if len(bad) >= maxReported {
			break
		}
	}
	if len(bad) > 0 {
		return nil, nil, driverconfig.ErrInvalid.Invalid(bad...)
	}
	return d, list, nil
}

// mostFaults keeps the error about a long list of tags readable.
const maxReported = 20

type faults []fault.Field

// at returns a function that adds what is wrong with members below a path.
func (f *faults) at(path string) func(member, format string, args ...any) {
	return func(member, format string, args ...any) {
		*f = append(*f, fault.Field{Field: path + member, Message: fmt.Sprintf(format, args...)})
	}
}

func (in *settings) options(s driverconfig.Settings, bad *faults) Options {
	at := bad.at("Settings.")
	o := Options{
		UnitID:  uint8(in.SlaveID),
		Timeout: milliseconds(in.TimeoutMs),
		Breaker: Breaker{Failures: in.BreakerFailures, ProbeAfter: milliseconds(in.BreakerProbeMs)},
	}
	var err error
	if o.Protocol, err = parseProtocol(in.Protocol); err != nil {
		at("Protocol", "%s", err)
	}
	if o.Protocol == RTU {
		in.serialPort(s, &o, bad)
	} else {
		if in.SerialPort != "" {
			at("SerialPort", "is for Protocol RTU")
		}
		if s.IPAddress == "" {
			bad.at("")("IpAddress", "is required")
		} else if o.Address, err = endpoint(s); err != nil {
			bad.at("")("IpAddress", "%s", err)
		}
	}
	if in.SlaveID < 1 || in.SlaveID > 255 {
		at("SlaveId", "must be 1 to 255; an address can name unit 0, as in 0/HR:1")
	}
	all := unitSettings{MaxRegisters: in.MaxRegisters, MaxGap: in.MaxGap, RequestPauseMs: in.RequestPauseMs,
		ByteOrder: in.ByteOrder, WordOrder: in.WordOrder}.unit(at)
	o.MaxRegisters, o.MaxGap, o.RequestPause, o.Order = all.MaxRegisters, all.MaxGap, all.RequestPause, all.Order
	o.Units = make(map[uint8]Unit, len(in.Units))
	for i, u := range in.Units {
		at := bad.at(fmt.Sprintf("Settings.Units[%d].", i))
		checkMilliseconds(at, "PollIntervalMs", u.PollIntervalMs)
		if u.SlaveID == nil || *u.SlaveID < 0 || *u.SlaveID > 255 {
			at("SlaveId", "is required, 0 to 255")
			continue
		}
		if _, twice := o.Units[uint8(*u.SlaveID)]; twice {
			at("SlaveId", "is given twice")
		}
		o.Units[uint8(*u.SlaveID)] = u.unit(at)
	}
	checkMilliseconds(at, "PollIntervalMs", in.PollIntervalMs)
	checkMilliseconds(at, "TimeoutMs", in.TimeoutMs)
	checkMilliseconds(at, "BreakerProbeMs", in.BreakerProbeMs)
	if in.BreakerFailures < 0 {
		at("BreakerFailures", "must not be negative")
	}
	if o.Protocol == TLS {
		in.certificates(&o, at)
	}
	return o
}

func endpoint(s driverconfig.Settings) (string, error) {
	host, err := withPort(s.IPAddress)
	if err != nil || s.Port == 0 {
		return host, err
	}
	if _, _, err := net.SplitHostPort(s.IPAddress); err == nil {
		return "", errors.New("must not have a port beside Port")
	}
	host, _, err = net.SplitHostPort(host)
	return net.JoinHostPort(host, strconv.Itoa(s.Port)), err
}

func parseProtocol(s string) (Protocol, error) {
	for _, p := range []Protocol{TCP, RTUOverTCP, TLS, RTU} {
		if strings.EqualFold(s, string(p)) || s == "" {
			return p, nil
		}
	}
	return "", fmt.Errorf("%.20q is not TCP, RTU, RTUoverTCP or TLS", s)
}

func (in *settings) certificates(o *Options, at func(member, format string, args ...any)) {
	certificate, err := tls.LoadX509KeyPair(in.CertFile, in.KeyFile)
	if err != nil {
		at("CertFile", "and KeyFile cannot be read: %s", err)
	}
	o.Certificate = &certificate
	if o.RootCAs, err = modbus.LoadCertPool(in.CAFile); err != nil {
		at("CAFile", "cannot be read: %s", err)
	}
}

// orderOf joins the two ways of naming an order. Without either it is empty.
func orderOf(byteOrder, wordOrder string, at func(member, format string, args ...any)) Order {
	if byteOrder == "" && wordOrder == "" {
		return ""
	}
	if o, err := parseOrder(byteOrder); err == nil {
		if wordOrder != "" {
			at("WordOrder", "must not be given beside ByteOrder %s", o)
		}
		return o
	}
	little := func(member, s string) bool {
		if s != "" && !strings.EqualFold(s, "BigEndian") && !strings.EqualFold(s, "LittleEndian") {
			at(member, "%.20q is not BigEndian or LittleEndian (nor a ByteOrder like ABCD)", s)
		}
		return strings.EqualFold(s, "LittleEndian")
	}
	bytes, words := little("ByteOrder", byteOrder), little("WordOrder", wordOrder)
	switch {
	case bytes && words:
		return DCBA
	case bytes:
		return BADC
	case words:
		return CDAB
	}
	return ABCD
}

// tag returns the tag, and its unit.
func (t *tagSettings) tag(s driverconfig.Settings, d *Driver, at func(member, format string, args ...any)) (tags.Tag, uint8) {
	tag := tags.Tag{
		Name: s.TagName(t.Name), Driver: s.ID, Address: string(t.Address), Access: tags.ReadOnly,
		Unit: t.Unit, Description: t.Description,
		Min: t.MinValue, Max: t.MaxValue, Scale: t.ScalingFactor, Offset: t.Offset,
		PollInterval: milliseconds(t.PollIntervalMs), StaleAfter: milliseconds(t.StaleAfterMs),
		Deadband: tags.Deadband{
			Absolute: t.Deadband.Absolute, Percent: t.Deadband.Percent,
			Heartbeat: milliseconds(t.Deadband.HeartbeatMs),
		},
		Confirm: t.Confirm,
	}
	checkMilliseconds(at, "PollIntervalMs", t.PollIntervalMs)
	checkMilliseconds(at, "StaleAfterMs", t.StaleAfterMs)
	checkMilliseconds(at, "Deadband.HeartbeatMs", t.Deadband.HeartbeatMs)
	if t.Name == "" {
		at("Name", "is required")
	}
	switch {
	case strings.EqualFold(t.AccessMode, string(tags.ReadWrite)):
		tag.Access = tags.ReadWrite
	case t.AccessMode != "" && !strings.EqualFold(t.AccessMode, string(tags.ReadOnly)):
		at("AccessMode", "%.20q is not ReadOnly or ReadWrite", t.AccessMode)
	}
	if !t.setType(&tag, at) {
		return tag, 0
	}
	p, err := d.parsePoint(tags.Point{Address: tag.Address, NativeType: tag.NativeType, Type: tag.DataType})
	switch {
	case err != nil:
		at("Address", "%s", err)
	case tag.Access == tags.ReadWrite && !p.table.writable():
		at("AccessMode", "must be ReadOnly, as the table %s cannot be written", p.table)
	case tag.Access == tags.ReadWrite && int(p.count) > d.options.maxWritten(p.unit):
		at("AccessMode", "must be ReadOnly, as one request writes at most %d registers", d.options.maxWritten(p.unit))
	}
	var invalid *fault.Error
	if errors.As(tag.Validate(), &invalid) {
		for _, f := range invalid.Fields {
			at(memberOf(f.Field), "%s", f.Message)
		}
	}
	return tag, p.unit
}

// setType sets the native and the data type, and reports whether both are known.
func (t *tagSettings) setType(tag *tags.Tag, at func(member, format string, args ...any)) bool {
	name := t.Type
	switch {
	case name == "":
		at("Type", "is required")
		return false
	case strings.Contains(name, ";"):
		at("Type", "must have no byte order; that is the member ByteOrder")
		return false
	case strings.EqualFold(name, "Int"):
		name = nativeInt16.String()
	case strings.EqualFold(name, "Float"):
		name = nativeFloat32.String()
	}
	st, err := parseNative(name, "", "")
	if err != nil {
		at("Type", "%s", err)
		return false
	}
	whole := t.ScalingFactor == math.Trunc(t.ScalingFactor) && t.Offset == math.Trunc(t.Offset)
	switch {
	case st.native == nativeBool:
		tag.DataType = tags.Bool
	case st.native == nativeString:
		tag.DataType = tags.String
	case st.native == nativeFloat32, st.native == nativeFloat64, !whole:
		tag.DataType = tags.Float
	default:
		tag.DataType = tags.Int
	}
	tag.NativeType = name
	if o := orderOf(t.ByteOrder, t.WordOrder, at); o != "" {
		tag.NativeType += ";" + string(o)
	}
	return true
}

// memberOf returns the name in the settings of a field that tags.Tag.Validate names.
func memberOf(field string) string {
	parts := strings.Split(field, ".")
	for i, part := range parts {
		if part != "" {
			parts[i] = strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return strings.Join(parts, ".")
}

// maxMilliseconds is a day; longer times are mistakes, and far longer ones overflow.
const maxMilliseconds = 24 * 60 * 60 * 1000

func checkMilliseconds(at func(member, format string, args ...any), member string, ms int64) {
	if ms < 0 || ms > maxMilliseconds {
		at(member, "must be 0 to %d milliseconds", maxMilliseconds)
	}
}

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
