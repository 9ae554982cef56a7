package driverconfig

import (
	"encoding"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"time"
)

// SchemaProvider is a type of a member whose JSON form its Go type does not show.
type SchemaProvider interface {
	// JSONSchema returns the JSON Schema of the type's values.
	JSONSchema() map[string]any
}

// RuleProvider is a settings struct with rules about several members.
type RuleProvider interface {
	// JSONSchemaRules returns JSON Schemas that the object must match, too.
	JSONSchemaRules() []map[string]any
}

// Schema returns the JSON Schema (2020-12) of settings that [Decode] reads into a struct of the type of example. Its properties have the
// order of the fields, so that forms can show what matters most first. These tags of the
// fields have a meaning, and Decode checks the rules among them:
//
//	doc       what the member is for
//	default   its value if it is absent, as JSON
//	range     bounds of a number: 1..255, 0.., or with single values beside them: 300..4000000|0
//	enum      the words that a string may be, separated by commas
//	required  true: the member must be there, and not empty
//	secret    true: the member is never shown again (writeOnly)
//	unit      unit of a number, such as milliseconds
//	example   a value as an example
//
// Decode accepts more than the schema in three respects, for files that people write: letter case in names of members and in words
// does not matter, an empty word counts as absent, and so does null. Relations between numbers, such as MinValue not above
// MaxValue, and what only the driver can judge, such as its addresses, are not in a schema.
func Schema(example any) json.RawMessage {
	s := schemaOf(reflect.TypeOf(example))
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	raw, err := json.Marshal(s)
	if err != nil {
		panic("driverconfig: schema of " + reflect.TypeOf(example).String() + ": " + err.Error()) // a mistake in a tag
	}
	return raw
}

func schemaOf(t reflect.Type) map[string]any {
	if t.Kind() == reflect.Pointer {
		return schemaOf(t.Elem())
	}
	switch v := reflect.New(t).Interface().(type) {
	case SchemaProvider:
		return v.JSONSchema()
	case *time.Time:
		return map[string]any{"type": "string", "format": "date-time"}
	case *json.RawMessage:
		return map[string]any{}
	case json.Unmarshaler:
		return map[string]any{}
	case encoding.TextUnmarshaler:
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Float32, reflect.Float64:
		return map[string]any{"type": "number"}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return map[string]any{"type": "integer", "minimum": 0}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return map[string]any{"type": "string", "contentEncoding": "base64"}
		}
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		return objectSchema(t)
	}
	return map[string]any{}
}

func objectSchema(t reflect.Type) map[string]any {
	var members properties
	var required []string
	for _, m := range membersOf(t) {
		s := schemaOf(t.FieldByIndex(m.index).Type)
		m.into(s)
		members = append(members, property{m.name, s})
		if m.required {
			required = append(required, m.name)
		}
	}
	s := map[string]any{"type": "object", "properties": members, "additionalProperties": false}
	if required != nil {
		s["required"] = required
	}
	if p, ok := reflect.New(t).Interface().(RuleProvider); ok {
		s["allOf"] = p.JSONSchemaRules()
	}
	return s
}

// properties are the schemas of members in the order of their fields, which forms keep.
type properties []property

type property struct {
	name   string
	schema map[string]any
}

