package aasstore_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/repository"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

// heldCommits makes every commit that touches documents wait for a lock that the test holds.
const heldCommits = `
	CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN NULL; END';
	CREATE CONSTRAINT TRIGGER hold AFTER INSERT OR UPDATE OR DELETE ON aas_documents
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold()`

// Whoever gives up while the database commits is told what became of the write: a change that is kept
// but taken for failed would never be told to those who follow the changes.
func TestACallerThatGivesUpWhileTheDatabaseCommits(t *testing.T) {
	dsn := pgtest.DSN(t)
	db := storetest.OpenPostgres(t, dsn, storage.Options{})
	service, err := repository.New(db.AAS(), repository.Options{})
	require.NoError(t, err)
	beside, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, beside.Close()) })
	holder, err := beside.Conn(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, holder.Close()) }()
	_, err = holder.ExecContext(t.Context(), heldCommits)
	require.NoError(t, err)
	events, err := service.Subscribe(repository.SubscribeOptions{})
	require.NoError(t, err)
	defer events.Close()

	shell := func(idShort string) *aas.Shell { return namedShell("urn:a", idShort) }
	for _, step := range []struct {
		name  string
		write func(context.Context) error
		event repository.EventType
	}{
		{"create", func(ctx context.Context) error {
			_, err := service.Shells.Create(ctx, shell("A"))
			return err
		}, repository.Created},
		{"update", func(ctx context.Context) error { // found by the same as before
			_, err := service.Shells.Update(ctx, "urn:a", repository.Match{}, func(s *aas.Shell) error { s.Category = "VARIABLE"; return nil })
			return err
		}, repository.Updated},
		{"transaction", func(ctx context.Context) error {
			_, _, err := service.Shells.Put(ctx, shell("B"), repository.Match{})
			return err
		}, repository.Updated},
		{"delete", func(ctx context.Context) error { return service.Shells.Delete(ctx, "urn:a", repository.Match{}) }, repository.Deleted},
	} {
		_, err := holder.ExecContext(t.Context(), "SELECT pg_advisory_lock(4711)")
		require.NoError(t, err)
		ctx, giveUp := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- step.write(ctx) }()
		for waits := false; !waits; {
			const waiting = "SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711 AND NOT granted)"
			require.NoError(t, holder.QueryRowContext(t.Context(), waiting).Scan(&waits))
			require.Empty(t, done, step.name)
		}
		giveUp()
		select {
		case err := <-done:
			require.Fail(t, "told while the database had not decided", "%s: %v", step.name, err)
		case <-time.After(50 * time.Millisecond): // what waits is not found out by waiting longer
		}
		_, err = holder.ExecContext(t.Context(), "SELECT pg_advisory_unlock(4711)")
		require.NoError(t, err)
		require.NoError(t, <-done, step.name)
		got, err := events.Next(t.Context(), 0)
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.Equal(t, step.event, got[0].Type)
	}
}

func namedShell(id, idShort string) *aas.Shell {
	s := importShell(0, 0)
	s.ID, s.IDShort, s.AssetInformation.DefaultThumbnail = id, idShort, nil
	return s
}
