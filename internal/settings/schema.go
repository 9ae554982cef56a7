package settings

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// kind says how a setting is read and merged.
type kind uint8

const (
	section  kind = iota // a struct
	sections             // a list of structs
	single               // one plain value
	list                 // a list of plain values
	freeForm             // json.RawMessage: an object with members of its own
)

var (
	durationType = reflect.TypeFor[time.Duration]()
	rawType      = reflect.TypeFor[json.RawMessage]()
)

// setting describes one field of a settings struct.
type setting struct {
	name    string // as in the koanf tag
	kind    kind
	typ     reflect.Type // of the field
	field   int          // index in the struct
	members []*setting   // of a section, or of each item of sections
	doc     string
	env     string // second environment variable
	secret  string // "", "true" or "url"
}

// schemaOf describes a struct, or says with an ErrStruct why it cannot hold settings.
func schemaOf(t reflect.Type) (*setting, error) {
	s := &setting{kind: section, typ: t}
	if t.Kind() != reflect.Struct {
		return nil, ErrStruct.Because("%s is no struct", t)
	}
	return s, s.addMembers(t, t.String())
}

func (s *setting) addMembers(t reflect.Type, path string) error {
	for i := range t.NumField() {
		f := t.Field(i)
		at := path + "." + f.Name
		m := &setting{
			name: f.Tag.Get("koanf"), typ: f.Type, field: i,
			doc: f.Tag.Get("doc"), env: f.Tag.Get("env"), secret: f.Tag.Get("secret"),
		}
		switch {
		case !f.IsExported():
			return ErrStruct.Because("%s is not exported", at)
		case m.name == "" || strings.ContainsAny(m.name, "._[] ") || isIndex(m.name):
			return ErrStruct.Because("%s needs a koanf tag that is a plain name", at)
		case s.member(m.name) != nil:
			return ErrStruct.Because("%s has the name of another field", at)
		}
		if err := m.setKind(at); err != nil {
			return err
		}
		s.members = append(s.members, m)
	}
	return nil
}

func (s *setting) setKind(at string) error {
	switch t := s.typ; {
	case t == rawType:
		s.kind = freeForm
	case isSingle(t):
		s.kind = single
	case t.Kind() == reflect.Struct:
		s.kind = section
		return s.addMembers(t, at)
	case t.Kind() == reflect.Slice && isSingle(t.Elem()):
		s.kind = list
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		s.kind = sections
		return s.addMembers(t.Elem(), at)
	default:
		return ErrStruct.Because("%s has the type %s, which is not supported", at, t)
	}
	return nil
}

func isSingle(t reflect.Type) bool {
	switch k := t.Kind(); k {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64:
		return true
	default:
		return k >= reflect.Int && k <= reflect.Uint64
	}
}

// isLeaf says whether the setting is one value to the merge.
func (s *setting) isLeaf() bool { return s.kind != section && s.kind != sections }

// member finds a member without regard to case; nil when there is none.
func (s *setting) member(name string) *setting {
	for _, m := range s.members {
		if strings.EqualFold(m.name, name) {
			return m
		}
	}
	return nil
}

// leaves visits every leaf below a setting with the names on the way to it. The items of a list have
// the name given.
func (s *setting) leaves(path []string, item string, visit func(path []string, leaf *setting)) {
	for _, m := range s.members {
		at := append(path[:len(path):len(path)], m.name)
		if m.kind == sections {
			at = append(at, item)
		}
		if m.isLeaf() {
			visit(at, m)
		} else {
			m.leaves(at, item, visit)
		}
	}
}

// isIndex says whether a name is the number of a list item.
func isIndex(name string) bool {
	for _, r := range name {
		if r < '0' || r > '9' {
			return false
		}
	}
	return name != "" && len(name) < 10
}

// index gives the number that isIndex has found.
func index(name string) int {
	n, _ := strconv.Atoi(name)
	return n
}

// flatKey is how a path is kept in koanf: drivers.0.port.
func flatKey(path []string) string { return strings.Join(path, ".") }

// display is how a path is shown: drivers[0].port.
func display(path []string) string {
	var b strings.Builder
	for i, name := range path {
		switch {
		case isIndex(name):
			b.WriteString("[" + name + "]")
		case i > 0:
			b.WriteString("." + name)
		default:
			b.WriteString(name)
		}
	}
	return b.String()
}

// flatten undoes display, and joins the levels as flatKey does.
func flatten(key string) string {
	return strings.NewReplacer("[", ".", "]", "").Replace(key)
}

// variable is the environment variable of a path: Drivers__0__Port.
func variable(path []string) string {
	levels := make([]string, len(path))
	for i, name := range path {
		levels[i] = strings.ToUpper(name[:1]) + name[1:]
	}
	return strings.Join(levels, "__")
}
