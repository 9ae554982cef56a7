package aas

// Divided is the JSON form of a submodel taken apart: it is Head, the elements with commas between them, and Tail.
type Divided struct {
	Head, Tail []byte
	Elements   []DividedElement
}

// DividedElement is an element at the top of a submodel.
type DividedElement struct {
	IDShort string
	JSON    []byte
}

// CountEntries returns how many entries all arrays of a valid JSON text have together, which [MaxEntries] bounds.
func CountEntries(text []byte) (n int) {
	s := scanner{text: text}
	var open []byte // the brackets around the position
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '"':
			i = s.str(i) - 1
		case '{':
			open = append(open, c)
		case '[':
			open = append(open, c)
			if next := s.space(i + 1); next < len(text) && text[next] != ']' {
				n++
			}
		case '}', ']':
			open = open[:max(len(open)-1, 0)]
		case ',':
			if len(open) > 0 && open[len(open)-1] == '[' {
				n++
			}
		}
	}
	return n
}

// Divide takes the JSON form of a submodel apart without decoding it. The parts are slices of the text, which must be
// one that [Append] has written. If it has no elements, ok is false.
func Divide(submodel []byte) (d Divided, ok bool) {
	s := scanner{text: submodel}
	array, _ := s.member(0, "submodelElements")
	end := -1
	s.entries(array, func(at int) bool {
		if d.Elements == nil {
			d.Head = submodel[:at:at]
		}
		end = s.end(at)
		d.Elements = append(d.Elements, DividedElement{IDShort: s.textOf(at, "idShort"), JSON: submodel[at:end:end]})
		return true
	})
	if end < 0 {
		return Divided{}, false
	}
	d.Tail = submodel[end:]
	return d, true
}
