package aasxml

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"slices"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/internal/metamodel"
)

// reader turns the XML form into the JSON form, by the table of the metamodel.
type reader struct {
	f    *filter
	json []byte
}

// child returns the next element, or nil at the end of the one around it. Text between elements is white space.
func (r *reader) child(around string) (*xml.StartElement, error) {
	for {
		t, err := r.f.Token()
		if err != nil {
			return nil, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			switch {
			case t.Name.Space != Namespace:
				return nil, wrong("%s is not in the namespace %s", t.Name.Local, Namespace)
			case len(t.Attr) > 0:
				return nil, wrong("%s has the attribute %s, and no element has any", t.Name.Local, t.Attr[0].Name.Local)
			}
			return &t, nil
		case xml.EndElement:
			return nil, nil //nolint:nilnil // the end
		case xml.CharData:
			if len(bytes.TrimSpace(t)) > 0 {
				return nil, wrong("%s has text where an element must be", around)
			}
		}
	}
}

func wrong(format string, args ...any) error {
	return aas.ErrInvalidRequest.Because("the XML is not that of an environment: "+format, args...)
}

// object reads the members of a class.
func (r *reader) object(name string) error {
	c := metamodel.Classes[name]
	r.json = append(r.json, '{')
	if c.ModelType != "" {
		r.json = append(append(append(r.json, `"modelType":"`...), c.ModelType...), '"')
	}
	for {
		child, err := r.child(name)
		if err != nil {
			return err
		}
		if child == nil {
			r.json = append(r.json, '}')
			return nil
		}
		i := c.Index(child.Name.Local)
		if i < 0 {
			return wrong("%s is not a member of %s", child.Name.Local, name)
		}
		m := c.Members[i]
		r.separate('{')
		r.json = append(append(append(r.json, '"'), m.Name...), '"', ':')
		if err := r.member(m); err != nil {
			return err
		}
	}
}

// separate appends a comma after an earlier member or entry.
func (r *reader) separate(first byte) {
	if r.json[len(r.json)-1] != first {
		r.json = append(r.json, ',')
	}
}

func (r *reader) member(m metamodel.Member) error {
	switch m.Form {
	case metamodel.Object:
		return r.object(m.Of[0])
	case metamodel.List:
		return r.list(m)
	case metamodel.One:
		return r.one(m)
	}
	text, err := r.text(m.Name)
	if err != nil {
		return err
	}
	switch m.Form {
	case metamodel.Boolean:
		switch strings.TrimSpace(text) {
		case "true", "1":
			text = "true"
		case "false", "0":
			text = "false"
		default:
			return wrong("%s must be true or false, not %q", m.Name, text)
		}
		r.json = append(r.json, text...)
		return nil
	case metamodel.Base64:
		text = strings.Join(strings.Fields(text), "")
	}
	r.json = appendString(r.json, text)
	return nil
}

func (r *reader) list(m metamodel.Member) error {
	r.json = append(r.json, '[')
	for {
		child, err := r.child(m.Name)
		if err != nil {
			return err
		}
		if child == nil {
			r.json = append(r.json, ']')
			return nil
		}
		r.separate('[')
		if err := r.entry(m, child.Name.Local); err != nil {
			return err
		}
	}
}

func (r *reader) entry(m metamodel.Member, name string) error {
	if !slices.Contains(m.Of, name) {
		return wrong("%s must not be in %s", name, m.Name)
	}
	return r.object(name)
}

// one reads the one element that a member has.
func (r *reader) one(m metamodel.Member) error {
	child, err := r.child(m.Name)
	if err != nil {
		return err
	}
	if child == nil {
		return wrong("%s is empty", m.Name)
	}
	if err := r.entry(m, child.Name.Local); err != nil {
		return err
	}
	if child, err = r.child(m.Name); err == nil && child != nil {
		err = wrong("%s has more than one element", m.Name)
	}
	return err
}

// text reads the text of an element.
func (r *reader) text(name string) (string, error) {
	var text []byte
	for {
		t, err := r.f.Token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.StartElement:
			return "", wrong("%s has the element %s where a text must be", name, t.Name.Local)
		case xml.EndElement:
			return string(text), nil
		case xml.CharData:
			text = append(text, t...)
		}
	}
}

func appendString(dst []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			quoted, _ := json.Marshal(text) // of a string there is no error
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), text...), '"')
}
