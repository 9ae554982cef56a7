package storage_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/storetest"
)

// aasDocuments are documents with ids and terms of every awkward kind, and one that is kept apart.
func aasDocuments() []repository.Document {
	long := strings.Repeat("ä😀", 1000)
	apart := repository.Divided{Count: 2, Divided: aas.Divided{Head: []byte(`{"submodelElements":[`), Tail: []byte(`]}`),
		Elements: []aas.DividedElement{{IDShort: "a", JSON: []byte(`{"idShort":"a"}`)}, {IDShort: "b", JSON: []byte(`{"idShort":"b"}`)}}}}
	return []repository.Document{
		{Kind: repository.KindShell, ID: "urn:a", IDShort: "Änderung", JSON: []byte(`{"x":"\u0000ä"}`),
			Terms: []repository.Term{repository.AssetTerm("serial", "1"), repository.SubmodelTerm(long)}},
		{Kind: repository.KindSubmodel, ID: long, IDShort: "Nameplate", Live: true, JSON: []byte(`{}`), Terms: []repository.Term{repository.TypeTerm("nameplate")}},
		{Kind: repository.KindConceptDescription, ID: "urn:c", IDShort: "Apart", JSON: []byte(`{"submodelElements":[{"idShort":"a"},{"idShort":"b"}]}`), Divided: &apart,
			Terms: []repository.Term{repository.CaseOfTerm("urn:x")}},
		{Kind: repository.KindAssetLinks, ID: "urn:b", JSON: []byte(`[]`), Terms: []repository.Term{repository.AssetTerm("serial", "2")}},
	}
}

// fillShells puts something into every table of shells.
func fillShells(t testing.TB, db *storetest.DB) {
	t.Helper()
	var b repository.Batch
	for _, d := range aasDocuments() {
		b.Changes = append(b.Changes, repository.Change{Document: d})
		b.Files = append(b.Files, repository.StoredFile{Key: repository.FileKey{Kind: d.Kind, ID: d.ID, Name: "/f" + d.ID}, ContentType: "x/y", Data: []byte{0, 255}})
	}
	for range 2 {
		_, err := db.AAS().Write(t.Context(), b)
		require.NoError(t, err)
	}
}

// dumpShells writes all that fillShells has put in.
func dumpShells(t testing.TB, db *storetest.DB, w io.Writer) {
	t.Helper()
	s, ctx := db.AAS(), t.Context()
	for _, d := range aasDocuments() {
		page, err := s.Find(ctx, repository.Query{Kind: d.Kind, Terms: d.Terms, Contains: d.IDShort, Limit: 10, Count: true})
		require.NoError(t, err)
		require.Len(t, page.Documents, 1)
		_, err = fmt.Fprintf(w, "%+v\n", page)
		require.NoError(t, err)
		all, err := s.Find(ctx, repository.Query{Kind: d.Kind, Limit: 10, Count: true})
		require.NoError(t, err)
		require.Equal(t, 1, all.Total)
		names, err := s.FileNames(ctx, d.Kind, d.ID)
		require.NoError(t, err)
		require.Equal(t, []string{"/f" + d.ID}, names)
		f, err := s.File(ctx, repository.FileKey{Kind: d.Kind, ID: d.ID, Name: names[0]})
		require.NoError(t, err)
		_, err = fmt.Fprintf(w, "%+v\n", f)
		require.NoError(t, err)
	}
	linked, err := s.Find(ctx, repository.Query{Kind: repository.KindShell, Limit: 1, Count: true,
		Linked: &repository.Link{Name: "submodel", Kind: repository.KindSubmodel, Term: repository.TypeTerm("Nameplate")}})
	require.NoError(t, err)
	require.Equal(t, 1, linked.Total)
}
