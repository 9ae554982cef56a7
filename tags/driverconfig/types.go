package driverconfig

import (
	"encoding/json"
	"log/slog"
	"strings"

	"github.com/otkit/otkit/tags"
)

// AddressUse is whether drivers of a type have an IpAddress.
type AddressUse string

// The uses of IpAddress and Port.
const (
	AddressRequired AddressUse = "required"
	AddressOptional AddressUse = "optional" // needed or not by what Settings say
	AddressNone     AddressUse = "none"     // without a meaning
)

// Type is a type of driver: its factory, and what somebody who configures one must know.
type Type struct {
	Name        string // as in Settings.Type; required
	Title       string // for people
	Description string
	New         Factory // required
	// Schema returns the JSON Schema of Settings.Settings; see [Schema]. Nil: nothing is known of them.
	Schema      func() json.RawMessage
	Address     AddressUse // default AddressNone
	DefaultPort int        // 0 if there is none
	CanBrowse   bool       // the driver is a tags.Browser
}

// SettingsSchema returns the schema of the type's settings, which allows any object where the type has none.
func (t Type) SettingsSchema() json.RawMessage {
	if t.Schema == nil {
		return json.RawMessage(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`)
	}
	return t.Schema()
}

// Types are the types of drivers that a program has.
type Types []Type

// Find returns a type by its name, without regard to case.
func (list Types) Find(name string) (Type, bool) {
	for _, t := range list {
		if strings.EqualFold(t.Name, name) {
			return t, true
		}
	}
	return Type{}, false
}

// Factories returns the factories of the types.
func (list Types) Factories() Factories {
	all := make(Factories, len(list))
	for _, t := range list {
		all[t.Name] = t.New
	}
	return all
}

// Build makes the driver of the settings, as [Factories.Build] does.
func (list Types) Build(s Settings, log *slog.Logger) (tags.Driver, []tags.Tag, error) {
	return list.Factories().Build(s, log)
}
