package tags

import (
	"errors"
	"fmt"
)

// Quality is how far a value can be trusted. The zero Quality is Bad: a reading without
// Quality is Bad.
type Quality uint8

// The qualities of the API.
const (
	Bad       Quality = iota // communication failure or error; the value is the last one known
	Uncertain                // low reliability: stale, or outside the tag's range
	Good
)

var qualityNames = [...]string{"Bad", "Uncertain", "Good"}

// String returns the name on the wire: Good, Bad or Uncertain.
func (q Quality) String() string {
	if int(q) < len(qualityNames) {
		return qualityNames[q]
	}
	return fmt.Sprintf("Quality(%d)", uint8(q))
}

// ParseQuality reads a wire word.
func ParseQuality(s string) (Quality, error) {
	for i, name := range qualityNames {
		if s == name {
			return Quality(i), nil
		}
	}
	return Bad, fmt.Errorf("quality %q is not Good, Bad or Uncertain", s)
}

// QualitySet is a set of qualities. The zero set is empty.
type QualitySet uint8

// Qualities returns the set of some qualities.
func Qualities(list ...Quality) (s QualitySet) {
	for _, q := range list {
		s |= 1 << q
	}
	return s
}

// Has reports whether q is in the set.
func (s QualitySet) Has(q Quality) bool { return s&(1<<q) != 0 }

// Reason is why a quality is not Good. It is ReasonNone for a good value.
type Reason uint8

// The reasons, after the sub-codes that OPC clients know.
const (
	ReasonNone         Reason = iota
	ReasonWaiting             // no reading has come yet
	ReasonNotConnected        // the driver has no connection
	ReasonNoDriver            // the tag's driver is not registered
	ReasonStale               // no reading for longer than the tag allows
	ReasonOutOfRange          // the value is outside minValue..maxValue
	ReasonDevice              // the device answered with an error
	ReasonTimeout             // the device did not answer in time
	ReasonConfig              // the address is not one that the driver can read
	ReasonType                // the device's value does not fit the tag's data type
	ReasonRemoved             // the tag has been removed
	ReasonDriver              // the driver reports that the value is not good
	ReasonEngine              // nothing is heard of the engine that runs the driver
	endOfReasons
)

var reasonNames = [...]string{
	"", "WaitingForData", "NotConnected", "NoDriver", "Stale", "OutOfRange", "DeviceError", "Timeout",
	"ConfigError", "TypeMismatch", "Removed", "DriverReported", "EngineLost",
}

// Known reports whether r is one of the reasons of this version.
func (r Reason) Known() bool { return r < endOfReasons }

// String returns the name on the wire, empty for ReasonNone.
func (r Reason) String() string {
	if r < endOfReasons {
		return reasonNames[r]
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// reasonOf maps the error of one reading to a reason.
func reasonOf(err error) Reason {
	switch {
	case errors.Is(err, ErrNotConnected):
		return ReasonNotConnected
	case errors.Is(err, ErrTimeout):
		return ReasonTimeout
	case errors.Is(err, ErrAddress), errors.Is(err, ErrNoSuchAddress):
		return ReasonConfig
	case errors.Is(err, ErrType):
		return ReasonType
	default:
		return ReasonDevice
	}
}
