package alarms

import (
	"fmt"

	"github.com/otkit/otkit/fault"
)

// Severity is how severe an alarm is. The zero Severity is Info.
type Severity uint8

// The severities, from least to most.
const (
	Info Severity = iota
	Warning
	Error
	Critical
)

var severityNames = [...]string{"Info", "Warning", "Error", "Critical"}

// Severities lists the severities from least to most.
func Severities() []Severity { return []Severity{Info, Warning, Error, Critical} }

// Valid reports whether s is one of the severities.
func (s Severity) Valid() bool { return int(s) < len(severityNames) }

// String returns the name.
func (s Severity) String() string {
	if s.Valid() {
		return severityNames[s]
	}
	return fmt.Sprintf("Severity(%d)", uint8(s))
}

// ThreeLevel returns the name for APIs that have only three severities. There an Error is a Critical, so that no
// severity is understated.
func (s Severity) ThreeLevel() string {
	if s == Error {
		return Critical.String()
	}
	return s.String()
}

// ParseSeverity returns the severity with a name. For an unknown name it returns an ErrInvalidRequest.
func ParseSeverity(name string) (Severity, error) {
	for i, n := range severityNames {
		if n == name {
			return Severity(i), nil
		}
	}
	return Info, ErrInvalidRequest.Because("severity must be Info, Warning, Error or Critical")
}

// MarshalText returns the name.
func (s Severity) MarshalText() ([]byte, error) {
	if !s.Valid() {
		return nil, ErrInvalidRequest.Because("unknown severity %d", uint8(s))
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads a name.
func (s *Severity) UnmarshalText(text []byte) (err error) {
	*s, err = ParseSeverity(string(text))
	return err
}

// SeveritySet is a set of severities. The zero SeveritySet has all of them.
type SeveritySet uint8

// SetOf returns the set of the given severities.
func SetOf(list ...Severity) SeveritySet {
	var set SeveritySet
	for _, s := range list {
		set |= 1 << s
	}
	return set
}

// AtLeast returns the set of s and all higher severities.
func AtLeast(s Severity) SeveritySet {
	var set SeveritySet
	for ; s.Valid(); s++ {
		set |= 1 << s
	}
	return set
}

// Has reports whether s is in the set.
func (set SeveritySet) Has(s Severity) bool { return set == 0 || set&(1<<s) != 0 }

// ParseThreeLevel returns the severities that a filter of APIs with three severities selects. Critical includes Error,
// and an empty filter selects all. For any other word it returns an ErrInvalidRequest.
func ParseThreeLevel(word string) (SeveritySet, error) {
	switch word {
	case "":
		return 0, nil
	case "Info":
		return SetOf(Info), nil
	case "Warning":
		return SetOf(Warning), nil
	case "Critical":
		return SetOf(Error, Critical), nil
	}
	return 0, ErrInvalidRequest.Invalid(fault.Field{Field: "severityFilter", Message: "must be Critical, Warning or Info"})
}
