package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (l *loader) loadFile(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		cause := err
		var path *fs.PathError
		if errors.As(err, &path) {
			cause = path.Err
		}
		return ErrFile.Because("%s", name).Wrap(cause)
	}
	value, err := parseFile(name, text)
	if err != nil {
		l.add(theFile, nil, err.Error(), "file "+name)
		return nil
	}
	l.setMembers(l.root, l.values, value, nil, "file "+name)
	return nil
}

const theFile = "the file" // in place of a path

// set sets what a file or a typed flag holds. What is null counts as absent.
func (l *loader) set(s *setting, v reflect.Value, value any, path []string, origin string) {
	if value == nil {
		return
	}
	switch s.kind {
	case section:
		l.setMembers(s, v, value, path, origin)
		return
	case sections:
		l.setItems(s, v, value, path, origin)
		return
	case list:
		l.setList(s, v, value, path, origin)
		return
	}
	given, err := s.fromValue(value)
	if err != nil {
		l.add(display(path), path, err.Error(), origin)
		return
	}
	v.Set(given)
	l.origins[flatKey(path)] = origin
}

// setItems replaces a list of sections.
func (l *loader) setItems(s *setting, v reflect.Value, value any, path []string, origin string) {
	items, ok := value.([]any)
	if !ok {
		l.add(display(path), path, "must be a list, not "+described(value, "true"), origin)
		return
	}
	v.SetZero()
	if len(items) > 0 {
		v.Set(reflect.MakeSlice(s.typ, len(items), len(items)))
	}
	for i, item := range items {
		s.setDefaults(v.Index(i))
		l.setMembers(s, v.Index(i), item, append(path[:len(path):len(path)], strconv.Itoa(i)), origin)
	}
}

// setList replaces a list of plain values.
func (l *loader) setList(s *setting, v reflect.Value, value any, path []string, origin string) {
	given := reflect.ValueOf(value)
	if given.Kind() != reflect.Slice {
		l.add(display(path), path, "must be a list, not "+described(value, s.secret), origin)
		return
	}
	list := reflect.Zero(s.typ)
	for i := range given.Len() {
		item, err := singleFromValue(s.typ.Elem(), given.Index(i).Interface(), s.secret)
		if err != nil {
			at := append(path[:len(path):len(path)], strconv.Itoa(i))
			l.add(display(at), at, err.Error(), origin)
			continue
		}
		list = reflect.Append(list, item)
	}
	v.Set(list)
	l.origins[flatKey(path)] = origin
}

func (l *loader) setMembers(s *setting, v reflect.Value, value any, path []string, origin string) {
	at := display(path)
	if at == "" {
		at = theFile
	}
	members, err := membersOf(value)
	if err != nil {
		l.add(at, path, err.Error(), origin)
		return
	}
	names := make(map[string]string, len(members))
	for _, name := range sortedKeys(members) {
		m := s.member(name)
		if m == nil {
			wrong := append(path[:len(path):len(path)], shown(name))
			l.add(display(wrong), wrong, unknown(l.root, s, path, name), origin)
			continue
		}
		member := append(path[:len(path):len(path)], m.name)
		if first, twice := names[m.name]; twice {
			l.add(display(member), member, fmt.Sprintf("is given twice, as %s and %s", first, name), origin)
			continue
		}
		names[m.name] = name
		l.set(m, v.Field(m.field), members[name], member, origin)
	}
}
