package repository_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

func blob(value string) *aas.Blob {
	b := &aas.Blob{ContentType: "text/plain"}
	if b.IDShort = "b"; value != "" {
		b.Value = []byte(value)
	}
	return b
}

func storedBlob(t *testing.T, s *repository.Service, id string) *aas.Blob {
	t.Helper()
	m, err := s.Submodels.Get(t.Context(), id)
	require.NoError(t, err)
	return m.Elements[0].(*aas.Blob)
}

func TestPutsKeepBlobs(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	for _, id := range []string{"m1", "m2"} {
		_, err := s.Submodels.Create(ctx, newSubmodel(id, "M", blob("bytes of "+id)))
		require.NoError(t, err)
	}
	given := newSubmodel("m1", "New", blob(""))
	d, created, err := s.Submodels.Put(ctx, given, repository.Match{})
	require.NoError(t, err)
	require.False(t, created)
	require.Contains(t, string(d.JSON), `"idShort":"New"`)
	require.Equal(t, "bytes of m1", string(storedBlob(t, s, "m1").Value))
	require.Nil(t, given.Elements[0].(*aas.Blob).Value, "what the caller gave is the caller's")

	require.NoError(t, s.Submodels.PutAll(ctx, []*aas.Submodel{newSubmodel("m0", "M", blob("")), newSubmodel("m1", "M", blob("")), newSubmodel("m2", "New", blob(""))}))
	require.Nil(t, storedBlob(t, s, "m0").Value)
	require.Equal(t, "bytes of m1", string(storedBlob(t, s, "m1").Value))
	require.Equal(t, "bytes of m2", string(storedBlob(t, s, "m2").Value))

	_, _, err = s.PutElement(ctx, "m1", parsePath(t, "b"), blob(""), repository.Match{})
	require.NoError(t, err)
	require.Equal(t, "bytes of m1", string(storedBlob(t, s, "m1").Value))

	gone := blob("")
	gone.RemoveValue = true
	require.NoError(t, s.Submodels.PutAll(ctx, []*aas.Submodel{newSubmodel("m2", "New", gone)}))
	require.Nil(t, storedBlob(t, s, "m2").Value)
	_, _, err = s.Submodels.Put(ctx, newSubmodel("m1", "New", gone), repository.Match{})
	require.NoError(t, err)
	require.Nil(t, storedBlob(t, s, "m1").Value)
}

// A put that meets another one keeps the value that the other has stored, and not one that is gone.
func TestABlobIsKeptFromTheVersionThatIsReplaced(t *testing.T) {
	b, s, other := besides(t)
	_, err := other.Submodels.Create(t.Context(), newSubmodel("m", "M", blob("old")))
	require.NoError(t, err)
	put := func(s *repository.Service, name, value string) {
		_, _, err := s.Submodels.Put(t.Context(), newSubmodel("m", name, blob(value)), repository.Match{})
		require.NoError(t, err)
	}
	b.writes = append(b.writes, func() { put(other, "Theirs", "new") })
	put(s, "Mine", "")
	require.Equal(t, "new", string(storedBlob(t, other, "m").Value))
}
