package settings

import (
	"fmt"
	"reflect"
	"strconv"
)

// Options are the sources of settings. The zero Options read nothing: the defaults apply.
type Options struct {
	File    string         // settings file, JSON when its name ends in .json, else YAML; empty for none
	More    []string       // further files, each stronger than those before it
	Environ []string       // NAME=value, as os.Environ returns them
	Flags   map[string]any // by key, such as server.listen; text, or values of the settings' types
	Ignore  []string       // prefixes of names of environment variables to skip, in any case
	Origins Origins        // when not nil, Load writes into it, for Print
}

// Origins holds for each setting that was set where its value comes from.
type Origins map[string]string

// Validator is implemented by sections with rules that a tag cannot express, such as how settings go together. Load calls it
// for every section, after the rules of the tags.
type Validator interface{ Validate(p *Problems) }

// Defaults returns a T with the defaults of its tags. It panics if T cannot hold settings, which is a defect of the program.
func Defaults[T any]() T {
	root, err := schemaOf(reflect.TypeFor[T]())
	if err != nil {
		panic(err)
	}
	var out T
	root.setDefaults(reflect.ValueOf(&out).Elem())
	return out
}

// Load reads settings: the defaults, then the file, the environment and the flags; see the package documentation. T may have a
// method
//
//	ProfileDefaults(defaults T) T
//
// which is called with what was read. If it returns other defaults than it was given, everything is read again over those.
//
// The warnings name variables that were ignored. The error is an ErrInvalid that names everything that is wrong in all sources
// (the first 20 problems), an ErrFile, or an ErrStruct. Together with an ErrInvalid, Load returns what is right. No error or
// warning shows a secret.
func Load[T any](defaults T, o Options) (T, []Warning, error) {
	out, p, warnings, err := Inspect(defaults, o)
	if err != nil {
		return out, warnings, err
	}
	return out, warnings, p.Err()
}

// Inspect is Load for a program that has more to validate: it returns the problems, to which more can be added.
func Inspect[T any](defaults T, o Options) (T, *Problems, []Warning, error) {
	root, err := schemaOf(reflect.TypeFor[T]())
	if err != nil {
		return defaults, nil, nil, err
	}
	if o.Origins == nil {
		o.Origins = make(Origins)
	}
	out := defaults
	l, err := load(root, reflect.ValueOf(&out).Elem(), o)
	if err != nil {
		return out, nil, nil, err
	}
	if p, ok := any(out).(interface{ ProfileDefaults(T) T }); ok {
		if profile := p.ProfileDefaults(defaults); !reflect.DeepEqual(profile, defaults) {
			out = profile
			if l, err = load(root, reflect.ValueOf(&out).Elem(), o); err != nil {
				return out, nil, nil, err
			}
		}
	}
	l.validate(root, l.values, nil)
	return out, l.Problems, l.warnings, nil
}

// loader sets the members of a struct from the sources, the weakest first.
type loader struct {
	*Problems
	warnings []Warning
}

func load(root *setting, values reflect.Value, o Options) (*loader, error) {
	clear(o.Origins)
	root.detach(values)
	l := &loader{Problems: newProblems(root, values, o.Origins)}
	for _, file := range append([]string{o.File}, o.More...) {
		if file == "" {
			continue
		}
		if err := l.loadFile(file); err != nil {
			return nil, err
		}
	}
	l.loadEnvironment(o)
	l.loadFlags(o.Flags)
	return l, nil
}

// detach copies the lists below v, so that the defaults stay as they are.
func (s *setting) detach(v reflect.Value) {
	for _, m := range s.members {
		f := v.Field(m.field)
		switch m.kind {
		case section:
			m.detach(f)
		case sections:
			f.Set(copied(f))
			for i := range f.Len() {
				m.detach(f.Index(i))
			}
		default:
			f.Set(copied(f))
		}
	}
}

// reach returns the value at a path and makes the item that the path goes through where it is the next one of its list.
func (l *loader) reach(path []string) (reflect.Value, error) {
	at, v := l.root, l.values
	for _, name := range path {
		if at.kind != sections || v.Kind() != reflect.Slice {
			at = at.member(name)
			v = v.Field(at.field)
			continue
		}
		i := index(name)
		if i > v.Len() {
			return v, noSuchItem(v.Len())
		}
		if i == v.Len() {
			v.Set(reflect.Append(v, at.item()))
		}
		v = v.Index(i)
	}
	return v, nil
}

// validate applies the rules of the tags, and then those of each section.
func (l *loader) validate(s *setting, v reflect.Value, path []string) {
	if l.shared.paths[flatKey(path)] {
		return // it is not an object
	}
	for _, m := range s.members {
		at, field := append(path[:len(path):len(path)], m.name), v.Field(m.field)
		switch m.kind {
		case section:
			l.validate(m, field, at)
		case sections:
			for i := range field.Len() {
				l.validate(m, field.Index(i), append(at[:len(at):len(at)], strconv.Itoa(i)))
			}
			l.findTwins(m, field, at)
		default:
			l.applyRule(m, field, at)
		}
	}
	if validator, ok := v.Addr().Interface().(Validator); ok {
		validator.Validate(l.at(path))
	}
}

// applyRule applies the rule of one setting, unless there is a problem with it already.
func (l *loader) applyRule(m *setting, v reflect.Value, at []string) {
	key := flatKey(at)
	switch {
	case l.shared.paths[key]:
	case m.rule.required && (v.IsZero() || m.kind == list && v.Len() == 0):
		l.add(display(at), at, "is required", l.origin(at))
	case m.rule.allows == nil:
	case m.kind == list:
		for i := range v.Len() {
			item := append(at[:len(at):len(at)], strconv.Itoa(i))
			l.must(m, m.rule.allows(v.Index(i)), item, v.Index(i))
		}
	default:
		l.must(m, m.rule.allows(v), at, v)
	}
}

func (l *loader) must(m *setting, ok bool, at []string, v reflect.Value) {
	if !ok {
		l.add(display(at), at, withValue("must be "+m.rule.text, m.shown(v)), l.origin(at))
	}
}

// findTwins finds items of a list that have the same value where each must have its own.
func (l *loader) findTwins(list *setting, items reflect.Value, path []string) {
	for _, m := range list.members {
		if !m.unique {
			continue
		}
		first := make(map[any]int, items.Len())
		for i := range items.Len() {
			at := append(path[:len(path):len(path)], strconv.Itoa(i), m.name)
			if l.shared.paths[flatKey(at)] {
				continue
			}
			value := items.Index(i).Field(m.field).Interface()
			if j, twice := first[value]; twice {
				l.add(display(at), at, fmt.Sprintf("is that of %s[%d] as well", display(path), j), l.origin(at))
				continue
			}
			first[value] = i
		}
	}
}
