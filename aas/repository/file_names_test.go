package repository_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

func newFile(idShort, value string) *aas.File {
	f := &aas.File{ContentType: "application/pdf"}
	if f.IDShort = idShort; value != "" {
		f.Value = &value
	}
	return f
}

func fileNames(t *testing.T, s *repository.Service, kind repository.Kind, id string) []string {
	t.Helper()
	names, err := s.FileNames(t.Context(), kind, id)
	require.NoError(t, err)
	return names
}

// What people call their files is no URI, and the value of an element has to be one.
func TestFilesOfAnyNameAreKept(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	_, err := s.Shells.Create(ctx, newShell("urn:a"))
	require.NoError(t, err)
	_, err = s.Submodels.Create(ctx, newSubmodel("urn:m", "Docs", newFile("Manual", "")))
	require.NoError(t, err)
	at := parsePath(t, "Manual")
	for _, name := range []string{"Manual v2.pdf", "manual V2.pdf", "Über.pdf", "日本.pdf", "a[1].pdf", "a'b(1);&=+,@!.pdf", "a{b}^`.pdf"} {
		require.NoError(t, s.PutFile(ctx, "urn:m", at, name, "application/pdf", []byte(name), repository.Match{}), name)
		f, err := s.GetFile(ctx, "urn:m", at)
		require.NoError(t, err)
		require.Equal(t, "/aasx/Manual/"+name, f.Key.Name)
		require.Equal(t, name, string(f.Data))
		require.Equal(t, []string{f.Key.Name}, fileNames(t, s, repository.KindSubmodel, "urn:m"), "the one before is removed")

		require.NoError(t, s.PutThumbnail(ctx, "urn:a", name, "image/png", []byte(name), repository.Match{}), name)
		f, err = s.Thumbnail(ctx, "urn:a")
		require.NoError(t, err)
		require.Equal(t, []string{f.Key.Name}, fileNames(t, s, repository.KindShell, "urn:a"))
		require.Equal(t, name, string(f.Data))
	}
	require.NoError(t, s.DeleteFile(ctx, "urn:m", at, repository.Match{}))
	require.Empty(t, fileNames(t, s, repository.KindSubmodel, "urn:m"))
	require.NoError(t, s.DeleteThumbnail(ctx, "urn:a", repository.Match{}))
	require.Empty(t, fileNames(t, s, repository.KindShell, "urn:a"))
}

func TestReplacedDocumentsKeepTheFilesThatTheyName(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	with := func(elements ...aas.Element) *aas.Environment {
		return &aas.Environment{Submodels: []*aas.Submodel{newSubmodel("urn:m", "Docs", elements...)}}
	}
	bring := func(env *aas.Environment, replace bool, names ...string) {
		t.Helper()
		var files []repository.ImportFile
		for _, name := range names {
			files = append(files, repository.ImportFile{Name: name, ContentType: "application/pdf", Data: []byte(name)})
		}
		_, err := s.Import(ctx, env, files, repository.ImportOptions{Replace: replace, KeepUnnamed: len(files) == 0})
		require.NoError(t, err)
	}
	bring(with(newFile("A", "/AASX/files/a.pdf"), newFile("B", "/aasx/files/b.pdf")), false, "/aasx/files/a.pdf", "/aasx/files/b.pdf", "/extra.bin")
	all := []string{"/aasx/files/a.pdf", "/aasx/files/b.pdf", "/extra.bin"}
	require.Equal(t, all, fileNames(t, s, repository.KindSubmodel, "urn:m"))
	bring(with(newFile("A", "/aasx/files/A.pdf"), newFile("B", "file:/aasx/files/b.pdf")), true)
	require.Equal(t, all, fileNames(t, s, repository.KindSubmodel, "urn:m"), "JSON brings no files")
	_, _, err := s.Submodels.Put(ctx, with(newFile("A", "/aasx/files/a.pdf"), newFile("B", "/aasx/files/b.pdf")).Submodels[0], repository.Match{})
	require.NoError(t, err)
	require.Equal(t, all, fileNames(t, s, repository.KindSubmodel, "urn:m"))
	bring(with(newFile("A", "/aasx/files/A.pdf")), true, "/aasx/files/A.pdf")
	require.Equal(t, []string{"/aasx/files/A.pdf"}, fileNames(t, s, repository.KindSubmodel, "urn:m"), "two have not come again, one has come in other case")
	f, err := s.GetFile(ctx, "urn:m", parsePath(t, "A"))
	require.NoError(t, err)
	require.Equal(t, "/aasx/files/A.pdf", string(f.Data))
	_, err = s.DeleteElement(ctx, "urn:m", parsePath(t, "A"), repository.Match{})
	require.NoError(t, err)
	require.Empty(t, fileNames(t, s, repository.KindSubmodel, "urn:m"))
	bring(with(), true, "/extra-2.bin")
	bring(with(), true, "/extra-3.bin")
	require.Equal(t, []string{"/extra-3.bin"}, fileNames(t, s, repository.KindSubmodel, "urn:m"), "those of earlier packages do not gather")
	bring(with(newFile("A", "/extra-3.bin")), true)
	bring(with(), true)
	require.Empty(t, fileNames(t, s, repository.KindSubmodel, "urn:m"), "it was named before, and is not now")
}

func TestFilesThatNobodyNamesStayWithTheirPackage(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	files := []repository.ImportFile{{Name: "/readme.txt", ContentType: "text/plain", Data: []byte("hello")}}
	env := &aas.Environment{Submodels: []*aas.Submodel{newSubmodel("urn:m", "M")}, Shells: []*aas.Shell{newShell("urn:a"), newShell("urn:b")}}
	report, err := s.Import(ctx, env, files, repository.ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, repository.ImportReport{Created: 3, Files: 1}, report)
	require.Equal(t, []string{"/readme.txt"}, fileNames(t, s, repository.KindShell, "urn:a"))
	concept := &aas.ConceptDescription{}
	concept.ID = "urn:c"
	report, err = s.Import(ctx, &aas.Environment{ConceptDescriptions: []*aas.ConceptDescription{concept}}, files, repository.ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, repository.ImportReport{Created: 1, Unused: []string{"/readme.txt"}}, report)
}
