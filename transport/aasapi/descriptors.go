package aasapi

import (
	"net/http"
	"slices"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

func listShellDescriptors(c *call) error {
	var q repository.Query
	if kind := aas.AssetKind(c.query.Get("assetKind")); kind != "" {
		if !slices.Contains([]aas.AssetKind{aas.Type, aas.Instance, aas.Role, aas.NotApplicable}, kind) {
			return invalid("assetKind", "must be Type, Instance, Role or NotApplicable")
		}
		q.Terms = append(q.Terms, repository.KindTerm(kind))
	}
	if given := c.query.Get("assetType"); given != "" {
		assetType, err := decodeID("assetType", given)
		if err != nil {
			return err
		}
		q.Terms = append(q.Terms, repository.AssetTypeTerm(assetType))
	}
	return ownShells.list(c, q)
}

func listSubmodelDescriptors(c *call) error { return ownSubmodels.list(c, repository.Query{}) }

// shellDescriptor returns the shell descriptor of the path.
func (c *call) shellDescriptor() (*aas.ShellDescriptor, error) {
	id, err := c.id("aasIdentifier")
	if err != nil {
		return nil, err
	}
	d, err := c.service.ShellDescriptors.Get(c.ctx(), id)
	if fault.KindOf(err) == fault.NotFound && !c.opts.NoOwnDescriptors {
		return ownShells.described(c)
	}
	return d, err
}

// updateShellDescriptor changes the shell descriptor of the path under the request's condition.
func (c *call) updateShellDescriptor(change func(*aas.ShellDescriptor) error) error {
	match, err := c.match()
	if err != nil {
		return err
	}
	return c.updateShellDescriptorIf(match, change)
}

func (c *call) updateShellDescriptorIf(match repository.Match, change func(*aas.ShellDescriptor) error) error {
	id, err := c.id("aasIdentifier")
	if err != nil {
		return err
	}
	doc, err := c.service.ShellDescriptors.Update(c.ctx(), id, match, change)
	if err == nil {
		c.tag(doc.Version)
	}
	return err
}

func nested(d *aas.ShellDescriptor, id string) int {
	return slices.IndexFunc(d.SubmodelDescriptors, func(s aas.SubmodelDescriptor) bool { return s.ID == id })
}

func listNestedDescriptors(c *call) error {
	shell, err := c.shellDescriptor()
	if err != nil {
		return err
	}
	all := shell.SubmodelDescriptors
	from, to, next, err := c.slice("submodel-descriptors "+shell.ID, len(all), func(i int) string { return all[i].ID })
	if err != nil {
		return err
	}
	l := newList(1024*(to-from)+64, next)
	for i := range all[from:to] {
		l.separate()
		l.buf = encoded(c, l.buf, &all[from+i])
	}
	return c.json(http.StatusOK, l.end())
}

func getNestedDescriptor(c *call) error {
	id, err := c.id("submodelIdentifier")
	if err != nil {
		return err
	}
	shell, err := c.shellDescriptor()
	if err != nil {
		return err
	}
	i := nested(shell, id)
	if i < 0 {
		return repository.ErrDescriptorNotFound.On("id", id)
	}
	return c.json(http.StatusOK, encoded(c, nil, &shell.SubmodelDescriptors[i]))
}

func postNestedDescriptor(c *call) error {
	body, err := c.body()
	if err != nil {
		return err
	}
	d, err := aas.Decode[aas.SubmodelDescriptor](body)
	if err != nil {
		return err
	}
	if d.ID == "" {
		return invalid("id", "is required")
	}
	ofNew, match, err := c.matchForNew()
	if err != nil {
		return err
	}
	err = c.updateShellDescriptorIf(match, func(s *aas.ShellDescriptor) error {
		if nested(s, d.ID) >= 0 {
			return repository.ErrDescriptorExists.On("id", d.ID)
		}
		s.SubmodelDescriptors = append(s.SubmodelDescriptors, *d)
		return nil
	})
	if err != nil {
		return unmatched(err, ofNew)
	}
	return c.created(c.below(encodeID(d.ID)), encoded(c, nil, d))
}

func putNestedDescriptor(c *call) error {
	id, err := c.id("submodelIdentifier")
	if err != nil {
		return err
	}
	d, err := submodelDescriptors.sent(c, id)
	if err != nil {
		return err
	}
	match, err := c.match()
	if err != nil {
		return err
	}
	created := false
	// Whether there is one is asked of the nested descriptor; the version is that of the whole.
	err = c.updateShellDescriptorIf(repository.Match{Version: match.Version}, func(s *aas.ShellDescriptor) error {
		i := nested(s, id)
		switch {
		case match.Absent && i >= 0:
			return repository.ErrPreconditionFailed.Because("there is one already")
		case match.Exists && i < 0:
			return repository.ErrPreconditionFailed.Because("there is none")
		}
		if i >= 0 && c.oldVersion() {
			if err := whole(&s.SubmodelDescriptors[i]); err != nil {
				return err
			}
		}
		if created = i < 0; created {
			s.SubmodelDescriptors = append(s.SubmodelDescriptors, *d)
		} else {
			s.SubmodelDescriptors[i] = *d
		}
		return nil
	})
	if err != nil {
		return err
	}
	if created {
		return c.created(c.urlPath(), encoded(c, nil, d))
	}
	return c.noContent()
}

func deleteNestedDescriptor(c *call) error {
	id, err := c.id("submodelIdentifier")
	if err != nil {
		return err
	}
	err = c.updateShellDescriptor(func(s *aas.ShellDescriptor) error {
		i := nested(s, id)
		if i < 0 {
			return repository.ErrDescriptorNotFound.On("id", id)
		}
		s.SubmodelDescriptors = slices.Delete(s.SubmodelDescriptors, i, i+1)
		return nil
	})
	if err != nil {
		return err
	}
	return c.noContent()
}
