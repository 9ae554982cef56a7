package aastest

import (
	"fmt"
	"testing"

	"github.com/otkit/otkit/aas/repository"
	"github.com/stretchr/testify/require"
)

// BenchmarkStore measures a store with 10,000 shells: reading one, a page of 100 at the start and at
// the end, a search for a part of an idShort, a new shell, and a changed one. open makes an empty store
// and closes it with b.Cleanup.
func BenchmarkStore(b *testing.B, open func(testing.TB) repository.Store) {
	b.Helper()
	const shells = 10_000
	s, ctx := open(b), b.Context()
	id := func(i int) string { return fmt.Sprintf("https://example.org/aas/%07d", i) }
	pump := func(i int) repository.Document {
		return shell(id(i), fmt.Sprintf("Pump_%07d", i), fmt.Sprintf("asset=serial\x00%d", i), "assetKind=Instance")
	}
	var batch repository.Batch
	for i := range shells {
		batch.Changes = append(batch.Changes, repository.Change{Document: pump(i)})
	}
	_, err := s.Write(ctx, batch)
	require.NoError(b, err)
	find := func(q repository.Query) func(*testing.B) {
		q.Kind, q.Count = repository.KindShell, true
		return func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, err := s.Find(ctx, q)
				require.NoError(b, err)
			}
		}
	}
	b.Run("Get", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			_, err := s.Get(ctx, repository.KindShell, id(i%shells))
			require.NoError(b, err)
		}
	})
	b.Run("Page/start", find(repository.Query{Limit: 100}))
	b.Run("Page/end", find(repository.Query{Limit: 100, Offset: shells - 100}))
	b.Run("Page/after", find(repository.Query{Limit: 100, After: id(shells - 101)}))
	b.Run("Search", find(repository.Query{Limit: 20, Contains: "_00099"}))
	b.Run("Create", func(b *testing.B) {
		b.ReportAllocs()
		for i := shells; b.Loop(); i++ {
			_, err := s.Write(ctx, changes(repository.Match{Absent: true}, pump(i)))
			require.NoError(b, err)
		}
	})
	b.Run("Update", func(b *testing.B) {
		b.ReportAllocs()
		d := pump(7)
		list, err := s.Get(ctx, d.Kind, d.ID)
		require.NoError(b, err)
		version := list[0].Version
		for ; b.Loop(); version++ {
			_, err := s.Write(ctx, changes(repository.Match{Version: version}, d))
			require.NoError(b, err)
		}
	})
}
