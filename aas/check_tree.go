package aas

import "reflect"

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
