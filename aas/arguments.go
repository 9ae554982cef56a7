package aas

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
