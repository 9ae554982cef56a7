package modbus

import (
	"strconv"
	"strings"

	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
)

// unit returns how units are polled. What is 0 and means none is negative there.
func (u unitSettings) unit(at func(member, format string, args ...any)) Unit {
	out := Unit{MaxRegisters: u.MaxRegisters, Order: orderOf(u.ByteOrder, u.WordOrder, at)}
	if u.MaxGap != nil {
		if out.MaxGap = *u.MaxGap; *u.MaxGap == 0 {
			out.MaxGap = -1
		}
	}
	if u.RequestPauseMs != nil {
		if out.RequestPause = milliseconds(*u.RequestPauseMs); *u.RequestPauseMs == 0 {
			out.RequestPause = -1
		}
	}
	return out
}

// intervalOf returns the polling interval of the tags of a unit that have none of their own.
func (in *settings) intervalOf(unit uint8) int64 {
	for _, u := range in.Units {
		if u.PollIntervalMs > 0 && *u.SlaveID == int(unit) {
			return u.PollIntervalMs
		}
	}
	return in.PollIntervalMs
}

// serialPort sets the options of a serial line.
func (in *settings) serialPort(s driverconfig.Settings, o *Options, bad *faults) {
	at := bad.at("Settings.")
	if s.IPAddress != "" || s.Port != 0 {
		bad.at("")("IpAddress", "and Port must be absent with Protocol RTU, which has SerialPort")
	}
	if o.Address = in.SerialPort; o.Address == "" {
		at("SerialPort", "is required with Protocol RTU")
	}
	o.Line = Line{Baud: in.BaudRate, DataBits: in.DataBits, StopBits: in.StopBits}
	for _, p := range []Parity{Even, Odd, None} {
		if strings.EqualFold(in.Parity, string(p)) {
			o.Line.Parity = p
		}
	}
}

// Unit returns the unit that a point belongs to, empty if its address cannot be read.
func (d *Driver) Unit(p tags.Point) string {
	at, err := d.parsePoint(p)
	if err != nil {
		return ""
	}
	return strconv.Itoa(int(at.unit))
}

// Resource returns the serial port, which no other driver can use at the same time; empty if it has none.
func (d *Driver) Resource() string {
	if d.options.Protocol != RTU {
		return ""
	}
	return d.options.Address
}
