package repository

import (
	"context"
	"slices"
	"strings"

	"github.com/otkit/otkit/aas"
)

// Search selects shells. Every condition that is set must hold.
type Search struct {
	IDShort       string // a part of the idShort, without regard to case
	AssetKind     aas.AssetKind
	SubmodelType  string // of a submodel that the shell refers to and that exists; see [TypesOf]
	GlobalAssetID string
	AssetIDs      []aas.SpecificAssetID // names and values; the shell has each of them
	After         string                // only shells with ids above it
	Offset        int
	Limit         int   // 1 to [MaxPage]
	MaxBytes      int64 // see Query
}

// Search returns the shells that match, ascending by id, with their number.
func (s *Service) Search(ctx context.Context, q Search) (Page, error) {
	query := Query{After: q.After, Offset: q.Offset, Limit: q.Limit, Contains: q.IDShort, Count: true, MaxBytes: q.MaxBytes}
	if q.AssetKind != "" {
		query.Terms = append(query.Terms, KindTerm(q.AssetKind))
	}
	if q.GlobalAssetID != "" {
		query.Terms = append(query.Terms, AssetTerm(GlobalAssetIDName, q.GlobalAssetID))
	}
	for _, id := range q.AssetIDs {
		query.Terms = append(query.Terms, AssetTerm(id.Name, id.Value))
	}
	if q.SubmodelType != "" {
		query.Linked = &Link{Name: termSubmodel, Kind: KindSubmodel, Term: TypeTerm(q.SubmodelType)}
	}
	return s.Shells.Find(ctx, query)
}

// ShellSubmodel is one submodel of a shell.
type ShellSubmodel struct {
	Document Document // without Terms; only JSON of what a provider gives in a form of its own
	Provided bool     // by a [SubmodelProvider]: it is not in the repository
}

const (
	maxSubmodelBytes = 64 << 20
	submodelsAtOnce  = 8 // are read before their bytes are counted
	lookupBytes      = 16 << 20
)

// SubmodelsOf returns the submodels that a shell refers to and that exist, each once in the order of the
// references, then what the providers add. More than 64 MiB of them are ErrPageTooLarge.
func (s *Service) SubmodelsOf(ctx context.Context, shellID string) ([]ShellSubmodel, error) {
	shell, err := s.Shells.Get(ctx, shellID)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(shell.Submodels))
	seen := make(map[string]bool, len(shell.Submodels))
	for i := range shell.Submodels {
		if keys := shell.Submodels[i].Keys; len(keys) > 0 && !seen[keys[0].Value] {
			seen[keys[0].Value] = true
			ids = append(ids, keys[0].Value)
		}
	}
	var all []ShellSubmodel
	bytes := 0
	for part := range slices.Chunk(ids, submodelsAtOnce) {
		list, err := s.Submodels.Documents(ctx, part...)
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			all = append(all, ShellSubmodel{Document: d})
			bytes += len(d.JSON)
		}
		if bytes > maxSubmodelBytes {
			return nil, ErrPageTooLarge.Because("the submodels of the shell have more than %d bytes", maxSubmodelBytes)
		}
	}
	for _, p := range s.opts.Providers {
		list, err := p.Submodels(ctx, shell)
		if err != nil {
			return nil, err
		}
		for _, item := range list {
			d := Document{JSON: item.JSON}
			if m := item.Submodel; m != nil {
				d = Document{Kind: KindSubmodel, ID: m.ID, IDShort: m.IDShort, JSON: aas.Append(nil, m)}
			}
			all = append(all, ShellSubmodel{Document: d, Provided: true})
		}
	}
	return all, nil
}

// LinkAssets sets the asset ids that a shell id is linked with for discovery, in place of those that
// were linked. The shell need not be in the repository.
func (s *Service) LinkAssets(ctx context.Context, shellID string, ids []aas.SpecificAssetID) error {
	if rule := badID(shellID); rule != "" {
		return invalid("aasIdentifier", rule)
	}
	d := Document{Kind: KindAssetLinks, ID: shellID, JSON: aas.AppendList(nil, ids)}
	t := newTerms(len(ids))
	t.assets("", ids)
	d.Terms = t.list
	if err := checkFacts(&d); err != nil {
		return err
	}
	unlock, err := s.locks.lock(ctx, d.Kind, d.ID)
	if err != nil {
		return err
	}
	defer unlock()
	links := s.links()
	return s.retry(ctx, func() error {
		list, err := links.stored(ctx, shellID)
		if err != nil {
			return err
		}
		change, event := Change{Document: d, Match: Match{Absent: true}}, Event{Type: Created}
		if len(list) > 0 {
			change.Match, event.Type = Match{Version: list[0].Version}, Updated
		}
		_, err = links.write(ctx, Batch{Changes: []Change{change}}, event)
		return again(err, Match{})
	})
}

