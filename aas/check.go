package aas

import (
	"reflect"
	"strconv"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
)

// Validate finds what breaks the metamodel, IDTA-01001, without looking outside of the document: the form and the
// length of texts, words of enumerations, and every constraint that the document alone shows. The error is
// ErrInvalidRequest with a Field for each finding, at most 100: the path of the member in the JSON form, such as
// submodelElements[3].value[1].idShort, and the rule, with the name of its constraint where it has one, such as
// (AASd-022). Lengths count characters, not bytes.
//
// Two rules are looser than those of the metamodel 3.1: a concept description needs no definition (AASc-3a-008), and an
// idShort may be one letter, as in 3.0.
func (s *Submodel) Validate() error { return validate(s) }

// Validate is [Submodel.Validate] for a shell.
func (v *Shell) Validate() error { return validate(v) }

// Validate is [Submodel.Validate] for a concept description.
func (v *ConceptDescription) Validate() error { return validate(v) }

// Validate finds what breaks the schema of descriptors in IDTA-01002, as [Submodel.Validate] does for a submodel.
func (v *ShellDescriptor) Validate() error { return validate(v) }

// Validate is [ShellDescriptor.Validate] for the descriptor of a submodel.
func (v *SubmodelDescriptor) Validate() error { return validate(v) }

// ValidateElement is [Submodel.Validate] for one element, with or without an idShort. Whether its idShort is taken by a
// neighbour, and whether its qualifiers suit the kind of its submodel, only the submodel shows.
func ValidateElement(element Element) error { return validate(element) }

func validate(v any) error {
	if err := ValidateTree(v); err != nil {
		return err
	}
	found := Findings(v, maxReported)
	if len(found) == 0 {
		return nil
	}
	return ErrInvalidRequest.Invalid(found...)
}

// maxReported is how many findings an error has.
const maxReported = 100

// Findings returns what breaks the metamodel in v, at most limit findings: the path of a member and the rule. v is
// what has a Validate method, an *[Environment] or an [Element]; in anything else nothing is found. See [ValidateTree]
// for what was made in Go.
func Findings(v any, limit int) []fault.Field {
	c := checker{most: limit, path: make([]step, 0, 16)}
	if e, ok := v.(Element); ok {
		c.element(e)
	} else {
		c.document(v)
	}
	return c.found
}

// checker walks through a document. The functions for the members of a class are generated from the table of the
// metamodel; the rules about several members are in this package.
type checker struct {
	found []fault.Field
	most  int
	path  []step
}

func (c *checker) push(member string) { c.path = append(c.path, step{member, -1}) }
func (c *checker) pop()               { c.path = c.path[:len(c.path)-1] }
func (c *checker) full() bool         { return len(c.found) >= c.most }

// find keeps a finding about a member of what the path leads to, or about that itself.
func (c *checker) find(member, rule string) {
	if c.full() {
		return
	}
	path := pathOf(c.path)
	if member != "" {
		path = memberOf(path, member)
	}
	c.found = append(c.found, fault.Field{Field: path, Message: rule})
}

