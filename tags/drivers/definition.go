package drivers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
)

// Errors of the service. Their codes are part of the API.
var (
	ErrNotFound     = fault.New(fault.NotFound, "DRIVER_NOT_FOUND", "driver not found")
	ErrInvalid      = driverconfig.ErrInvalid
	ErrExists       = tags.ErrDriverExists
	ErrFromSettings = fault.New(fault.Conflict, "DRIVER_FROM_SETTINGS", "driver is defined in the settings of the engine")
	ErrOpaque       = fault.New(fault.Conflict, "DRIVER_OPAQUE", "driver was built by the program: another one cannot be built to try its device")
	ErrFromPart     = fault.New(fault.Conflict, "DRIVER_FROM_PART", "driver belongs to another part of the engine")
	ErrChanged      = fault.New(fault.Conflict, "VERSION_CHANGED", "driver was changed meanwhile")
	ErrTooMany      = fault.New(fault.Conflict, "DRIVER_LIMIT", "there are as many drivers as allowed")
	ErrNoBrowse     = fault.New(fault.Conflict, "BROWSE_NOT_SUPPORTED", "drivers of this type cannot list the points of a device")
	ErrBusy         = fault.New(fault.TooMany, "TOO_MANY_DRIVER_TESTS", "too many devices are being tried")
	ErrUnreachable  = fault.New(fault.BadGateway, "DEVICE_NOT_REACHABLE", "the device cannot be browsed")
)

// Definition is what a driver is made of.
type Definition struct {
	ID        string // prefix of the names of its tags
	Type      string // driver type, without regard to case
	Enabled   bool   // it runs; one that is not keeps its tags, Bad with reason NoDriver
	IPAddress string
	Port      int // 0 takes the default of the type

	PollInterval time.Duration // see tags.DriverOptions; 0 takes the default there
	Timeout      time.Duration // likewise
	MaxBackoff   time.Duration // likewise

	Settings json.RawMessage // an object that the type defines; may be empty

	// Requires are labels that an engine must have to run the driver, where several share a plant: such as one for the network of the device.
	Requires map[string]string

	Revision             int64 // grows with each change, also over removal; set by the service
	CreatedAt, UpdatedAt time.Time
	Declared             bool // it is of the settings of engines, see Service.Declare; set by the service
}

// maxInterval is a day; longer times are mistakes.
const maxInterval = 24 * time.Hour

// validate checks what all types have in common. Paths are those of the API.
func (d *Definition) validate() error {
	var bad []fault.Field
	want := func(ok bool, field, format string, args ...any) {
		if !ok {
			bad = append(bad, fault.Field{Field: field, Message: fmt.Sprintf(format, args...)})
		}
	}
	if d.ID == "" {
		want(false, "id", "is required")
	} else {
		want(len(d.ID) <= maxID, "id", "must have at most %d bytes", maxID)
		want(validID(d.ID), "id", "must not contain / or control characters, nor be . or ..")
		want(!strings.HasPrefix(d.ID, "~") && !slices.Contains(reserved, d.ID), "id",
			"is reserved for a part of the engine: derived, devices, predictive and ids that begin with ~ are")
	}
	want(d.Type != "", "type", "is required")
	want(d.Port >= 0 && d.Port <= 65535, "port", "must be 1 to 65535, or 0 for the type's default")
	for _, t := range []struct {
		field string
		d     time.Duration
	}{{"pollIntervalMs", d.PollInterval}, {"timeoutMs", d.Timeout}, {"backoffMaxMs", d.MaxBackoff}} {
		want(t.d >= 0 && t.d <= maxInterval, t.field, "must be 0 to %d milliseconds", maxInterval.Milliseconds())
	}
	want(len(d.Requires) <= maxLabels, "requires", "must have at most %d labels", maxLabels)
	for name, value := range d.Requires {
		want(name != "" && len(name) <= maxLabel && len(value) <= maxLabel, "requires", "must have names and values of at most %d bytes", maxLabel)
	}
	if len(bad) > 0 {
		return ErrInvalid.Invalid(bad...)
	}
	return nil
}

// The limits of Requires.
const (
	maxLabels = 16
	maxLabel  = 128
)

// reserved are the ids of drivers that parts of the engine add with their first tag.
var reserved = []string{"derived", "devices", "predictive"}

func validID(id string) bool {
	return utf8.ValidString(id) && id != "." && id != ".." && !strings.ContainsFunc(id, func(r rune) bool { return r == '/' || unicode.IsControl(r) })
}

// maxID leaves room for names in the length limit of tags.
const maxID = 128

// settings returns the form in which a type reads a definition.
func (d *Definition) settings() driverconfig.Settings {
	return driverconfig.Settings{ID: d.ID, Type: d.Type, IPAddress: d.IPAddress, Port: d.Port, Settings: d.Settings}
}

func (d *Definition) options() tags.DriverOptions {
	return tags.DriverOptions{Type: d.Type, PollInterval: d.PollInterval, Timeout: d.Timeout, MaxBackoff: d.MaxBackoff}
}

// inAPI returns an error of a factory with the paths of the API: settings.Tags[3].Address.
func inAPI(err error) error {
	f, ok := fault.From(err)
	if !ok {
		return ErrInvalid.Because("%s", err).Wrap(err)
	}
	fields := make([]fault.Field, len(f.Fields))
	for i, bad := range f.Fields {
		if name, rest, _ := strings.Cut(bad.Field, "."); name != "" {
			bad.Field = strings.ToLower(name[:1]) + name[1:]
			if rest != "" {
				bad.Field += "." + rest
			}
		}
		fields[i] = bad
	}
	if len(fields) == 0 && f.Kind == fault.Invalid {
		if f.Err != nil { // the factory says it in the text of the cause alone
			return ErrInvalid.Because("%s", f.Err).Wrap(err)
		}
	}
	if f.Kind != fault.Invalid {
		return ErrInvalid.Because("%s", f.Message).Wrap(err)
	}
	c := *f
	c.Fields = fields
	return &c
}

// Repository keeps definitions. Safe for concurrent use. Package driverstest has a conformance suite.
type Repository interface {
	// Load returns the definitions by id, and a version that grows with each change of any of them.
	Load(ctx context.Context) (list []Definition, version int64, err error)
	// Version returns the version.
	Version(ctx context.Context) (int64, error)
	// Get returns a definition, or ErrNotFound.
	Get(ctx context.Context, id string) (Definition, error)
	// Insert adds a definition. If there is one of its id, it returns ErrExists.
	Insert(ctx context.Context, d Definition) error
	// Update replaces the definition of d.ID whose Revision is was. If there is none of the id, it returns ErrNotFound, and if it has
	// another revision, ErrChanged.
	Update(ctx context.Context, d Definition, was int64) error
	// Delete removes the definition whose Revision is was. Errors are those of Update.
	Delete(ctx context.Context, id string, was int64) error
}
