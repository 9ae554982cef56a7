package settings

import (
	"cmp"
	"fmt"
	"github.com/otkit/otkit/internal/suggest"
	"reflect"
	"slices"
	"strings"
)

// Warning is about an environment variable that looks like a setting but is not one. It was ignored.
type Warning struct {
	Name string // of the variable
	Near string // the variable that was probably meant; empty when none is close
}

// String returns the warning as one line, without the value.
func (w Warning) String() string {
	if w.Near == "" {
		return fmt.Sprintf("environment variable %s names no setting and is ignored", shown(w.Name))
	}
	return fmt.Sprintf("environment variable %s names no setting and is ignored; did you mean %s?", shown(w.Name), w.Near)
}

// assignment is an environment variable or a flag that sets something.
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

// loadEnvironment sets what variables name. Their names lead to settings as described in doc.go; a second name, from an env tag,
// is weaker.
func (l *loader) loadEnvironment(o Options) {
	var regular []assignment
	for _, a := range l.assignments(o) {
		if a.second {
			l.assign(a, "environment variable "+a.name, "environment variable")
			continue
		}
		regular = append(regular, a)
	}
	slices.SortStableFunc(regular, inOrder)
	for i, a := range regular {
		if i > 0 && inOrder(regular[i-1], a) == 0 && regular[i-1].text != a.text {
			l.add(a.name, a.path, "and "+regular[i-1].name+" set the same to different values", "environment variables")
			continue
		}
		l.assign(a, "environment variable "+a.name, "environment variable")
	}
}

// assignments returns the variables that are settings, by name. Of a name that is there twice the last one counts.
func (l *loader) assignments(o Options) []assignment {
	variables := make(map[string]string, len(o.Environ))
	for _, entry := range o.Environ {
		name, text, ok := strings.Cut(entry, "=")
		ignored := func(prefix string) bool {
			return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
		}
		if ok && name != "" && !slices.ContainsFunc(o.Ignore, ignored) {
			variables[name] = text
		}
	}
	var all []assignment
	for _, name := range sortedKeys(variables) {
		if a, ok := l.recognize(name, variables[name]); ok {
			all = append(all, a)
		}
	}
	return all
}

// assign sets what a variable or a flag names from its text. suffix is added to errors where the name does not show its source.
func (l *loader) assign(a assignment, origin, suffix string) {
	if err := l.setText(a.target, a.text); err != nil {
		l.add(a.name, a.path, err.Error(), suffix)
		return
	}
	key := flatKey(a.path)
	if before := l.origins[key]; len(a.inner) > 0 && before != "" {
		origin = before + ", " + origin
	}
	l.origins[key] = origin
}

// setText sets what a target names from text.
func (l *loader) setText(t target, text string) error {
	v, err := l.reach(t.path)
	switch {
	case err != nil:
		return err
	case len(t.inner) > 0 && t.leaf.kind == list:
		return setItem(t, v, text)
	case len(t.inner) > 0:
		raw, err := replaceIn(v.Bytes(), t.inner, text)
		if err == nil {
			v.SetBytes(raw)
		}
		return err
	}
	given, err := t.leaf.fromText(text)
	if err == nil {
		v.Set(given)
	}
	return err
}

// setItem sets the item of a list of plain values, or appends it.
func setItem(t target, items reflect.Value, text string) error {
	item, err := singleFromText(items.Type().Elem(), text)
	if err != nil {
		return t.leaf.notText(err, text)
	}
	switch i := index(t.inner[0]); {
	case i > items.Len():
		return noSuchItem(items.Len())
	case i == items.Len():
		items.Set(reflect.Append(items, item))
	default:
		items.Index(i).Set(item)
	}
	return nil
}

// loadFlags sets what flags name by their keys, in any case and with indices as in drivers[0].port or drivers.0.port. A flag that
// is nil was not given.
func (l *loader) loadFlags(flags map[string]any) {
	var given []assignment
	for _, name := range sortedKeys(flags) {
		if flags[name] == nil {
			continue
		}
		t, ok := l.root.find(strings.Split(flatten(name), "."))
		if !ok {
			l.add(name, nil, "is not a known setting", "flag")
			continue
		}
		given = append(given, assignment{name: name, value: flags[name], target: t})
	}
	slices.SortStableFunc(given, inOrder)
	for _, a := range given {
		text, isText := a.value.(string)
		if isText || len(a.inner) > 0 {
			a.text = text
			if !isText {
				a.text = fmt.Sprint(a.value)
			}
			l.assign(a, "flag", "flag")
			continue
		}
		v, err := l.reach(a.path)
		if err != nil {
			l.add(a.name, a.path, err.Error(), "flag")
			continue
		}
		l.set(a.leaf, v, a.value, a.path, "flag")
	}
}

// recognize returns what a variable sets, if its name is that of a setting. Otherwise it warns of one that was probably meant to be.
func (l *loader) recognize(name, text string) (assignment, bool) {
	if a, ok := l.second(name, text); ok {
		return a, true
	}
	names := strings.Split(name, "__")
	if len(names) < 2 {
		return assignment{}, false
	}
	if t, ok := l.root.find(names); ok {
		return assignment{name: name, text: text, target: t}, true
	}
	near := l.near(name, names)
	if l.root.member(names[0]) == nil && (near == "" || suggest.Edits(strings.ToLower(name), strings.ToLower(near)) > 2) {
		return assignment{}, false // another program's variable
	}
	l.warnings = append(l.warnings, Warning{Name: name, Near: near})
	return assignment{}, false
}

// second returns what a variable sets whose name is in an env tag.
func (l *loader) second(name, text string) (a assignment, found bool) {
	if text == "" {
		return a, false
	}
	l.root.leaves(nil, "0", func(path []string, leaf *setting) {
		if leaf.env == name {
			a, found = assignment{name: name, text: text, second: true, target: target{leaf: leaf, path: path}}, true
		}
	})
	return a, found
}

// near returns the variable that was probably meant, with the list items of the one that is there.
func (l *loader) near(name string, names []string) string {
	item := "0"
	for _, level := range names {
		if isIndex(level) {
			item = level
			break
		}
	}
	var known []string
	l.root.leaves(nil, item, func(path []string, _ *setting) { known = append(known, variable(path)) })
	near, _ := suggest.Nearest(name, known)
	return near
}
