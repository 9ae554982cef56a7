package repository_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

// between is a store beside which others work: each function is called once, before a call of its kind.
type between struct {
	repository.Store
	files, writes []func()
}

func next(list *[]func()) {
	if len(*list) > 0 {
		fn := (*list)[0]
		*list = (*list)[1:]
		fn()
	}
}

func (b *between) File(ctx context.Context, key repository.FileKey) (repository.StoredFile, error) {
	next(&b.files)
	return b.Store.File(ctx, key)
}

func (b *between) Write(ctx context.Context, batch repository.Batch) ([]uint64, error) {
	next(&b.writes)
	return b.Store.Write(ctx, batch)
}

// besides makes a service over a store, and another one that works beside it.
func besides(t *testing.T) (b *between, s, other *repository.Service) {
	t.Helper()
	store := repository.NewMemory()
	b = &between{Store: store}
	for _, made := range []struct {
		to    **repository.Service
		store repository.Store
	}{{&s, b}, {&other, store}} {
		service, err := repository.New(made.store, repository.Options{})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, service.Close(context.Background())) })
		*made.to = service
	}
	return b, s, other
}

func putFile(t *testing.T, s *repository.Service, path, name, content string) {
	t.Helper()
	require.NoError(t, s.PutFile(t.Context(), "urn:m", parsePath(t, path), name, "text/plain", []byte(content), repository.Match{}))
}

func requireFile(t *testing.T, s *repository.Service, path, content string) {
	t.Helper()
	f, err := s.GetFile(t.Context(), "urn:m", parsePath(t, path))
	require.NoError(t, err)
	require.Equal(t, content, string(f.Data))
}

// Entries of a list move when one before them is removed; their files do not.
func TestAFileNeverTakesThePlaceOfAnothers(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	docs := &aas.List{TypeValueListElement: aas.KindFile, Value: []aas.Element{newFile("", ""), newFile("", "")}}
	docs.IDShort = "Docs"
	_, err := s.Submodels.Create(ctx, newSubmodel("urn:m", "M", docs))
	require.NoError(t, err)
	putFile(t, s, "Docs[0]", "manual.pdf", "first")
	putFile(t, s, "Docs[1]", "manual.pdf", "second")
	_, err = s.DeleteElement(ctx, "urn:m", parsePath(t, "Docs[0]"), repository.Match{})
	require.NoError(t, err)
	for _, content := range []string{"third", "fourth"} { // the second time in its own place
		if content == "third" {
			_, err = s.InsertElement(ctx, "urn:m", parsePath(t, "Docs"), newFile("", ""), repository.Match{})
			require.NoError(t, err)
		}
		putFile(t, s, "Docs[1]", "Manual.pdf", content)
		requireFile(t, s, "Docs[0]", "second")
		requireFile(t, s, "Docs[1]", content)
		require.Len(t, fileNames(t, s, repository.KindSubmodel, "urn:m"), 2)
	}
	f, err := s.GetFile(ctx, "urn:m", parsePath(t, "Docs[1]"))
	require.NoError(t, err)
	require.Equal(t, "/aasx/Docs.1-2/Manual.pdf", f.Key.Name, "a download has the name that was uploaded")
	require.NoError(t, s.DeleteFile(ctx, "urn:m", parsePath(t, "Docs[1]"), repository.Match{}))
	requireFile(t, s, "Docs[0]", "second")
}

