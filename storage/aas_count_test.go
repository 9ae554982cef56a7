package storage_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/storage"
)

// Totals of searches that look up something else for each shell.
var slowSearches = []aas.Query{
	{Linked: plates},
	{Linked: plates, Contains: "pump"},
	{Linked: plates, Contains: "pump", Terms: []aas.Term{aas.KindTerm(aas.Instance)}},
	{Linked: plates, IDShort: "Pump1", Terms: []aas.Term{aas.KindTerm(aas.Type)}},
	{Contains: "fan", Terms: []aas.Term{aas.KindTerm(aas.Instance)}},
	{Terms: []aas.Term{aas.KindTerm(aas.Instance), aas.AssetTypeTerm("big")}},
}

var plates = &aas.Link{Name: "submodel", Kind: aas.KindSubmodel, Term: aas.TypeTerm("nameplate")}

func shellTotal(t testing.TB, s aas.Store, q aas.Query) int {
	t.Helper()
	q.Kind, q.Limit, q.Count = aas.KindShell, 3, true
	p, err := s.Find(t.Context(), q)
	require.NoError(t, err)
	return p.Total
}

// randomChange makes, changes or removes shells and submodels that lead to each other.
func randomChange(r *rand.Rand) aas.Batch {
	var b aas.Batch
	for range 1 + r.IntN(3) {
		i := len(b.Changes)*100 + r.IntN(15) // no document twice
		if r.IntN(3) == 0 {
			b.Changes = append(b.Changes, aas.Change{Delete: r.IntN(3) == 0, Document: aas.Document{
				Kind: aas.KindSubmodel, ID: fmt.Sprintf("m%d", i), JSON: []byte(`{}`),
				Terms: []aas.Term{aas.TypeTerm([]string{"nameplate", "other"}[r.IntN(2)])}}})
			continue
		}
		d := aas.Document{Kind: aas.KindShell, ID: fmt.Sprintf("s%d", i), IDShort: fmt.Sprintf("%s%d", []string{"Pump", "Fan"}[r.IntN(2)], r.IntN(3)),
			JSON: []byte(`{}`), Terms: []aas.Term{aas.KindTerm([]aas.AssetKind{aas.Instance, aas.Type}[r.IntN(2)])}}
		if r.IntN(2) == 0 {
			d.Terms = append(d.Terms, aas.AssetTypeTerm("big"))
		}
		for n := range r.IntN(3) {
			d.Terms = append(d.Terms, aas.SubmodelTerm(fmt.Sprintf("m%d", n*100+r.IntN(15))))
		}
		b.Changes = append(b.Changes, aas.Change{Document: d, Delete: r.IntN(5) == 0})
	}
	return b
}

// Totals are the same as of a store that counts every time, whoever makes the changes.
func TestTotalsFollowChanges(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		s, other, plain := open(t, storage.Options{}).AAS(), open(t, storage.Options{}).AAS(), aas.NewMemory()
		r := rand.New(rand.NewPCG(1, 2))
		for i := range 150 {
			b, by := randomChange(r), s
			if i%10 == 9 {
				by = other
			}
			_, err := by.Write(t.Context(), b)
			require.NoError(t, err)
			_, err = plain.Write(t.Context(), b)
			require.NoError(t, err)
			for n, q := range slowSearches {
				if (i+n)%3 == 0 {
					require.Equal(t, shellTotal(t, plain, q), shellTotal(t, s, q), "after %d changes: %v", i, q)
				}
			}
		}
	})
}

// After a change nothing is looked at but what has changed: a row that is gone behind the store's back
// is still counted, until another engine's changes ask for all to be counted anew.
func TestTotalsLookAtWhatHasChanged(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		db := open(t, storage.Options{})
		s, q := db.AAS(), slowSearches[2]
		pump := func(s aas.Store, id string) {
			_, err := s.Write(t.Context(), aas.Batch{Changes: []aas.Change{
				{Document: aas.Document{Kind: aas.KindSubmodel, ID: "m" + id, JSON: []byte(`{}`), Terms: []aas.Term{plates.Term}}},
				{Document: aas.Document{Kind: aas.KindShell, ID: id, IDShort: "Pump", JSON: []byte(`{}`),
					Terms: []aas.Term{aas.KindTerm(aas.Instance), aas.SubmodelTerm("m" + id)}}},
			}})
			require.NoError(t, err)
		}
		pump(s, "a")
		pump(s, "b")
		require.Equal(t, 2, shellTotal(t, s, q))
		_, err := db.StatePool().Exec("DELETE FROM aas_terms WHERE id = 'a'")
		require.NoError(t, err)
		pump(s, "c")
		require.Equal(t, 3, shellTotal(t, s, q))
		pump(open(t, storage.Options{}).AAS(), "d")
		require.Equal(t, 3, shellTotal(t, s, q))
	})
}

func TestTotalsWhileManyWrite(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		s := open(t, storage.Options{}).AAS()
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 40 {
					id := fmt.Sprintf("%d-%d", w, i)
					_, err := s.Write(t.Context(), aas.Batch{Changes: []aas.Change{{Match: aas.Match{Absent: true}, Document: aas.Document{
						Kind: aas.KindShell, ID: id, IDShort: "Fan", JSON: []byte(`{}`), Terms: []aas.Term{aas.KindTerm(aas.Instance)}}}}})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		seen := 0
		for seen < 4*40 && !t.Failed() {
			n := shellTotal(t, s, slowSearches[4])
			require.GreaterOrEqual(t, n, seen, "shells are only added")
			require.LessOrEqual(t, n, 4*40)
			seen = n
		}
		wg.Wait()
		require.Equal(t, 4*40, shellTotal(t, s, slowSearches[4]))
	})
}
