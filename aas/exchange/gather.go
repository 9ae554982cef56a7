package exchange

import (
	"context"
	"slices"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aasx"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/fault"
)

// ErrSelectionTooLarge means that a selection exceeds the limit.
var ErrSelectionTooLarge = fault.New(fault.TooLarge, "SELECTION_TOO_LARGE", "the selection has too much in it")

// Selection is what is gathered. With neither shells nor submodels named it is everything.
type Selection struct {
	Shells        []string // ids
	Submodels     []string // ids
	WithSubmodels bool     // also the submodels that the named shells refer to, as far as they exist
	// WithConcepts adds the concept descriptions: all of them, or those that the semantic ids in the
	// gathered submodels lead to.
	WithConcepts bool
	WithFiles    bool
	MaxDocuments int   // default 100,000
	MaxBytes     int64 // of the JSON of all documents; default 256 MiB
	MaxElements  int   // of all submodels together; default 200,000
	MaxFileBytes int64 // of all files; default 256 MiB
}

func (sel Selection) withDefaults() Selection {
	if sel.MaxDocuments <= 0 {
		sel.MaxDocuments = 100_000
	}
	if sel.MaxBytes <= 0 {
		sel.MaxBytes = 256 << 20
	}
	if sel.MaxElements <= 0 {
		sel.MaxElements = 200_000
	}
	if sel.MaxFileBytes <= 0 {
		sel.MaxFileBytes = 256 << 20
	}
	return sel
}

// Export reads documents, and their files, out of a service. Files of several documents that have one
// name and are not the same get others, and so does a file whose name no package can have; the elements
// that name them follow; any other value of an element stays as it is written. A named document that does not exist is [repository.ErrShellNotFound] or
// [repository.ErrSubmodelNotFound]; too much is [ErrSelectionTooLarge]. What is written meanwhile may or may not be in it.
func Export(ctx context.Context, s *repository.Service, sel Selection) (*aasx.Package, error) {
	sel = sel.withDefaults()
	g := &gatherer{ctx: ctx, s: s, sel: sel, room: sel.MaxDocuments, bytesLeft: sel.MaxBytes, names: make(map[string]*aasx.File)}
	err := g.documents()
	if err == nil {
		err = g.countElements()
	}
	if err == nil && sel.WithFiles {
		err = g.files()
	}
	if err != nil {
		return nil, err
	}
	return &g.out, nil
}

type gatherer struct {
	ctx   context.Context
	s     *repository.Service
	sel   Selection
	room  int
	bytes int64 // of the files so far
	out   aasx.Package
	names map[string]*aasx.File // in lower case

	bytesLeft int64 // for documents
}

func (g *gatherer) documents() (err error) {
	env := &g.out.Environment
	if len(g.sel.Shells) == 0 && len(g.sel.Submodels) == 0 {
		if env.Shells, err = every(g, g.s.Shells); err != nil {
			return err
		}
		if env.Submodels, err = every(g, g.s.Submodels); err == nil && g.sel.WithConcepts {
			env.ConceptDescriptions, err = every(g, g.s.Concepts)
		}
		return err
	}
	if env.Shells, err = named(g, g.s.Shells, unique(g.sel.Shells), repository.ErrShellNotFound); err != nil {
		return err
	}
	if env.Submodels, err = named(g, g.s.Submodels, unique(g.sel.Submodels), repository.ErrSubmodelNotFound); err != nil {
		return err
	}
	if g.sel.WithSubmodels {
		more, err := named(g, g.s.Submodels, referred(env.Shells, g.sel.Submodels), nil)
		if err != nil {
			return err
		}
		env.Submodels = append(env.Submodels, more...)
	}
	if g.sel.WithConcepts {
		env.ConceptDescriptions, err = named(g, g.s.Concepts, meanings(env.Submodels), nil)
	}
	return err
}

// pageDocuments and pageBytes bound a single read.
const (
	pageDocuments = 100
	pageBytes     = 16 << 20
)

