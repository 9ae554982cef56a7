package settings

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is the shape of a setting.
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
	name    string // as in the key tag
	kind    kind
	typ     reflect.Type  // of the field
	field   int           // index in the struct
	members []*setting    // of a section, or of each item of sections
	initial reflect.Value // the default; of an item's member too
	rule    rule
	unique  bool // items of a list differ in it
	doc     string
	env     string // second environment variable
	secret  string // "", "true" or "url"
}

// schemaOf returns the description of a struct. If the struct cannot hold settings, it returns an ErrStruct with the reason.
func schemaOf(t reflect.Type) (*setting, error) {
	s := &setting{kind: section, typ: t}
	if t.Kind() != reflect.Struct {
		return nil, ErrStruct.Because("%s is not a struct", t)
	}
	return s, s.addMembers(t, t.String())
}

func (s *setting) addMembers(t reflect.Type, path string) error {
	for i := range t.NumField() {
		f := t.Field(i)
		at := path + "." + f.Name
		m := &setting{
			name: f.Tag.Get("key"), typ: f.Type, field: i, unique: f.Tag.Get("unique") == "true",
			doc: f.Tag.Get("doc"), env: f.Tag.Get("env"), secret: f.Tag.Get("secret"),
		}
		switch {
		case !f.IsExported():
			return ErrStruct.Because("%s is not exported", at)
		case m.name == "" || strings.ContainsAny(m.name, "._[] ") || isIndex(m.name):
			return ErrStruct.Because("%s needs a key tag that is a plain name", at)
		case s.member(m.name) != nil:
			return ErrStruct.Because("%s has the name of another field", at)
		}
		if err := m.setKind(at); err != nil {
			return err
		}
		if err := m.setTags(f.Tag, at); err != nil {
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

// setTags reads the default and the rule.
func (s *setting) setTags(tag reflect.StructTag, at string) error {
	initial, hasDefault := tag.Lookup("default")
	ruled := tag.Get("rule")
	if !s.isLeaf() {
		if hasDefault || ruled != "" && ruled != "required" {
			return ErrStruct.Because("%s is a section, which has no default and no rule", at)
		}
		s.rule.required = ruled == "required"
		return nil
	}
	s.initial = reflect.Zero(s.typ)
	if hasDefault {
		v, err := s.fromText(initial)
		if err != nil {
			return ErrStruct.Because("%s has a default that %v", at, err)
		}
		s.initial = v
	}
	of := s.typ
	if s.kind == list {
		of = of.Elem()
	}
	var err error
	if s.rule, err = parseRule(ruled, of); err != nil {
		return ErrStruct.Because("%s: %v", at, err)
	}
	return nil
}

// setDefaults sets every setting below a section to its default.
func (s *setting) setDefaults(v reflect.Value) {
	for _, m := range s.members {
		switch {
		case m.kind == section:
			m.setDefaults(v.Field(m.field))
		case m.isLeaf():
			v.Field(m.field).Set(copied(m.initial))
		}
	}
}

// item returns a new item of a list of sections.
func (s *setting) item() reflect.Value {
	v := reflect.New(s.typ.Elem()).Elem()
	s.setDefaults(v)
	return v
}

// copied returns a value that shares no list with v.
func copied(v reflect.Value) reflect.Value {
	if v.Kind() != reflect.Slice || v.IsNil() {
		return v
	}
	return reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v)
}

// follow returns the value at a path below v, the zero Value when a list has no such item.
func (s *setting) follow(v reflect.Value, path []string) reflect.Value {
	at := s
	for _, name := range path {
		if at.kind == sections && v.Kind() == reflect.Slice {
			if index(name) >= v.Len() {
				return reflect.Value{}
			}
			v = v.Index(index(name))
			continue
		}
		at = at.member(name)
		v = v.Field(at.field)
	}
	return v
}

func isSingle(t reflect.Type) bool {
	switch k := t.Kind(); k {
	case reflect.String, reflect.Bool, reflect.Float32, reflect.Float64:
		return true
	default:
		return k >= reflect.Int && k <= reflect.Uint64
	}
}

// isLeaf reports whether the setting is one value, and not a section or a list of them.
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

// leaves visits every leaf below a setting with the names on the way to it. The items of a list have the given name.
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

// isIndex reports whether a name is the number of a list item.
func isIndex(name string) bool {
	for _, r := range name {
		if r < '0' || r > '9' {
			return false
		}
	}
	return name != "" && len(name) < 10
}

// index returns the number that isIndex has found.
func index(name string) int {
	n, _ := strconv.Atoi(name)
	return n
}

// flatKey joins a path as a key of maps: drivers.0.port.
func flatKey(path []string) string { return strings.Join(path, ".") }

// display returns a path as people read it: drivers[0].port.
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

// variable returns the environment variable of a path: Drivers__0__Port.
func variable(path []string) string {
	levels := make([]string, len(path))
	for i, name := range path {
		levels[i] = strings.ToUpper(name[:1]) + name[1:]
	}
	return strings.Join(levels, "__")
}

// target is a setting that a name leads to, from a source that names one setting at a time.
type target struct {
	leaf  *setting
	path  []string // names as in the struct, and indices
	inner []string // the way on into a free-form object, or the index in a list
}

// find follows names along the struct. It returns false when they name no setting.
func (s *setting) find(names []string) (target, bool) {
	var t target
	at := s
	for i, name := range names {
		if at.kind == sections && (len(t.path) == 0 || !isIndex(t.path[len(t.path)-1])) {
			if !isIndex(name) {
				return t, false
			}
			t.path = append(t.path, strconv.Itoa(index(name)))
			continue
		}
		m := at.member(name)
		if m == nil {
			return t, false
		}
		at = m
		t.path = append(t.path, m.name)
		if !at.isLeaf() {
			continue
		}
		t.leaf, t.inner = at, names[i+1:]
		switch at.kind {
		case freeForm:
			return t, !slices.Contains(t.inner, "")
		case list:
			return t, len(t.inner) == 0 || len(t.inner) == 1 && isIndex(t.inner[0])
		default:
			return t, len(t.inner) == 0
		}
	}
	return t, false
}
