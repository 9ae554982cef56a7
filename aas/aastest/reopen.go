package aastest

import (
	"testing"

	"github.com/otkit/otkit/aas/repository"
	"github.com/stretchr/testify/require"
)

// restart closes the store and opens it again.
func (s *store) restart(t *testing.T) {
	t.Helper()
	if s.reopen == nil {
		t.Skip("the store keeps nothing over a restart")
	}
	s.Store, s.another = s.reopen(), nil
}

func testReopen(t *testing.T, s *store) {
	a, b := shell("a", "first", "asset=1"), shell("b", "second", "asset=1")
	s.put(t, a, b, shell("gone", "third", "asset=1"))
	file := repository.StoredFile{Key: repository.FileKey{Kind: a.Kind, ID: a.ID, Name: "/x"}, ContentType: "text/plain", Data: []byte{0, 1, 255}}
	lost := repository.StoredFile{Key: repository.FileKey{Kind: a.Kind, ID: a.ID, Name: "/lost"}, Data: []byte("x")}
	_, err := s.Write(t.Context(), repository.Batch{Files: []repository.StoredFile{file, lost}})
	require.NoError(t, err)
	_, err = s.Write(t.Context(), repository.Batch{Remove: []repository.FileKey{lost.Key}})
	require.NoError(t, err)
	a.IDShort, a.JSON, a.Terms = "changed", []byte(`{"idShort":"changed"}`), []repository.Term{{Name: "asset", Value: "2"}}
	s.put(t, a)
	s.remove(t, b.Kind, "gone")

	s.restart(t)
	list := s.get(t, a.Kind, "a", "b", "gone")
	require.Len(t, list, 2, "documents after a restart")
	for i, want := range []repository.Document{a, b} {
		require.Equal(t, want.ID, list[i].ID)
		require.Equal(t, want.IDShort, list[i].IDShort, "IDShort was not stored")
		require.Equal(t, string(want.JSON), string(list[i].JSON), "JSON was not stored")
		require.Equal(t, uint64(2-i), list[i].Version, "Version was not stored")
	}
	require.Equal(t, []string{"b"}, s.found(t, repository.Query{Kind: a.Kind, Terms: []repository.Term{{Name: "asset", Value: "1"}}}))
	require.Equal(t, []string{"a"}, s.found(t, repository.Query{Kind: a.Kind, Terms: []repository.Term{{Name: "asset", Value: "2"}}}))
	names, err := s.FileNames(t.Context(), a.Kind, a.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"/x"}, names, "files after a restart")
	got, err := s.File(t.Context(), file.Key)
	require.NoError(t, err)
	require.Equal(t, file, got, "a file after a restart")

	versions, err := s.Write(t.Context(), changes(repository.Match{Version: 2}, a))
	require.NoError(t, err)
	require.Equal(t, []uint64{3}, versions)
	s.restart(t)
	require.Equal(t, uint64(3), s.get(t, a.Kind, a.ID)[0].Version, "what was written after the first restart")
}

func testReopenElements(t *testing.T, s *store) {
	elements, k := s.elementStore(t), newKept(300)
	s.put(t, k.document())
	text := keptElement("Element7", 5000)
	_, err := elements.WriteElement(t.Context(), repository.ElementChange{Kind: repository.KindSubmodel, ID: "urn:apart", Version: 1, IDShort: "Element7", JSON: text, Count: 300})
	require.NoError(t, err)
	k.change("Element7", text)
	s.restart(t)
	k.same(t, s, 2)
}
