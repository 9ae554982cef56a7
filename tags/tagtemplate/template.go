package tagtemplate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/derived"
	"github.com/otkit/otkit/tags/tagconfig"
)

// Errors of the service.
var (
	ErrInvalid          = fault.New(fault.Invalid, "INVALID_TEMPLATE", "template or instance is not valid")
	ErrNotFound         = fault.New(fault.NotFound, "TEMPLATE_NOT_FOUND", "template not found")
	ErrInstanceNotFound = fault.New(fault.NotFound, "TEMPLATE_INSTANCE_NOT_FOUND", "instance of the template not found")
	ErrExists           = fault.New(fault.AlreadyExists, "TEMPLATE_EXISTS", "there is a template of that id")
	ErrInUse            = fault.New(fault.Conflict, "TEMPLATE_IN_USE", "the template has instances")
)

// Limits of a template.
const (
	MaxParameters = 100
	MaxTags       = 2000 // tags and derived tags of a template
	MaxInstances  = 10_000
	MaxTextBytes  = 4096 // of a text, also of one with values in it

	MaxTemplates    = 1000
	MaxRenderedTags = 200_000 // tags and derived tags of all instances
)

// Template is a type of device.
type Template struct {
	ID          string                       `json:"id"` // as that of an instance: letters, digits and ._:-, at most 128
	Description string                       `json:"description,omitempty"`
	Parameters  []Parameter                  `json:"parameters,omitempty"`
	Tags        []map[string]json.RawMessage `json:"tags,omitempty"`        // items of the tag configuration
	DerivedTags []map[string]json.RawMessage `json:"derivedTags,omitempty"` // definitions of derived tags
}

// Parameter is what the devices of a template differ in.
type Parameter struct {
	Name        string          `json:"name"` // letters, digits and _
	Type        tags.DataType   `json:"type"` // Bool, Int, Float or String
	Default     json.RawMessage `json:"default,omitempty"`
	Pattern     string          `json:"pattern,omitempty"` // regular expression that a String must match as a whole
	Min         *float64        `json:"minValue,omitempty"`
	Max         *float64        `json:"maxValue,omitempty"`
	Description string          `json:"description,omitempty"`
}

// Instance is a device of a template.
type Instance struct {
	ID     string                     `json:"id"`
	Values map[string]json.RawMessage `json:"values,omitempty"` // by parameter; the default counts for one that is absent
}

var (
	idForm   = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,128}$`)
	nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)
	slot     = regexp.MustCompile(`\$\{([^}]*)\}`)
	slotForm = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*)(?:([+-])([0-9]{1,9}))?$`)
)

func invalid(field, format string, args ...any) error {
	return ErrInvalid.Invalid(fault.Field{Field: field, Message: fmt.Sprintf(format, args...)})
}

// Validate checks a template without an instance. The error is an [ErrInvalid].
func (t *Template) Validate() error {
	switch {
	case !idForm.MatchString(t.ID) || t.ID == "." || t.ID == "..":
		return invalid("id", "must be 1 to 128 letters, digits and ._:-")
	case len(t.Description) > MaxTextBytes:
		return invalid("description", "must not be longer than %d bytes", MaxTextBytes)
	case len(t.Parameters) > MaxParameters:
		return invalid("parameters", "must not be more than %d", MaxParameters)
	case len(t.Tags)+len(t.DerivedTags) > MaxTags:
		return invalid("tags", "must not be more than %d with the derived tags", MaxTags)
	}
	seen := map[string]bool{"instance": true}
	for i, p := range t.Parameters {
		at := fmt.Sprintf("parameters[%d]", i)
		switch {
		case !nameForm.MatchString(p.Name):
			return invalid(at+".name", "must be letters, digits and _, and must not begin with a digit")
		case seen[p.Name]:
			return invalid(at+".name", "%q is there twice, or has a meaning of its own", p.Name)
		case !slices.Contains([]tags.DataType{tags.Bool, tags.Int, tags.Float, tags.String}, p.Type):
			return invalid(at+".type", "must be one of Bool, Int, Float, String")
		}
		seen[p.Name] = true
		if _, err := regexp.Compile(p.Pattern); err != nil || len(p.Pattern) > MaxTextBytes || p.whole() == nil {
			return invalid(at+".pattern", "must be a regular expression of at most %d bytes", MaxTextBytes)
		}
		if len(p.Description) > MaxTextBytes {
			return invalid(at+".description", "must not be longer than %d bytes", MaxTextBytes)
		}
		if len(p.Default) > 0 {
			if _, err := p.read(p.Default); err != nil {
				return invalid(at+".default", "%s", err)
			}
		}
	}
	for name, list := range map[string][]map[string]json.RawMessage{"tags": t.Tags, "derivedTags": t.DerivedTags} {
		for i, item := range list {
			for member, raw := range item {
				if err := t.known(raw, seen); err != nil {
					return invalid(fmt.Sprintf("%s[%d].%s", name, i, member), "%s", err)
				}
			}
		}
	}
	return nil
}

