package repository_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
)

// gets counts the documents that are read at once.
type gets struct {
	repository.Store
	most int
}

func (g *gets) Get(ctx context.Context, kind repository.Kind, ids ...string) ([]repository.Document, error) {
	g.most = max(g.most, len(ids))
	return g.Store.Get(ctx, kind, ids...)
}

// A shell may refer to one submodel several times, and to more than are to be in memory at once.
func TestTheSubmodelsOfAShellAreGivenOnceAndFewAtATime(t *testing.T) {
	store := &gets{Store: repository.NewMemory()}
	s, err := repository.New(store, repository.Options{})
	require.NoError(t, err)
	ctx := t.Context()
	shell := newShell("urn:a")
	var want []string
	for i := range 250 {
		id := fmt.Sprintf("urn:m%d", i)
		if slices.Contains([]int{0, 5, 120, 240}, i) {
			id = "urn:same"
		}
		shell.Submodels = append(shell.Submodels, aas.RefTo(id))
		if slices.Contains(want, id) {
			continue
		}
		want = append(want, id)
		_, err := s.Submodels.Create(ctx, newSubmodel(id, "M"))
		require.NoError(t, err)
	}
	_, err = s.Shells.Create(ctx, shell)
	require.NoError(t, err)
	store.most = 0
	list, err := s.SubmodelsOf(ctx, "urn:a")
	require.NoError(t, err)
	var got []string
	for _, m := range list {
		got = append(got, m.Document.ID)
	}
	require.Equal(t, want, got)
	require.LessOrEqual(t, store.most, 16, "the bound of bytes is asked between")
}

func TestASubmodelGoesWithItsReferences(t *testing.T) {
	b, s, other := besides(t)
	ctx, any := t.Context(), repository.Match{}
	shell := newShell("urn:a")
	shell.Submodels = []aas.Reference{aas.RefTo("urn:m"), aas.RefTo("urn:n"), aas.RefTo("urn:m")}
	_, err := s.Shells.Create(ctx, shell)
	require.NoError(t, err)
	require.ErrorIs(t, s.DeleteSubmodelOf(ctx, "urn:a", "urn:m", any), repository.ErrSubmodelNotFound)
	require.ErrorIs(t, s.DeleteSubmodelOf(ctx, "urn:b", "urn:m", any), repository.ErrShellNotFound)
	m, err := s.Submodels.Create(ctx, newSubmodel("urn:m", "M"))
	require.NoError(t, err)
	require.ErrorIs(t, s.DeleteSubmodelOf(ctx, "urn:a", "urn:m", repository.Match{Version: m.Version + 1}), repository.ErrVersionChanged)
	kept, err := s.Shells.Get(ctx, "urn:a")
	require.NoError(t, err)
	require.Len(t, kept.Submodels, 3)

	events, err := s.Subscribe(repository.SubscribeOptions{})
	require.NoError(t, err)
	defer events.Close()
	// Another process changes the shell between: nothing of either change is lost.
	b.writes = append(b.writes, func() {
		_, err := other.Shells.Update(ctx, "urn:a", any, func(s *aas.Shell) error { s.IDShort = "Renamed"; return nil })
		require.NoError(t, err)
	})
	require.NoError(t, s.DeleteSubmodelOf(ctx, "urn:a", "urn:m", repository.Match{Version: m.Version}))
	kept, err = s.Shells.Get(ctx, "urn:a")
	require.NoError(t, err)
	require.Equal(t, "Renamed", kept.IDShort)
	require.Equal(t, []aas.Reference{aas.RefTo("urn:n")}, kept.Submodels)
	_, err = s.Submodels.Get(ctx, "urn:m")
	require.ErrorIs(t, err, repository.ErrSubmodelNotFound)
	got, err := events.Next(ctx, 0)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.Equal(t, repository.Deleted, got[0].Type)
	require.Equal(t, "urn:m", got[0].ID)
	require.Equal(t, repository.Updated, got[1].Type)
	require.Equal(t, "urn:a", got[1].ID)
}
