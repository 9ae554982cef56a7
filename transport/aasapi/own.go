package aasapi

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

// own are the descriptors of what the repository has itself. A registered descriptor of the same id wins.
type own[D repository.Storable] struct {
	registry resource[D]
	kind     repository.Kind // of what is described
	find     func(*repository.Service) func(context.Context, repository.Query) (repository.Page, error)
	get      func(*repository.Service, context.Context, string) (repository.Document, error)
	// describe makes a descriptor, and tells how many bytes of documents were read for it besides.
	describe func(c *call, d *repository.Document) (descriptor *D, read int, err error)
}

var (
	ownShells = own[aas.ShellDescriptor]{shellDescriptors, repository.KindShell,
		func(s *repository.Service) func(context.Context, repository.Query) (repository.Page, error) {
			return s.Shells.FindStored
		},
		func(s *repository.Service, ctx context.Context, id string) (repository.Document, error) {
			return s.Shells.Document(ctx, id)
		}, describeShell}
	ownSubmodels = own[aas.SubmodelDescriptor]{submodelDescriptors, repository.KindSubmodel,
		func(s *repository.Service) func(context.Context, repository.Query) (repository.Page, error) {
			return s.Submodels.FindStored
		},
		func(s *repository.Service, ctx context.Context, id string) (repository.Document, error) {
			return s.Submodels.Document(ctx, id)
		}, describeSubmodel}
)

func describeShell(c *call, d *repository.Document) (*aas.ShellDescriptor, int, error) {
	s, err := aas.Decode[aas.Shell](d.JSON)
	if err != nil {
		return nil, 0, err
	}
	asset := &s.AssetInformation
	out := &aas.ShellDescriptor{ID: s.ID, IDShort: s.IDShort, Administration: s.Administration, DisplayName: s.DisplayName,
		Description: s.Description, Extensions: s.Extensions, AssetKind: asset.AssetKind, AssetType: asset.AssetType,
		GlobalAssetID: asset.GlobalAssetID, SpecificAssetIDs: asset.SpecificAssetIDs,
		Endpoints: c.endpoints("AAS", "/shells/"+encodeID(s.ID))}
	var ids []string
	for i := range s.Submodels {
		if id := submodelOf(s.Submodels[i]); id != "" {
			ids = append(ids, id)
		}
	}
	heads, read, err := c.service.SubmodelHeads(c.ctx(), ids...)
	for _, m := range heads {
		out.SubmodelDescriptors = append(out.SubmodelDescriptors, *c.submodelDescriptor(m))
	}
	return out, read, err
}

func describeSubmodel(c *call, d *repository.Document) (*aas.SubmodelDescriptor, int, error) {
	m, err := aas.DecodeMetadata(d.JSON)
	if err != nil {
		return nil, 0, err
	}
	return c.submodelDescriptor(m), 0, nil
}

func (c *call) submodelDescriptor(m *aas.Submodel) *aas.SubmodelDescriptor {
	return &aas.SubmodelDescriptor{ID: m.ID, IDShort: m.IDShort, Administration: m.Administration, Semantics: m.Semantics,
		DisplayName: m.DisplayName, Description: m.Description, Extensions: m.Extensions,
		Endpoints: c.endpoints("SUBMODEL", "/submodels/"+encodeID(m.ID))}
}

// endpoints returns where something of the repository is served: in both versions of the API, or at the root if
// that is where the request came to.
func (c *call) endpoints(what, path string) []aas.Endpoint {
	base := c.opts.BaseURL
	if base == "" {
		base = "http://" + c.r.Host
		if c.r.TLS != nil {
			base = "https://" + c.r.Host
		}
	}
	scheme, _, _ := strings.Cut(base, ":")
	var list []aas.Endpoint
	for _, v := range []struct{ version, prefix string }{{"3.0", prefixes[1]}, {"3.1", prefixes[0]}} {
		if !strings.HasPrefix(c.r.URL.Path, "/api/") {
			v.prefix = ""
		}
		list = append(list, aas.Endpoint{Interface: what + "-" + v.version, Protocol: aas.ProtocolInformation{
			Href: base + v.prefix + path, EndpointProtocol: strings.ToUpper(scheme), EndpointProtocolVersion: []string{"1.1"}}})
	}
	return list
}