// MarshalJSON implements json.Marshaler.
func (p properties) MarshalJSON() ([]byte, error) {
	object := []byte{'{'}
	for i, m := range p {
		if i > 0 {
			object = append(object, ',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		schema, err := json.Marshal(m.schema)
		if err != nil {
			return nil, err
		}
		object = append(append(append(object, name...), ':'), schema...)
	}
	return append(object, '}'), nil
}

// into adds what the rules say to the schema of a member.
func (r *rules) into(s map[string]any) {
	if r.doc != "" {
		s["description"] = r.doc
	}
	if r.unit != "" {
		s["x-unit"] = r.unit
	}
	if r.initial != "" {
		s["default"] = json.RawMessage(r.initial)
	}
	if r.example != "" {
		s["examples"] = []any{r.example}
	}
	if r.secret {
		s["writeOnly"] = true
	}
	if r.required && s["type"] == "string" {
		s["minLength"] = 1
	}
	if len(r.words) > 0 {
		s["enum"] = r.words
	}
	if !r.limited {
		return
	}
	bounds := map[string]any{}
	if !math.IsInf(r.lowest, -1) {
		bounds["minimum"] = r.lowest
	}
	if !math.IsInf(r.highest, 1) {
		bounds["maximum"] = r.highest
	}
	if r.also == nil {
		for key, bound := range bounds {
			s[key] = bound
		}
		return
	}
	delete(s, "minimum")
	s["anyOf"] = []any{bounds, map[string]any{"enum": r.also}}
}

// DeadbandRule returns the JSON Schema that says of a tag's settings that Deadband.Percent needs MinValue and MaxValue.
func DeadbandRule() map[string]any {
	return map[string]any{
		"if": map[string]any{"required": []string{"Deadband"}, "properties": map[string]any{"Deadband": map[string]any{
			"required": []string{"Percent"}, "properties": map[string]any{"Percent": map[string]any{"exclusiveMinimum": 0}}}}},
		"then": map[string]any{"required": []string{"MinValue", "MaxValue"}},
	}
}

// Masked is what stands for a secret in settings that are shown.
const Masked = "********"

// Mask returns settings with each secret, which is a member that is writeOnly in the schema, replaced by [Masked]. Empty ones stay.
// In settings with secrets, so is a member that the schema does not have: it may be a secret whose name is wrong. Settings that are not
// JSON are returned as null.
func Mask(schema, settings json.RawMessage) json.RawMessage {
	return rewrite(schema, settings, nil, func(now, _ any, _ bool) any {
		if text, ok := now.(string); ok && text == "" || now == nil {
			return now
		}
		return Masked
	})
}

// Unmask returns settings in which each secret that is [Masked] has the value that it has at the same place in stored. Items of a
// list are told apart by their Name, and by their position where they have none.
func Unmask(schema, settings, stored json.RawMessage) json.RawMessage {
	return rewrite(schema, settings, stored, func(now, before any, known bool) any {
		if now == Masked && known {
			return before
		}
		return now
	})
}

// rewrite replaces the secrets in settings. Settings without one keep their text.
func rewrite(schema, settings, stored json.RawMessage, secret func(now, before any, known bool) any) json.RawMessage {
	var s map[string]any
	if json.Unmarshal(schema, &s) != nil || !hasSecret(s) || len(settings) == 0 {
		return settings
	}
	now, ok := decoded(settings)
	if !ok {
		return json.RawMessage("null")
	}
	before, _ := decoded(stored)
	raw, err := json.Marshal(rewriteValue(s, now, before, secret))
	if err != nil {
		return json.RawMessage("null")
	}
	return raw
}

func decoded(raw json.RawMessage) (v any, ok bool) {
	in := json.NewDecoder(strings.NewReader(string(raw)))
	in.UseNumber() // or whole numbers beyond 2^53 would change
	return v, in.Decode(&v) == nil
}

func hasSecret(s map[string]any) bool {
	if s["writeOnly"] == true {
		return true
	}
	for _, below := range []any{s["items"], s["additionalProperties"]} {
		if b, ok := below.(map[string]any); ok && hasSecret(b) {
			return true
		}
	}
	properties, _ := s["properties"].(map[string]any)
	for _, p := range properties {
		if b, ok := p.(map[string]any); ok && hasSecret(b) {
			return true
		}
	}
	return false
}

func rewriteValue(s map[string]any, now, before any, secret func(now, before any, known bool) any) any {
	if s["writeOnly"] == true {
		return secret(now, before, before != nil)
	}
	switch v := now.(type) {
	case map[string]any:
		old, _ := before.(map[string]any)
		properties, _ := s["properties"].(map[string]any)
		for name, value := range v {
			below, ok := folded(properties, name).(map[string]any)
			if !ok {
				if below, ok = s["additionalProperties"].(map[string]any); !ok && s["additionalProperties"] != false {
					continue
				}
			}
			if below == nil { // Decode refuses it
				below = map[string]any{"writeOnly": true}
			}
			v[name] = rewriteValue(below, value, folded(old, name), secret)
		}
	case []any:
		items, _ := s["items"].(map[string]any)
		old, _ := before.([]any)
		for i := range v {
			v[i] = rewriteValue(items, v[i], counterpart(old, v[i], i), secret)
		}
	}
	return now
}

// folded returns a member without regard to the case of its name.
func folded(object map[string]any, name string) any {
	if v, ok := object[name]; ok {
		return v
	}
	for key, v := range object {
		if strings.EqualFold(key, name) {
			return v
		}
	}
	return nil
}

// counterpart returns the item of old that has the name of item, or its position if it has none.
func counterpart(old []any, item any, i int) any {
	object, _ := item.(map[string]any)
	if name := folded(object, "Name"); name != nil {
		for _, o := range old {
			if other, ok := o.(map[string]any); ok && folded(other, "Name") == name {
				return o
			}
		}
		return nil
	}
	if i < len(old) {
		return old[i]
	}
	return nil
}
