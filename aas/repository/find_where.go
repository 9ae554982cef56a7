package repository

import (
	"context"
	"slices"

	"github.com/otkit/otkit/aas"
)

// FindWhere is [Repository.Find] for the documents for which keep returns true, which a store cannot select by
// itself. Offset and Count are not supported. Documents are read page by page, so that no more than twice
// Query.MaxBytes of them are in memory.
func (r *Repository[T]) FindWhere(ctx context.Context, q Query, keep func(*Document) bool) (Page, error) {
	q.Kind = r.form.kind
	if q.Limit < 1 || q.Limit > MaxPage {
		return Page{}, invalid("limit", "must be 1 to 10000")
	}
	page, err := r.s.findWhere(ctx, q, keep)
	if err != nil {
		return Page{}, err
	}
	return page, r.s.fill(ctx, page.Documents)
}

func (s *Service) findWhere(ctx context.Context, q Query, keep func(*Document) bool) (Page, error) {
	q.Count, q.Offset, q.WithoutJSON = false, 0, false
	var kept Page
	if !findable(&q) {
		return kept, nil
	}
	room := q.room()
	for {
		p, err := s.store.Find(ctx, q)
		if err != nil {
			return Page{}, err
		}
		for i := range p.Documents {
			d := &p.Documents[i]
			if !keep(d) {
				continue
			}
			if len(kept.Documents) == q.Limit || room <= 0 {
				kept.More = true
				return kept, nil
			}
			kept.Documents = append(kept.Documents, *d)
			room -= int64(len(d.JSON))
		}
		if !p.More || len(p.Documents) == 0 {
			return kept, nil
		}
		q.After = p.Documents[len(p.Documents)-1].ID
	}
}

// subjected reports whether some asset ids name an external subject, which terms do not.
func subjected(links []aas.SpecificAssetID) bool {
	return slices.ContainsFunc(links, func(l aas.SpecificAssetID) bool { return l.ExternalSubjectID != nil })
}

// hasAssets returns a filter for documents with all of some asset ids. An asset id without an external subject
// is found whatever subject it has been given.
func (s *Service) hasAssets(ctx context.Context, links []aas.SpecificAssetID) func(*Document) bool {
	return func(d *Document) bool {
		ids, err := s.assetsOf(d)
		if err != nil {
			s.damaged(ctx, d.ID, err)
			return false
		}
		for _, want := range links {
			if want.ExternalSubjectID == nil {
				continue // the terms have seen to it
			}
			if !slices.ContainsFunc(ids, func(have aas.SpecificAssetID) bool {
				return have.Name == want.Name && have.Value == want.Value && want.ExternalSubjectID.Matches(have.ExternalSubjectID)
			}) {
				return false
			}
		}
		return true
	}
}

// assetsOf returns the specific asset ids of a shell, a shell descriptor or asset links.
func (s *Service) assetsOf(d *Document) ([]aas.SpecificAssetID, error) {
	switch d.Kind {
	case KindShell:
		shell, err := s.Shells.decode(*d)
		if err != nil {
			return nil, err
		}
		return shell.AssetInformation.SpecificAssetIDs, nil
	case KindShellDescriptor:
		shell, err := s.ShellDescriptors.decode(*d)
		if err != nil {
			return nil, err
		}
		return shell.SpecificAssetIDs, nil
	}
	return aas.DecodeList[aas.SpecificAssetID](d.JSON)
}

// FindShells returns a page of the shells that have all of some asset ids, each with the external subject that
// it names, if any.
func (s *Service) FindShells(ctx context.Context, q Query, links []aas.SpecificAssetID) (Page, error) {
	for i := range links {
		q.Terms = append(q.Terms, AssetTerm(links[i].Name, links[i].Value))
	}
	if !subjected(links) {
		return s.Shells.Find(ctx, q)
	}
	return s.Shells.FindWhere(ctx, q, s.hasAssets(ctx, links))
}

// FindStored is [Repository.Find] without live values.
func (r *Repository[T]) FindStored(ctx context.Context, q Query) (Page, error) {
	q.Kind = r.form.kind
	if q.Limit < 1 || q.Limit > MaxPage || q.Offset < 0 {
		return Page{}, invalid("limit", "must be 1 to 10000")
	}
	if !findable(&q) {
		return Page{}, nil
	}
	return r.s.store.Find(ctx, q)
}

// SubmodelHeads returns those of some submodels that exist, without their elements, and how many bytes were read
// for it. A few of them at a time are in memory.
func (s *Service) SubmodelHeads(ctx context.Context, ids ...string) (heads []*aas.Submodel, read int, err error) {
	for part := range slices.Chunk(ids, submodelsAtOnce) {
		list, err := s.Submodels.stored(ctx, part...)
		if err != nil {
			return nil, read, err
		}
		for i := range list {
			read += len(list[i].JSON)
			head, err := aas.DecodeMetadata(list[i].JSON)
			if err != nil {
				s.damaged(ctx, list[i].ID, err)
				continue
			}
			heads = append(heads, head)
		}
	}
	return heads, read, nil
}