// one answers with one descriptor.
func (o own[D]) one(c *call) error {
	doc, err := o.registry.document(c)
	if fault.KindOf(err) == fault.NotFound && !c.opts.NoOwnDescriptors {
		d, err := o.described(c)
		if err != nil {
			return err
		}
		return c.json(http.StatusOK, encoded(c, nil, d))
	}
	if err != nil || c.unchanged(doc) {
		return err
	}
	return o.registry.answer(c, &doc)
}

// described returns the descriptor of what the path names in the repository.
func (o own[D]) described(c *call) (*D, error) {
	id, err := c.id(o.registry.param)
	if err != nil {
		return nil, err
	}
	doc, err := o.get(c.service, c.ctx(), id)
	if fault.KindOf(err) == fault.NotFound {
		return nil, repository.ErrDescriptorNotFound.On("id", id)
	}
	if err != nil {
		return nil, err
	}
	d, _, err := o.describe(c, &doc)
	return d, err
}

// list answers with a page of the registered descriptors and the own ones. It ends early, with a cursor, when
// it or what was read for it is above [pageBytes].
func (o own[D]) list(c *call, q repository.Query) error {
	if c.opts.NoOwnDescriptors {
		return o.registry.list(c, q, nil)
	}
	registered, err := o.registry.page(c, q, o.registry.repository(c.service).Find)
	if err != nil {
		return err
	}
	kept, err := o.registry.page(c, q, o.find(c.service))
	if err != nil {
		return err
	}
	limit, _ := c.limit()
	docs, place, err := o.merge(c, registered, kept, limit)
	if err != nil {
		return err
	}
	var entries [][]byte
	for i, bytes := 0, 0; i < len(docs); i++ {
		if bytes > pageBytes {
			place = docs[i-1].ID
			break
		}
		entry := docs[i].JSON
		if docs[i].Kind == o.kind {
			d, read, err := o.describe(c, &docs[i])
			if err != nil {
				return err
			}
			entry, bytes = encoded(c, nil, d), bytes+read
		} else if c.oldVersion() {
			if entry, err = stored[D](c, nil, &docs[i]); err != nil {
				return err
			}
		}
		entries, bytes = append(entries, entry), bytes+len(entry)
	}
	next, size := "", 64
	if place != "" {
		next = encodeCursor(o.registry.param, place)
	}
	for _, entry := range entries {
		size += len(entry) + 1
	}
	l := newList(size, next)
	for _, entry := range entries {
		l.separate()
		l.buf = append(l.buf, entry...)
	}
	return c.json(http.StatusOK, l.end())
}

// merge returns the documents of two pages ascending by id, up to where one of them ends before its list does,
// and the place of the next page, empty when there is none.
func (o own[D]) merge(c *call, registered, kept repository.Page, limit int) (docs []repository.Document, place string, err error) {
	for _, p := range []repository.Page{registered, kept} {
		if n := len(p.Documents); p.More && n > 0 && (place == "" || p.Documents[n-1].ID < place) {
			place = p.Documents[n-1].ID
		}
	}
	if kept.Documents, err = o.unregistered(c, kept.Documents); err != nil {
		return nil, "", err
	}
	docs = slices.Concat(registered.Documents, kept.Documents)
	if place != "" {
		docs = slices.DeleteFunc(docs, func(d repository.Document) bool { return d.ID > place })
	}
	slices.SortFunc(docs, func(a, b repository.Document) int { return strings.Compare(a.ID, b.ID) })
	if len(docs) > limit {
		docs, place = docs[:limit], docs[limit-1].ID
	}
	return docs, place, nil
}

// unregistered returns those of some own documents that have no registered descriptor, which may be on another
// page or none that the conditions select.
func (o own[D]) unregistered(c *call, list []repository.Document) ([]repository.Document, error) {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	there, err := o.registry.repository(c.service).Documents(c.ctx(), ids...)
	if err != nil || len(there) == 0 {
		return list, err
	}
	registered := make(map[string]bool, len(there))
	for i := range there {
		registered[there[i].ID] = true
	}
	return slices.DeleteFunc(list, func(d repository.Document) bool { return registered[d.ID] }), nil
}
