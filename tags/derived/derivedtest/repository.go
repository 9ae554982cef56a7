package derivedtest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/tags/derived"
)

// TestRepository tests an implementation of derived.Repository. open returns an empty one, which it closes with the test.
func TestRepository(t *testing.T, open func(t testing.TB) derived.Repository) {
	t.Run("documents are kept", func(t *testing.T) { kept(t, open(t)) })
	t.Run("a change is whole or none", func(t *testing.T) { whole(t, open(t)) })
	t.Run("one of two writers loses", func(t *testing.T) { raced(t, open(t)) })
}

var at = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

func doc(kind, id string, revision int64) derived.Document {
	return derived.Document{Kind: kind, ID: id, Revision: revision, Body: []byte(fmt.Sprintf(`{"id":%q,"n":%d}`, id, revision)),
		CreatedAt: at.Add(time.Duration(revision) * time.Hour), UpdatedAt: at.Add(time.Duration(revision) * time.Hour)}
}

func list(t testing.TB, r derived.Repository, kind string) string {
	docs, err := r.Documents(t.Context(), kind)
	require.NoError(t, err)
	all := make([]string, len(docs))
	for i, d := range docs {
		require.Equal(t, kind, d.Kind)
		require.JSONEq(t, string(doc(kind, d.ID, d.Revision).Body), string(d.Body))
		require.True(t, d.CreatedAt.Equal(at.Add(time.Hour)), "the time of creation stays: %s", d.CreatedAt)
		require.True(t, d.UpdatedAt.Equal(doc(kind, d.ID, d.Revision).UpdatedAt))
		all[i] = fmt.Sprintf("%s@%d", d.ID, d.Revision)
	}
	return strings.Join(all, " ")
}

func kept(t testing.TB, r derived.Repository) {
	ctx := t.Context()
	before, err := r.Position(ctx)
	require.NoError(t, err)
	require.Empty(t, list(t, r, "a"))
	after, err := r.Change(ctx, []derived.Document{doc("a", "ü/%", 1), doc("a", "b", 1), doc("c", "b", 1)}, nil)
	require.NoError(t, err)
	require.Greater(t, after, before)
	require.Equal(t, "b@1 ü/%@1", list(t, r, "a"))
	require.Equal(t, "b@1", list(t, r, "c"))
	_, err = r.Change(ctx, []derived.Document{doc("a", "b", 2)}, []derived.Document{doc("c", "b", 1)})
	require.NoError(t, err)
	require.Equal(t, "b@2 ü/%@1", list(t, r, "a"))
	require.Empty(t, list(t, r, "c"))
	now, err := r.Position(ctx)
	require.NoError(t, err)
	require.Greater(t, now, after)
}

func whole(t testing.TB, r derived.Repository) {
	ctx := t.Context()
	_, err := r.Change(ctx, []derived.Document{doc("a", "b", 1)}, nil)
	require.NoError(t, err)
	position, err := r.Position(ctx)
	require.NoError(t, err)
	for _, c := range []struct{ put, remove []derived.Document }{
		{put: []derived.Document{doc("a", "x", 1), doc("a", "b", 1)}},
		{put: []derived.Document{doc("a", "x", 1), doc("a", "b", 3)}},
		{put: []derived.Document{doc("a", "x", 1), doc("a", "y", 2)}},
		{put: []derived.Document{doc("a", "x", 1)}, remove: []derived.Document{doc("a", "b", 2)}},
		{remove: []derived.Document{doc("a", "b", 1), doc("a", "y", 1)}},
	} {
		_, err := r.Change(ctx, c.put, c.remove)
		require.ErrorIs(t, err, derived.ErrChanged)
		require.Equal(t, "b@1", list(t, r, "a"))
	}
	now, err := r.Position(ctx)
	require.NoError(t, err)
	require.Equal(t, position, now)
}

func raced(t testing.TB, r derived.Repository) {
	const writers = 8
	var wg sync.WaitGroup
	errs := make([]error, writers)
	for i := range writers {
		wg.Go(func() { _, errs[i] = r.Change(t.Context(), []derived.Document{doc("a", "b", 1)}, nil) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			require.ErrorIs(t, err, derived.ErrChanged)
		}
	}
	require.Equal(t, 1, won)
	require.Equal(t, "b@1", list(t, r, "a"))
}
