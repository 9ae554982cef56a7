package modbus

import (
	"strings"

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
