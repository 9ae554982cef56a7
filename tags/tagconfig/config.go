package tagconfig

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// Config is the configuration of one tag. Pointers are nil for what is absent; a Config that the
// store gave out shares them with the store, so they are not to be written through.
type Config struct {
	TagID       string        `json:"tagId"`    // unique; see tags.Tag.Name
	DriverID    string        `json:"driverId"` // driver or equipment id
	Address     string        `json:"address"`  // in the driver's notation
	DataType    tags.DataType `json:"dataType"`
	Unit        string        `json:"unit"`
	Description string        `json:"description"`

	// These four, when nil, are what the driver knows of the tag, or no limit, 1 and 0.
	MinValue      *float64 `json:"minValue,omitempty"`
	MaxValue      *float64 `json:"maxValue,omitempty"`
	ScalingFactor *float64 `json:"scalingFactor,omitempty"` // value = raw*ScalingFactor + Offset; 0 is refused
	Offset        *float64 `json:"offset,omitempty"`

	NoMin bool `json:"-"` // minValue is null: no limit, whatever the driver has. MinValue is then ignored
	NoMax bool `json:"-"` // as NoMin, for maxValue

	AccessMode      tags.AccessMode `json:"accessMode,omitempty"` // of a tag that the driver does not know: default ReadOnly
	NativeType      string          `json:"nativeType,omitempty"` // see tags.Tag.Native
	IntervalMs      int64           `json:"intervalMs,omitempty"` // polling interval, up to a day; 0 takes the driver's
	Deadband        *float64        `json:"deadband,omitempty"`   // absolute, in the tag's unit
	DeadbandPercent *float64        `json:"deadbandPercent,omitempty"`
	ConfirmWrites   *bool           `json:"confirmWrites,omitempty"` // read the value back after each write
}

// Limits of single members.
const (
	MaxTextBytes  = 4096          // of address, unit, description and nativeType
	MaxIntervalMs = 24 * 3600_000 // of intervalMs
)

// FromTag returns the configuration equal to a tag's definition.
func FromTag(t tags.Tag) Config {
	c := Config{
		TagID: t.Name, DriverID: t.Driver, Address: t.Address, DataType: t.DataType,
		Unit: t.Unit, Description: t.Description,
		MinValue: t.Min, MaxValue: t.Max, ScalingFactor: tags.Ptr(t.Scale), Offset: tags.Ptr(t.Offset),
		AccessMode: t.Access, NativeType: t.NativeType, IntervalMs: t.PollInterval.Milliseconds(),
	}
	if t.Scale == 0 {
		*c.ScalingFactor = 1
	}
	if t.Deadband.Absolute != 0 {
		c.Deadband = tags.Ptr(t.Deadband.Absolute)
	}
	if t.Deadband.Percent != 0 {
		c.DeadbandPercent = tags.Ptr(t.Deadband.Percent)
	}
	if t.Confirm {
		c.ConfirmWrites = &t.Confirm
	}
	return c
}

// Tag returns the definition for the engine. base is what the driver knows of the tag, or
// nil; a base of another driver counts as nil.
func (c *Config) Tag(base *tags.Tag) tags.Tag {
	t := tags.Tag{Access: tags.ReadOnly, Scale: 1}
	if base != nil && base.Driver == c.DriverID {
		t = *base
	}
	t.Name, t.Driver, t.DataType = c.TagID, c.DriverID, c.DataType
	t.Unit, t.Description = c.Unit, c.Description
	if c.MinValue != nil || c.NoMin {
		t.Min = c.MinValue
	}
	if c.MaxValue != nil || c.NoMax {
		t.Max = c.MaxValue
	}
	if c.ScalingFactor != nil {
		t.Scale = *c.ScalingFactor
	}
	if c.Offset != nil {
		t.Offset = *c.Offset
	}
	if c.Address != "" {
		t.Address = c.Address
	}
	if c.AccessMode != "" {
		t.Access = c.AccessMode
	}
	if c.NativeType != "" {
		t.NativeType = c.NativeType
	}
	if c.IntervalMs != 0 {
		t.PollInterval = time.Duration(c.IntervalMs) * time.Millisecond
	}
	if c.Deadband != nil {
		t.Deadband.Absolute = *c.Deadband
	}
	if c.DeadbandPercent != nil {
		t.Deadband.Percent = *c.DeadbandPercent
	}
	if c.ConfirmWrites != nil {
		t.Confirm = *c.ConfirmWrites
	}
	return t
}

// Validate checks an item. The error is an ErrInvalid that names each bad member.
func (c *Config) Validate() error {
	var bad faults
	c.validate(func(member, format string, args ...any) { bad.add(member, format, args...) })
	return bad.err(ErrInvalid)
}

