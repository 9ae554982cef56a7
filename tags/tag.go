package tags

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
)

// AccessMode is whether a tag can be written.
type AccessMode string

// The access modes of the API.
const (
	ReadOnly  AccessMode = "ReadOnly"
	ReadWrite AccessMode = "ReadWrite"
)

// Deadband keeps small changes from being reported. A change is reported when it is at least
// Absolute, or at least Percent of the span minValue..maxValue, or when the quality changes, or when
// Heartbeat has passed since the last report. The zero Deadband reports every change.
//
// The cache always holds the newest value; a deadband only spares subscribers and history.
type Deadband struct {
	Absolute  float64       // in the tag's unit, 0 for none
	Percent   float64       // 0..100 of the span; needs Min and Max
	Heartbeat time.Duration // report an unchanged value after this long; 0 for never
}

// Tag defines one data point of a driver.
type Tag struct {
	Name        string // unique; by convention <driver>.<name>; 1..256 bytes
	Driver      string // driver id
	Address     string // in the driver's own notation
	NativeType  string // the device's own type where the driver has more than DataType, such as UInt32 or String:16
	DataType    DataType
	Access      AccessMode // default ReadOnly
	Unit        string
	Description string

	Min, Max *float64 // engineering limits; nil for none
	// Value = raw*Scale + Offset; a Scale of 0 counts as 1. An Int with a whole Scale and Offset keeps
	// all its digits; anything else is computed as a Float, exact for whole numbers up to 2^53.
	Scale, Offset float64

	PollInterval time.Duration // polling interval; 0 takes the driver's
	StaleAfter   time.Duration // Uncertain when no reading came for this long; 0 takes three cycles, as long as they are (see Cycle), and never for an Unpolled driver's
	Deadband     Deadband
	Confirm      bool // read the value back after each write
}

// Ptr returns a pointer to f, for Min and Max.
func Ptr(f float64) *float64 { return &f }

// scale returns Scale with its default.
func (t *Tag) scale() float64 {
	if t.Scale == 0 {
		return 1
	}
	return t.Scale
}

// scaled reports whether raw and engineering values differ.
func (t *Tag) scaled() bool { return t.scale() != 1 || t.Offset != 0 }

// MaxNameBytes is the length limit of tag names and driver ids.
const MaxNameBytes = 256

// Validate checks a definition. The error is an ErrInvalidTag that names each bad member.
func (t *Tag) Validate() error {
	var bad []fault.Field
	add := func(field, format string, args ...any) {
		bad = append(bad, fault.Field{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if msg := nameFault(t.Name); msg != "" {
		add("name", "%s", msg)
	}
	if msg := nameFault(t.Driver); msg != "" {
		add("driver", "%s", msg)
	} else if strings.ContainsRune(t.Driver, '/') {
		add("driver", "must not contain /")
	}
	if !t.DataType.Valid() {
		add("dataType", "must be one of Bool, Int, Float, String, Bytes")
	}
	if t.Access != "" && t.Access != ReadOnly && t.Access != ReadWrite {
		add("accessMode", "must be ReadOnly or ReadWrite")
	}
	for _, n := range []struct {
		name  string
		value float64
	}{{"scalingFactor", t.Scale}, {"offset", t.Offset}, {"deadband.absolute", t.Deadband.Absolute}, {"deadband.percent", t.Deadband.Percent}} {
		if !finite(n.value) {
			add(n.name, "must be a finite number")
		}
	}
	if t.Min != nil && !finite(*t.Min) {
		add("minValue", "must be a finite number")
	}
	if t.Max != nil && !finite(*t.Max) {
		add("maxValue", "must be a finite number")
	}
	if t.Deadband.Absolute < 0 {
		add("deadband.absolute", "must not be negative")
	}
	if p := t.Deadband.Percent; p < 0 || p > 100 {
		add("deadband.percent", "must be 0 to 100")
	} else if p > 0 && (t.Min == nil || t.Max == nil) {
		add("deadband.percent", "needs minValue and maxValue")
	}
	if t.Min != nil && t.Max != nil && *t.Min > *t.Max {
		add("minValue", "must not be above maxValue")
	}
	if t.PollInterval < 0 || t.StaleAfter < 0 || t.Deadband.Heartbeat < 0 {
		add("interval", "durations must not be negative")
	}
	if len(bad) > 0 {
		return ErrInvalidTag.On("tagName", clip(t.Name)).Invalid(bad...)
	}
	return nil
}

func finite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// nameFault returns what is wrong with a tag name or driver id. Names travel in URL paths, where . and
// .. have a meaning of their own.
func nameFault(s string) string {
	switch {
	case s == "":
		return "is required"
	case len(s) > MaxNameBytes:
		return fmt.Sprintf("must not be longer than %d bytes", MaxNameBytes)
	case !utf8.ValidString(s):
		return "must be valid UTF-8"
	case s == "." || s == "..":
		return "must not be . or .."
	case strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "must not contain control characters"
	}
	return ""
}

// Sample is a value with its quality and times.
type Sample struct {
	Value      Value
	Quality    Quality
	Reason     Reason
	SourceTime time.Time // when the device or the driver took the value
	ServerTime time.Time // when the engine received it, or found that it is not good any more
}

// Snapshot is a tag's definition with its newest sample.
type Snapshot struct {
	Tag    *Tag // shared: not to be changed
	Sample Sample
}

// Change is a new sample, as subscribers and observers get it.
type Change struct {
	Tag *Tag // shared: not to be changed
	Sample
	// Seq orders the changes of one tag: the one with the higher Seq is the newer one, Late ones
	// aside. It is 0 where a subscription returns a tag without a reported sample.
	Seq uint64
	// Late reports that the reading came late, from a buffer, and is older than the tag's newest sample:
	// it is for history, and does not describe the current value. Subscriptions never return it.
	Late bool
	// Degraded reports that the value is an older one whose quality has fallen, at ServerTime: no reading
	// came, or it failed.
	Degraded bool
	// Recorded reports that the history of the tag is stored by Options.Store, because its driver is a
	// Forwarder: whoever stores changes skips it. Every change of such a tag has it, also one of quality alone.
	Recorded bool
	// Remote reports that another engine runs the driver of the tag: it stores the change and evaluates the rules of the tag.
	Remote bool

	moved int64 // HistoryTime in µs if it is another one than Time, 0 else
}

// Time returns when the change happened: when the value was taken, or when its quality fell.
func (c *Change) Time() time.Time {
	if c.Degraded {
		return c.ServerTime
	}
	return c.SourceTime
}

// HistoryTime returns the time that the change has in history. It is Time, but ServerTime for a value that was taken before the engine reported
// that the quality had fallen, such as one that a device sends again after a loss: history would end with the fall. Where the clock of the device is
// ahead of the engine's, the fall has the time of the value, and 1 µs more: history would end with the value.
func (c *Change) HistoryTime() time.Time {
	if c.moved != 0 {
		return time.UnixMicro(c.moved)
	}
	return c.Time()
}
