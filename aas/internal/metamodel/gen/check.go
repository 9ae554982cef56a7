package main

import (
	"strconv"
	"strings"

	"github.com/otkit/otkit/aas/internal/metamodel"
)

// checks writes the enumerations, the kinds of text and a function for each class that checks its members.
func checks(f *file) {
	f.add("var (")
	for _, e := range metamodel.Enums {
		words := make([]string, 0, len(e.Words))
		for _, w := range e.Words {
			words = append(words, strconv.Quote(w))
		}
		if e.Elements {
			for _, c := range elements() {
				words = append(words, strconv.Quote(c.ModelType))
			}
		}
		f.add("%s = setOf[%s](%s)", e.Name, e.Go, strings.Join(words, ", "))
	}
	f.add(")\n\nvar (")
	for _, k := range metamodel.Texts {
		form := ""
		if k.Form != "" {
			form = ", form: " + k.Form + ", rule: " + strconv.Quote(k.Rule)
		}
		f.add("%sKind = textKind{max: %d%s}", k.Name, k.Max, form)
	}
	f.add(")\n")
	for _, c := range typed() {
		f.add("func (c *checker) %s(v *%s) {", checkOf(c), c.Go)
		for _, m := range c.Parts() {
			checkMember(f, m)
		}
		if c.Rules {
			f.add("c.%sRules(v)", lower(c.Go))
		}
		f.add("}\n")
	}
	f.add("// element checks an element.\nfunc (c *checker) element(e Element) {\nswitch v := e.(type) {")
	for _, c := range elements() {
		f.add("case *%s:\nc.%s(v)", c.Go, checkOf(c))
	}
	f.add("}\n}\n\n// document checks what has a Validate method.\nfunc (c *checker) document(v any) {\nswitch v := v.(type) {")
	for _, c := range metamodel.All {
		if c.Use == metamodel.Document || c.Use == metamodel.Descriptor {
			f.add("case *%s:\nc.%s(v)", c.Go, checkOf(c))
		}
	}
	f.add("}\n}")
}

func checkOf(c *metamodel.Class) string {
	if c.Go == "LangString" {
		return "check" + upper(c.Name)
	}
	return "check" + c.Go
}

func checkMember(f *file, m metamodel.Member) {
	field := "v." + m.Go
	switch {
	case m.Ruled:
	case m.Form == metamodel.Group:
		g := find(m.Of[0])
		f.add("c.%s(&v.%s)", checkOf(g), g.Go)
	case m.Form == metamodel.Text:
		checkText(f, m, field)
	case m.Form == metamodel.Object:
		checkObject(f, m, field)
	case m.Form == metamodel.List:
		checkList(f, m, field)
	}
}

func checkText(f *file, m metamodel.Member, field string) {
	switch {
	case m.Kind == "":
	case m.Kind == "lexical":
		f.add("c.lexical(%q, v.ValueType, %s)", m.Name, field)
	case enumOf(m.Kind) != nil && m.Required:
		f.add("checkWord(c, %q, %s, %s)", m.Name, field, m.Kind)
	case enumOf(m.Kind) != nil:
		f.add("if %s != \"\" {\ncheckWord(c, %q, %s, %s)\n}", field, m.Name, field, m.Kind)
	case m.Pointer:
		f.add("if %s != nil {\nc.text(%q, *%s, &%sKind)\n}", field, m.Name, field, m.Kind)
	case m.Required || m.Always:
		f.add("c.text(%q, %s, &%sKind)", m.Name, field, m.Kind)
	default:
		f.add("if %s != \"\" {\nc.text(%q, %s, &%sKind)\n}", field, m.Name, field, m.Kind)
	}
}

func checkObject(f *file, m metamodel.Member, field string) {
	of := metamodel.Classes[m.Of[0]]
	if of.Go == "" { // an object around a list, which is all that there is in Go
		inner := of.Members[0]
		f.add("c.push(%q)", m.Name)
		f.add("checkList(c, %q, %s, (*checker).%s)", inner.Name, field, checkOf(metamodel.Classes[inner.Of[0]]))
		f.add("c.pop()")
		return
	}
	if m.Struct {
		field = "&" + field
	}
	f.add("checkObject(c, %q, %s, (*checker).%s)", m.Name, field, checkOf(of))
}

func checkList(f *file, m metamodel.Member, field string) {
	if ofElements(m) {
		f.add("c.named(%q, %s)", m.Name, field)
		return
	}
	of := metamodel.Classes[m.Of[0]]
	if m.Required {
		one := of.Name
		if of.Go == "LangString" {
			one = "text"
		}
		f.add("if len(%s) == 0 {\nc.find(%q, %q)\n}", field, m.Name, "must have at least one "+one)
	}
	switch {
	case of.Use == metamodel.Document:
		f.add("checkPointers(c, %q, %s, (*checker).%s)", m.Name, field, checkOf(of))
	case of.Go == "LangString":
		f.add("c.texts(%q, %s, (*checker).%s)", m.Name, field, checkOf(of))
	default:
		f.add("checkList(c, %q, %s, (*checker).%s)", m.Name, field, checkOf(of))
	}
	if of.Unique != "" {
		f.add("checkUnique(c, %q, %q, %s, func(v *%s) string { return v.%s }, %q)", m.Name, strings.ToLower(of.Unique), field, of.Go, of.Unique,
			"must be unique among the "+of.Name+"s ("+of.Constraint+")")
	}
}