func memberOf(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func entryOf(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// textKind is what a text must be.
type textKind struct {
	max  int // characters; 0 means any number
	form func(string) bool
	rule string // what form asks for
}

func (c *checker) text(member, text string, kind *textKind) {
	switch {
	case kind.max == 0 && text == "" && kind.form == nil:
		c.find(member, "must not be empty")
	case kind.max > 0 && (text == "" || len(text) > kind.max && utf8.RuneCountInString(text) > kind.max):
		c.find(member, "must have 1 to "+strconv.Itoa(kind.max)+" characters")
		if text == "" || len(text) > maxForm {
			return
		}
	}
	if (kind.max > 0 || kind.form == nil) && !isXMLText(text) {
		c.find(member, notXMLText)
	}
	if kind.form != nil && (len(text) > maxForm || !kind.form(text)) {
		c.find(member, kind.rule)
	}
}

const notXMLText = "must be characters that XML can hold (AASd-130)"

// lexical checks values of properties, ranges and extensions by the constraint too that has its name from qualifiers.
// What is no text at all is no string either.
func (c *checker) lexical(member string, t DataType, text *string) {
	if text == nil {
		return
	}
	if t == "" {
		t = String
	}
	fits, xml := lexicalRules[t] == nil || lexicalRules[t](*text), isXMLText(*text)
	switch {
	case !fits && !xml:
		c.find(member, notLexical(t)+" (AASd-020, AASd-130)")
	case !fits:
		c.find(member, notLexical(t)+" (AASd-020)")
	case !xml:
		c.find(member, notXMLText)
	}
}

func checkWord[T ~string](c *checker, member string, w T, words map[T]struct{}) {
	if _, ok := words[w]; !ok {
		c.find(member, "must be one of the values that the metamodel names")
	}
}

func checkObject[T any](c *checker, member string, v *T, check func(*checker, *T)) {
	if v == nil {
		return
	}
	c.push(member)
	check(c, v)
	c.pop()
}

func checkList[T any](c *checker, member string, list []T, check func(*checker, *T)) {
	if len(list) == 0 {
		return
	}
	c.path = append(c.path, step{member, -1}, step{})
	for i := range list {
		c.path[len(c.path)-1].index = i
		check(c, &list[i])
		if c.full() {
			break
		}
	}
	c.path = c.path[:len(c.path)-2]
}

func checkPointers[T any](c *checker, member string, list []*T, check func(*checker, *T)) {
	checkList(c, member, list, func(c *checker, v **T) { check(c, *v) })
}

// texts checks a text in several languages.
func (c *checker) texts(member string, list []LangString, check func(*checker, *LangString)) {
	checkList(c, member, list, check)
	var seen names
	for i := range list {
		if !seen.add(list[i].Language) {
			c.find(member, "must have each language once")
			return
		}
	}
}

// checkUnique checks that no two entries of a list have the same key.
func checkUnique[T any](c *checker, member, name string, list []T, key func(*T) string, rule string) {
	var seen names
	for i := range list {
		if !seen.add(key(&list[i])) {
			c.find(memberOf(entryOf(member, i), name), rule)
		}
	}
}

// names are different texts.
type names struct {
	few  []string
	many map[string]struct{}
}

// maxFew is how many texts are compared one by one.
const maxFew = 16

// add reports whether the name is new.
func (n *names) add(name string) bool {
	if n.many == nil {
		for _, known := range n.few {
			if known == name {
				return false
			}
		}
		if len(n.few) < maxFew {
			n.few = append(n.few, name)
			return true
		}
		n.many = make(map[string]struct{}, 4*maxFew)
		for _, known := range n.few {
			n.many[known] = struct{}{}
		}
	}
	before := len(n.many)
	n.many[name] = struct{}{}
	return len(n.many) > before
}

// ValidateTree finds what only Go code can make and no function here can process: nil in the place of a document or
// an element, and elements that are nested too deeply. The error is ErrInvalidRequest.
func ValidateTree(v any) error {
	if v == nil || reflect.ValueOf(v).IsNil() {
		return ErrInvalidRequest.Because("the document or element is nil")
	}
	var path, rule string
	switch v := v.(type) {
	case *Submodel:
		path, rule = checkElements("submodelElements", v.Elements, 1)
	case Element:
		path, rule = checkElement(v, 1)
	}
	if rule == "" {
		return nil
	}
	return invalid(path, rule)
}

func isNil(e Element) bool { return e == nil || reflect.ValueOf(e).IsNil() }

func checkElements(member string, list []Element, depth int) (path, rule string) {
	for i, e := range list {
		if path, rule = checkElement(e, depth); rule == "" {
			continue
		}
		at := entryOf(member, i)
		if path == "" {
			return at, rule
		}
		return at + "." + path, rule
	}
	return "", ""
}

func checkElement(e Element, depth int) (path, rule string) {
	if isNil(e) {
		return "", "must be an element, not nil"
	}
	if depth > MaxDepth {
		return "", tooDeep
	}
	members := containerMembers(e)
	for i, children := range containers(e) {
		if children == nil {
			continue
		}
		if path, rule = checkElements(members[i], *children, depth+1); rule != "" {
			return path, rule
		}
	}
	return "", ""
}

// ValidateArguments checks that each argument is one of the operation's variables, once, of the same kind
// and type of value, and that its values are in their lexical form. The error is ErrInvalidRequest.
func (v *Operation) ValidateArguments(input, inoutput []Element) error {
	if err := validateArguments("inputArguments", input, v.InputVariables); err != nil {
		return err
	}
	return validateArguments("inoutputArguments", inoutput, v.InoutputVariables)
}

func validateArguments(member string, given, variables []Element) error {
	open := make(map[string]Element, len(variables))
	for _, v := range variables {
		open[v.Common().IDShort] = v
	}
	for _, e := range given {
		name := e.Common().IDShort
		v, ok := open[name]
		if !ok {
			return invalid(member, "has "+name+", which is not an argument of the operation or is a duplicate")
		}
		delete(open, name)
		if v.ElementKind() != e.ElementKind() {
			return invalid(member+"."+name, "must be a "+string(v.ElementKind()))
		}
		if want := valueType(v); want != "" && want != valueType(e) {
			return invalid(member+"."+name+".valueType", "must be "+string(want))
		}
		if found := Findings(e, maxReported); len(found) > 0 {
			for i := range found {
				found[i].Field = memberOf(member+"."+name, found[i].Field)
			}
			return ErrInvalidRequest.Invalid(found...)
		}
	}
	return nil
}

// valueType returns the type of an element's value, empty for an element that has none.
func valueType(e Element) DataType {
	switch e := e.(type) {
	case *Property:
		return e.ValueType
	case *Range:
		return e.ValueType
	}
	return ""
}

func setOf[T ~string](words ...T) map[T]struct{} {
	set := make(map[T]struct{}, len(words))
	for _, w := range words {
		set[w] = struct{}{}
	}
	return set
}
