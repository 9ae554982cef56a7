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