// known returns an error if a member names a parameter that there is not.
func (t *Template) known(raw json.RawMessage, seen map[string]bool) error {
	var text string
	if !isText(raw, &text) {
		return nil
	}
	if len(text) > MaxTextBytes {
		return fmt.Errorf("must not be longer than %d bytes", MaxTextBytes)
	}
	for _, found := range slot.FindAllStringSubmatch(text, -1) {
		form := slotForm.FindStringSubmatch(found[1])
		if form == nil || !seen[form[1]] {
			return fmt.Errorf("%s names no parameter", found[0])
		}
	}
	return nil
}

// isText reports whether a member is a text, and reads it.
func isText(raw json.RawMessage, text *string) bool { return json.Unmarshal(raw, text) == nil }

// whole returns what matches the pattern as a whole; nil if that is too large for a regular expression.
func (p *Parameter) whole() *regexp.Regexp {
	form, err := regexp.Compile("^(?:" + p.Pattern + ")$")
	if err != nil {
		return nil
	}
	return form
}

// read reads a value of a parameter: bool, int64, float64 or string.
func (p *Parameter) read(raw json.RawMessage) (value any, err error) {
	number := math.NaN()
	switch p.Type {
	case tags.Bool:
		var v bool
		err = json.Unmarshal(raw, &v)
		value = v
	case tags.Int:
		var v int64
		err = json.Unmarshal(raw, &v)
		value, number = v, float64(v)
	case tags.Float:
		var v float64
		err = json.Unmarshal(raw, &v)
		value, number = v, v
	default:
		var v string
		if err = json.Unmarshal(raw, &v); err == nil {
			switch {
			case len(v) > MaxTextBytes:
				return nil, fmt.Errorf("must not be longer than %d bytes", MaxTextBytes)
			case strings.Contains(v, "${"):
				return nil, errors.New("must not contain ${")
			case p.Pattern != "":
				if form := p.whole(); form == nil || !form.MatchString(v) {
					return nil, fmt.Errorf("must match %s", p.Pattern)
				}
			}
		}
		value = v
	}
	switch {
	case err != nil || string(raw) == "null":
		return nil, fmt.Errorf("must be of type %s", p.Type)
	case p.Min != nil && number < *p.Min, p.Max != nil && number > *p.Max:
		return nil, fmt.Errorf("%v is outside the limits of the parameter", value)
	}
	return value, nil
}

// rendered is what instances define.
type rendered struct {
	tags    []tags.Tag
	derived []derived.Owned
}

