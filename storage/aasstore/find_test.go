package aasstore_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

// A search by several asset ids starts with the one that few shells have, whatever their order.
func TestSearchesStartWithWhatFewHave(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		s, ctx := open(t, storage.Options{}).AAS(), t.Context()
		plant, line, own, kind := repository.AssetTerm("plant", "1"), repository.AssetTerm("line", "1"), repository.AssetTerm(repository.GlobalAssetIDName, "urn:a:77"), repository.KindTerm(aas.Instance)
		var b repository.Batch
		for i := range 300 {
			d := repository.Document{Kind: repository.KindShell, ID: fmt.Sprintf("s%03d", i), JSON: []byte(`{}`),
				Terms: []repository.Term{plant, kind, repository.AssetTerm(repository.GlobalAssetIDName, fmt.Sprintf("urn:a:%d", i))}}
			if i%3 == 0 {
				d.Terms = append(d.Terms, line)
			}
			b.Changes = append(b.Changes, repository.Change{Document: d})
		}
		_, err := s.Write(ctx, b)
		require.NoError(t, err)
		for _, c := range []struct {
			terms []repository.Term
			first repository.Term
			found int
		}{
			{[]repository.Term{plant, own}, own, 1},
			{[]repository.Term{own, plant}, own, 1},
			{[]repository.Term{plant, line, own}, own, 0},
			{[]repository.Term{plant, line}, line, 100},
			{[]repository.Term{plant, repository.AssetTerm("plant", "2")}, repository.AssetTerm("plant", "2"), 0},
			{[]repository.Term{plant, kind}, plant, 300},
			{[]repository.Term{plant}, plant, 300},
		} {
			q := repository.Query{Kind: repository.KindShell, Terms: c.terms, Limit: 1000, Count: true}
			order, err := s.TermsInOrder(ctx, q)
			require.NoError(t, err)
			require.Equal(t, c.first, order[0], "%q", c.terms)
			require.ElementsMatch(t, c.terms, order)
			before := slices.Clone(c.terms)
			p, err := s.Find(ctx, q)
			require.NoError(t, err)
			require.Len(t, p.Documents, c.found, "%q", c.terms)
			require.Equal(t, c.found, p.Total)
			require.Equal(t, before, c.terms)
		}
	})
}
