package settings

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	koanfmaps "github.com/knadh/koanf/maps"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/env/v2"
	"github.com/knadh/koanf/providers/file"
	"github.com/knadh/koanf/v2"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// loadDefaults sets every leaf from a value of the struct.
func loadDefaults(k *koanf.Koanf, root *setting, defaults reflect.Value) error {
	flat := make(map[string]any)
	var walk func(s *setting, v reflect.Value, path []string)
	walk = func(s *setting, v reflect.Value, path []string) {
		for _, m := range s.members {
			at, field := append(path[:len(path):len(path)], m.name), v.Field(m.field)
			switch m.kind {
			case section:
				walk(m, field, at)
			case sections:
				for i := range field.Len() {
					walk(m, field.Index(i), append(at[:len(at):len(at)], strconv.Itoa(i)))
				}
			case freeForm:
				flat[flatKey(at)] = rawText(field.Bytes())
			default:
				flat[flatKey(at)] = field.Interface()
			}
		}
	}
	walk(root, defaults, nil)
	return k.Load(confmap.Provider(flat, "."), nil)
}

// fileParser is a koanf.Parser that knows the settings.
type fileParser struct {
	name string
	*layer
}

// Unmarshal implements koanf.Parser.
func (p fileParser) Unmarshal(text []byte) (map[string]any, error) {
	value, err := parseFile(p.name, text)
	if err != nil {
		p.add("the file", err.Error())
	} else {
		p.setMembers(p.root, value, nil, "file "+p.name)
	}
	return koanfmaps.Unflatten(p.flat, "."), p.err(p.name)
}

// Marshal implements koanf.Parser.
func (fileParser) Marshal(map[string]any) ([]byte, error) { return nil, errors.ErrUnsupported }

func loadFile(k *koanf.Koanf, root *setting, name string, origins Origins) error {
	l := newLayer(root, k, origins)
	err := k.Load(file.Provider(name), fileParser{name, l}, koanf.WithMergeFunc(l.merge))
	var path *fs.PathError
	if errors.As(err, &path) {
		return ErrFile.Because("%s: %v", name, path.Err).Wrap(err)
	}
	return err
}

// assignment is one environment variable or flag that sets something.
type assignment struct {
	name, text string
	value      any  // of a flag
	second     bool // by the name in an env tag
	target
}

// inOrder sorts so that lists grow from their first item on and an object is set before its members.
func inOrder(a, b assignment) int {
	return slices.CompareFunc(slices.Concat(a.path, a.inner), slices.Concat(b.path, b.inner), func(x, y string) int {
		if isIndex(x) && isIndex(y) {
			return cmp.Compare(index(x), index(y))
		}
		return cmp.Compare(strings.ToLower(x), strings.ToLower(y))
	})
}

func (l *layer) record(a assignment, origin string) {
	key := flatKey(a.path)
	if before := l.origins[key]; len(a.inner) > 0 && before != "" {
		origin = before + ", " + origin
	}
	l.origins[key] = origin
}

// loadEnvironment sets what variables name. Their names lead to settings as described in doc.go; a
// second name, from an env tag, is weaker.
func loadEnvironment(k *koanf.Koanf, root *setting, o Options, origins Origins) ([]Warning, error) {
	v := variables{root: root, ignore: o.Ignore}
	found, err := env.Provider("", env.Opt{
		EnvironFunc:   func() []string { return o.Environ },
		TransformFunc: v.transform,
	}).Read()
	if err != nil {
		return nil, err
	}
	l := newLayer(root, k, origins)
	var regular []assignment
	for _, name := range sortedKeys(found) {
		a, _ := found[name].(assignment)
		if a.second {
			l.assign(a, "environment variable "+name)
			continue
		}
		regular = append(regular, a)
	}
	slices.SortStableFunc(regular, inOrder)
	for i, a := range regular {
		if i > 0 && inOrder(regular[i-1], a) == 0 && regular[i-1].text != a.text {
			l.add(a.name, "and "+regular[i-1].name+" set the same to different values")
			continue
		}
		l.assign(a, "environment variable "+a.name)
	}
	slices.SortFunc(v.warnings, func(a, b Warning) int { return strings.Compare(a.Name, b.Name) })
	if err := l.err("environment"); err != nil {
		return v.warnings, err
	}
	return v.warnings, k.Load(confmap.Provider(l.flat, "."), nil)
}

func (l *layer) assign(a assignment, origin string) {
	if err := l.setText(a.target, a.text); err != nil {
		l.add(a.name, err.Error())
		return
	}
	l.record(a, origin)
}

// loadFlags sets what flags name by their keys, in any case and with indices as in drivers[0].port or
// drivers.0.port. A flag that is nil was not given.
func loadFlags(k *koanf.Koanf, root *setting, flags map[string]any, origins Origins) error {
	l := newLayer(root, k, origins)
	var given []assignment
	for _, name := range sortedKeys(flags) {
		if flags[name] == nil {
			continue
		}
		t, ok := root.find(strings.Split(flatten(name), "."))
		if !ok {
			l.add(name, "is not a known setting")
			continue
		}
		given = append(given, assignment{name: name, value: flags[name], target: t})
	}
	slices.SortStableFunc(given, inOrder)
	for _, a := range given {
		text, isText := a.value.(string)
		if isText || len(a.inner) > 0 {
			if !isText {
				text = fmt.Sprint(a.value)
			}
			a.text = text
			l.assign(a, "flag")
			continue
		}
		if err := l.reach(a.path); err != nil {
			l.add(a.name, err.Error())
			continue
		}
		if l.setTree(a.leaf, a.value, a.path, "flag"); len(l.fields) > 0 {
			break
		}
	}
	if err := l.err("flags"); err != nil {
		return err
	}
	return k.Load(confmap.Provider(l.flat, "."), nil)
}
