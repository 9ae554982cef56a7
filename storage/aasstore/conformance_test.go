package aasstore_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas/aastest"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

func TestAAS(t *testing.T) {
	for _, kind := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			aastest.TestStore(t, func(t testing.TB) (s repository.Store, another, reopen func() repository.Store) {
				open := storetest.Must(storetest.Fresh(t, kind)())
				db := open(t, storage.Options{})
				another = func() repository.Store { return open(t, storage.Options{}).AAS() }
				if kind == "sqlite" {
					another = func() repository.Store { return db.AAS() } // one process writes
				}
				return db.AAS(), another, func() repository.Store {
					require.NoError(t, db.Close())
					db = open(t, storage.Options{})
					return db.AAS()
				}
			})
		})
	}
}

func BenchmarkAASStore(b *testing.B) {
	for kind, open := range map[string]func(testing.TB) storetest.Opener{"sqlite": storetest.OnSQLite, "postgres": storetest.OnPostgres} {
		b.Run(kind, func(b *testing.B) {
			aastest.BenchmarkStore(b, func(t testing.TB) repository.Store { return open(t)(t, storage.Options{}).AAS() })
		})
	}
}

func TestAASOfAClosedDatabase(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{})
		d := repository.Document{Kind: repository.KindShell, ID: "urn:shell", JSON: []byte("{}")}
		require.NoError(t, db.Close())

		_, err := db.AAS().Get(t.Context(), d.Kind, d.ID)
		require.ErrorIs(t, err, storage.ErrClosed)
		for _, m := range []repository.Match{{}, {Absent: true}, {Version: 1}} {
			_, err = db.AAS().Write(t.Context(), repository.Batch{Changes: []repository.Change{{Document: d, Match: m}}})
			require.ErrorIs(t, err, storage.ErrClosed)
		}
	})
}
