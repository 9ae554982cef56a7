package devicetags

import (
	"math"
	"strings"

	"github.com/otkit/otkit/devices"
	"github.com/otkit/otkit/tags"
)

// groups are what a device has reported, as a set.
type groups uint8

const (
	always groups = 1 << iota
	ofReport
	ofPose
	ofVelocity
	ofBattery
)

// groupsOf returns what is in the last report of a device.
func groupsOf(d *devices.Device) groups {
	g := always
	if t := d.Telemetry; t != nil {
		g |= ofReport
		if t.Pose != nil {
			g |= ofPose
		}
		if t.Velocity != nil {
			g |= ofVelocity
		}
		if t.Battery != nil {
			g |= ofBattery
		}
	}
	return g
}

// member is one tag of a device.
type member struct {
	name, unit, description string
	kind                    tags.DataType
	group                   groups
	min, max                *float64
	deadband                float64 // keeps noise of sensors out of streams and history
	value                   func(*devices.Device) tags.Value
}

var members = []member{
	{name: "state", kind: tags.String, group: always, description: "State of the device",
		value: func(d *devices.Device) tags.Value { return tags.StringValue(string(d.State)) }},
	{name: "emergencyStop", kind: tags.Bool, group: ofReport, description: "An emergency stop is latched or reported",
		value: func(d *devices.Device) tags.Value {
			return tags.BoolValue(d.StopLatched || d.Telemetry.Stop != devices.NoStop)
		}},
	{name: "faults", kind: tags.String, group: ofReport, description: "Faults that the device reports",
		value: func(d *devices.Device) tags.Value { return tags.StringValue(strings.Join(d.Telemetry.Faults, "; ")) }},
	{name: "loads", kind: tags.String, group: ofReport, description: "What the device carries",
		value: func(d *devices.Device) tags.Value { return tags.StringValue(strings.Join(d.Telemetry.Loads, "; ")) }},
	{name: "map", kind: tags.String, group: ofPose, description: "Map on which the device is",
		value: func(d *devices.Device) tags.Value { return tags.StringValue(d.Telemetry.Pose.Map) }},
	{name: "x", kind: tags.Float, group: ofPose, unit: "m", deadband: 0.01, description: "Position of the device",
		value: func(d *devices.Device) tags.Value { return tags.FloatValue(d.Telemetry.Pose.X) }},
	{name: "y", kind: tags.Float, group: ofPose, unit: "m", deadband: 0.01, description: "Position of the device",
		value: func(d *devices.Device) tags.Value { return tags.FloatValue(d.Telemetry.Pose.Y) }},
	{name: "theta", kind: tags.Float, group: ofPose, unit: "rad", deadband: 0.01, description: "Heading of the device, counter-clockwise from the x axis",
		value: func(d *devices.Device) tags.Value { return tags.FloatValue(d.Telemetry.Pose.Theta) }},
	{name: "speed", kind: tags.Float, group: ofVelocity, unit: "m/s", deadband: 0.01, description: "Speed of the device",
		value: func(d *devices.Device) tags.Value {
			return tags.FloatValue(math.Hypot(d.Telemetry.Velocity.X, d.Telemetry.Velocity.Y))
		}},
	{name: "battery", kind: tags.Float, group: ofBattery, unit: "%", min: tags.Ptr(0), max: tags.Ptr(100), deadband: 0.1, description: "Charge of the battery",
		value: func(d *devices.Device) tags.Value { return tags.FloatValue(*d.Telemetry.Battery) }},
	{name: "charging", kind: tags.Bool, group: ofBattery, description: "The battery is being charged",
		value: func(d *devices.Device) tags.Value { return tags.BoolValue(d.Telemetry.Charging) }},
}

// Tags returns the tags of a device by what it has reported last; none if it is Decommissioned.
func Tags(d devices.Device) []tags.Tag {
	if d.State == devices.Decommissioned {
		return nil
	}
	return tagsOf(d.ID, groupsOf(&d))
}

func tagsOf(id string, g groups) []tags.Tag {
	list := make([]tags.Tag, 0, len(members))
	for i := range members {
		m := &members[i]
		if m.group&g == 0 {
			continue
		}
		address := id + "." + m.name
		list = append(list, tags.Tag{Name: DriverID + "." + address, Driver: DriverID, Address: address, DataType: m.kind, Access: tags.ReadOnly,
			Unit: m.unit, Description: m.description, Min: m.min, Max: m.max, Deadband: tags.Deadband{Absolute: m.deadband}})
	}
	return list
}

// parse returns the device and the member of an address; nil for an address that is none.
func parse(address string) (id string, m *member) {
	dot := strings.LastIndexByte(address, '.')
	if dot <= 0 {
		return "", nil
	}
	for i := range members {
		if members[i].name == address[dot+1:] {
			return address[:dot], &members[i]
		}
	}
	return "", nil
}