// links returns what is kept by [Service.LinkAssets].
func (s *Service) links() *Repository[aas.Shell] {
	return &Repository[aas.Shell]{s, form[aas.Shell]{kind: KindAssetLinks, notFound: ErrShellNotFound, exists: ErrShellExists}}
}

// AssetLinks returns the asset ids that a shell id is linked with by [Service.LinkAssets]. For one that
// was not linked but has a shell or a descriptor it returns the asset ids of that; without one it is
// ErrShellNotFound.
func (s *Service) AssetLinks(ctx context.Context, shellID string) ([]aas.SpecificAssetID, error) {
	if badID(shellID) != "" {
		return nil, s.Shells.missing(shellID)
	}
	list, err := s.store.Get(ctx, KindAssetLinks, shellID)
	if err != nil {
		return nil, err
	}
	if len(list) > 0 {
		return aas.DecodeList[aas.SpecificAssetID](list[0].JSON)
	}
	if list, err = s.Shells.stored(ctx, shellID); err != nil {
		return nil, err
	}
	if len(list) > 0 {
		shell, err := s.Shells.decode(list[0])
		if err != nil {
			return nil, err
		}
		return assetIDs(shell.AssetInformation.GlobalAssetID, shell.AssetInformation.SpecificAssetIDs), nil
	}
	if list, err = s.ShellDescriptors.stored(ctx, shellID); err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, s.Shells.missing(shellID)
	}
	shell, err := s.ShellDescriptors.decode(list[0])
	if err != nil {
		return nil, err
	}
	return assetIDs(shell.GlobalAssetID, shell.SpecificAssetIDs), nil
}

func assetIDs(global string, specific []aas.SpecificAssetID) []aas.SpecificAssetID {
	if global == "" {
		return specific
	}
	return append([]aas.SpecificAssetID{{Name: GlobalAssetIDName, Value: global}}, specific...)
}

// UnlinkAssets removes what [Service.LinkAssets] has set. Nothing linked is ErrShellNotFound.
func (s *Service) UnlinkAssets(ctx context.Context, shellID string) error {
	if badID(shellID) != "" {
		return s.Shells.missing(shellID)
	}
	unlock, err := s.locks.lock(ctx, KindAssetLinks, shellID)
	if err != nil {
		return err
	}
	defer unlock()
	_, err = s.links().write(ctx, Batch{Changes: []Change{{
		Document: Document{Kind: KindAssetLinks, ID: shellID}, Delete: true, Match: Match{Exists: true},
	}}}, Event{Type: Deleted})
	return err
}

// LookupShells returns the ids of shells that have all of some asset ids, ascending: of shells and their
// descriptors here and of those that were linked. An asset id with an external subject is only found with the
// same one. after omits ids up to it; limit is 1 to
// [MaxPage]. more says that there are further ones.
func (s *Service) LookupShells(ctx context.Context, links []aas.SpecificAssetID, after string, limit int) (ids []string, more bool, err error) {
	if limit < 1 || limit > MaxPage {
		return nil, false, invalid("limit", "must be 1 to 10000")
	}
	q := Query{After: after, Limit: limit, WithoutJSON: true}
	for i := range links {
		q.Terms = append(q.Terms, AssetTerm(links[i].Name, links[i].Value))
	}
	if !findable(&q) {
		return nil, false, nil
	}
	for _, q.Kind = range []Kind{KindShell, KindShellDescriptor, KindAssetLinks} {
		page, err := s.lookup(ctx, q, links)
		if err != nil {
			return nil, false, err
		}
		more = more || page.More
		for _, d := range page.Documents {
			ids = append(ids, d.ID)
		}
	}
	slices.SortFunc(ids, strings.Compare)
	ids = slices.Compact(ids)
	if len(ids) > limit {
		ids, more = ids[:limit], true
	}
	return ids, more, nil
}

func (s *Service) lookup(ctx context.Context, q Query, links []aas.SpecificAssetID) (Page, error) {
	if !subjected(links) {
		return s.store.Find(ctx, q)
	}
	q.MaxBytes = lookupBytes
	return s.findWhere(ctx, q, s.hasAssets(ctx, links))
}
