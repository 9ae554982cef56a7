package aas

import "slices"

// What a reader of metamodel 3.0 cannot read; see [View].

// omits reports whether what came after metamodel 3.0 is omitted, and counts it.
func (e *encoder) omits() bool {
	if e.view.Version != V30 {
		return false
	}
	e.count(1)
	return true
}

func (e *encoder) count(n int) {
	if e.view.Omitted != nil {
		*e.view.Omitted += n
	}
}

func (e *encoder) assetKind(kind AssetKind) AssetKind {
	if (kind == Role || kind == Batch) && e.omits() {
		return NotApplicable
	}
	return kind
}

func (e *encoder) contentType(contentType string) string {
	if contentType == "" && e.omits() {
		return "application/octet-stream"
	}
	return contentType
}

func (e *encoder) entityType(v *Entity) {
	t := v.EntityType
	if t == "" && e.omits() {
		if t = CoManagedEntity; v.GlobalAssetID != "" || len(v.SpecificAssetIDs) > 0 {
			t = SelfManagedEntity
		}
	}
	e.text(mEntityType, string(t))
}

// only returns the entries of list that are kept: all of them but for [V30].
func only[T any](e *encoder, list []T, keep func(*T) bool) []T {
	if e.view.Version != V30 || !slices.ContainsFunc(list, func(v T) bool { return !keep(&v) }) {
		return list
	}
	var kept []T
	for i := range list {
		if keep(&list[i]) {
			kept = append(kept, list[i])
		}
	}
	e.count(len(list) - len(kept))
	return kept
}

func (e *encoder) specificationsOf(list []EmbeddedDataSpecification) []EmbeddedDataSpecification {
	return only(e, list, func(s *EmbeddedDataSpecification) bool { return s.OtherContent == "" })
}

func (e *encoder) pairsOf(list []ValueReferencePair) []ValueReferencePair {
	return only(e, list, func(p *ValueReferencePair) bool { return p.ValueID != nil })
}

// elementsOf returns the elements that are kept: with indexed all or none.
func (e *encoder) elementsOf(list []Element, indexed bool) []Element {
	kept := only(e, list, func(v *Element) bool { return FitsV30(*v) })
	if indexed && len(kept) < len(list) {
		e.count(len(kept))
		return nil
	}
	return kept
}

// FitsV30 reports whether metamodel 3.0 has a form for an element, which may need other words or omit some of its
// content: see [View]. It has none for a relationship that lacks an end.
func FitsV30(element Element) bool {
	switch v := element.(type) {
	case *RelationshipElement:
		return v.First != nil && v.Second != nil
	case *AnnotatedRelationshipElement:
		return v.First != nil && v.Second != nil
	}
	return true
}
