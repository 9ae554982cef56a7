package passive

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
)

// TypeName is the driver type in settings.
const TypeName = "Passive"

// settings is the member Settings of a driver of type Passive. Times in milliseconds.
type settings struct {
	StaleAfterMs int64 // of tags that have none: Uncertain after this long without a value; -1 for never
	Tags         []tagSettings
}

type tagSettings struct {
	Name         string
	Address      string // default: Name
	Type         string // see the package comment
	StaleAfterMs *int64
	Unit         string
	Description  string

	MinValue, MaxValue    *float64
	ScalingFactor, Offset float64
	Deadband              struct{ Absolute, Percent float64 }
}

// defaultStaleMs is when a host that receives the values calls the equipment unhealthy.
const defaultStaleMs = 60_000

// FromSettings is the driverconfig.Factory of the type Passive. Its settings are StaleAfterMs (default 60000, -1 for never) and
// Tags, each with Name, Type and, where wanted, Address, StaleAfterMs, Unit, Description, MinValue, MaxValue, ScalingFactor, Offset
// and Deadband (Absolute, Percent). The address and the port of the driver have no meaning.
func FromSettings(s driverconfig.Settings, _ *slog.Logger) (tags.Driver, []tags.Tag, error) {
	in := settings{StaleAfterMs: defaultStaleMs}
	if err := driverconfig.Decode(s.Settings, &in, "Settings"); err != nil {
		return nil, nil, err
	}
	var bad []fault.Field
	at := func(path, format string, args ...any) {
		bad = append(bad, fault.Field{Field: "Settings." + path, Message: fmt.Sprintf(format, args...)})
	}
	stale := func(path string, ms int64) time.Duration {
		const most = 366 * 24 * 3600_000
		if ms < -1 || ms > most || ms == 0 {
			at(path, "must be 1 to %d, or -1 for never", int64(most))
		}
		return time.Duration(max(0, ms)) * time.Millisecond
	}
	o := Options{Tags: make([]Tag, len(in.Tags))}
	always := stale("StaleAfterMs", in.StaleAfterMs)
	for i, t := range in.Tags {
		o.Tags[i] = Tag{Name: t.Name, Address: t.Address, Type: t.Type, StaleAfter: always}
		if t.StaleAfterMs != nil && len(bad) < maxReported {
			o.Tags[i].StaleAfter = stale(fmt.Sprintf("Tags[%d].StaleAfterMs", i), *t.StaleAfterMs)
		}
	}
	d, err := New(o)
	if e, ok := fault.From(err); ok {
		for _, f := range e.Fields {
			at(f.Field, "%s", f.Message)
		}
	}
	if len(bad) > 0 {
		return nil, nil, driverconfig.ErrInvalid.Invalid(bad[:min(len(bad), maxReported)]...)
	}
	list := make([]tags.Tag, len(in.Tags))
	for i := range in.Tags {
		list[i] = in.Tags[i].tag(s, d.all[i])
		var invalid *fault.Error
		if errors.As(list[i].Validate(), &invalid) {
			for _, f := range invalid.Fields {
				at(fmt.Sprintf("Tags[%d].%s", i, memberOf(f.Field)), "%s", f.Message)
			}
		}
		if len(bad) >= maxReported {
			break
		}
	}
	if len(bad) > 0 {
		return nil, nil, driverconfig.ErrInvalid.Invalid(bad...)
	}
	return d, list, nil
}

func (t *tagSettings) tag(s driverconfig.Settings, p *point) tags.Tag {
	return tags.Tag{Name: s.TagName(t.Name), Driver: s.ID, Address: p.Address, NativeType: p.native(), DataType: p.data, Access: tags.ReadOnly,
		Unit: t.Unit, Description: t.Description, Min: t.MinValue, Max: t.MaxValue, Scale: t.ScalingFactor, Offset: t.Offset,
		StaleAfter: p.StaleAfter, Deadband: tags.Deadband{Absolute: t.Deadband.Absolute, Percent: t.Deadband.Percent}}
}

// memberOf returns our name for a member of tags.Tag.
func memberOf(field string) string {
	if rest, ok := strings.CutPrefix(field, "deadband."); ok {
		return "Deadband." + strings.ToUpper(rest[:1]) + rest[1:]
	}
	return strings.ToUpper(field[:1]) + field[1:]
}
