package aasapi

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/transport/problem"
)

// content is what is asked of a submodel or an element: the serialization modifiers of the standard.
type content uint8

const (
	normalContent content = iota
	metadataContent
	valueContent
	referenceContent
	pathContent
)

// asStored reports whether the stored form is what is asked for. Our encoder writes the kind of an
// element always in this way, and within a text the quotes would be escaped.
func (c *call) asStored(d *repository.Document) bool {
	return c.view.Level == aas.Deep && !c.oldVersion() &&
		(c.view.Extent == aas.WithBlobValue || !bytes.Contains(d.JSON, []byte(`"modelType":"Blob"`)))
}

// appendSubmodel appends a submodel in the form that was asked for.
func (c *call) appendSubmodel(dst []byte, d *repository.Document, want content) ([]byte, error) {
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
		return aas.AppendMetadata(dst, s, c.view), nil
	case valueContent:
		return aas.AppendValue(dst, s, c.view), nil
	case pathContent:
		return appendStrings(dst, s.Paths(c.view.Level)), nil
	}
	return aas.AppendView(dst, s, c.view), nil
}

func listSubmodels(want content) handler {
	return func(c *call) error {
		meant, err := c.reference("semanticId")
		if err != nil {
			return err
		}
		q, find := repository.Query{WithoutJSON: want == referenceContent}, c.service.Submodels.Find
		if meant != nil {
			q.Terms = []repository.Term{repository.SemanticTerm(meant.Keys[0].Value)}
			find = func(ctx context.Context, q repository.Query) (repository.Page, error) {
				return c.service.Submodels.FindWhere(ctx, q, means(meant))
			}
		}
		if want == pathContent {
			return listSubmodelPaths(c, q, find)
		}
		return submodels.listFound(c, q, find, func(dst []byte, d *repository.Document) ([]byte, error) {
			return c.appendSubmodel(dst, d, want)
		})
	}
}

// means returns a filter for the submodels whose semantic id is a reference, as a whole. One that was given as
// a bare value has no type, and is any reference with that one key.
func means(meant *aas.Reference) func(*repository.Document) bool {
	return func(d *repository.Document) bool {
		s, err := aas.DecodeMetadata(d.JSON)
		if err != nil || s.SemanticID == nil {
			return false
		}
		if meant.Type == "" {
			return len(s.SemanticID.Keys) == 1 && s.SemanticID.Keys[0].Value == meant.Keys[0].Value
		}
		return meant.Matches(s.SemanticID)
	}
}

// listSubmodelPaths answers with one list of the paths of all submodels. A limit counts paths, so that
// a page may end within a submodel: the cursor holds the id of the last submodel and, where not all of
// its paths were given, the last one that was.
func listSubmodelPaths(c *call, q repository.Query, find find) error {
	const list = "submodel-paths"
	limit, err := c.limit()
	if err != nil {
		return err
	}
	last, err := c.cursor(list)
	if err != nil {
		return err
	}
	q.Limit, q.IDShort, q.MaxBytes = min(limit, c.opts.PageSize), c.query.Get("idShort"), pageBytes
	page := pathPage{call: c, room: limit, place: last}
	id, path, partly := strings.Cut(last, "\x00") // which no id has
	if q.After = id; partly {
		begun, err := c.service.Submodels.Documents(c.ctx(), id)
		if err != nil {
			return err
		}
		for i := range begun { // one, or none when it is gone
			page.addAfter(&begun[i], path)
		}
	}
	for read := 0; !page.full; {
		p, err := find(c.ctx(), q)
		if err != nil {
			return err
		}
		for i := 0; i < len(p.Documents) && !page.full; i++ {
			q.After = p.Documents[i].ID
			page.add(&p.Documents[i])
		}
		if !p.More {
			break
		}
		// Submodels without elements fill no page, and are not to keep a request busy for long.
		read += len(p.Documents)
		page.full = page.full || page.room == 0 || read >= c.opts.MaxPageSize
	}
	next := ""
	if page.full {
		next = encodeCursor(list, page.place)
	}
	l := newList(4096, next)
	for _, path := range page.paths {
		l.separate()
		l.buf = appendText(l.buf, path)
	}
	return c.json(http.StatusOK, l.end())
}

// pathPage gathers a page of paths.
type pathPage struct {
	call  *call
	room  int
	paths []string
	place string // what a cursor holds for all that was gathered
	full  bool   // there is more than has room
}

// add adds the paths of a submodel.
func (p *pathPage) add(d *repository.Document) { p.addFrom(d, func([]string) int { return 0 }) }

// addAfter adds the paths that follow one of them, all when that is gone.
func (p *pathPage) addAfter(d *repository.Document, path string) {
	p.addFrom(d, func(paths []string) int {
		// Where verification lets two elements have one path, pages after the first of them would never end.
		for i := len(paths) - 1; i >= 0; i-- {
			if paths[i] == path {
				return i + 1
			}
		}
		return 0
	})
}

func (p *pathPage) addFrom(d *repository.Document, first func([]string) int) {
	s, err := aas.Decode[aas.Submodel](d.JSON)
	if err != nil {
		problem.Report(p.call.ctx(), err, slog.String("id", d.ID))
		p.place = d.ID
		return
	}
	paths := s.Paths(p.call.view.Level)
	paths = paths[first(paths):]
	p.full = len(paths) > p.room
	n := min(len(paths), p.room)
	p.paths, p.room = append(p.paths, paths[:n]...), p.room-n
	switch {
	case !p.full:
		p.place = d.ID
	case n > 0:
		p.place = d.ID + "\x00" + paths[n-1]
	}
}

// throughShell reports whether the submodel was asked for below a shell.
func (c *call) throughShell() (shellID string, yes bool, err error) {
	if !c.has("aasIdentifier") {
		return "", false, nil
	}
	shellID, err = c.id("aasIdentifier")
	return shellID, true, err
}

// submodelID returns the id of the path's submodel. Below a shell the shell must refer to it.
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

func (c *call) submodelDocument() (repository.Document, error) {
	id, err := c.submodelID()
	if err != nil {
		return repository.Document{}, err
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
	if !c.has("aasIdentifier") {
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
	if err := mayReplace(c, c.service.Submodels, id); err != nil {
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
	shellID, through, err := c.throughShell()
	switch {
	case err != nil:
	case through:
		err = c.service.DeleteSubmodelOf(c.ctx(), shellID, id, match)
	default:
		err = c.service.Submodels.Delete(c.ctx(), id, match)
	}
	if err != nil {
		return err
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
		body, err := c.document()
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
	return c.write(func(match repository.Match, body []byte) (uint64, error) {
		return c.service.PatchSubmodel(c.ctx(), id, body, match)
	})
}
