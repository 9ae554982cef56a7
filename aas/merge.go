package aas

// MergeSubmodel changes s as PATCH of the normal content does: a member that is in the patch replaces
// the one of s, and submodelElements are merged, by idShort and in lists by index, into elements of the
// same kind that exist. The id cannot change. When it fails, with ErrInvalidRequest or
// ErrElementNotFound, s is as before.
func MergeSubmodel(s *Submodel, patch []byte) error {
	return patchSubmodel(s, patch, decoder{merging: true})
}

// MergeElement is [MergeSubmodel] for one element, whose kind and idShort cannot change.
func MergeElement(element Element, patch []byte) error {
	return patchElement(element, patch, decoder{merging: true})
}

// MergeSubmodelInPlace is [MergeSubmodel] without the copy that makes all changes or none: elements stay the same
// ones, and after an error s may have some of the changes.
func MergeSubmodelInPlace(s *Submodel, patch []byte) error {
	d := decoder{merging: true}
	return d.decode(patch, func(d *decoder) { d.readSubmodel(s) })
}

// MergeElementInPlace is [MergeSubmodelInPlace] for one element.
func MergeElementInPlace(element Element, patch []byte) error {
	d := decoder{merging: true}
	return d.decode(patch, func(d *decoder) { d.fill(element) })
}

// ApplyMetadata changes s as PATCH of $metadata does: as [MergeSubmodel], and what is not part of
// $metadata is ignored, so that no value changes.
func ApplyMetadata(s *Submodel, metadata []byte) error {
	return patchSubmodel(s, metadata, decoder{merging: true, metadataOnly: true})
}

// ApplyElementMetadata is [ApplyMetadata] for one element.
func ApplyElementMetadata(element Element, metadata []byte) error {
	return patchElement(element, metadata, decoder{merging: true, metadataOnly: true})
}

func patchSubmodel(s *Submodel, patch []byte, d decoder) error {
	changed := *s
	changed.Elements = copyElements(s.Elements)
	if err := d.decode(patch, func(d *decoder) { d.readSubmodel(&changed) }); err != nil {
		return err
	}
	*s = changed
	return nil
}

func patchElement(element Element, patch []byte, d decoder) error {
	changed := copyElement(element)
	if err := d.decode(patch, func(d *decoder) { d.fill(changed) }); err != nil {
		return err
	}
	assign(element, changed)
	return nil
}

// mergeNamed merges an array of elements into those of the same idShort.
func (d *decoder) mergeNamed(elements []Element) {
	existing := finder{elements: elements}
	for ok := d.openArray(); ok; ok = d.nextItem() {
		if d.peek() != '{' {
			d.fail("must be an object")
			return
		}
		name := d.look().idShort
		if d.err != nil {
			return
		}
		if name == "" {
			d.failAt(mIDShort, "is required")
			return
		}
		element, ok := existing.find(name)
		if !ok {
			d.err = ErrElementNotFound.On("idShortPath", d.where()+" "+name)
			return
		}
		d.fill(element)
	}
}

// mergeIndexed merges an array of elements into those at the same index.
func (d *decoder) mergeIndexed(elements []Element) {
	i := 0
	for ok := d.openArray(); ok; ok = d.nextItem() {
		if i >= len(elements) {
			d.err = ErrElementNotFound.On("idShortPath", d.where())
			return
		}
		d.fill(elements[i])
		i++
	}
}
