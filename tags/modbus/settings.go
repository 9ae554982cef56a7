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
	"sync"
	"time"

	"github.com/simonvetter/modbus"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
)

// TypeName is the driver type in settings.
const TypeName = "Modbus"

// Type returns the driver type for programs that list what they have.
func Type() driverconfig.Type {
	return driverconfig.Type{
		Name: TypeName, Title: "Modbus", Description: "Modbus TCP, RTU over TCP, TLS, and RTU on a serial port.", New: FromSettings,
		Schema:  sync.OnceValue(func() json.RawMessage { return driverconfig.Schema(settings{}) }),
		Address: driverconfig.AddressOptional, DefaultPort: 502,
	}
}

// settings is the member Settings of a driver of this type.
type settings struct {
	Protocol string `enum:"TCP,RTU,RTUoverTCP,TLS" default:"\"TCP\"" doc:"How requests are framed. RTU is a serial port of this machine, which needs SerialPort; the others need IpAddress."`
	SlaveID  int    `json:"SlaveId" range:"1..255" default:"1" doc:"Unit of addresses that name none. Unit 0 can be had as 0/HR:1."`

	Tags []tagSettings `doc:"What is known of tags. The tag configuration can have more."`

	PollIntervalMs int64  `range:"0..86400000" unit:"milliseconds" doc:"Polling interval of tags that have none; 0 takes the driver's."`
	TimeoutMs      int64  `range:"0..86400000" unit:"milliseconds" default:"2000" doc:"Time for the answer to one request."`
	MaxRegisters   int    `range:"0..125" default:"125" doc:"Most registers in one request. For bits, 16 count as one register."`
	MaxGap         *int   `range:"0..125" default:"8" doc:"Registers that may be read in vain to join two runs."`
	RequestPauseMs *int64 `range:"0..10000" unit:"milliseconds" default:"0" doc:"Least time between two requests."`
	ByteOrder      string `enum:"ABCD,CDAB,BADC,DCBA,BigEndian,LittleEndian" doc:"Order of bytes in values of several registers, or of the bytes of one register."`
	WordOrder      string `enum:"BigEndian,LittleEndian" doc:"Order of the registers of a value: BigEndian has the high word first. Not beside ABCD and its like."`

	Units []unitSettings `doc:"What is different for single units."`

	SerialPort string `doc:"Serial port, for RTU." example:"/dev/ttyUSB0"`
	BaudRate   int    `range:"300..4000000|0" unit:"bit/s" default:"19200" doc:"Speed of the serial line."`
	DataBits   int    `range:"7..8|0" default:"8" doc:"Data bits of the serial line."`
	Parity     string `enum:"Even,Odd,None" default:"\"Even\"" doc:"Parity of the serial line."`
	StopBits   int    `range:"1..2|0" doc:"Default 1, without parity 2."`

	BreakerFailures int   `range:"0..1000000" default:"3" doc:"Requests in a row without an answer after which a unit is left out for a while."`
	BreakerProbeMs  int64 `range:"0..86400000" unit:"milliseconds" default:"10000" doc:"How long a unit is left out before one request is tried."`

	CertFile string `doc:"PEM file with the certificate of this side, for TLS."`
	KeyFile  string `doc:"PEM file with its key, for TLS."`
	CAFile   string `doc:"PEM file with the certificates that the device is verified by, for TLS."`
}

// JSONSchemaRules implements driverconfig.RuleProvider.
func (settings) JSONSchemaRules() []map[string]any {
	protocol := func(name string) map[string]any {
		return map[string]any{"required": []string{"Protocol"}, "properties": map[string]any{"Protocol": map[string]any{"const": name}}}
	}
	return []map[string]any{
		{"if": protocol("RTU"), "then": nonEmpty("SerialPort"), "else": map[string]any{"properties": map[string]any{"SerialPort": map[string]any{"maxLength": 0}}}},
		{"if": protocol("TLS"), "then": nonEmpty("CertFile", "KeyFile", "CAFile")},
		oneOrder(),
	}
}

// nonEmpty is the schema of an object that has strings.
func nonEmpty(names ...string) map[string]any {
	properties := map[string]any{}
	for _, name := range names {
		properties[name] = map[string]any{"minLength": 1}
	}
	return map[string]any{"required": names, "properties": properties}
}

// oneOrder is the schema of an object whose order is not named in two ways.
func oneOrder() map[string]any {
	return map[string]any{
		"if": map[string]any{"required": []string{"ByteOrder"},
			"properties": map[string]any{"ByteOrder": map[string]any{"enum": []Order{ABCD, CDAB, BADC, DCBA}}}},
		"then": map[string]any{"properties": map[string]any{"WordOrder": map[string]any{"maxLength": 0}}},
	}
}

