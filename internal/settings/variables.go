package settings

import (
	"fmt"
	"strings"
)

// Warning tells of an environment variable that looks like a setting and is none. It was ignored.
type Warning struct {
	Name string // of the variable
	Near string // the variable that was probably meant; empty when none is close
}

// String gives the warning as one line. It does not hold the value.
func (w Warning) String() string {
	if w.Near == "" {
		return fmt.Sprintf("environment variable %s names no setting and is ignored", shown(w.Name))
	}
	return fmt.Sprintf("environment variable %s names no setting and is ignored; did you mean %s?", shown(w.Name), w.Near)
}

// variables sorts out which environment variables are settings.
type variables struct {
	root     *setting
	ignore   []string
	warnings []Warning
}

// transform is a TransformFunc of koanf's env provider: it gives an assignment for a variable that
// names a setting, and an empty name for every other one.
func (v *variables) transform(name, text string) (string, any) {
	for _, prefix := range v.ignore {
		if len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			return "", nil
		}
	}
	if a, ok := v.second(name, text); ok {
		return name, a
	}
	names := strings.Split(name, "__")
	if len(names) < 2 {
		return "", nil
	}
	if t, ok := v.root.find(names); ok {
		return name, assignment{name: name, text: text, target: t}
	}
	near := v.near(name, names)
	if v.root.member(names[0]) == nil && (near == "" || edits(strings.ToLower(name), strings.ToLower(near)) > 2) {
		return "", nil // another program's variable
	}
	v.warnings = append(v.warnings, Warning{Name: name, Near: near})
	return "", nil
}

func (v *variables) second(name, text string) (a assignment, found bool) {
	if text == "" {
		return a, false
	}
	v.root.leaves(nil, "0", func(path []string, leaf *setting) {
		if leaf.env == name {
			a, found = assignment{name: name, text: text, second: true, target: target{leaf: leaf, path: path}}, true
		}
	})
	return a, found
}

// near finds the variable that was probably meant, with the list items of the one that is there.
func (v *variables) near(name string, names []string) string {
	item := "0"
	for _, level := range names {
		if isIndex(level) {
			item = level
			break
		}
	}
	var known []string
	v.root.leaves(nil, item, func(path []string, _ *setting) { known = append(known, variable(path)) })
	near, _ := nearest(name, known)
	return near
}
