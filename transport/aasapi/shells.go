package aasapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

// findShells returns the search for the shells with the asset ids of the query.
func findShells(c *call) (find, error) {
	links, err := c.assetIDs()
	return func(ctx context.Context, q repository.Query) (repository.Page, error) {
		return c.service.FindShells(ctx, q, links)
	}, err
}

func listShells(c *call) error {
	find, err := findShells(c)
	if err != nil {
		return err
	}
	return shells.listFound(c, repository.Query{}, find, nil)
}

func listShellReferences(c *call) error {
	find, err := findShells(c)
	if err != nil {
		return err
	}
	return shells.listFound(c, repository.Query{WithoutJSON: true}, find, func(dst []byte, d *repository.Document) ([]byte, error) {
		return appendReference(dst, aas.KeyShell, d.ID), nil
	})
}

// appendReference appends the model reference to a document.
func appendReference(dst []byte, kind aas.KeyType, id string) []byte {
	return aas.Append(dst, &aas.Reference{Type: aas.ModelReference, Keys: []aas.Key{{Type: kind, Value: id}}})
}

func getShellReference(c *call) error {
	doc, err := shells.document(c)
	if err != nil {
		return err
	}
	return c.json(http.StatusOK, appendReference(nil, aas.KeyShell, doc.ID))
}

// shell returns the shell of the path with its version.
func (c *call) shell() (*aas.Shell, repository.Document, error) {
	doc, err := shells.document(c)
	if err != nil {
		return nil, doc, err
	}
	shell, err := aas.Decode[aas.Shell](doc.JSON)
	return shell, doc, err
}

// updateShell changes the shell of the path under the request's condition.
func (c *call) updateShell(change func(*aas.Shell) error) error {
	match, err := c.match()
	if err != nil {
		return err
	}
	return c.updateShellIf(match, change)
}

func (c *call) updateShellIf(match repository.Match, change func(*aas.Shell) error) error {
	id, err := c.id("aasIdentifier")
	if err != nil {
		return err
	}
	doc, err := c.service.Shells.Update(c.ctx(), id, match, change)
	if err == nil {
		c.tag(doc.Version)
	}
	return err
}

func getAssetInformation(c *call) error {
	shell, doc, err := c.shell()
	if err != nil || c.unchanged(doc) {
		return err
	}
	return c.json(http.StatusOK, encoded(c, nil, &shell.AssetInformation))
}

func putAssetInformation(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	info, err := aas.Decode[aas.AssetInformation](body)
	if err != nil {
		return err
	}
	err = c.updateShell(func(s *aas.Shell) error {
		if c.oldVersion() {
			if err := whole(&s.AssetInformation); err != nil {
				return err
			}
		}
		s.AssetInformation = *info
		return nil
	})
	if err != nil {
		return err
	}
	return c.noContent()
}

func listSubmodelRefs(c *call) error {
	shell, doc, err := c.shell()
	if err != nil {
		return err
	}
	refs := shell.Submodels
	from, to, next, err := c.slice("submodel-refs "+shell.ID, len(refs), func(i int) string { return submodelOf(refs[i]) })
	if err != nil {
		return err
	}
	c.tag(doc.Version)
	l := newList(256*(to-from)+64, next)
	for i := range refs[from:to] {
		l.separate()
		l.buf = aas.Append(l.buf, &refs[from+i])
	}
	return c.json(http.StatusOK, l.end())
}

// submodelOf returns the id of the submodel that a reference leads to, empty when it leads elsewhere.
func submodelOf(r aas.Reference) string {
	if len(r.Keys) == 0 || r.Keys[0].Type != aas.KeySubmodel {
		return ""
	}
	return r.Keys[0].Value
}

func refersTo(s *aas.Shell, submodelID string) bool {
	return slices.ContainsFunc(s.Submodels, func(r aas.Reference) bool { return submodelOf(r) == submodelID })
}

func postSubmodelRef(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	ref, err := aas.Decode[aas.Reference](body)
	if err != nil {
		return err
	}
	id := submodelOf(*ref)
	if id == "" {
		return invalid("keys[0]", "must name a Submodel")
	}
	ofNew, match, err := c.matchForNew()
	if err != nil {
		return err
	}
	err = c.updateShellIf(match, func(s *aas.Shell) error {
		if refersTo(s, id) {
			return errRefExists.On("submodel", id)
		}
		s.Submodels = append(s.Submodels, *ref)
		return nil
	})
	if err != nil {
		return unmatched(err, ofNew)
	}
	return c.created(c.below(encodeID(id)), aas.Append(nil, ref))
}

func deleteSubmodelRef(c *call) error {
	id, err := c.id("submodelIdentifier")
	if err != nil {
		return err
	}
	err = c.updateShell(func(s *aas.Shell) error {
		if !refersTo(s, id) {
			return errNotReferenced.On("submodel", id)
		}
		s.Submodels = slices.DeleteFunc(s.Submodels, func(r aas.Reference) bool { return submodelOf(r) == id })
		return nil
	})
	if err != nil {
		return err
	}
	return c.noContent()
}
