package aasapi

import (
	"log/slog"
	"net/http"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/transport/problem"
)

// resource serves the documents of one kind by their ids.
type resource[T aas.Kept] struct {
	param      string // the member of the path with the id
	repository func(*aas.Service) *aas.Repository[T]
	id         func(*T) *string
}

var (
	shells = resource[aas.Shell]{"aasIdentifier",
		func(s *aas.Service) *aas.Repository[aas.Shell] { return s.Shells },
		func(v *aas.Shell) *string { return &v.ID }}
	submodels = resource[aas.Submodel]{"submodelIdentifier",
		func(s *aas.Service) *aas.Repository[aas.Submodel] { return s.Submodels },
		func(v *aas.Submodel) *string { return &v.ID }}
	concepts = resource[aas.ConceptDescription]{"cdIdentifier",
		func(s *aas.Service) *aas.Repository[aas.ConceptDescription] { return s.Concepts },
		func(v *aas.ConceptDescription) *string { return &v.ID }}
	shellDescriptors = resource[aas.ShellDescriptor]{"aasIdentifier",
		func(s *aas.Service) *aas.Repository[aas.ShellDescriptor] { return s.ShellDescriptors },
		func(v *aas.ShellDescriptor) *string { return &v.ID }}
	submodelDescriptors = resource[aas.SubmodelDescriptor]{"submodelIdentifier",
		func(s *aas.Service) *aas.Repository[aas.SubmodelDescriptor] { return s.SubmodelDescriptors },
		func(v *aas.SubmodelDescriptor) *string { return &v.ID }}
)

// document gives what the path names, as it is stored.
func (s resource[T]) document(c *call) (aas.Document, error) {
	id, err := c.id(s.param)
	if err != nil {
		return aas.Document{}, err
	}
	return s.repository(c.service).Document(c.ctx(), id)
}

func (s resource[T]) get(c *call) error {
	doc, err := s.document(c)
	if err != nil || c.unchanged(doc) {
		return err
	}
	return c.json(http.StatusOK, doc.JSON)
}

func (s resource[T]) post(c *call) error {
	body, err := c.body()
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
	c.tag(doc.Version)
	return c.created(c.below(encodeID(doc.ID)), doc.JSON)
}

// sent reads a document whose id is in the path; a body that names another is refused.
func (s resource[T]) sent(c *call, id string) (*T, error) {
	body, err := c.body()
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
	doc, created, err := s.repository(c.service).Put(c.ctx(), v, match)
	if err != nil {
		return unmatched(err, match)
	}
	c.tag(doc.Version)
	if created {
		return c.created(c.urlPath(), doc.JSON)
	}
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

// page selects a page of the documents. The caller has set its conditions in q.
func (s resource[T]) page(c *call, q aas.Query) (aas.Page, error) {
	limit, err := c.limit()
	if err != nil {
		return aas.Page{}, err
	}
	if q.After, err = c.cursor(s.param); err != nil {
		return aas.Page{}, err
	}
	q.Limit, q.IDShort, q.MaxBytes = limit, c.query.Get("idShort"), pageBytes
	return s.repository(c.service).Find(c.ctx(), q)
}

// next gives the cursor of the page after this one, empty when there is none.
func (s resource[T]) next(p aas.Page) string {
	if !p.More || len(p.Documents) == 0 {
		return ""
	}
	return encodeCursor(s.param, p.Documents[len(p.Documents)-1].ID)
}

// list answers with a page of the documents. entry appends one; nil stands for the stored form. A
// document that cannot be read is left out, so that the others can.
func (s resource[T]) list(c *call, q aas.Query, entry func(dst []byte, d *aas.Document) ([]byte, error)) error {
	p, err := s.page(c, q)
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
			l.buf = append(l.buf, p.Documents[i].JSON...)
		} else if l.buf, err = entry(l.buf, &p.Documents[i]); err != nil {
			problem.Report(c.ctx(), err, slog.String("id", p.Documents[i].ID))
			*l = before
		}
	}
	return c.json(http.StatusOK, l.end())
}

// unmatched gives the error of a condition on what was to be put that did not hold.
func unmatched(err error, match aas.Match) error {
	switch kind := fault.KindOf(err); {
	case match.Absent && kind == fault.AlreadyExists:
		return aas.ErrCondition.Because("there is one already").Wrap(err)
	case (match.Exists || match.Version != 0) && kind == fault.NotFound:
		return aas.ErrCondition.Because("there is none").Wrap(err)
	}
	return err
}
