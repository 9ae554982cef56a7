package aas

import "reflect"

// whole refuses what only Go code can make and nothing here can go through: nil where a document or an
// element has to be, and elements that are nested too deeply.
func whole(v any) error {
	if v == nil || reflect.ValueOf(v).IsNil() {
		return ErrInvalidRequest.Because("there is no document or element")
	}
	var path, rule string
	switch v := v.(type) {
	case *Submodel:
		path, rule = wholeElements("submodelElements", v.Elements, 1)
	case Element:
		path, rule = wholeElement(v, 1)
	}
	if rule == "" {
		return nil
	}
	return invalid(path, rule)
}

func isNil(e Element) bool { return e == nil || reflect.ValueOf(e).IsNil() }

func wholeElements(member string, list []Element, depth int) (path, rule string) {
	for i, e := range list {
		if path, rule = wholeElement(e, depth); rule == "" {
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

func wholeElement(e Element, depth int) (path, rule string) {
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
		if path, rule = wholeElements(members[i], *children, depth+1); rule != "" {
			return path, rule
		}
	}
	return "", ""
}
