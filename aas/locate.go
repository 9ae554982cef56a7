package aas

import (
	"bytes"
	"encoding/json"
)

// Located is where an element is in the JSON form of a submodel.
type Located struct {
	From, To int // the element is text[From:To]
	Head     int // the members of the submodel before its elements are text[:Head], without a closing brace
}

// Locate finds the element at a path in the JSON form of a submodel without decoding the rest of it. The text must be
// one that [Append] has written; in another one Locate may fail. The error is ErrElementNotFound.
func Locate(submodel []byte, p Path) (Located, error) {
	s := scanner{text: submodel}
	missing := ErrElementNotFound.On("idShortPath", p.String())
	elements, head := s.member(0, "submodelElements")
	if len(p) == 0 || elements < 0 || p[0].IDShort == "" {
		return Located{}, missing
	}
	at := s.named(elements, p[0].IDShort, false)
	for _, step := range p[1:] {
		if at < 0 {
			break
		}
		at = s.child(at, step)
	}
	if at < 0 {
		return Located{}, missing
	}
	return Located{From: at, To: s.end(at), Head: head}, nil
}

// DecodeHead decodes the members of a submodel that are before its elements; see [Located].
func DecodeHead(submodel []byte, l Located) (*Submodel, error) {
	return Decode[Submodel](append(append(make([]byte, 0, l.Head+1), submodel[:l.Head]...), '}'))
}

// scanner finds its way in JSON that is known to be valid. Positions are -1 for what is not there.
type scanner struct{ text []byte }

// space returns the position of the next byte that is not white space.
func (s *scanner) space(at int) int {
	for at < len(s.text) {
		switch s.text[at] {
		case ' ', '\n', '\r', '\t':
			at++
		default:
			return at
		}
	}
	return len(s.text)
}

// str returns where the string ends that begins at a position.
func (s *scanner) str(at int) int {
	for i := at + 1; i < len(s.text); {
		quote := bytes.IndexByte(s.text[i:], '"')
		if quote < 0 {
			break
		}
		i += quote
		escapes := 0
		for s.text[i-1-escapes] == '\\' {
			escapes++
		}
		if i++; escapes%2 == 0 {
			return i
		}
	}
	return len(s.text)
}

// end returns where the value ends that begins at a position.
func (s *scanner) end(at int) int {
	depth := 0
	for i := at; i < len(s.text); {
		switch s.text[i] {
		case '"':
			if i = s.str(i); depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return len(s.text)
}

// member returns the position of the value of a member of the object at a position, and the end of the member before it.
func (s *scanner) member(object int, name string) (value, before int) {
	before = s.space(object) + 1
	if before > len(s.text) || s.text[before-1] != '{' {
		return -1, 0
	}
	for at := before; at < len(s.text); {
		if at = s.space(at); at == len(s.text) || s.text[at] != '"' {
			break
		}
		end := s.str(at)
		value := s.space(s.space(end) + 1)
		if string(s.text[at+1:max(end-1, at+1)]) == name {
			return value, before
		}
		if before = s.space(s.end(value)); before >= len(s.text) || s.text[before] != ',' {
			break
		}
		at = before + 1
	}
	return -1, 0
}

// text of the string member of an object, empty when it is not there.
func (s *scanner) textOf(object int, name string) string {
	at, _ := s.member(object, name)
	if at < 0 || at >= len(s.text) || s.text[at] != '"' {
		return ""
	}
	raw := s.text[at:s.end(at)]
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// entries calls fn with the position of each entry of the array at a position until fn returns false.
func (s *scanner) entries(array int, fn func(at int) bool) {
	if array < 0 || array >= len(s.text) || s.text[array] != '[' {
		return
	}
	for at := s.space(array + 1); at < len(s.text) && s.text[at] != ']'; {
		if !fn(at) {
			return
		}
		if at = s.space(s.end(at)); at < len(s.text) && s.text[at] == ',' {
			at = s.space(at + 1)
		}
	}
}

// named returns the position of the element with an idShort in an array of elements or of operation variables.
func (s *scanner) named(array int, idShort string, variables bool) int {
	found := -1
	s.entries(array, func(at int) bool {
		if variables {
			at, _ = s.member(at, "value")
		}
		if at >= 0 && s.textOf(at, "idShort") == idShort {
			found = at
		}
		return found < 0
	})
	return found
}

// child returns the position of a child of the element at a position.
func (s *scanner) child(parent int, step PathStep) int {
	kind := ElementKind(s.textOf(parent, "modelType"))
	e := newElement(kind)
	if e == nil || (kind == KindList) != (step.IDShort == "") {
		return -1
	}
	members := containerMembers(e)
	if kind == KindList {
		array, _ := s.member(parent, members[0])
		found, index := -1, 0
		s.entries(array, func(at int) bool {
			if index == step.Index {
				found = at
			}
			index++
			return found < 0
		})
		return found
	}
	for i, children := range containers(e) {
		if children == nil {
			continue
		}
		array, _ := s.member(parent, members[i])
		if at := s.named(array, step.IDShort, kind == KindOperation); at >= 0 {
			return at
		}
	}
	return -1
}
