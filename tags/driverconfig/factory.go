package driverconfig

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// Factory makes a driver of one type and the tags that its settings define. The tags are complete:
// Driver is s.ID and Name is s.TagName of the name in the settings. A factory does not connect.
type Factory func(s Settings, log *slog.Logger) (tags.Driver, []tags.Tag, error)

// Factories maps the names of driver types to their factories. A program lists the drivers that it
// uses; there is no global registry.
type Factories map[string]Factory

// Build makes the driver of the settings. Types are found without regard to case. A nil
// log logs nothing. The error is an ErrUnknownType that lists the known types, an ErrInvalid, or that of
// the factory.
func (f Factories) Build(s Settings, log *slog.Logger) (tags.Driver, []tags.Tag, error) {
	if err := s.Validate(""); err != nil {
		return nil, nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	known := slices.Sorted(maps.Keys(f))
	i := slices.IndexFunc(known, func(name string) bool { return strings.EqualFold(name, s.Type) })
	if i < 0 {
		return nil, nil, ErrUnknownType.Invalid(fault.Field{Field: "Type", Message: fmt.Sprintf("must be one of %s, not %q", strings.Join(known, ", "), s.Type)})
	}
	return f[known[i]](s, log)
}
