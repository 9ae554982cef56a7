package derived

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
)

// DriverID is the id under which a tag engine has the driver.
const DriverID = "derived"

// Limits of a definition.
const (
	MaxExpressionBytes = 4096
	MaxNodes           = 500  // operators, functions, tags and constants of an expression
	MaxTextBytes       = 4096 // of a text that an expression computes, of a unit and a description
)

// Definition defines a derived tag: by an expression, or as an alias of another tag.
type Definition struct {
	ID         string `json:"id"`                   // name of the tag, as tags.Tag.Name
	Expression string `json:"expression,omitempty"` // see the package comment; empty for an alias
	Target     string `json:"target,omitempty"`     // name of the tag that an alias stands for; empty for an expression

	// DataType is the type of the tag. Default: that of the expression, or of the target. An Int is taken into a Float.
	DataType    tags.DataType `json:"dataType,omitempty"`
	Unit        string        `json:"unit,omitempty"`        // default for an alias: that of the target
	Description string        `json:"description,omitempty"` // as Unit

	Min      *float64 `json:"minValue,omitempty"` // limit, beyond which the value is Uncertain; of expressions only
	Max      *float64 `json:"maxValue,omitempty"` // as Min
	Deadband float64  `json:"deadband,omitempty"` // smallest change that is reported; of expressions only
}

// Validate checks what can be checked without other tags. The error is an [ErrInvalid] that names each bad member.
func (d *Definition) Validate() error {
	var bad []fault.Field
	add := func(field, format string, args ...any) {
		bad = append(bad, fault.Field{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	name := tags.Tag{Name: d.ID, Driver: DriverID, DataType: tags.Bool}
	if name.Validate() != nil || strings.TrimSpace(d.ID) != d.ID {
		add("id", "must be a name of 1 to %d printable bytes that neither begins nor ends with a blank", tags.MaxNameBytes)
	}
	switch {
	case (d.Expression == "") == (d.Target == ""):
		add("expression", "either expression or target is required")
	case len(d.Expression) > MaxExpressionBytes || !utf8.ValidString(d.Expression):
		add("expression", "must be valid UTF-8 of at most %d bytes", MaxExpressionBytes)
	case len(d.Target) > tags.MaxNameBytes:
		add("target", "must not be longer than %d bytes", tags.MaxNameBytes)
	}
	switch {
	case d.DataType == "":
	case !d.DataType.Valid():
		add("dataType", "must be one of Bool, Int, Float, String, Bytes")
	case d.DataType == tags.Bytes && d.Target == "":
		add("dataType", "of an expression must not be Bytes")
	}
	for _, t := range []struct{ field, text string }{{"unit", d.Unit}, {"description", d.Description}} {
		if len(t.text) > MaxTextBytes || !utf8.ValidString(t.text) {
			add(t.field, "must be valid UTF-8 of at most %d bytes", MaxTextBytes)
		}
	}
	finite := func(f *float64) bool { return f == nil || !math.IsNaN(*f) && !math.IsInf(*f, 0) }
	switch {
	case !finite(d.Min) || !finite(d.Max) || !finite(&d.Deadband):
		add("minValue", "limits and deadband must be finite numbers")
	case d.Min != nil && d.Max != nil && *d.Min > *d.Max:
		add("minValue", "must not be above maxValue")
	case d.Deadband < 0:
		add("deadband", "must not be negative")
	case d.Target != "" && (d.Min != nil || d.Max != nil || d.Deadband != 0):
		add("minValue", "an alias has the limits of its target and no deadband of its own")
	}
	if len(bad) > 0 {
		return ErrInvalid.On("id", d.ID).Invalid(bad...)
	}
	return nil
}

func invalid(id, field, format string, args ...any) error {
	return ErrInvalid.On("id", id).Invalid(fault.Field{Field: field, Message: fmt.Sprintf(format, args...)})
}