// A name may be taken by what an import brought, by an element that shares its file, and by one whose
// file has not come yet.
func TestNamesOfOthersAreNotTaken(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	env := &aas.Environment{Shells: []*aas.Shell{newShell("urn:a")}, Submodels: []*aas.Submodel{newSubmodel("urn:m", "M",
		newFile("A", "/aasx/A/a.pdf"), newFile("B", "file:/aasx/A/A.pdf"), newFile("C", ""), newFile("D", "aasx/C/c%2Epdf"))}}
	files := []repository.ImportFile{{Name: "/aasx/A/a.pdf", Data: []byte("shared")}, {Name: "/aasx/thumbnail/a.png", Data: []byte("loose")}}
	_, err := s.Import(ctx, env, files, repository.ImportOptions{})
	require.NoError(t, err)
	putFile(t, s, "A", "a.pdf", "of A alone")
	requireFile(t, s, "B", "shared")
	requireFile(t, s, "A", "of A alone")
	putFile(t, s, "C", "c.pdf", "of C")
	_, err = s.GetFile(ctx, "urn:m", parsePath(t, "D"))
	require.ErrorIs(t, err, repository.ErrFileNotFound)

	for _, content := range []string{"one", "two"} {
		require.NoError(t, s.PutThumbnail(ctx, "urn:a", "a.png", "image/png", []byte(content), repository.Match{}))
		f, err := s.Thumbnail(ctx, "urn:a")
		require.NoError(t, err)
		require.Equal(t, content, string(f.Data))
		f, err = s.File(ctx, repository.FileKey{Kind: repository.KindShell, ID: "urn:a", Name: "/aasx/thumbnail/a.png"})
		require.NoError(t, err)
		require.Equal(t, "loose", string(f.Data))
		require.Len(t, fileNames(t, s, repository.KindShell, "urn:a"), 2)
	}
}

func TestAFileIsThereWhileItIsReplaced(t *testing.T) {
	b, s, other := besides(t)
	_, err := s.Submodels.Create(t.Context(), newSubmodel("urn:m", "M", newFile("Doc", "")))
	require.NoError(t, err)
	_, err = s.Shells.Create(t.Context(), newShell("urn:a"))
	require.NoError(t, err)
	thumbnail := func(name string) {
		require.NoError(t, other.PutThumbnail(t.Context(), "urn:a", name, "image/png", []byte(name), repository.Match{}))
	}
	putFile(t, s, "Doc", "1.pdf", "one")
	b.files = []func(){
		func() { putFile(t, other, "Doc", "2.pdf", "two") },
		func() { putFile(t, other, "Doc", "3.pdf", "three") },
	}
	requireFile(t, s, "Doc", "three")
	thumbnail("1.png")
	b.files = []func(){func() { thumbnail("2.png") }}
	f, err := s.Thumbnail(t.Context(), "urn:a")
	require.NoError(t, err)
	require.Equal(t, "2.png", string(f.Data))

	b.files = []func(){func() {
		require.NoError(t, other.DeleteFile(t.Context(), "urn:m", parsePath(t, "Doc"), repository.Match{}))
		require.NoError(t, other.DeleteThumbnail(t.Context(), "urn:a", repository.Match{}))
	}}
	_, err = s.GetFile(t.Context(), "urn:m", parsePath(t, "Doc"))
	require.ErrorIs(t, err, repository.ErrFileNotFound)
	_, err = s.Thumbnail(t.Context(), "urn:a")
	require.ErrorIs(t, err, repository.ErrFileNotFound)
}

func TestDeleteFileLeavesAValueThatAnotherHasSet(t *testing.T) {
	const elsewhere = "https://example.com/new.pdf"
	b, s, other := besides(t)
	_, err := s.Submodels.Create(t.Context(), newSubmodel("urn:m", "M", newFile("Doc", "")))
	require.NoError(t, err)
	putFile(t, s, "Doc", "1.pdf", "one")
	at := parsePath(t, "Doc")
	b.writes = []func(){func() {
		_, err := other.SetValue(t.Context(), "urn:m", at, []byte(`{"contentType":"application/pdf","value":"`+elsewhere+`"}`), repository.Match{})
		require.NoError(t, err)
	}}
	require.ErrorIs(t, s.DeleteFile(t.Context(), "urn:m", at, repository.Match{}), repository.ErrFileNotFound)
	m, err := s.Submodels.Get(t.Context(), "urn:m")
	require.NoError(t, err)
	require.Equal(t, elsewhere, *m.Elements[0].(*aas.File).Value)
}
