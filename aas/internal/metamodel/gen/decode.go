package main

import (
	"slices"
	"strings"

	"github.com/otkit/otkit/aas/internal/metamodel"
)

// decoding writes a function for each class that reads its members.
func decoding(f *file) {
	arenas(f)
	for _, c := range types() {
		switch {
		case c.Use == metamodel.Element || c.Name == "elementCommon":
			readInto(f, c)
		case c.Use != metamodel.Embedded:
			readObject(f, c)
		}
	}
	f.add("// model reads what v, a pointer to a Model, points at.\nfunc (d *decoder) model(v any) {\nswitch v := v.(type) {")
	for _, c := range models() {
		if c.Use == metamodel.Document {
			f.add("case *%s:\nd.read%s(v)", c.Go, c.Go)
		} else {
			f.add("case *%s:\n*v = d.read%s()", c.Go, c.Go)
		}
	}
	f.add("}\n}\n\n// own reads a member that only this kind of element has, or reports that there is no such member.")
	f.add("func (d *decoder) own(o *object, e Element) bool {\nswitch v := e.(type) {")
	for _, c := range elements() {
		f.add("case *%s:\nreturn d.read%s(o, v)", c.Go, c.Go)
	}
	f.add("}\nreturn false\n}\n\n// needOwn fails when an element lacks a member.\nfunc (d *decoder) needOwn(o *object, e Element) {\nswitch e.(type) {")
	for _, c := range elements() {
		if names := needed(c); names != "" {
			f.add("case *%s:\nd.needNew(o, %s)", c.Go, names)
		}
	}
	f.add("}\n}\n\n// take returns an empty element; nil for an unknown kind.\nfunc (d *decoder) take(kind ElementKind) Element {\nswitch kind {")
	for _, c := range elements() {
		if c.Often {
			f.add("case %q:\nreturn d.%s.one()", c.ModelType, arena(c))
		}
	}
	f.add("}\nreturn newElement(kind)\n}")
}

func arena(c *metamodel.Class) string { return lower(c.Go) + "Arena" }

// arenas writes where a decoder takes the parts of a document from.
func arenas(f *file) {
	f.add("// arenas are where a decoder takes the parts of a document from.\ntype arenas struct {\nstrings arena[string]\nelementLists arena[Element]")
	seen := make(map[string]bool)
	for _, c := range types() {
		for _, m := range c.Parts() {
			if m.Form != metamodel.List && m.Form != metamodel.Object || ofElements(m) {
				continue
			}
			of := metamodel.Classes[m.Of[0]]
			if m.Form == metamodel.Object {
				if of.Go != "" {
					continue
				}
				of = metamodel.Classes[of.Members[0].Of[0]] // the object is around a list
			}
			if of.Go != "" && of.Use != metamodel.Document && !seen[of.Go] {
				seen[of.Go] = true
				f.add("%s arena[%s]", arena(of), of.Go)
			}
		}
	}
	for _, c := range elements() {
		if c.Often {
			f.add("%s arena[%s]", arena(c), c.Go)
		}
	}
	f.add("}\n")
}

// needed are the members that have to be there.
func needed(c *metamodel.Class) string {
	var names []string
	for _, m := range c.Parts() {
		if m.Required {
			names = append(names, constant(m.Name))
		}
	}
	return strings.Join(names, ", ")
}

// readInto writes a function that reads one member, or reports that it is not of the class.
func readInto(f *file, c *metamodel.Class) {
	if len(c.Parts()) == 2 && c.Use == metamodel.Element { // the common members and the unknown ones
		f.add("func (*decoder) read%s(*object, *%s) bool { return false }\n", c.Go, c.Go)
		return
	}
	f.add("func (d *decoder) read%s(o *object, v *%s) bool {\nswitch o.key {", c.Go, c.Go)
	readMembers(f, c, "v", c.Use == metamodel.Embedded)
	f.add("default:\nreturn false\n}\nreturn true\n}\n")
}

