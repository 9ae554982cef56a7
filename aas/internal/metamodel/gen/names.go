package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/otkit/otkit/aas/internal/metamodel"
)

// constant returns the name of the constant for the name of a member.
func constant(name string) string { return "m" + metamodel.Field(name) }

// members writes the names of members.
func members(f *file) {
	names, values := map[string]bool{"modelType": true}, make(map[string]bool)
	for _, c := range append(metamodel.Groups[:len(metamodel.Groups):len(metamodel.Groups)], metamodel.All...) {
		for _, m := range c.Parts() {
			if m.Name != "" {
				names[m.Name] = true
				if m.Value {
					values[constant(m.Name)] = true
				}
			}
		}
	}
	f.add("// member is the number of a member name that the metamodel has; noMember is any other.\ntype member uint8\n\nconst (\nnoMember member = iota")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f.add("%s", constant(name))
	}
	f.add("endOfMembers\n)\n\nvar memberNames = [endOfMembers]string{")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f.add("%s: %q,", constant(name), name)
	}
	f.add("}\n\nvar membersByName = map[string]member{")
	for _, name := range slices.Sorted(maps.Keys(names)) {
		f.add("%q: %s,", name, constant(name))
	}
	f.add("}\n\n// inMetadata reports whether the member of a submodel or an element is part of $metadata, after the schemas of IDTA-01002.")
	f.add("func inMetadata(m member) bool {\nswitch m {\ncase %s:\nreturn false\n}\nreturn true\n}", strings.Join(slices.Sorted(maps.Keys(values)), ", "))
}

// kinds writes what there is for each kind of element, and the functions of encoding/json.
func kinds(f *file) {
	f.add("// The kinds of submodel element.\nconst (")
	for _, c := range elements() {
		f.add("Kind%s ElementKind = %q", c.Go, c.ModelType)
	}
	f.add(")\n")
	for _, c := range elements() {
		f.add("// ElementKind returns Kind%s.\nfunc (*%s) ElementKind() ElementKind { return Kind%s }\n", c.Go, c.Go, c.Go)
	}
	f.add("// newElement returns an empty element; nil for an unknown kind.\nfunc newElement(kind ElementKind) Element {\nswitch kind {")
	for _, c := range elements() {
		f.add("case Kind%s:\nreturn new(%s)", c.Go, c.Go)
	}
	f.add("}\nreturn nil\n}\n\n// assign sets an element to another one of the same kind.\nfunc assign(to, from Element) {\nswitch to := to.(type) {")
	for _, c := range elements() {
		f.add("case *%s:\n*to = *from.(*%s)", c.Go, c.Go)
	}
	f.add("}\n}\n\n// containers returns where an element keeps its children: none, one, or three of an operation.\nfunc containers(element Element) [3]*[]Element {\nswitch e := element.(type) {")
	for _, c := range elements() {
		if fields, _ := children(c); fields != nil {
			f.add("case *%s:\nreturn [3]*[]Element{%s}", c.Go, strings.Join(fields, ", "))
		}
	}
	f.add("}\nreturn [3]*[]Element{}\n}\n\n// containerMembers returns the names of what containers returns.\nfunc containerMembers(element Element) [3]string {\nswitch element.(type) {")
	for _, c := range elements() {
		if _, names := children(c); names != nil {
			f.add("case *%s:\nreturn [3]string{%s}", c.Go, strings.Join(names, ", "))
		}
	}
	f.add("}\nreturn [3]string{}\n}\n")
	marshalling(f)
}

// children are the fields and names of the members that have elements.
func children(c *metamodel.Class) (fields, names []string) {
	for _, m := range c.Parts() {
		if m.Form == metamodel.List && (ofElements(m) || m.Of[0] == "operationVariable") {
			fields, names = append(fields, "&e."+m.Go), append(names, "\""+m.Name+"\"")
		}
	}
	return fields, names
}

func marshalling(f *file) {
	var union []string
	for _, c := range models() {
		union = append(union, c.Go)
	}
	f.add("// Model is what [Decode] and [Append] take. Elements have [DecodeElement] and [AppendElement].\ntype Model interface {\n%s\n}\n", strings.Join(union, " |\n"))
	for _, c := range models() {
		f.add("// MarshalJSON returns the canonical form.\nfunc (v %s) MarshalJSON() ([]byte, error) { return Append(nil, &v), nil }\n", c.Go)
		f.add("// UnmarshalJSON reads what [Decode] reads.\nfunc (v *%s) UnmarshalJSON(data []byte) error { return replace(v, data) }\n", c.Go)
	}
	for _, c := range elements() {
		f.add("// MarshalJSON returns the canonical form.\nfunc (v %s) MarshalJSON() ([]byte, error) { return AppendElement(nil, &v), nil }\n", c.Go)
		f.add("// UnmarshalJSON reads what [DecodeElement] reads; modelType may be missing.\nfunc (v *%s) UnmarshalJSON(data []byte) error { return replaceElement(v, data) }\n", c.Go)
	}
}
