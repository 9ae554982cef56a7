package aasxml

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"sort"
	"strings"

	"github.com/otkit/otkit/aas/internal/metamodel"
	"github.com/otkit/otkit/fault"
)

// writer turns the JSON form, as package aas writes it, into the XML form, by the table of the metamodel.
type writer struct {
	json         []byte
	starts, ends []int // of the objects and arrays, ascending by start
	out          []byte
	path         []string // names and indexes of what is around
}

// index finds the end of each object and array once.
func (w *writer) index() {
	var open []int
	for i := 0; i < len(w.json); i++ {
		switch w.json[i] {
		case '"':
			i = w.stringEnd(i) - 1
		case '{', '[':
			open = append(open, len(w.starts))
			w.starts, w.ends = append(w.starts, i), append(w.ends, 0)
		case '}', ']':
			w.ends[open[len(open)-1]] = i + 1
			open = open[:len(open)-1]
		}
	}
}

// stringEnd returns where the string ends that begins at a position.
func (w *writer) stringEnd(at int) int {
	for i := at + 1; ; i++ {
		switch w.json[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
}

// end returns where the value ends that begins at a position.
func (w *writer) end(at int) int {
	switch w.json[at] {
	case '"':
		return w.stringEnd(at)
	case '{', '[':
		return w.ends[sort.SearchInts(w.starts, at)]
	}
	return at + bytes.IndexAny(w.json[at:], ",}] \n\r\t")
}

func (w *writer) space(at int) int {
	for strings.IndexByte(" \n\r\t", w.json[at]) >= 0 {
		at++
	}
	return at
}

// each calls fn with the position of each entry of an array, or of each member of an object with its name.
func (w *writer) each(at int, fn func(name string, value int) error) error {
	object := w.json[at] == '{'
	for at = w.space(at + 1); w.json[at] != '}' && w.json[at] != ']'; {
		name := ""
		if object {
			end := w.stringEnd(at)
			name = w.text(at, end)
			at = w.space(w.space(end) + 1)
		}
		if err := fn(name, at); err != nil {
			return err
		}
		if at = w.space(w.end(at)); w.json[at] == ',' {
			at = w.space(at + 1)
		}
	}
	return nil
}

// text returns the string between two positions.
func (w *writer) text(from, to int) string {
	raw := w.json[from:to]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var text string
	_ = json.Unmarshal(raw, &text) // it is a string that package aas has written or read
	return text
}

// noForm returns the error for a member that XML cannot express.
func (w *writer) noForm(name, message string) error {
	path := strings.Join(append(w.path, "."+name), "")
	return ErrNoForm.Invalid(fault.Field{Field: strings.TrimPrefix(path, "."), Message: message})
}

// object writes the members of an object in the order of the schema.
func (w *writer) object(at int, name string) error {
	c := metamodel.Classes[name]
	values := make([]int, len(c.Members))
	err := w.each(at, func(name string, value int) error {
		i := c.Index(name)
		switch {
		case i >= 0:
			values[i] = value
		case name != "modelType":
			return w.noForm(name, "is not a member of the metamodel, for which XML has no form")
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, m := range c.Members {
		if values[i] == 0 {
			continue
		}
		w.path = append(w.path, "."+m.Name)
		w.tag("<", m.Name)
		if err := w.member(m, values[i]); err != nil {
			return err
		}
		w.tag("</", m.Name)
		w.path = w.path[:len(w.path)-1]
	}
	return nil
}

func (w *writer) tag(open, name string) {
	w.out = append(append(append(w.out, open...), name...), '>')
}

func (w *writer) member(m metamodel.Member, at int) error {
	switch m.Form {
	case metamodel.Object:
		return w.object(at, m.Of[0])
	case metamodel.One:
		return w.entry(m, at)
	case metamodel.List:
		i := 0
		return w.each(at, func(_ string, value int) error {
			w.path = append(w.path, fmt.Sprintf("[%d]", i))
			i++
			err := w.entry(m, value)
			w.path = w.path[:len(w.path)-1]
			return err
		})
	case metamodel.Boolean:
		w.out = append(w.out, w.json[at:w.end(at)]...)
	default:
		w.escaped(w.text(at, w.end(at)))
	}
	return nil
}

// entry writes an element that is named after its class.
func (w *writer) entry(m metamodel.Member, at int) error {
	name := m.Of[0]
	if len(m.Of) > 1 || m.Form == metamodel.One {
		modelType := ""
		_ = w.each(at, func(member string, value int) error { // fn returns no error
			if member == "modelType" && w.json[value] == '"' {
				modelType = w.text(value, w.end(value))
			}
			return nil
		})
		if name = metamodel.ByModelType[modelType]; name == "" {
			return w.noForm("modelType", "is "+modelType+", for which XML has no form")
		}
	}
	w.tag("<", name)
	if err := w.object(at, name); err != nil {
		return err
	}
	w.tag("</", name)
	return nil
}

func (w *writer) escaped(text string) {
	if !strings.ContainsAny(text, "&<>\"'\t\n\r") {
		w.out = append(w.out, text...)
		return
	}
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // a Buffer takes everything
	w.out = append(w.out, b.Bytes()...)
}
