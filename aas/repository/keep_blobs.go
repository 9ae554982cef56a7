package repository

import "github.com/otkit/otkit/aas"

// keepBlobs returns v with the stored values of its Blobs that came without one; see [aas.KeepBlobs].
func (r *Repository[T]) keepBlobs(old *Document, v *T) (*T, error) {
	next, ok := any(v).(*aas.Submodel)
	if !ok || old == nil || !aas.LacksBlobs(next.Elements) {
		return v, nil
	}
	before, err := r.s.Submodels.decode(*old)
	if err != nil {
		return v, nil //nolint:nilerr // a damaged document has nothing to keep
	}
	filled, err := aas.KeepBlobs(before, next)
	if err != nil {
		return nil, err
	}
	return any(filled).(*T), nil
}

// keepBlobsOf is keepBlobs for an element that takes the place of the one at p.
func keepBlobsOf(m *aas.Submodel, p aas.Path, e aas.Element) (aas.Element, error) {
	if !aas.LacksBlobs([]aas.Element{e}) {
		return e, nil
	}
	before, err := m.Element(p)
	if err != nil {
		return e, nil //nolint:nilerr // a new element has nothing to keep
	}
	return aas.KeepElementBlobs(before, e)
}