func every[T repository.Storable](g *gatherer, r *repository.Repository[T]) ([]*T, error) {
	var list []*T
	for q := (repository.Query{Limit: pageDocuments, MaxBytes: pageBytes}); ; {
		page, err := r.Find(g.ctx, q)
		if err == nil {
			err = g.take(page.Documents)
		}
		if err != nil {
			return nil, err
		}
		for _, d := range page.Documents {
			if v, ok := r.Read(g.ctx, d); ok {
				list = append(list, v)
			}
			q.After = d.ID
		}
		if !page.More || len(page.Documents) == 0 {
			return list, nil
		}
	}
}

// take counts documents before they are decoded, which takes several times their bytes.
func (g *gatherer) take(documents []repository.Document) error {
	if g.room -= len(documents); g.room < 0 {
		return ErrSelectionTooLarge.Because("it has more than %d documents", g.sel.MaxDocuments)
	}
	for i := range documents {
		g.bytesLeft -= int64(len(documents[i].JSON))
	}
	if g.bytesLeft < 0 {
		return ErrSelectionTooLarge.Because("its documents have more than %d bytes", g.sel.MaxBytes)
	}
	return nil
}

func (g *gatherer) countElements() error {
	n := 0
	for _, m := range g.out.Environment.Submodels {
		m.Walk(func(aas.Path, aas.Element) bool {
			n++
			return n <= g.sel.MaxElements
		})
	}
	if n > g.sel.MaxElements {
		return ErrSelectionTooLarge.Because("it has more than %d elements", g.sel.MaxElements)
	}
	return nil
}

// namedAtOnce is how many documents are read by their ids together: there is no limit of their bytes then.
const namedAtOnce = 16

// named returns the documents with some ids. One that is missing is an error, unless there is none for it.
func named[T repository.Storable](g *gatherer, r *repository.Repository[T], ids []string, missing *fault.Error) ([]*T, error) {
	var list []*T
	for part := range slices.Chunk(ids, namedAtOnce) {
		docs, err := r.Documents(g.ctx, part...)
		if err == nil {
			err = g.take(docs)
		}
		if err != nil {
			return nil, err
		}
		there := make(map[string]bool, len(docs))
		for i := range docs {
			there[docs[i].ID] = true
			v, err := aas.Decode[T](docs[i].JSON)
			if err != nil {
				return nil, fault.New(fault.Internal, "DOCUMENT_DAMAGED", "a stored document cannot be read").With("id", docs[i].ID).Wrap(err)
			}
			list = append(list, v)
		}
		for _, id := range part {
			if missing != nil && !there[id] {
				return nil, missing.On("id", id)
			}
		}
	}
	return list, nil
}

// unique returns ids without those that are there earlier, or in one of the other lists.
func unique(ids []string, others ...[]string) []string {
	seen := make(map[string]bool, len(ids))
	for _, list := range others {
		for _, id := range list {
			seen[id] = true
		}
	}
	var once []string
	for _, id := range ids {
		if !seen[id] {
			seen[id] = true
			once = append(once, id)
		}
	}
	return once
}

// referred returns the ids of the submodels that shells refer to, without those that are there already.
func referred(shells []*aas.Shell, there []string) []string {
	var ids []string
	for _, s := range shells {
		for _, r := range s.Submodels {
			if len(r.Keys) > 0 {
				ids = append(ids, r.Keys[0].Value)
			}
		}
	}
	return unique(ids, there)
}

// meanings returns the ids that the semantic ids in some submodels lead to.
func meanings(list []*aas.Submodel) []string {
	var ids []string
	add := func(r *aas.Reference) {
		if r != nil && len(r.Keys) > 0 {
			ids = append(ids, r.Keys[len(r.Keys)-1].Value)
		}
	}
	semantics := func(s aas.Semantics) {
		add(s.SemanticID)
		for i := range s.SupplementalSemanticIDs {
			add(&s.SupplementalSemanticIDs[i])
		}
	}
	qualifiers := func(list []aas.Qualifier) {
		for i := range list {
			semantics(list[i].Semantics)
		}
	}
	for _, s := range list {
		semantics(s.Semantics)
		qualifiers(s.Qualifiers)
		s.Walk(func(_ aas.Path, e aas.Element) bool {
			semantics(e.Common().Semantics)
			qualifiers(e.Common().Qualifiers)
			if l, ok := e.(*aas.List); ok {
				add(l.SemanticIDListElement)
			}
			return true
		})
	}
	return unique(ids)
}
