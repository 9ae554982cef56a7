package aasapi

import (
	"net/http"
	"net/url"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

// hasValue reports whether a kind of element has a value form and metadata.
func hasValue(e aas.Element) bool {
	kind := e.ElementKind()
	return kind != aas.KindCapability && kind != aas.KindOperation
}

// hasPaths reports whether the path modifier applies to a kind of element.
func hasPaths(e aas.Element) bool {
	switch e.ElementKind() {
	case aas.KindCollection, aas.KindList, aas.KindEntity:
		return true
	}
	return false
}

// listElements answers with a page of the elements at the top of a submodel.
func listElements(want content) handler {
	return func(c *call) error {
		doc, err := c.submodelDocument()
		if err != nil {
			return err
		}
		s, err := aas.Decode[aas.Submodel](doc.JSON)
		if err != nil {
			return err
		}
		if want == pathContent {
			return c.listPaths(s)
		}
		listed := s.Elements
		from, to, next, err := c.slice("submodel-elements "+s.ID, len(listed), func(i int) string { return listed[i].Common().IDShort })
		if err != nil {
			return err
		}
		c.tag(doc.Version)
		l := newList(len(doc.JSON), next)
		if want == valueContent && !c.oldVersion() {
			l = newObject(len(doc.JSON), next)
		}
		for _, e := range listed[from:to] {
			if !c.shown(e) {
				c.omitted++
				continue
			}
			if err := c.appendListed(l, s, e, want); err != nil {
				return err
			}
		}
		return c.json(http.StatusOK, l.end())
	}
}

func (c *call) appendListed(l *list, s *aas.Submodel, e aas.Element, want content) error {
	switch want {
	case valueContent:
		if hasValue(e) {
			l.separate()
			if c.oldVersion() {
				l.buf = append(l.buf, '{')
			}
			l.buf = append(appendText(l.buf, e.Common().IDShort), ':')
			l.buf = aas.AppendElementValue(l.buf, e, c.view)
			if c.oldVersion() {
				l.buf = append(l.buf, '}')
			}
		}
	case referenceContent:
		ref, err := s.ReferenceTo(aas.Path{{IDShort: e.Common().IDShort}})
		if err != nil {
			return err
		}
		l.separate()
		l.buf = aas.Append(l.buf, &ref)
	case metadataContent:
		l.separate()
		l.buf = aas.AppendElementMetadata(l.buf, e, c.view)
	case normalContent:
		l.separate()
		l.buf = aas.AppendElementView(l.buf, e, c.view)
	}
	return nil
}

// listPaths answers with a page of the paths of a submodel's elements.
func (c *call) listPaths(s *aas.Submodel) error {
	var paths []string
	for _, e := range s.Elements {
		paths = append(paths, aas.ElementPaths(aas.Path{{IDShort: e.Common().IDShort}}, e, c.view.Level)...)
	}
	from, to, next, err := c.slice("paths "+s.ID, len(paths), func(i int) string { return paths[i] })
	if err != nil {
		return err
	}
	l := newList(4096, next)
	for _, path := range paths[from:to] {
		l.separate()
		l.buf = appendText(l.buf, path)
	}
	return c.json(http.StatusOK, l.end())
}

// target returns what an operation on an element is about.
func (c *call) target() (submodelID string, p aas.Path, err error) {
	if submodelID, err = c.submodelID(); err != nil {
		return "", nil, err
	}
	p, err = c.path()
	return submodelID, p, err
}

func getElement(want content) handler {
	return func(c *call) error {
		id, p, err := c.target()
		if err != nil {
			return err
		}
		if want == referenceContent {
			return c.elementReference(id, p)
		}
		e, version, err := c.service.Element(c.ctx(), id, p)
		if err != nil {
			return err
		}
		if !c.shown(e) {
			return aas.ErrElementNotFound.Because("metamodel 3.0 has no form for it: use /api/v3.1").On("idShortPath", p.String())
		}
		c.tag(version)
		var body []byte
		switch want {
		case metadataContent, valueContent:
			if !hasValue(e) {
				return invalid("idShortPath", "names a "+string(e.ElementKind())+", which has neither value nor metadata of its own")
			}
			if want == metadataContent {
				body = aas.AppendElementMetadata(nil, e, c.view)
			} else {
				body = aas.AppendElementValue(nil, e, c.view)
			}
		case pathContent:
			if !hasPaths(e) {
				return invalid("idShortPath", "names a "+string(e.ElementKind())+", which has no elements in it")
			}
			body = appendStrings(nil, aas.ElementPaths(p, e, c.view.Level))
		default:
			body = aas.AppendElementView(nil, e, c.view)
		}
		return c.json(http.StatusOK, body)
	}
}

func (c *call) elementReference(id string, p aas.Path) error {
	ref, version, err := c.service.ElementReference(c.ctx(), id, p)
	if err != nil {
		return err
	}
	c.tag(version)
	return c.json(http.StatusOK, aas.Append(nil, &ref))
}

// postElement adds an element at the top of a submodel or into the element at the path.
func postElement(c *call) error {
	id, err := c.submodelID()
	if err != nil {
		return err
	}
	var parent aas.Path
	inElement := c.has("idShortPath")
	if inElement {
		if parent, err = c.path(); err != nil {
			return err
		}
	}
	ofNew, match, err := c.matchForNew()
	if err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	e, err := aas.DecodeElement(body)
	if err != nil {
		return err
	}
	version, err := c.service.InsertElement(c.ctx(), id, parent, e, match)
	if err != nil {
		return unmatched(err, ofNew)
	}
	c.tag(version)
	location := c.below(url.PathEscape(e.Common().IDShort))
	if inElement {
		if location, err = c.locationIn(id, parent, e); err != nil {
			return err
		}
	}
	return c.created(location, c.element(e))
}

// locationIn returns the address of an element that was just added to another.
func (c *call) locationIn(id string, parent aas.Path, e aas.Element) (string, error) {
	container, _, err := c.service.Element(c.ctx(), id, parent)
	if err != nil {
		return "", err
	}
	if l, ok := container.(*aas.List); ok && len(l.Value) > 0 {
		return c.urlPath() + "%5B" + place(len(l.Value)-1) + "%5D", nil
	}
	return c.urlPath() + "." + url.PathEscape(e.Common().IDShort), nil
}

func putElement(c *call) error {
	id, p, err := c.target()
	if err != nil {
		return err
	}
	match, err := c.match()
	if err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	e, err := aas.DecodeElement(body)
	if err != nil {
		return err
	}
	if err := c.mayReplaceElement(id, p); err != nil {
		return err
	}
	version, created, err := c.service.PutElement(c.ctx(), id, p, e, match)
	if err != nil {
		return err
	}
	c.tag(version)
	if created {
		return c.created(c.urlPath(), c.element(e))
	}
	return c.noContent()
}

// changeElement makes a handler that changes an element by a body.
func changeElement(change func(e aas.Element, body []byte) error) handler {
	return func(c *call) error {
		id, p, err := c.target()
		if err != nil {
			return err
		}
		match, err := c.match()
		if err != nil {
			return err
		}
		body, err := c.body()
		if err != nil {
			return err
		}
		version, err := c.service.UpdateElement(c.ctx(), id, p, match, func(e aas.Element) (aas.Element, error) {
			before := e.Common().IDShort
			if err := change(e, body); err != nil {
				return nil, err
			}
			if e.Common().IDShort != before {
				return nil, invalid("idShort", "is not that of the path")
			}
			return e, nil
		})
		if err != nil {
			return err
		}
		c.tag(version)
		return c.noContent()
	}
}

var patchElementMetadata = changeElement(aas.ApplyElementMetadata)

// patchElement merges a body into an element. Values of live properties in it are written to their tags.
func patchElement(c *call) error {
	id, p, err := c.target()
	if err != nil {
		return err
	}
	return c.write(func(match repository.Match, body []byte) (uint64, error) {
		return c.service.PatchElement(c.ctx(), id, p, body, match)
	})
}

// setValue sets values by the value form. Live ones are written to their tags.
func (c *call) setValue(id string, p aas.Path) error {
	return c.write(func(match repository.Match, body []byte) (uint64, error) {
		return c.service.SetValue(c.ctx(), id, p, body, match)
	})
}

// write makes a change by the body of the request and answers with the version that it returns.
func (c *call) write(change func(repository.Match, []byte) (uint64, error)) error {
	match, err := c.match()
	if err != nil {
		return err
	}
	body, err := c.body()
	if err != nil {
		return err
	}
	version, err := change(match, body)
	if err != nil {
		return err
	}
	c.tag(version)
	return c.noContent()
}

func patchElementValue(c *call) error {
	id, p, err := c.target()
	if err != nil {
		return err
	}
	return c.setValue(id, p)
}

func patchSubmodelValue(c *call) error {
	id, err := c.submodelID()
	if err != nil {
		return err
	}
	return c.setValue(id, nil)
}

func deleteElement(c *call) error {
	id, p, err := c.target()
	if err != nil {
		return err
	}
	match, err := c.match()
	if err != nil {
		return err
	}
	version, err := c.service.DeleteElement(c.ctx(), id, p, match)
	if err != nil {
		return err
	}
	c.tag(version)
	return c.noContent()
}
