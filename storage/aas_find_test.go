package storage_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/storage"
)

// A search by several asset ids starts with the one that few shells have, whatever their order.
func TestSearchesStartWithWhatFewHave(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		s, ctx := open(t, storage.Options{}).AAS(), t.Context()
		plant, line, own, kind := aas.AssetTerm("plant", "1"), aas.AssetTerm("line", "1"), aas.AssetTerm(aas.GlobalAssetIDName, "urn:a:77"), aas.KindTerm(aas.Instance)
		var b aas.Batch
		for i := range 300 {
			d := aas.Document{Kind: aas.KindShell, ID: fmt.Sprintf("s%03d", i), JSON: []byte(`{}`),
				Terms: []aas.Term{plant, kind, aas.AssetTerm(aas.GlobalAssetIDName, fmt.Sprintf("urn:a:%d", i))}}
			if i%3 == 0 {
				d.Terms = append(d.Terms, line)
			}
			b.Changes = append(b.Changes, aas.Change{Document: d})
		}
		_, err := s.Write(ctx, b)
		require.NoError(t, err)
		for _, c := range []struct {
			terms []aas.Term
			first aas.Term
			found int
		}{
			{[]aas.Term{plant, own}, own, 1},
			{[]aas.Term{own, plant}, own, 1},
			{[]aas.Term{plant, line, own}, own, 0},
			{[]aas.Term{plant, line}, line, 100},
			{[]aas.Term{plant, aas.AssetTerm("plant", "2")}, aas.AssetTerm("plant", "2"), 0},
			{[]aas.Term{plant, kind}, plant, 300},
			{[]aas.Term{plant}, plant, 300},
		} {
			q := aas.Query{Kind: aas.KindShell, Terms: c.terms, Limit: 1000, Count: true}
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
