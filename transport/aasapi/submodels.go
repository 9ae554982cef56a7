package aasapi

import (
	"bytes"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/transport/problem"
)

// content is what is asked of a submodel or an element: the serialisation modifiers of the standard.
type content uint8

const (
	normalContent content = iota
	metadataContent
	valueContent
	referenceContent
	pathContent
)

// asStored says whether the stored form is what is asked for. Our encoder writes the kind of an
// element always in this way, and within a text the quotes would be escaped.
func (c *call) asStored(d *aas.Document) bool {
	return c.view.Level == aas.Deep &&
		(c.view.Extent == aas.WithBlobValue || !bytes.Contains(d.JSON, []byte(`"modelType":"Blob"`)))
}

// appendSubmodel appends a submodel in the form that was asked for.
func (c *call) appendSubmodel(dst []byte, d *aas.Document, want content) ([]byte, error) {
	switch {
	case want == referenceContent:
		return appendReference(dst, aas.KeySubmodel, d.ID), nil
	case want == normalContent && c.asStored(d):
		return append(dst, d.JSON...), nil
	}
	s, err := aas.Decode[aas.Submodel](d.JSON)
	if err != nil {
		return dst, err
	}
	switch want {
	case metadataContent:
		return aas.AppendMetadata(dst, s), nil
	case valueContent:
		return aas.AppendValue(dst, s, c.view), nil
	case pathContent:
		return appendStrings(dst, s.Paths(c.view.Level)), nil
	}
	return aas.AppendView(dst, s, c.view), nil
}

func listSubmodels(want content) handler {
	return func(c *call) error {
		semanticID, err := c.semantic("semanticId")
		if err != nil {
			return err
		}
		q := aas.Query{WithoutJSON: want == referenceContent}
		if semanticID != "" {
			q.Terms = []aas.Term{aas.SemanticTerm(semanticID)}
		}
		if want == pathContent {
			return listSubmodelPaths(c, q)
		}
		return submodels.list(c, q, func(dst []byte, d *aas.Document) ([]byte, error) {
			return c.appendSubmodel(dst, d, want)
		})
	}
}

// listSubmodelPaths answers with one list of the paths of all submodels. A limit counts paths, so that
// a page may begin within a submodel: the cursor holds how many of its paths were given, and the id of
// the submodel before it.
func listSubmodelPaths(c *call, q aas.Query) error {
	const list = "submodel-paths"
	limit, err := c.limit()
	if err != nil {
		return err
	}
	last, err := c.cursor(list)
	if err != nil {
		return err
	}
	skip := 0
	if last != "" {
		number, before, _ := strings.Cut(last, " ")
		if skip, err = strconv.Atoi(number); err != nil || skip < 0 {
			return invalid("cursor", "is none that was given out")
		}
		q.After = before
	}
	q.Limit, q.IDShort, q.MaxBytes = min(limit, c.opts.PageSize), c.query.Get("idShort"), pageBytes
	var paths []string
	next := ""
	for read := 0; next == ""; {
		p, err := c.service.Submodels.Find(c.ctx(), q)
		if err != nil {
			return err
		}
		for i := range p.Documents {
			s, err := aas.Decode[aas.Submodel](p.Documents[i].JSON)
			if err != nil {
				problem.Report(c.ctx(), err, slog.String("id", p.Documents[i].ID))
				skip, q.After = 0, p.Documents[i].ID
				continue
			}
			of := s.Paths(c.view.Level)
			of = of[min(skip, len(of)):]
			if room := limit - len(paths); len(of) > room {
				paths = append(paths, of[:room]...)
				next = encodeCursor(list, strconv.Itoa(skip+room)+" "+q.After)
				break
			}
			paths, skip, q.After = append(paths, of...), 0, s.ID
		}
		if !p.More || next != "" {
			break
		}
		// Submodels without elements fill no page, and are not to keep a request busy for long.
		if read += len(p.Documents); len(paths) == limit || read >= c.opts.MaxPageSize {
			next = encodeCursor(list, "0 "+q.After)
		}
	}
	l := newList(4096, next)
	for _, path := range paths {
		l.separate()
		l.buf = appendText(l.buf, path)
	}
	return c.json(http.StatusOK, l.end())
}