// readMembers writes the cases of the members of a class, and of its groups with deep. Pointer is an expression for what v
// points at or is.
func readMembers(f *file, c *metamodel.Class, pointer string, deep bool) {
	for _, m := range c.Parts() {
		switch {
		case m.Form == metamodel.Rest || m.Form == metamodel.Group && !deep:
		case m.Form == metamodel.Group:
			g := find(m.Of[0])
			readMembers(f, g, "&"+strings.TrimPrefix(pointer, "&")+"."+g.Go, true)
		default:
			readMember(f, m, pointer)
		}
	}
}

// readObject writes a function that reads all members.
func readObject(f *file, c *metamodel.Class) {
	ref := "v"
	if c.Use == metamodel.Document {
		f.add("func (d *decoder) read%s(v *%s) {", c.Go, c.Go)
	} else {
		ref = "&v"
		f.add("func (d *decoder) read%s() (v %s) {", c.Go, c.Go)
	}
	if c.Nested {
		f.add("if d.depth++; d.depth > MaxDepth {\nd.tooDeep()\n}")
	}
	f.add("var o object\nfor d.begin(&o); d.next(&o); {")
	if c.Name == "submodel" {
		f.add("if d.metadataOnly && !inMetadata(o.key) {\nd.skip()\ncontinue\n}")
	}
	f.add("switch o.key {")
	if c.ModelType != "" {
		f.add("case mModelType:\nd.modelType(%q)", c.ModelType)
	}
	readMembers(f, c, ref, true)
	other := "d.refuse()"
	if slices.ContainsFunc(c.Parts(), func(m metamodel.Member) bool { return m.Form == metamodel.Rest }) {
		other = "d.unknown(&o, &v.Unknown)"
	}
	f.add("default:\n%s\n}\n}", other)
	if names := needed(c); names != "" {
		f.add("d.need(&o, %s)", names)
	}
	if c.Nested {
		f.add("d.depth--")
	}
	if c.Use != metamodel.Document {
		f.add("return v")
	}
	f.add("}\n")
}

// readMember writes the case of a member; pointer is an expression for what v points at or is.
func readMember(f *file, m metamodel.Member, pointer string) {
	f.add("case %s:", constant(m.Name))
	field := "v." + m.Go
	switch {
	case m.Read != "":
		f.add("d.%s(%s)", m.Read, pointer)
	case m.Form == metamodel.Text && enumOf(m.Kind) != nil:
		f.add("%s = word(d, %s)", field, m.Kind)
	case m.Form == metamodel.Text && m.Pointer:
		f.add("%s = d.strPointer()", field)
	case m.Form == metamodel.Text:
		f.add("%s = d.str()", field)
	case m.Form == metamodel.Boolean && m.Pointer:
		f.add("%s = new(d.boolean())", field)
	case m.Form == metamodel.Boolean:
		f.add("%s = d.boolean()", field)
	case m.Form == metamodel.Strings:
		f.add("%s = list(d, &d.strings, (*decoder).str)", field)
	case m.Form == metamodel.Object && m.Struct:
		f.add("%s = d.read%s()", field, metamodel.Classes[m.Of[0]].Go)
	case m.Form == metamodel.Object && m.Of[0] == "reference":
		f.add("%s = d.referencePointer()", field)
	case m.Form == metamodel.Object:
		f.add("%s = new(d.read%s())", field, metamodel.Classes[m.Of[0]].Go)
	case ofElements(m):
		f.add("d.named(&%s)", field)
	default:
		readList(f, m, field)
	}
}

func readList(f *file, m metamodel.Member, field string) {
	of := metamodel.Classes[m.Of[0]]
	switch {
	case of.Go == "":
		f.add("%s = d.variables()", field)
	case of.Use == metamodel.Document:
		f.add("%s = pointers(d, (*decoder).read%s)", field, of.Go)
	default:
		f.add("%s = list(d, &d.%s, (*decoder).read%s)", field, arena(of), of.Go)
	}
}
