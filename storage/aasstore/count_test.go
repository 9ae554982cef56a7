package aasstore_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

// Totals of searches that look up something else for each shell.
var slowSearches = []repository.Query{
	{Linked: plates},
	{Linked: plates, Contains: "pump"},
	{Linked: plates, Contains: "pump", Terms: []repository.Term{repository.KindTerm(aas.Instance)}},
	{Linked: plates, IDShort: "Pump1", Terms: []repository.Term{repository.KindTerm(aas.Type)}},
	{Contains: "fan", Terms: []repository.Term{repository.KindTerm(aas.Instance)}},
	{Terms: []repository.Term{repository.KindTerm(aas.Instance), repository.AssetTypeTerm("big")}},
}

var plates = &repository.Link{Name: "submodel", Kind: repository.KindSubmodel, Term: repository.TypeTerm("nameplate")}

func shellTotal(t testing.TB, s repository.Store, q repository.Query) int {
	t.Helper()
	q.Kind, q.Limit, q.Count = repository.KindShell, 3, true
	p, err := s.Find(t.Context(), q)
	require.NoError(t, err)
	return p.Total
}

// randomChange makes, changes or removes shells and submodels that lead to each other.
func randomChange(r *rand.Rand) repository.Batch {
	var b repository.Batch
	for range 1 + r.IntN(3) {
		i := len(b.Changes)*100 + r.IntN(15) // no document twice
		if r.IntN(3) == 0 {
			b.Changes = append(b.Changes, repository.Change{Delete: r.IntN(3) == 0, Document: repository.Document{
				Kind: repository.KindSubmodel, ID: fmt.Sprintf("m%d", i), JSON: []byte(`{}`),
				Terms: []repository.Term{repository.TypeTerm([]string{"nameplate", "other"}[r.IntN(2)])}}})
			continue
		}
		d := repository.Document{Kind: repository.KindShell, ID: fmt.Sprintf("s%d", i), IDShort: fmt.Sprintf("%s%d", []string{"Pump", "Fan"}[r.IntN(2)], r.IntN(3)),
			JSON: []byte(`{}`), Terms: []repository.Term{repository.KindTerm([]aas.AssetKind{aas.Instance, aas.Type}[r.IntN(2)])}}
		if r.IntN(2) == 0 {
			d.Terms = append(d.Terms, repository.AssetTypeTerm("big"))
		}
		for n := range r.IntN(3) {
			d.Terms = append(d.Terms, repository.SubmodelTerm(fmt.Sprintf("m%d", n*100+r.IntN(15))))
		}
		b.Changes = append(b.Changes, repository.Change{Document: d, Delete: r.IntN(5) == 0})
	}
	return b
}

// Totals are the same as of a store that counts every time, whoever makes the changes.
func TestTotalsFollowChanges(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		s, other, plain := open(t, storage.Options{}).AAS(), open(t, storage.Options{}).AAS(), repository.NewMemory()
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
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{})
		s, q := db.AAS(), slowSearches[2]
		pump := func(s repository.Store, id string) {
			_, err := s.Write(t.Context(), repository.Batch{Changes: []repository.Change{
				{Document: repository.Document{Kind: repository.KindSubmodel, ID: "m" + id, JSON: []byte(`{}`), Terms: []repository.Term{plates.Term}}},
				{Document: repository.Document{Kind: repository.KindShell, ID: id, IDShort: "Pump", JSON: []byte(`{}`),
					Terms: []repository.Term{repository.KindTerm(aas.Instance), repository.SubmodelTerm("m" + id)}}},
			}})
			require.NoError(t, err)
		}
		pump(s, "a")
		pump(s, "b")
		require.Equal(t, 2, shellTotal(t, s, q))
		db.Exec(t, "DELETE FROM aas_terms WHERE id = 'a'")
		pump(s, "c")
		require.Equal(t, 3, shellTotal(t, s, q))
		pump(open(t, storage.Options{}).AAS(), "d")
		require.Equal(t, 3, shellTotal(t, s, q))
	})
}

func TestTotalsWhileManyWrite(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		s := open(t, storage.Options{}).AAS()
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := range 40 {
					id := fmt.Sprintf("%d-%d", w, i)
					_, err := s.Write(t.Context(), repository.Batch{Changes: []repository.Change{{Match: repository.Match{Absent: true}, Document: repository.Document{
						Kind: repository.KindShell, ID: id, IDShort: "Fan", JSON: []byte(`{}`), Terms: []repository.Term{repository.KindTerm(aas.Instance)}}}}})
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