// normalize makes one form of what means the same. Line breaks become \n, the only one that CSV can
// carry.
func (c *Config) normalize() {
	if c.NoMin {
		c.MinValue = nil
	}
	if c.NoMax {
		c.MaxValue = nil
	}
	c.Description = strings.ReplaceAll(c.Description, "\r\n", "\n")
}

// owned returns a copy of items that a caller cannot reach.
func owned(items []Config) []Config {
	items = slices.Clone(items)
	for i := range items {
		c := &items[i]
		for _, p := range []**float64{&c.MinValue, &c.MaxValue, &c.ScalingFactor, &c.Offset, &c.Deadband, &c.DeadbandPercent} {
			if *p != nil {
				*p = tags.Ptr(**p)
			}
		}
		if c.ConfirmWrites != nil {
			confirm := *c.ConfirmWrites
			c.ConfirmWrites = &confirm
		}
	}
	return items
}

// memberOf returns our names for the members of a tags.Tag where they differ.
var memberOf = map[string]string{
	"name": "tagId", "driver": "driverId", "interval": "intervalMs",
	"deadband.absolute": "deadband", "deadband.percent": "deadbandPercent",
}

func (c *Config) validate(add func(member, format string, args ...any)) {
	for _, n := range []struct {
		member string
		value  *float64
	}{
		{"minValue", c.MinValue}, {"maxValue", c.MaxValue}, {"scalingFactor", c.ScalingFactor}, {"offset", c.Offset},
		{"deadband", c.Deadband}, {"deadbandPercent", c.DeadbandPercent},
	} {
		if n.value != nil && (math.IsNaN(*n.value) || math.IsInf(*n.value, 0)) {
			add(n.member, "must be a finite number")
			return
		}
	}
	if c.IntervalMs < 0 || c.IntervalMs > MaxIntervalMs {
		add("intervalMs", "must be 0 to %d", MaxIntervalMs)
		return
	}
	if c.ScalingFactor != nil && *c.ScalingFactor == 0 {
		add("scalingFactor", "must not be 0")
	}
	for _, t := range []struct{ member, text string }{
		{"address", c.Address}, {"unit", c.Unit}, {"nativeType", c.NativeType}, {"description", c.Description},
	} {
		if msg := textFault(t.text, t.member == "description"); msg != "" {
			add(t.member, "%s", msg)
		}
	}
	for _, t := range []struct{ member, text string }{{"tagId", c.TagID}, {"driverId", c.DriverID}} {
		if strings.TrimSpace(t.text) != t.text || strings.ContainsFunc(t.text, unfit) {
			add(t.member, "must be printable and must not begin or end with a blank")
		}
	}
	tag := c.Tag(nil)
	if (c.MinValue == nil || c.MaxValue == nil) && !c.NoMin && !c.NoMax {
		tag.Deadband.Percent = min(tag.Deadband.Percent, 0) // the limits that it needs may be the driver's
		if p := c.DeadbandPercent; p != nil && *p > 100 {
			add("deadbandPercent", "must be 0 to 100")
		}
	}
	if err := tag.Validate(); err != nil {
		c.addTagFaults(err, add)
	}
}

func (c *Config) addTagFaults(err error, add func(member, format string, args ...any)) {
	e, ok := fault.From(err)
	if !ok || len(e.Fields) == 0 {
		add("tagId", "%s", "does not make a valid tag")
		return
	}
	for _, f := range e.Fields {
		member := f.Field
		if ours, ok := memberOf[member]; ok {
			member = ours
		}
		add(member, "%s", f.Message)
	}
}

// textFault returns why JSON, CSV or XLSX cannot carry a text, or nothing.
func textFault(s string, multiline bool) string {
	if len(s) > MaxTextBytes {
		return fmt.Sprintf("must not be longer than %d bytes", MaxTextBytes)
	}
	if !utf8.ValidString(s) {
		return "must be valid UTF-8"
	}
	for _, r := range s {
		if unfit(r) && (!multiline || r != '\n' && r != '\t') {
			return "must not contain control characters"
		}
	}
	return ""
}

// unfit is true for what XML 1.0 cannot carry, and for control characters.
func unfit(r rune) bool { return unicode.IsControl(r) || r == 0xfffe || r == 0xffff }

// check normalizes and validates items in place. place names item i in an error.
func check(items []Config, place func(i int, member string) string, bad *faults) {
	for i := range items {
		items[i].normalize()
		items[i].validate(func(member, format string, args ...any) {
			bad.add(place(i, member), format, args...)
		})
		if bad.full() && bad.more > 0 {
			return
		}
	}
}

func indexPlace(i int, member string) string { return fmt.Sprintf("[%d].%s", i, member) }
