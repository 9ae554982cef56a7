package main

import "github.com/otkit/otkit/aas/internal/metamodel"

// encoding writes a function for each class that appends its members.
func encoding(f *file) {
	for _, c := range types() {
		levels, inside := "", "levels"
		switch c.Use {
		case metamodel.Element:
			levels = ", levels int"
		case metamodel.Document:
			inside = "e.view.levels()+1"
		}
		f.add("func (e *encoder) write%s(v *%s%s) {", c.Go, c.Go, levels)
		if c.Use != metamodel.Embedded {
			f.add("e.open()")
		}
		if c.ModelType != "" {
			f.add("e.must(mModelType, %q)", c.ModelType)
		}
		inValue := false
		for _, m := range c.Parts() {
			value := c.Use == metamodel.Element && (m.Value || m.Form == metamodel.Rest) || c.Name == "submodel" && (m.Value || m.Form == metamodel.Rest)
			if value != inValue {
				if value {
					f.add("if !e.metadata {")
				} else {
					f.add("}")
				}
				inValue = value
			}
			writeMember(f, c, m, inside)
		}
		if inValue {
			f.add("}")
		}
		if c.Use != metamodel.Embedded {
			f.add("e.close()")
		}
		f.add("}\n")
	}
	f.add("// model appends what v, a pointer to a Model, points at.\nfunc (e *encoder) model(v any) {\nswitch v := v.(type) {")
	for _, c := range models() {
		f.add("case *%s:\ne.write%s(v)", c.Go, c.Go)
	}
	f.add("}\n}\n\n// element appends an element with its children, so many levels of them.\nfunc (e *encoder) element(element Element, levels int) {\nswitch v := element.(type) {")
	for _, c := range elements() {
		f.add("case *%s:\ne.write%s(v, levels)", c.Go, c.Go)
	}
	f.add("}\n}")
}

func writeMember(f *file, c *metamodel.Class, m metamodel.Member, levels string) {
	field, name := "v."+m.Go, ""
	if m.Name != "" {
		name = constant(m.Name)
	}
	switch {
	case m.Write != "" && m.Form == metamodel.List:
		f.add("e.%s(v, levels)", m.Write)
	case m.Write != "":
		f.add("e.%s(v)", m.Write)
	case m.Form == metamodel.Group:
		g := find(m.Of[0])
		f.add("e.write%s(&v.%s)", g.Go, g.Go)
	case m.Form == metamodel.Rest:
		f.add("e.unknown(v.Unknown)")
	case m.Form == metamodel.Text:
		writeText(f, m, field, name)
	case m.Form == metamodel.Boolean && m.Pointer:
		f.add("if %s != nil {\ne.boolean(%s, *%s)\n}", field, name, field)
	case m.Form == metamodel.Boolean:
		f.add("e.boolean(%s, %s)", name, field)
	case m.Form == metamodel.Object && m.Struct:
		f.add("e.name(%s)\ne.write%s(&%s)", name, metamodel.Classes[m.Of[0]].Go, field)
	case m.Form == metamodel.Object:
		f.add("if %s != nil {\ne.name(%s)\ne.write%s(%s)\n}", field, name, metamodel.Classes[m.Of[0]].Go, field)
	case m.Form == metamodel.Strings:
		f.add("array(e, %s, %s, (*encoder).str)", name, field)
	case m.Form == metamodel.List:
		writeList(f, m, field, name, levels)
	}
}

func writeText(f *file, m metamodel.Member, field, name string) {
	text := field
	if m.V30 != "" {
		text = "e." + m.V30 + "(" + field + ")"
	}
	if e := enumOf(m.Kind); e != nil && e.Go != "string" {
		text = "string(" + text + ")"
	}
	switch {
	case m.Since > metamodel.V31:
		f.add("if %s != \"\" && !e.omits() {\ne.must(%s, %s)\n}", field, name, text)
	case m.Pointer:
		f.add("e.pointer(%s, %s)", name, text)
	case m.Required || m.Always:
		f.add("e.must(%s, %s)", name, text)
	default:
		f.add("e.text(%s, %s)", name, text)
	}
}

func writeList(f *file, m metamodel.Member, field, name, levels string) {
	if ofElements(m) {
		f.add("e.children(%s, %s, %s)", name, field, levels)
		return
	}
	of := metamodel.Classes[m.Of[0]]
	if m.V30 != "" {
		field = "e." + m.V30 + "(" + field + ")"
	}
	if m.Required {
		f.add("if len(%s) == 0 {\ne.empty(%s)\n}", field, name)
	}
	switch {
	case of.Go == "":
		f.add("array(e, %s, e.elementsOf(%s, false), (*encoder).variable)", name, field)
	case of.Use == metamodel.Document:
		f.add("array(e, %s, %s, func(e *encoder, v **%s) { e.write%s(*v) })", name, field, of.Go, of.Go)
	default:
		f.add("array(e, %s, %s, (*encoder).write%s)", name, field, of.Go)
	}
}
