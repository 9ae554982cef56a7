package settings

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	koanfmaps "github.com/knadh/koanf/maps"
	"github.com/knadh/koanf/v2"
)

// layer gathers what one source sets, in the form that koanf merges: keys as in the struct, values of
// the fields' types, lists of structs as objects whose keys are numbers.
type layer struct {
	root    *setting
	below   *koanf.Koanf // what weaker sources set
	flat    map[string]any
	lengths map[string]int // of lists of structs that this layer looked at
	whole   []string       // lists of structs that this layer replaces
	origins Origins
	problems
}

func newLayer(root *setting, below *koanf.Koanf, origins Origins) *layer {
	return &layer{root: root, below: below, flat: make(map[string]any), lengths: make(map[string]int), origins: origins}
}

// target is a setting that a name leads to, from a source that names one setting at a time.
type target struct {
	leaf  *setting
	path  []string // names as in the struct, and indices
	inner []string // the way on into a free-form object, or the index in a list
}

// find follows names along the struct. It gives false when they name no setting.
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

// current gives what a key holds: from this layer, else from those below; nil when none set it.
func (l *layer) current(key string) any {
	if v, ok := l.flat[key]; ok {
		return v
	}
	return l.below.Get(key)
}

// setText sets what a target names from text.
func (l *layer) setText(t target, text string) error {
	if err := l.reach(t.path); err != nil {
		return err
	}
	key := flatKey(t.path)
	if len(t.inner) == 0 {
		v, err := t.leaf.fromText(text)
		if err == nil {
			l.flat[key] = v
		}
		return err
	}
	if t.leaf.kind == list {
		return l.setItem(t, key, text)
	}
	raw, _ := l.current(key).(rawText)
	raw, err := replaceIn(raw, t.inner, text)
	if err == nil {
		l.flat[key] = raw
	}
	return err
}

func (l *layer) setItem(t target, key, text string) error {
	item, err := singleFromText(t.leaf.typ.Elem(), text)
	if err != nil {
		return err
	}
	items := reflect.MakeSlice(t.leaf.typ, 0, 0)
	if before := reflect.ValueOf(l.current(key)); before.IsValid() && before.Type() == t.leaf.typ {
		items = reflect.AppendSlice(items, before)
	}
	switch i := index(t.inner[0]); {
	case i > items.Len():
		return noSuchItem(items.Len())
	case i == items.Len():
		items = reflect.Append(items, item)
	default:
		items.Index(i).Set(item)
	}
	l.flat[key] = items.Interface()
	return nil
}

// reach makes sure that each list on a path has the item that the path goes through. The first item
// beyond the end is made.
func (l *layer) reach(path []string) error {
	at := l.root
	for i, name := range path {
		if at.kind != sections || !isIndex(name) {
			at = at.member(name)
			continue
		}
		key := flatKey(path[:i])
		length, known := l.lengths[key]
		if !known {
			length = len(l.below.MapKeys(key))
		}
		switch n := index(name); {
		case n > length:
			return noSuchItem(length)
		case n == length:
			l.makeItem(at, path[:i+1])
			length++
		}
		l.lengths[key] = length
	}
	return nil
}

// makeItem adds an item with empty values, so that each item of a list is there in each of its leaves.
func (l *layer) makeItem(of *setting, path []string) {
	for _, m := range of.members {
		at := append(path[:len(path):len(path)], m.name)
		switch {
		case m.kind == freeForm:
			l.flat[flatKey(at)] = rawText("")
		case m.isLeaf():
			l.flat[flatKey(at)] = reflect.Zero(m.typ).Interface()
		case m.kind == section:
			l.makeItem(m, at)
		}
	}
}

// setTree sets what an object of a file holds. What is null counts as absent.
func (l *layer) setTree(s *setting, value any, path []string, origin string) {
	if value == nil {
		return
	}
	switch s.kind {
	case section:
		l.setMembers(s, value, path, origin)
	case sections:
		items, ok := value.([]any)
		if !ok {
			l.add(display(path), "must be a list, not "+described(value))
			return
		}
		key := flatKey(path)
		l.whole = append(l.whole, key)
		l.lengths[key] = len(items)
		for i, item := range items {
			at := append(path[:len(path):len(path)], strconv.Itoa(i))
			l.makeItem(s, at)
			l.setMembers(s, item, at, origin)
		}
	default:
		v, err := s.fromValue(value)
		if err != nil {
			l.add(display(path), err.Error())
			return
		}
		l.flat[flatKey(path)] = v
		l.origins[flatKey(path)] = origin
	}
}

func (l *layer) setMembers(s *setting, value any, path []string, origin string) {
	at := display(path)
	if at == "" {
		at = "the file"
	}
	members, err := membersOf(value)
	if err != nil {
		l.add(at, err.Error())
		return
	}
	names := make(map[string]string, len(members))
	for _, name := range sortedKeys(members) {
		m := s.member(name)
		if m == nil {
			l.add(display(append(path[:len(path):len(path)], shown(name))), unknown(l.root, s, path, name))
			continue
		}
		member := append(path[:len(path):len(path)], m.name)
		if first, twice := names[m.name]; twice {
			l.add(display(member), fmt.Sprintf("is given twice, as %s and %s", first, name))
			continue
		}
		names[m.name] = name
		l.setTree(m, members[name], member, origin)
	}
}

// merge is how a layer goes over those below: lists of structs in a file replace what was there.
func (l *layer) merge(from, into map[string]any) error {
	for _, key := range l.whole {
		koanfmaps.Delete(into, strings.Split(key, "."))
	}
	koanfmaps.Merge(from, into)
	return nil
}
