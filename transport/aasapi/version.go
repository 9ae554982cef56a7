package aasapi

import (
	"fmt"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

// Version 3.0 of the API answers with what metamodel 3.0 can hold: its clients refuse documents with anything else, and
// a list with such a document as a whole. See [aas.View] for what is omitted.

// errNewerContent refuses to replace what the caller was not shown.
var errNewerContent = fault.New(fault.Conflict, "NEWER_METAMODEL",
	"what is stored has content that metamodel 3.0 has no form for and that this would erase: use /api/v3.1")

// oldVersion reports whether version 3.0 of the API was called.
func (c *call) oldVersion() bool { return strings.HasPrefix(c.r.URL.Path, prefixes[1]+"/") }

func (c *call) setVersion() {
	if c.oldVersion() {
		c.view.Version, c.view.Omitted = aas.V30, &c.omitted
	}
}

// warn marks the answer as incomplete.
func (c *call) warn() {
	if c.omitted > 0 {
		c.w.Header().Set("Warning", fmt.Sprintf(`299 - "%d parts that metamodel 3.0 has no form for are omitted or replaced; /api/v3.1 has them"`, c.omitted))
	}
}

// encoded appends v in the form that the version of the API has.
func encoded[T aas.Model](c *call, dst []byte, v *T) []byte {
	dst, omitted := aas.AppendVersion(dst, v, c.view.Version)
	c.omitted += omitted
	return dst
}

// stored appends a stored document in the form that the version of the API has.
func stored[T repository.Storable](c *call, dst []byte, d *repository.Document) ([]byte, error) {
	if !c.oldVersion() {
		return append(dst, d.JSON...), nil
	}
	v, err := aas.Decode[T](d.JSON)
	if err != nil {
		return dst, err
	}
	return encoded(c, dst, v), nil
}

// element appends an element with everything in it in the form that the version of the API has.
func (c *call) element(e aas.Element) []byte {
	return aas.AppendElementView(nil, e, aas.View{Extent: aas.WithBlobValue, Version: c.view.Version, Omitted: c.view.Omitted})
}

// shown reports whether the version of the API has a form for an element.
func (c *call) shown(e aas.Element) bool { return !c.oldVersion() || aas.FitsV30(e) }

// mayReplace refuses to replace a document of which version 3.0 shows only a part.
func mayReplace[T repository.Storable](c *call, r *repository.Repository[T], id string) error {
	if !c.oldVersion() {
		return nil
	}
	list, err := r.Documents(c.ctx(), id)
	if err != nil || len(list) == 0 {
		return err
	}
	v, err := aas.Decode[T](list[0].JSON)
	if err != nil {
		return nil //nolint:nilerr // what cannot be read was shown to nobody
	}
	return whole(v)
}

// whole refuses what version 3.0 shows only a part of.
func whole[T aas.Model](v *T) error {
	if _, omitted := aas.AppendVersion(nil, v, aas.V30); omitted > 0 {
		return errNewerContent
	}
	return nil
}

// mayReplaceElement is mayReplace for an element.
func (c *call) mayReplaceElement(id string, p aas.Path) error {
	if !c.oldVersion() {
		return nil
	}
	e, _, err := c.service.Element(c.ctx(), id, p)
	if err != nil {
		return nil //nolint:nilerr // there is nothing to replace
	}
	omitted := 0
	aas.AppendElementView(nil, e, aas.View{Extent: aas.WithBlobValue, Version: aas.V30, Omitted: &omitted})
	if omitted > 0 || !aas.FitsV30(e) {
		return errNewerContent
	}
	return nil
}
