package driverconfig

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/otkit/otkit/fault"
)

// Settings describes one driver.
type Settings struct {
	ID        string          `json:"Id"`        // driver id, the prefix of its tags' names; required
	Type      string          `json:"Type"`      // driver type, without regard to case; required
	IPAddress string          `json:"IpAddress"` // address or host name of the device, for types that have one
	Port      int             `json:"Port"`      // 1..65535; 0 takes the default of the type
	Settings  json.RawMessage `json:"Settings"`  // what the type itself defines; may be empty
}

// Validate checks what all types have in common. The error is an ErrInvalid whose paths begin with
// the given one, such as "Driver" or "Drivers[2]".
func (s Settings) Validate(path string) error {
	var bad []fault.Field
	if s.ID == "" {
		bad = append(bad, fault.Field{Field: join(path, "Id"), Message: "is required"})
	}
	if s.Type == "" {
		bad = append(bad, fault.Field{Field: join(path, "Type"), Message: "is required"})
	}
	if s.Port < 0 || s.Port > 65535 {
		bad = append(bad, fault.Field{Field: join(path, "Port"), Message: "must be 1 to 65535, or 0 for the type's default"})
	}
	if len(bad) > 0 {
		return ErrInvalid.Invalid(bad...)
	}
	return nil
}

// TagName returns the full name of one of the driver's tags: the id, a dot and the name.
func (s Settings) TagName(name string) string { return s.ID + "." + name }

// ReadFile reads a driver_settings.json: an object with the one member Driver. A byte order mark, as
// some editors write it, is skipped. The error is an ErrInvalid or one of the file system.
func ReadFile(path string) (Settings, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return Settings{}, fmt.Errorf("reading driver settings: %w", err)
	}
	s, err := Parse(raw)
	if err != nil {
		return Settings{}, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Parse reads the content of a driver_settings.json.
func Parse(raw []byte) (Settings, error) {
	var file struct{ Driver *Settings }
	if err := Decode(bytes.TrimPrefix(raw, []byte("\ufeff")), &file, ""); err != nil {
		return Settings{}, err
	}
	if file.Driver == nil {
		return Settings{}, ErrInvalid.Invalid(fault.Field{Field: "Driver", Message: "is required"})
	}
	return *file.Driver, file.Driver.Validate("Driver")
}
