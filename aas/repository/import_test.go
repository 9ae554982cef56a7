package repository_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

// What others write between the reading and the writing of an import is replaced as well, files and all.
func TestImportReplacesWhatIsThereWhenItWrites(t *testing.T) {
	b, s, other := besides(t)
	ctx := t.Context()
	env := func() *aas.Environment {
		return &aas.Environment{
			Shells:    []*aas.Shell{newShell("urn:a"), newShell("urn:b")},
			Submodels: []*aas.Submodel{newSubmodel("urn:m", "M", newFile("Doc", ""))},
		}
	}
	thumbnail := func() {
		require.NoError(t, other.PutThumbnail(ctx, "urn:a", "a.png", "image/png", []byte("1"), repository.Match{}))
	}
	_, err := s.Import(ctx, env(), nil, repository.ImportOptions{})
	require.NoError(t, err)
	b.writes = []func(){
		func() { putFile(t, other, "Doc", "up.pdf", "1"); thumbnail() },
		func() { putFile(t, other, "Doc", "up2.pdf", "2") },
		func() { require.NoError(t, other.Shells.Delete(ctx, "urn:b", repository.Match{})) },
		thumbnail,
	}
	for range 60 { // the same document, more often than there are tries for one change
		b.writes = append(b.writes, func() { putFile(t, other, "Doc", "up3.pdf", "3") })
	}
	_, err = s.Import(ctx, env(), nil, repository.ImportOptions{Replace: true})
	require.ErrorIs(t, err, repository.ErrBusy)
	b.writes = b.writes[:3]
	report, err := s.Import(ctx, env(), nil, repository.ImportOptions{Replace: true})
	require.NoError(t, err)
	require.Equal(t, 3, report.Created+report.Replaced)
	require.Empty(t, b.writes)
	require.Empty(t, fileNames(t, s, repository.KindSubmodel, "urn:m"))
	require.Empty(t, fileNames(t, s, repository.KindShell, "urn:a"))
	m, err := s.Submodels.Get(ctx, "urn:m")
	require.NoError(t, err)
	require.Nil(t, m.Elements[0].(*aas.File).Value)
}

// One part that many submodels name is kept once for each: a small package can be a lot to keep.
func TestImportLimitsWhatItKeeps(t *testing.T) {
	s, ctx := newService(t, repository.Options{}), t.Context()
	env := &aas.Environment{}
	for n := range 40 {
		env.Submodels = append(env.Submodels, newSubmodel(fmt.Sprint("urn:", n), "M", newFile("F", "/big.bin")))
	}
	files := []repository.ImportFile{{Name: "/big.bin", Data: make([]byte, 1000)}, {Name: "/loose.bin", Data: make([]byte, 500)}}
	for _, most := range []int64{39_999, 40_499} {
		_, err := s.Import(ctx, env, files, repository.ImportOptions{MaxBytes: most})
		require.ErrorIs(t, err, repository.ErrImportTooLarge)
		require.ErrorContains(t, err, fmt.Sprintf("more than %d bytes", most))
		_, err = s.Submodels.Get(ctx, "urn:0")
		require.ErrorIs(t, err, repository.ErrSubmodelNotFound)
	}
	report, err := s.Import(ctx, env, files, repository.ImportOptions{MaxBytes: 40_500})
	require.NoError(t, err)
	require.Equal(t, 41, report.Files)
	_, err = s.Import(ctx, env, files, repository.ImportOptions{MaxBytes: -1})
	require.ErrorIs(t, err, aas.ErrInvalidRequest)

	files[0].Data = make([]byte, 27<<20) // 40 times are above 1 GiB
	_, err = s.Import(ctx, env, files, repository.ImportOptions{Replace: true})
	require.ErrorIs(t, err, repository.ErrImportTooLarge, "there is a limit when nobody sets one")
}

// No document can keep what an environment itself has besides its documents.
func TestUnknownMembersOfAnEnvironmentAreReported(t *testing.T) {
	env, err := aas.Decode[aas.Environment]([]byte(`{"$schema":"x","submodels":[{"id":"urn:m","vendor":[1]}]}`))
	require.NoError(t, err)
	s := newService(t, repository.Options{})
	_, err = s.Import(t.Context(), env, nil, repository.ImportOptions{})
	require.ErrorContains(t, err, "$schema")
	report, err := s.Import(t.Context(), env, nil, repository.ImportOptions{Verification: repository.VerifyPermissive})
	require.NoError(t, err)
	require.Equal(t, "$schema", report.Findings[0].Field)
	d, err := s.Submodels.Document(t.Context(), "urn:m")
	require.NoError(t, err)
	require.JSONEq(t, `{"modelType":"Submodel","id":"urn:m","vendor":[1]}`, string(d.JSON))
}
