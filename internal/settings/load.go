package settings

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	"github.com/knadh/koanf/v2"
)

// Options say where settings come from. The zero Options read nothing: the defaults stand.
type Options struct {
	File    string         // settings file, JSON when its name ends in .json, else YAML; empty for none
	Environ []string       // NAME=value, as os.Environ gives them
	Flags   map[string]any // by key, such as server.listen; text, or values of the settings' types
	Ignore  []string       // beginnings of names of environment variables to pass over, in any case
	Origins Origins        // when not nil, Load writes into it, for Print
}

// Origins tell for each setting that was set where its value comes from.
type Origins map[string]string

// Validator is what a settings struct may implement to check values against each other. Its error is
// an ErrInvalid with fields, or errors (joined, when there are several) whose texts begin with the key.
type Validator interface{ Validate() error }

// Load reads settings: the defaults, then the file, the environment and the flags; see the package
// documentation. The struct T may implement Validator. It may also have a method
//
//	ProfileDefaults(defaults T) T
//
// which is called on what was read; when it gives other defaults than it was given, everything is read
// again over those.
//
// The warnings name variables that were ignored. The error is an ErrInvalid that names all that is wrong
// in the first source that has problems, an ErrFile, or an ErrStruct. No error or warning holds a value.
func Load[T any](defaults T, o Options) (T, []Warning, error) {
	var out T
	root, err := schemaOf(reflect.TypeFor[T]())
	if err != nil {
		return out, nil, err
	}
	if o.Origins == nil {
		o.Origins = make(Origins)
	}
	warnings, err := load(root, reflect.ValueOf(defaults), &out, o)
	if err != nil {
		return out, warnings, err
	}
	if p, ok := any(out).(interface{ ProfileDefaults(T) T }); ok {
		if profile := p.ProfileDefaults(defaults); !reflect.DeepEqual(profile, defaults) {
			out = *new(T)
			if warnings, err = load(root, reflect.ValueOf(profile), &out, o); err != nil {
				return out, warnings, err
			}
		}
	}
	if v, ok := any(&out).(Validator); ok {
		if err := v.Validate(); err != nil {
			return out, warnings, located(err, o.Origins)
		}
	}
	return out, warnings, nil
}

// located adds to each problem where the value comes from.
func located(err error, origins Origins) error {
	var p problems
	p.take(err)
	for i, f := range p.fields {
		key := flatten(f.Field)
		if _, known := origins[key]; !known { // an item of a list of plain values
			key = key[:max(0, strings.LastIndexByte(key, '.'))]
		}
		if origin := origins[key]; origin != "" {
			p.fields[i].Message += " (" + origin + ")"
		}
	}
	return p.err("")
}

func load(root *setting, defaults reflect.Value, out any, o Options) ([]Warning, error) {
	clear(o.Origins)
	k := koanf.NewWithConf(koanf.Conf{Delim: "."})
	if err := loadDefaults(k, root, defaults); err != nil {
		return nil, err
	}
	if o.File != "" {
		if err := loadFile(k, root, o.File, o.Origins); err != nil {
			return nil, err
		}
	}
	warnings, err := loadEnvironment(k, root, o, o.Origins)
	if err != nil {
		return warnings, err
	}
	if err := loadFlags(k, root, o.Flags, o.Origins); err != nil {
		return warnings, err
	}
	return warnings, k.UnmarshalWithConf("", out, koanf.UnmarshalConf{DecoderConfig: &mapstructure.DecoderConfig{
		ErrorUnused: true,
		MatchName:   func(key, field string) bool { return key == field },
		DecodeHook:  mapstructure.ComposeDecodeHookFunc(decodeItems, decodeRaw),
	}})
}

// decodeItems makes lists of structs out of the objects with numbers as keys that stand for them.
func decodeItems(from, to reflect.Value) (any, error) {
	items, ok := from.Interface().(map[string]any)
	if !ok || to.Kind() != reflect.Slice {
		return from.Interface(), nil
	}
	out := make([]any, len(items))
	for key, item := range items {
		if i := index(key); isIndex(key) && i < len(out) {
			out[i] = item
		}
	}
	return out, nil
}

func decodeRaw(from, _ reflect.Value) (any, error) {
	switch raw, ok := from.Interface().(rawText); {
	case !ok:
		return from.Interface(), nil
	case raw == "" || raw == "{}": // an empty object is nil, as in defaults
		return json.RawMessage(nil), nil
	default:
		return json.RawMessage(raw), nil
	}
}
