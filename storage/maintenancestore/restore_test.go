package maintenancestore_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/maintenancestore"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
)

// A backup that was made within an import is restored without it, into a database that has no tables yet.
func TestRestore(t *testing.T) {
	ctx := t.Context()
	source, err := onSQLite(t)
	require.NoError(t, err)
	defer func() { require.NoError(t, source.Close(context.Background())) }()
	s, err := maintenancestore.New(source)
	require.NoError(t, err)
	list := manyFailures(700)
	require.NoError(t, s.AddFailures(ctx, list[600:]))
	require.NoError(t, s.AddFailures(ctx, list[:600]))
	unfinish(t, source, time.Now().Add(-time.Hour))
	var archive bytes.Buffer
	require.NoError(t, source.Backup(ctx, &archive, storage.BackupOptions{}))

	empty := storage.Options{ForRestore: true}
	for name, on := range map[string]func(storage.Options) (*storage.DB, error){
		"sqlite": func(o storage.Options) (*storage.DB, error) {
			return sqlite.Open(ctx, sqlite.Options{Dir: t.TempDir(), Options: o}, maintenancestore.Schema())
		},
		"postgres": func(o storage.Options) (*storage.DB, error) {
			return postgres.Open(ctx, postgres.Options{DSN: pgtest.DSN(t), Options: o}, maintenancestore.Schema())
		},
	} {
		t.Run(name, func(t *testing.T) {
			db, err := on(empty)
			require.NoError(t, err)
			defer func() { require.NoError(t, db.Close(context.Background())) }()
			require.NoError(t, storage.Restore(ctx, bytes.NewReader(archive.Bytes()), db, storage.RestoreOptions{}))
			s, err := maintenancestore.New(db)
			require.NoError(t, err)
			p, err := s.Failures(ctx, predictive.RecordQuery{})
			require.NoError(t, err)
			require.Equal(t, list[600:], p.Items)
			require.NoError(t, s.AddFailures(ctx, list[:600]))
		})
	}
}
