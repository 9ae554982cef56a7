package metamodel

import (
	"slices"
	"strings"
)

// Form is how a member is written.
type Form uint8

// The forms.
const (
	Text    Form = iota // a text: a string in JSON
	Boolean             // true or false
	Base64              // bytes: a string in JSON
	Object              // the members of Of
	List                // elements named after the classes in Of
	One                 // one element named after a class in Of
	Strings             // texts; in JSON alone
	Group               // the members of a group
	Rest                // the place of members that the metamodel does not have
)

// Version is a version of the metamodel.
type Version uint8

// The versions.
const (
	V31 Version = iota // or earlier
	V32
)

// Member is a member of a class.
type Member struct {
	Name string
	Form Form
	Of   []string // names of classes, or of a group

	Go       string  // the name of the field
	Kind     string  // of a text: the name of a [TextKind] or an [Enum], or lexical after the member valueType
	Required bool    // it must be in JSON
	Always   bool    // it is written even when it is empty, and must be valid then, but may be missing in JSON
	Pointer  bool    // a nil pointer is an absent value
	Struct   bool    // of an object: no pointer
	Value    bool    // it is not part of $metadata
	Read     string  // the method of the decoder that reads it, empty for the usual one of its form
	Write    string  // likewise of the encoder
	Ruled    bool    // the rules of the class check it
	V30      string  // the method of the encoder that returns what metamodel 3.0 has for it
	Since    Version // the version that it came with

	rank int
}

// TextKind is a kind of text.
type TextKind struct {
	Name string
	Max  int    // characters; 0 means any number
	Form string // the function that reports whether a text has the form; empty for any
	Rule string // what Form asks for
}

// Enum is an enumeration.
type Enum struct {
	Name     string
	Go       string // the type of its words
	Words    []string
	Elements bool // the kinds of submodel element are words too
}

// Use is what functions of package aas take a class.
type Use uint8

// The uses.
const (
	Inner      Use = iota // no function
	Part                  // Decode, Append
	Descriptor            // and Validate
	Document              // likewise; it has a modelType or is an environment
	Element               // DecodeElement, AppendElement
	Embedded              // no class: what others embed
)

// Class is a class of the metamodel.
type Class struct {
	Name       string
	Go         string // the name of the type; empty for a class without one
	ModelType  string // the member modelType in JSON; empty for a class without one
	Use        Use
	Rules      bool   // a function written by hand checks rules about several members
	Unique     string // the member that is unique among the entries of a list, and the constraint that asks for it
	Constraint string
	Often      bool // it is common in documents
	Nested     bool // it has itself as a part

	Members []Member // in the order of the XML schema
	parts   []Member
	byName  map[string]int
}

// Parts returns the members and groups in the order of JSON.
func (c *Class) Parts() []Member { return c.parts }

// Index returns the index of the member with a name, -1 if there is none.
func (c *Class) Index(name string) int {
	if i, ok := c.byName[name]; ok {
		return i
	}
	return -1
}

func group(name string) Member      { return Member{Form: Group, Of: []string{name}} }
func text(name, kind string) Member { return Member{Name: name, Go: Field(name), Kind: kind} }
func word(name, enum string) Member { return text(name, enum) }

func pointer(name, kind string) Member {
	m := text(name, kind)
	m.Pointer = true
	return m
}

func lexical(name string) Member { return pointer(name, "lexical") }

func boolean(name string) Member { return Member{Name: name, Go: Field(name), Form: Boolean} }

func booleanPointer(name string) Member {
	return Member{Name: name, Go: Field(name), Form: Boolean, Pointer: true}
}

func object(name, of string) Member {
	return Member{Name: name, Go: Field(name), Form: Object, Of: []string{of}}
}

func list(name string, of ...string) Member {
	return Member{Name: name, Go: Field(name), Form: List, Of: of}
}

func langString(kind string) []Member {
	return []Member{text("language", "language").must(), text("text", kind).must()}
}

var rest = Member{Form: Rest}

func element(name, goName, modelType string, members ...Member) *Class {
	parts := append(append([]Member{group("elementCommon")}, members...), rest)
	return &Class{Name: name, Go: goName, ModelType: modelType, Use: Element, parts: parts}
}

func (c *Class) often() *Class { c.Often = true; return c }
func (c *Class) ruled() *Class { c.Rules = true; return c }

func (m Member) must() Member               { m.Required = true; return m }
func (m Member) always() Member             { m.Always = true; return m }
func (m Member) value() Member              { m.Struct = true; return m }
func (m Member) isValue() Member            { m.Value = true; return m }
func (m Member) read(method string) Member  { m.Read = method; return m }
func (m Member) write(method string) Member { m.Write = method; return m }
func (m Member) ruled() Member              { m.Ruled = true; return m }
func (m Member) named(name string) Member   { m.Go = name; return m }
func (m Member) v30(method string) Member   { m.V30 = method; return m }
func (m Member) since(v Version) Member     { m.Since = v; return m }
func (m Member) place(rank int) Member      { m.rank = rank; return m }

// Field returns the name of a member in Go.
func Field(name string) string {
	if name == "id" {
		return "ID"
	}
	name = strings.ToUpper(name[:1]) + name[1:]
	name = strings.ReplaceAll(name, "IdList", "IDList")
	for _, end := range []string{"Id", "Ids"} {
		if stem, ok := strings.CutSuffix(name, end); ok {
			return stem + "ID" + end[2:]
		}
	}
	return strings.Replace(name, "IdShort", "IDShort", 1)
}

// Classes are the classes by their names in XML.
var Classes = func() map[string]*Class {
	groups := make(map[string]*Class)
	for _, g := range Groups {
		groups[g.Name] = g
	}
	classes := make(map[string]*Class)
	for _, c := range All {
		c.Members = flat(c.parts, groups)
		slices.SortStableFunc(c.Members, func(a, b Member) int { return a.rank - b.rank })
		c.byName = make(map[string]int)
		for i, m := range c.Members {
			c.byName[m.Name] = i
		}
		classes[c.Name] = c
	}
	return classes
}()

func flat(parts []Member, groups map[string]*Class) (members []Member) {
	for _, m := range parts {
		switch m.Form {
		case Group:
			members = append(members, flat(groups[m.Of[0]].parts, groups)...)
		case Rest:
		default:
			members = append(members, m)
		}
	}
	return members
}

// ByModelType are the names of classes in XML by their modelType.
var ByModelType = func() map[string]string {
	names := make(map[string]string)
	for name, c := range Classes {
		if c.ModelType != "" {
			names[c.ModelType] = name
		}
	}
	return names
}()