// throughShell says whether the submodel was asked for below a shell.
func (c *call) throughShell() (shellID string, yes bool, err error) {
	if _, yes = c.has("aasIdentifier"); !yes {
		return "", false, nil
	}
	shellID, err = c.id("aasIdentifier")
	return shellID, true, err
}

// submodelID gives the id of the path's submodel. Below a shell the shell must refer to it.
func (c *call) submodelID() (string, error) {
	shellID, through, err := c.throughShell()
	if err != nil {
		return "", err
	}
	id, err := c.id("submodelIdentifier")
	if err != nil || !through {
		return id, err
	}
	shell, err := c.service.Shells.Get(c.ctx(), shellID)
	if err != nil {
		return "", err
	}
	if !refersTo(shell, id) {
		return "", errNotReferenced.On("submodel", id)
	}
	return id, nil
}

func (c *call) submodelDocument() (aas.Document, error) {
	id, err := c.submodelID()
	if err != nil {
		return aas.Document{}, err
	}
	return c.service.Submodels.Document(c.ctx(), id)
}

func getSubmodel(want content) handler {
	return func(c *call) error {
		doc, err := c.submodelDocument()
		if err != nil || c.unchanged(doc) {
			return err
		}
		if want == normalContent && c.asStored(&doc) {
			return c.json(http.StatusOK, doc.JSON)
		}
		body, err := c.appendSubmodel(nil, &doc, want)
		if err != nil {
			return err
		}
		return c.json(http.StatusOK, body)
	}
}

// putSubmodel replaces or creates a submodel. Below a shell it is 204 in both cases, as the official
// document has it.
func putSubmodel(c *call) error {
	if _, through := c.has("aasIdentifier"); !through {
		return submodels.put(c)
	}
	id, err := c.submodelID()
	if err != nil {
		return err
	}
	s, err := submodels.sent(c, id)
	if err != nil {
		return err
	}
	match, err := c.match()
	if err != nil {
		return err
	}
	doc, _, err := c.service.Submodels.Put(c.ctx(), s, match)
	if err != nil {
		return unmatched(err, match)
	}
	c.tag(doc.Version)
	return c.noContent()
}

// deleteSubmodel deletes a submodel; below a shell the shell's reference goes with it.
func deleteSubmodel(c *call) error {
	id, err := c.submodelID()
	if err != nil {
		return err
	}
	match, err := c.match()
	if err != nil {
		return err
	}
	if err := c.service.Submodels.Delete(c.ctx(), id, match); err != nil {
		return err
	}
	if shellID, through, _ := c.throughShell(); through {
		_, err := c.service.Shells.Update(c.ctx(), shellID, aas.Match{}, func(s *aas.Shell) error {
			s.Submodels = slices.DeleteFunc(s.Submodels, func(r aas.Reference) bool { return submodelOf(r) == id })
			return nil
		})
		if err != nil {
			return err
		}
	}
	return c.noContent()
}

// changeSubmodel makes a handler that changes a submodel by a body.
func changeSubmodel(change func(s *aas.Submodel, body []byte) error) handler {
	return func(c *call) error {
		id, err := c.submodelID()
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
		doc, err := c.service.Submodels.Update(c.ctx(), id, match, func(s *aas.Submodel) error {
			if err := change(s, body); err != nil {
				return err
			}
			if s.ID != id {
				return invalid("id", "is another than that of the path")
			}
			return nil
		})
		if err != nil {
			return err
		}
		c.tag(doc.Version)
		return c.noContent()
	}
}

var patchSubmodelMetadata = changeSubmodel(aas.ApplyMetadata)

// patchSubmodel merges a body into a submodel. Values of live properties in it are written to their tags.
func patchSubmodel(c *call) error {
	id, err := c.submodelID()
	if err != nil {
		return err
	}
	return c.write(func(match aas.Match, body []byte) (uint64, error) {
		return c.service.PatchSubmodel(c.ctx(), id, body, match)
	})
}
