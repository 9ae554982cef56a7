package storage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/aastest"
	"github.com/otkit/otkit/storage"
)

func TestAAS(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		aastest.TestStore(t, func(t testing.TB) (aas.Store, func() aas.Store) {
			db := onSQLite(t)(t, storage.Options{})
			return db.AAS(), func() aas.Store { return db.AAS() } // one process writes
		})
	})
	t.Run("postgres", func(t *testing.T) {
		aastest.TestStore(t, func(t testing.TB) (aas.Store, func() aas.Store) {
			open := onPostgres(t)
			return open(t, storage.Options{}).AAS(), func() aas.Store { return open(t, storage.Options{}).AAS() }
		})
	})
}

func BenchmarkAASStore(b *testing.B) {
	for kind, open := range map[string]func(testing.TB) opener{"sqlite": onSQLite, "postgres": onPostgres} {
		b.Run(kind, func(b *testing.B) {
			aastest.BenchmarkStore(b, func(t testing.TB) aas.Store { return open(t)(t, storage.Options{}).AAS() })
		})
	}
}

func TestAASOfAClosedDatabase(t *testing.T) {
	onBoth(t, func(t *testing.T, open opener) {
		db := open(t, storage.Options{})
		d := aas.Document{Kind: aas.KindShell, ID: "urn:shell", JSON: []byte("{}")}
		require.NoError(t, db.Close())

		_, err := db.AAS().Get(t.Context(), d.Kind, d.ID)
		require.ErrorIs(t, err, storage.ErrClosed)
		for _, m := range []aas.Match{{}, {Absent: true}, {Version: 1}} {
			_, err = db.AAS().Write(t.Context(), aas.Batch{Changes: []aas.Change{{Document: d, Match: m}}})
			require.ErrorIs(t, err, storage.ErrClosed)
		}
	})
}
