package settings

import (
	"reflect"
	"strings"

	"github.com/otkit/otkit/fault"
)

// Errors of loading. They are meant for whoever starts the server.
var (
	// ErrInvalid names in Fields each key, variable or flag that is wrong and the rule that it breaks.
	ErrInvalid = fault.New(fault.Invalid, "INVALID_SETTINGS", "settings are not valid")
	// ErrFile means that the settings file cannot be read.
	ErrFile = fault.New(fault.Invalid, "SETTINGS_FILE", "settings file cannot be read")
	// ErrStruct means that a struct cannot hold settings: a defect of the program.
	ErrStruct = fault.New(fault.Internal, "SETTINGS_STRUCT", "struct cannot hold settings")
)

// maxProblems bounds an error text when a whole file is of the wrong kind.
const maxProblems = 20

// Problems collects what is wrong with settings. Paths are relative to the section that is validated.
type Problems struct {
	root    *setting
	values  reflect.Value // of the root
	prefix  []string
	origins Origins
	shared  *found
}

// found is shared by the Problems of all sections.
type found struct {
	fields []fault.Field
	paths  map[string]bool // keys with a problem
}

func newProblems(root *setting, values reflect.Value, origins Origins) *Problems {
	return &Problems{root: root, values: values, origins: origins, shared: &found{paths: make(map[string]bool)}}
}

// at returns the same problems for the section at a path.
func (p *Problems) at(path []string) *Problems {
	c := *p
	c.prefix = path
	return &c
}

// Add adds a problem with the setting at path, such as "tls.keyFile" or "allowedHosts[2]". The message follows the path: "is required".
func (p *Problems) Add(path, message string) {
	at := p.path(path)
	p.add(display(at), at, message, p.origin(at))
}

// Needed adds the problem that the setting at path is missing, which the one at by needs.
func (p *Problems) Needed(path, by string) { p.Add(path, "is needed with "+display(p.path(by))) }

// Must adds a problem with the setting at path unless ok, and shows its value where that is no secret. The rule begins with "must".
func (p *Problems) Must(ok bool, path, rule string) {
	if !ok {
		p.Add(path, withValue(rule, p.valueAt(p.path(path))))
	}
}

// Take adds the problems of an error of an option's constructor below path. names maps options to settings where the names
// differ in more than case.
func (p *Problems) Take(err error, path string, names map[string]string) {
	if err == nil {
		return
	}
	e, ok := fault.From(err)
	if !ok || len(e.Fields) == 0 {
		p.Add(path, "is not usable: "+err.Error())
		return
	}
	for _, f := range e.Fields {
		option := strings.TrimPrefix(f.Field, "Options.")
		if other, renamed := names[option]; renamed {
			option = other
		}
		at := p.path(path + "." + option)
		if t, known := p.root.find(at); known {
			at = append(t.path, t.inner...)
			p.add(display(at), at, withValue(f.Message, p.valueAt(at)), p.origin(at))
			continue
		}
		p.Add(path, f.Field+" "+f.Message)
	}
}

// Has reports whether there is a problem with the setting at path, or with one below it.
func (p *Problems) Has(path string) bool {
	key := flatKey(p.path(path))
	for other := range p.shared.paths {
		if other == key || strings.HasPrefix(other, key+".") {
			return true
		}
	}
	return false
}

// Err returns an ErrInvalid with all problems, or nil when there are none.
func (p *Problems) Err() error {
	if len(p.shared.fields) == 0 {
		return nil
	}
	return ErrInvalid.Invalid(p.shared.fields...)
}

func (p *Problems) add(field string, path []string, message, origin string) {
	if path != nil {
		p.shared.paths[flatKey(path)] = true
	}
	if origin != "" {
		message += " (" + origin + ")"
	}
	if len(p.shared.fields) < maxProblems {
		p.shared.fields = append(p.shared.fields, fault.Field{Field: field, Message: message})
	}
}

func (p *Problems) path(relative string) []string {
	path := p.prefix[:len(p.prefix):len(p.prefix)]
	if relative == "" {
		return path
	}
	return append(path, strings.Split(flatten(relative), ".")...)
}

// origin returns where the setting at a path comes from. Items of a list of plain values come from where the list does, and members
// of a free-form object from where the object does.
func (p *Problems) origin(path []string) string {
	if t, ok := p.root.find(path); ok {
		path = t.path
	}
	return p.origins[flatKey(path)]
}

// valueAt returns the value at a path as it may be shown, "" for what is secret or no plain value.
func (p *Problems) valueAt(path []string) string {
	t, ok := p.root.find(path)
	if !ok || t.leaf.secret != "" || t.leaf.kind == freeForm {
		return ""
	}
	v := p.root.follow(p.values, t.path)
	if !v.IsValid() {
		return ""
	}
	if t.leaf.kind == list {
		if len(t.inner) == 0 || index(t.inner[0]) >= v.Len() {
			return ""
		}
		v = v.Index(index(t.inner[0]))
	}
	return shownValue(v)
}

// withValue adds the value that breaks a rule; an empty one is not known or not to be shown.
func withValue(rule, value string) string {
	switch {
	case value == "" || value[0] == '"' && strings.Contains(rule, value):
		return rule
	case strings.HasPrefix(rule, "must be ") && !strings.Contains(rule, ", not "):
		return rule + ", not " + value
	}
	return rule + ": " + value
}
