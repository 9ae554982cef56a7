package passive

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
)

// TypeName is the driver type in settings.
const TypeName = "Passive"

// Type returns the driver type for programs that list what they have.
func Type() driverconfig.Type {
	return driverconfig.Type{Name: TypeName, Title: "Passive", Description: "Equipment that sends its values to the bridge by itself.", New: FromSettings,
		Schema: sync.OnceValue(func() json.RawMessage { return driverconfig.Schema(settings{}) }), CanBrowse: true}
}

// settings is the member Settings of a driver of type Passive.
type settings struct {
	Tags         []tagSettings `doc:"The tags that values come for."`
	StaleAfterMs int64         `range:"1..31622400000|-1" unit:"milliseconds" default:"60000" doc:"Tags are Uncertain after this long without a value; -1 for never."`
}

type tagSettings struct {
	Name          string   `required:"true" doc:"Name without the driver's prefix." example:"level"`
	Address       string   `doc:"By which values can name the tag as well; default Name."`
	Type          typeName `required:"true"`
	StaleAfterMs  *int64   `range:"1..31622400000|-1" unit:"milliseconds" doc:"Default: that of the driver."`
	Unit          string   `doc:"Unit of the value." example:"m"`
	Description   string
	MinValue      *float64
	MaxValue      *float64
	ScalingFactor float64 `default:"1" doc:"value = raw * ScalingFactor + Offset"`
	Offset        float64
	Deadband      deadbandSettings
}

// JSONSchemaRules implements driverconfig.RuleProvider.
func (tagSettings) JSONSchemaRules() []map[string]any {
	return []map[string]any{driverconfig.DeadbandRule()}
}

type deadbandSettings struct {
	Absolute float64 `range:"0.." doc:"Changes below this are not reported."`
	Percent  float64 `range:"0..100" unit:"percent" doc:"The same, in percent of MinValue to MaxValue."`
}

// typeName is the type of a tag.
type typeName string

// JSONSchema implements driverconfig.SchemaProvider.
func (typeName) JSONSchema() map[string]any {
	return map[string]any{"type": "string", "description": "Type of the value. String and Bytes may have a length in bytes.",
		"pattern":  "^(Bool|Int|Float|U?Int(16|32|64)|Float(32|64)|(String|Bytes)(:([1-9][0-9]{0,3}|[1-5][0-9]{4}))?)$",
		"examples": []string{"Bool", "Int", "Float", "String:32"}}
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
	stale := func(ms int64) time.Duration { return time.Duration(max(0, ms)) * time.Millisecond }
	o := Options{Tags: make([]Tag, len(in.Tags))}
	always := stale(in.StaleAfterMs)
	for i, t := range in.Tags {
		o.Tags[i] = Tag{Name: t.Name, Address: t.Address, Type: string(t.Type), StaleAfter: always}
		if t.StaleAfterMs != nil {
			o.Tags[i].StaleAfter = stale(*t.StaleAfterMs)
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