// render adds the tags of an instance.
func (t *Template) render(in *Instance, to *rendered) error {
	if !idForm.MatchString(in.ID) || in.ID == "." || in.ID == ".." {
		return invalid("id", "must be 1 to 128 letters, digits and ._:-")
	}
	values := map[string]any{"instance": in.ID}
	for i := range t.Parameters {
		p := &t.Parameters[i]
		raw, ok := in.Values[p.Name]
		if !ok {
			raw = p.Default
		}
		if len(raw) == 0 {
			return invalid("values."+p.Name, "is required by instance %s", in.ID)
		}
		value, err := p.read(raw)
		if err != nil {
			return invalid("values."+p.Name, "%s (instance %s)", err, in.ID)
		}
		values[p.Name] = value
	}
	for name := range in.Values {
		if !slices.ContainsFunc(t.Parameters, func(p Parameter) bool { return p.Name == name }) {
			return invalid("values."+name, "is not a parameter of the template")
		}
	}
	for i, item := range t.Tags {
		var c tagconfig.Config
		if err := fill(item, values, &c); err != nil {
			return invalid(fmt.Sprintf("tags[%d]", i), "%s (instance %s)", err, in.ID)
		}
		if err := c.Validate(); err != nil {
			return fieldsOf(err, fmt.Sprintf("tags[%d]", i), in.ID)
		}
		to.tags = append(to.tags, c.Tag(nil))
	}
	for i, item := range t.DerivedTags {
		var d derived.Definition
		if err := fill(item, values, &d); err != nil {
			return invalid(fmt.Sprintf("derivedTags[%d]", i), "%s (instance %s)", err, in.ID)
		}
		if err := d.Validate(); err != nil {
			return fieldsOf(err, fmt.Sprintf("derivedTags[%d]", i), in.ID)
		}
		to.derived = append(to.derived, derived.Owned{Definition: d, Owner: t.ID + "/" + in.ID})
	}
	return nil
}

// fieldsOf returns the violations of one tag as those of the template.
func fieldsOf(err error, at, instance string) error {
	f, ok := fault.From(err)
	if !ok || len(f.Fields) == 0 {
		return invalid(at, "%s (instance %s)", err, instance)
	}
	fields := slices.Clone(f.Fields)
	for i := range fields {
		fields[i].Field, fields[i].Message = at+"."+fields[i].Field, fields[i].Message+" (instance "+instance+")"
	}
	return ErrInvalid.Invalid(fields...)
}

// fill decodes an item with the values in place of its parameters.
func fill(item map[string]json.RawMessage, values map[string]any, to any) error {
	filled := make(map[string]any, len(item))
	for member, raw := range item {
		var text string
		if json.Unmarshal(raw, &text) != nil || !strings.Contains(text, "${") {
			filled[member] = raw
			continue
		}
		if found := slot.FindString(text); found == text {
			v, err := valueOf(found, values)
			if err != nil {
				return fmt.Errorf("%s: %w", member, err)
			}
			filled[member] = v
			continue
		}
		var failed error
		size := 0
		filled[member] = slot.ReplaceAllStringFunc(text, func(found string) string {
			v, err := valueOf(found, values)
			if s, ok := v.(string); ok {
				size += len(s)
			}
			if err == nil && size > MaxTextBytes {
				v, err = nil, fmt.Errorf("must not be longer than %d bytes", MaxTextBytes)
			}
			if err != nil && failed == nil {
				failed = fmt.Errorf("%s: %w", member, err)
			}
			if f, ok := v.(float64); ok {
				return strconv.FormatFloat(f, 'g', -1, 64)
			}
			return fmt.Sprint(v)
		})
		if failed != nil {
			return failed
		}
	}
	body, err := json.Marshal(filled)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, to)
}

// valueOf returns what stands for ${name}, ${name+3} or ${name-3}.
func valueOf(found string, values map[string]any) (any, error) {
	form := slotForm.FindStringSubmatch(found[2 : len(found)-1])
	if form == nil {
		return nil, fmt.Errorf("%s names no parameter", found)
	}
	v, ok := values[form[1]]
	if !ok {
		return nil, fmt.Errorf("%s names no parameter", found)
	}
	if form[2] == "" {
		return v, nil
	}
	n, ok := v.(int64)
	by, err := strconv.ParseInt(form[2]+form[3], 10, 64)
	switch {
	case !ok || err != nil:
		return nil, fmt.Errorf("%s adds to what is not an Int", found)
	case (n+by > n) != (by > 0) && by != 0:
		return nil, fmt.Errorf("%s does not fit an Int", found)
	}
	return n + by, nil
}
