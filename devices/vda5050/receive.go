package vda5050

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/eclipse/paho.golang/paho"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/internal/runes"
)

// maxMessage is the longest message, in bytes, that the broker may pass on.
const maxMessage = 256 * 1024

// maxVersion is how much of the version of a message is repeated in texts.
const maxVersion = 20

// received handles a message of a vehicle. One that cannot be read is logged.
func (f *Fleet) received(p paho.PublishReceived) (bool, error) {
	levels := strings.Split(p.Packet.Topic, "/")
	if len(levels) != 5 {
		return true, nil
	}
	v := f.topics[levels[2]+"/"+levels[3]]
	if v == nil {
		return true, nil
	}
	payload := p.Packet.Payload
	var err error
	switch major, name := levels[1], levels[4]; {
	case major != majorVersion && name == "connection":
		err = f.foreign(v, payload)
	case major != majorVersion:
	case p.Packet.Retain && (name == "state" || name == "visualization"): // of who knows when; a new state is requested
	case name == "state":
		err = f.state(v, payload)
	case name == "visualization":
		err = f.visualization(v, payload)
	case name == "connection":
		err = f.connection(v, payload)
	case name == "factsheet":
		err = f.factsheet(v, payload)
	}
	f.log(err, v)
	return true, nil
}

// decode decodes a message. One of another major version is none that can be understood: the operator is told so.
func (f *Fleet) decode(v *vehicle, name string, payload []byte, m interface{ head() *header }) error {
	err := json.Unmarshal(payload, m)
	version := m.head().Version
	if !ours(version) && (err == nil || version != "") {
		return f.refuse(v, version)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if v.speaks(version) {
		f.opts.Logger.Info("vehicle speaks VDA 5050", "device", v.DeviceID, "version", runes.Shorten(version, maxVersion))
	}
	return nil
}

// refuse reports that a vehicle speaks another version.
func (f *Fleet) refuse(v *vehicle, version string) error {
	v.speaks(version)
	err := errVersion(version)
	return errors.Join(err, f.opts.Reports.Report(v.DeviceID, devices.Telemetry{State: devices.Error, Faults: []string{err.Error()}}))
}

// ours reports whether messages of a version can be understood: minor versions add to them.
func ours(version string) bool { return strings.HasPrefix(version, "2.") }

func errVersion(version string) error {
	return fmt.Errorf("the vehicle speaks version %q of VDA 5050; 2.1 is needed", runes.Shorten(version, maxVersion))
}

// foreign handles a connection message at the topics of another major version. They may be those of a vehicle before it was updated:
// one that reports its state at ours is not looked at.
func (f *Fleet) foreign(v *vehicle, payload []byte) error {
	var c connection
	if err := json.Unmarshal(payload, &c); err != nil || c.State != "ONLINE" || v.last() != nil {
		return nil //nolint:nilerr // not addressed to us
	}
	return f.refuse(v, c.Version)
}

func (f *Fleet) state(v *vehicle, payload []byte) error {
	var s state
	if err := f.decode(v, "state", payload, &s); err != nil {
		return errors.Join(err, f.emergency(v, payload))
	}
	s.bound()
	if last := v.last(); last != nil && timeOf(s.Timestamp).Before(timeOf(last.Timestamp)) {
		// An emergency stop in it counts all the same.
		return errors.Join(fmt.Errorf("a state of %s came after that of %s", s.Timestamp, last.Timestamp), f.report(v, s.telemetry()))
	}
	err := f.report(v, s.telemetry()) // first: whoever is told that a command has ended finds what the vehicle reports then
	again, why := v.update(&s, f.opts.Now())
	if len(again) > 0 {
		f.opts.Logger.Warn("vehicle goes on; "+why, "device", v.DeviceID)
		f.log(f.instant(f.ctx, v, again...), v)
	}
	return err
}

// emergency reports the emergency stop in a state that cannot be read otherwise.
func (f *Fleet) emergency(v *vehicle, payload []byte) error {
	var s struct {
		Safety safetyState `json:"safetyState"`
	}
	if err := json.Unmarshal(payload, &s); err != nil {
		return nil //nolint:nilerr // the caller has reported it
	}
	stop := (&state{Safety: s.Safety}).stop()
	if stop == devices.NoStop {
		return nil
	}
	return f.opts.Reports.Report(v.DeviceID, devices.Telemetry{State: devices.Error, Stop: stop, Faults: []string{"the vehicle sends states that cannot be read"}})
}

func (f *Fleet) visualization(v *vehicle, payload []byte) error {
	var m visualization
	if err := f.decode(v, "visualization", payload, &m); err != nil {
		return err
	}
	last := v.last()
	if last == nil || m.Position == nil || timeOf(m.Timestamp).Sub(timeOf(last.Timestamp)) > maxStateAge {
		return nil // a position alone says nothing about the state
	}
	t := last.telemetry()
	t.Time, t.State = timeOf(m.Timestamp), "" // the state is as before
	t.Pose, t.Velocity = poseOf(m.Position, m.Velocity)
	return f.report(v, t)
}

// report reports what a vehicle says. Figures that cannot be are left out, so that an emergency stop beside them is not lost.
func (f *Fleet) report(v *vehicle, t devices.Telemetry) error {
	err := f.opts.Reports.Report(v.DeviceID, t)
	if errors.Is(err, devices.ErrInvalid) {
		t.Pose, t.Velocity = nil, nil
		return errors.Join(err, f.opts.Reports.Report(v.DeviceID, t))
	}
	return err
}

func (f *Fleet) connection(v *vehicle, payload []byte) error {
	var c connection
	err := f.decode(v, "connection", payload, &c)
	switch {
	case err != nil && (c.State == "ONLINE" || c.State == ""):
		return err
	case c.State == "ONLINE":
		now := f.opts.Now()
		return errors.Join(f.opts.Reports.Connected(v.DeviceID), f.instant(f.ctx, v, action{ActionType: "stateRequest", ActionID: v.unique("state", now)},
			action{ActionType: "factsheetRequest", ActionID: v.unique("factsheet", now)}))
	}
	return errors.Join(err, f.opts.Reports.Disconnected(v.DeviceID))
}

// factsheet logs the limits that a vehicle names.
func (f *Fleet) factsheet(v *vehicle, payload []byte) error {
	var m factsheet
	if err := f.decode(v, "factsheet", payload, &m); err != nil {
		return err
	}
	if v.learns(m.limits, f.opts.Now()) {
		f.opts.Logger.Info("vehicle sent its factsheet", "device", v.DeviceID, "series", runes.Shorten(m.Type.Series, 100), "maxLoadKilograms", m.Type.MaxLoad,
			"maxSpeed", m.Physical.MaxSpeed, "length", m.Physical.Length, "width", m.Physical.Width, "height", m.Physical.MaxHeight)
	}
	return nil
}
