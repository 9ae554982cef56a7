package aasapi

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem"
)

// resource serves the documents of one kind by their ids.
type resource[T repository.Storable] struct {
	param      string // the member of the path with the id
	repository func(*repository.Service) *repository.Repository[T]
	id         func(*T) *string
}

var (
	shells = resource[aas.Shell]{"aasIdentifier",
		func(s *repository.Service) *repository.Repository[aas.Shell] { return s.Shells },
		func(v *aas.Shell) *string { return &v.ID }}
	submodels = resource[aas.Submodel]{"submodelIdentifier",
		func(s *repository.Service) *repository.Repository[aas.Submodel] { return s.Submodels },
		func(v *aas.Submodel) *string { return &v.ID }}
	concepts = resource[aas.ConceptDescription]{"cdIdentifier",
		func(s *repository.Service) *repository.Repository[aas.ConceptDescription] { return s.Concepts },
		func(v *aas.ConceptDescription) *string { return &v.ID }}
	shellDescriptors = resource[aas.ShellDescriptor]{"aasIdentifier",
		func(s *repository.Service) *repository.Repository[aas.ShellDescriptor] { return s.ShellDescriptors },
		func(v *aas.ShellDescriptor) *string { return &v.ID }}
	submodelDescriptors = resource[aas.SubmodelDescriptor]{"submodelIdentifier",
		func(s *repository.Service) *repository.Repository[aas.SubmodelDescriptor] {
			return s.SubmodelDescriptors
		},
		func(v *aas.SubmodelDescriptor) *string { return &v.ID }}
)

// document returns what the path names, as it is stored.
func (s resource[T]) document(c *call) (repository.Document, error) {
	id, err := c.id(s.param)
	if err != nil {
		return repository.Document{}, err
	}
	return s.repository(c.service).Document(c.ctx(), id)
}

func (s resource[T]) get(c *call) error {
	doc, err := s.document(c)
	if err != nil || c.unchanged(doc) {
		return err
	}
	return s.answer(c, &doc)
}

// answer answers with a document in the form that the version of the API has.
func (s resource[T]) answer(c *call, d *repository.Document) error {
	body := d.JSON
	if c.oldVersion() {
		var err error
		if body, err = stored[T](c, nil, d); err != nil {
			return err
		}
	}
	return c.json(http.StatusOK, body)
}

func (s resource[T]) post(c *call) error {
	body, err := c.document()
	if err != nil {
		return err
	}
	v, err := aas.Decode[T](body)
	if err != nil {
		return err
	}
	if *s.id(v) == "" {
		return invalid("id", "is required")
	}
	doc, err := s.repository(c.service).Create(c.ctx(), v)
	if err != nil {
		return err
	}
	return s.created(c, c.below(encodeID(doc.ID)), &doc)
}

// created answers 201 with a new document.
func (s resource[T]) created(c *call, location string, d *repository.Document) error {
	c.tag(d.Version)
	body, err := stored[T](c, nil, d)
	if err != nil {
		return err
	}
	return c.created(location, body)
}

// sent reads a document whose id is in the path; a body that names another is refused.
func (s resource[T]) sent(c *call, id string) (*T, error) {
	body, err := c.document()
	if err != nil {
		return nil, err
	}
	v, err := aas.Decode[T](body)
	if err != nil {
		return nil, err
	}
	switch at := s.id(v); *at {
	case "":
		*at = id
	case id:
	default:
		return nil, invalid("id", "is another than that of the path")
	}
	return v, nil
}

func (s resource[T]) put(c *call) error {
	id, err := c.id(s.param)
	if err != nil {
		return err
	}
	v, err := s.sent(c, id)
	if err != nil {
		return err
	}
	match, err := c.match()
	if err != nil {
		return err
	}
	if err := mayReplace(c, s.repository(c.service), id); err != nil {
		return err
	}
	doc, created, err := s.repository(c.service).Put(c.ctx(), v, match)
	if err != nil {
		return unmatched(err, match)
	}
	if created {
		return s.created(c, c.urlPath(), &doc)
	}
	c.tag(doc.Version)
	return c.noContent()
}

func (s resource[T]) delete(c *call) error {
	id, err := c.id(s.param)
	if err != nil {
		return err
	}
	match, err := c.match()
	if err != nil {
		return err
	}
	if err := s.repository(c.service).Delete(c.ctx(), id, match); err != nil {
		return err
	}
	return c.noContent()
}

// pageBytes is from how many bytes of documents on a page ends before its limit.
const pageBytes = 16 << 20

// find selects a page of documents.
type find func(context.Context, repository.Query) (repository.Page, error)

// page selects a page of the documents. The caller has set its conditions in q.
func (s resource[T]) page(c *call, q repository.Query, find find) (repository.Page, error) {
	limit, err := c.limit()
	if err != nil {
		return repository.Page{}, err
	}
	if q.After, err = c.cursor(s.param); err != nil {
		return repository.Page{}, err
	}
	q.Limit, q.IDShort, q.MaxBytes = limit, c.query.Get("idShort"), pageBytes
	return find(c.ctx(), q)
}

// next returns the cursor of the page after this one, empty when there is none.
func (s resource[T]) next(p repository.Page) string {
	if !p.More || len(p.Documents) == 0 {
		return ""
	}
	return encodeCursor(s.param, p.Documents[len(p.Documents)-1].ID)
}

// list answers with a page of the documents. entry appends one; nil stands for the stored form. A
// document that cannot be read is omitted, so that the others can.
func (s resource[T]) list(c *call, q repository.Query, entry func(dst []byte, d *repository.Document) ([]byte, error)) error {
	return s.listFound(c, q, s.repository(c.service).Find, entry)
}

// listFound is list for what find selects.
func (s resource[T]) listFound(c *call, q repository.Query, find find, entry func(dst []byte, d *repository.Document) ([]byte, error)) error {
	p, err := s.page(c, q, find)
	if err != nil {
		return err
	}
	size := 64
	for i := range p.Documents {
		size += len(p.Documents[i].JSON) + 1
	}
	l := newList(size, s.next(p))
	for i := range p.Documents {
		before := *l
		l.separate()
		if entry == nil {
			l.buf, err = stored[T](c, l.buf, &p.Documents[i])
		} else {
			l.buf, err = entry(l.buf, &p.Documents[i])
		}
		if err != nil {
			problem.Report(c.ctx(), err, slog.String("id", p.Documents[i].ID))
			*l = before
		}
	}
	return c.json(http.StatusOK, l.end())
}

// unmatched returns the error of a condition on what was to be put that did not hold.
func unmatched(err error, match repository.Match) error {
	switch kind := fault.KindOf(err); {
	case match.Absent && kind == fault.AlreadyExists:
		return repository.ErrPreconditionFailed.Because("there is one already").Wrap(err)
	case (match.Exists || match.Version != 0) && kind == fault.NotFound:
		return repository.ErrPreconditionFailed.Because("there is none").Wrap(err)
	}
	return err
}