// unitSettings overrides the common settings for one unit. Absent members keep the common value.
type unitSettings struct {
	SlaveID        *int   `json:"SlaveId" range:"0..255" required:"true" doc:"Number of the unit."`
	PollIntervalMs int64  `range:"0..86400000" unit:"milliseconds" doc:"Polling interval of tags that have none; 0 takes the common one."`
	MaxRegisters   int    `range:"0..125"`
	MaxGap         *int   `range:"0..125"`
	RequestPauseMs *int64 `range:"0..10000" unit:"milliseconds"`
	ByteOrder      string `enum:"ABCD,CDAB,BADC,DCBA,BigEndian,LittleEndian"`
	WordOrder      string `enum:"BigEndian,LittleEndian"`
}

// JSONSchemaRules implements driverconfig.RuleProvider.
func (unitSettings) JSONSchemaRules() []map[string]any { return []map[string]any{oneOrder()} }

type tagSettings struct {
	Name        string         `required:"true" doc:"Name without the driver's prefix." example:"level"`
	Address     writtenAddress `required:"true"`
	Type        nativeName     `required:"true"`
	ByteOrder   string         `enum:"ABCD,CDAB,BADC,DCBA,BigEndian,LittleEndian" doc:"Default: that of the unit."`
	WordOrder   string         `enum:"BigEndian,LittleEndian"`
	AccessMode  string         `enum:"ReadOnly,ReadWrite" default:"\"ReadOnly\""`
	Unit        string         `doc:"Unit of the value." example:"m"`
	Description string

	MinValue      *float64
	MaxValue      *float64
	ScalingFactor float64 `default:"1" doc:"value = raw * ScalingFactor + Offset"`
	Offset        float64

	PollIntervalMs int64 `range:"0..86400000" unit:"milliseconds"`
	StaleAfterMs   int64 `range:"0..86400000" unit:"milliseconds" doc:"Uncertain when no reading came for this long; 0 for three cycles."`
	Deadband       deadbandSettings
	Confirm        bool `doc:"Read the value back after each write."`
}

// JSONSchemaRules implements driverconfig.RuleProvider.
func (tagSettings) JSONSchemaRules() []map[string]any {
	return []map[string]any{oneOrder(), driverconfig.DeadbandRule()}
}

type deadbandSettings struct {
	Absolute    float64 `range:"0.." doc:"Changes below this are not reported."`
	Percent     float64 `range:"0..100" unit:"percent" doc:"The same, in percent of MinValue to MaxValue."`
	HeartbeatMs int64   `range:"0..86400000" unit:"milliseconds" doc:"An unchanged value is reported after this long; 0 for never."`
}

// nativeName is the native type of a tag.
type nativeName string

// JSONSchema implements driverconfig.SchemaProvider.
func (nativeName) JSONSchema() map[string]any {
	return map[string]any{"type": "string", "description": "Type in the device. A String has its length in bytes.",
		"pattern":  "^(Bool|Int|Float|U?Int(16|32|64)|Float(32|64)|String:([1-9][0-9]?|1[0-9][0-9]|2[0-4][0-9]|250))$",
		"examples": []string{"Bool", "Int16", "Float32", "String:16"}}
}

// writtenAddress may be a number, since YAML without quotes makes one of 40001.
type writtenAddress string

// minNumber is the first classic address that is taken as a number. Below it are the coils and the
// discrete inputs: YAML reads 040000, a coil, as the octal number 16384, a discrete input.
const minNumber = 30001

// JSONSchema implements driverconfig.SchemaProvider.
func (writtenAddress) JSONSchema() map[string]any {
	return map[string]any{"description": "40001 style, where the first digit is the table, or HR:0, IR:0, CO:0, DI:0 from 0; 3/ before it is the unit, .5 after it a bit.",
		"examples": []string{"40001", "HR:0", "3/CO:7"},
		"anyOf":    []any{map[string]any{"type": "string", "minLength": 1}, map[string]any{"type": "integer", "minimum": minNumber}}}
}

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
	all := unitSettings{MaxRegisters: in.MaxRegisters, MaxGap: in.MaxGap, RequestPauseMs: in.RequestPauseMs,
		ByteOrder: in.ByteOrder, WordOrder: in.WordOrder}.unit(at)
	o.MaxRegisters, o.MaxGap, o.RequestPause, o.Order = all.MaxRegisters, all.MaxGap, all.RequestPause, all.Order
	o.Units = make(map[uint8]Unit, len(in.Units))
	for i, u := range in.Units {
		at := bad.at(fmt.Sprintf("Settings.Units[%d].", i))
		if _, twice := o.Units[uint8(*u.SlaveID)]; twice {
			at("SlaveId", "is given twice")
		}
		o.Units[uint8(*u.SlaveID)] = u.unit(at)
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
	if strings.EqualFold(t.AccessMode, string(tags.ReadWrite)) {
		tag.Access = tags.ReadWrite
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
	name := string(t.Type)
	switch {
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

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
