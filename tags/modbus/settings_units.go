package modbus

import (
	"strings"

	"github.com/otkit/otkit/tags/driverconfig"
)

// unit returns how units are polled. What is 0 and means none is negative there.
func (u unitSettings) unit(at func(member, format string, args ...any)) Unit {
	out := Unit{MaxRegisters: u.MaxRegisters, Order: orderOf(u.ByteOrder, u.WordOrder, at)}
	if u.MaxRegisters < 0 || u.MaxRegisters > maxReadRegisters {
		at("MaxRegisters", "must be 1 to %d", maxReadRegisters)
	}
	if u.MaxGap != nil {
		if out.MaxGap = *u.MaxGap; *u.MaxGap < 0 || *u.MaxGap > maxReadRegisters {
			at("MaxGap", "must be 0 to %d", maxReadRegisters)
		}
		if *u.MaxGap == 0 {
			out.MaxGap = -1
		}
	}
	if u.RequestPauseMs != nil {
		if out.RequestPause = milliseconds(*u.RequestPauseMs); *u.RequestPauseMs < 0 || *u.RequestPauseMs > maxPause.Milliseconds() {
			at("RequestPauseMs", "must be 0 to %d milliseconds", maxPause.Milliseconds())
		}
		if *u.RequestPauseMs == 0 {
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
	if o.Line.Parity == "" && in.Parity != "" {
		at("Parity", "%.20q is not Even, Odd or None", in.Parity)
	}
	o.Line.withDefaults().check(func(field, format string, args ...any) {
		at(map[string]string{"Line.Baud": "BaudRate", "Line.DataBits": "DataBits", "Line.StopBits": "StopBits"}[field], format, args...)
	})
}
