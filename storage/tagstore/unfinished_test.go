package tagstore_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags"
)

// queued returns a write without an outcome.
func queued(n int, driver string, at time.Time) tags.Write {
	w := storetest.OneWrite(n)
	w.Driver, w.Tag, w.State, w.Error, w.QueuedAt, w.CompletedAt = driver, driver+".valve", tags.WriteQueued, "", at, time.Time{}
	return w
}

func state(t *testing.T, log tags.WriteLog, id string) tags.WriteState {
	t.Helper()
	w, err := log.Get(t.Context(), id)
	require.NoError(t, err)
	return w.State
}

func TestWritesOfALostEngineBecomeUnknownByDriver(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		now := storetest.When.Add(time.Hour)
		log := open(t, storage.Options{Now: func() time.Time { return now }}).Writes()
		early, late := queued(1, "press", storetest.When), queued(2, "press", now.Add(time.Minute)) // by a clock that is ahead
		other := queued(3, "pump", storetest.When)
		done := queued(4, "press", storetest.When)
		done.State, done.CompletedAt = tags.WriteConfirmed, storetest.When
		require.NoError(t, log.Put(t.Context(), []tags.Write{early, late, other, done}))
		drivers, err := log.UnfinishedDrivers(t.Context(), now)
		require.NoError(t, err)
		require.Equal(t, []string{"press", "pump"}, drivers)

		n, err := log.MarkUnfinishedOf(t.Context(), "press", now)
		require.NoError(t, err)
		require.EqualValues(t, 1, n)
		require.Equal(t, tags.WriteUnknown, state(t, log, early.ID))
		require.Equal(t, tags.WriteQueued, state(t, log, late.ID))
		n, err = log.MarkUnfinishedOf(t.Context(), "press", time.Time{})
		require.NoError(t, err)
		require.EqualValues(t, 1, n, "whatever the clock of the engine said")
		w, err := log.Get(t.Context(), late.ID)
		require.NoError(t, err)
		require.Equal(t, tags.WriteUnknown, w.State)
		require.NotEmpty(t, w.Error)
		require.Equal(t, now, w.CompletedAt)
		require.Equal(t, tags.WriteQueued, state(t, log, other.ID))
		require.Equal(t, tags.WriteConfirmed, state(t, log, done.ID))
		n, err = log.MarkUnfinishedOf(t.Context(), "press", time.Time{})
		require.NoError(t, err)
		require.Zero(t, n)
		drivers, err = log.UnfinishedDrivers(t.Context(), now)
		require.NoError(t, err)
		require.Equal(t, []string{"pump"}, drivers)

		fact := late // the engine was only slow, and the device has taken the value
		fact.State, fact.CompletedAt = tags.WriteDone, now
		require.NoError(t, log.Put(t.Context(), []tags.Write{fact}))
		require.Equal(t, tags.WriteDone, state(t, log, late.ID))
	})
}

// Taking over a driver must not cost more because a plant has written for years.
func TestUnfinishedWritesAreFoundByTheirIndex(t *testing.T) {
	for _, kind := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			db := storetest.Must(storetest.Fresh(t, kind)())(t, storage.Options{})
			log := db.Writes()
			many(t, log, 20_000)
			var open []tags.Write
			for i := range 50 {
				open = append(open, queued(100_000+i, fmt.Sprintf("line%d", i%20), at(100_000+i)))
			}
			require.NoError(t, log.Put(t.Context(), open))
			if kind == "postgres" {
				require.NoError(t, db.Update(t.Context(), "analyze", func(ctx context.Context, tx *storage.Tx) error {
					_, err := tx.Exec(ctx, "ANALYZE tag_writes")
					return err
				}))
			}
			for _, statement := range []string{
				"UPDATE tag_writes SET state = 'Unknown' WHERE state = 'Queued' AND queued_us < 9223372036854775807 AND driver || '' = 'line1'",
				"UPDATE tag_writes SET state = 'Unknown' WHERE state = 'Queued' AND queued_us < 4000000000000000",
				"SELECT driver FROM tag_writes WHERE state = 'Queued' AND queued_us < 4000000000000000",
			} {
				plan := planOf(t, db, kind, statement)
				require.True(t, slices.ContainsFunc(plan, func(line string) bool { return strings.Contains(line, "tag_writes_open") }), "%s: %v", statement, plan)
			}
			n, err := log.MarkUnfinishedOf(t.Context(), "line1", time.Time{})
			require.NoError(t, err)
			require.EqualValues(t, 3, n)
		})
	}
}

// planOf returns how a database carries out a statement.
func planOf(t *testing.T, db *storetest.DB, kind, statement string) (plan []string) {
	t.Helper()
	query := "EXPLAIN "
	if kind == "sqlite" {
		query = "EXPLAIN QUERY PLAN "
	}
	require.NoError(t, db.View(t.Context(), "plan", func(ctx context.Context, tx *storage.Tx) error {
		return tx.Each(ctx, query+statement, nil, func(row storage.Scanner) error {
			var line string
			if kind == "postgres" {
				err := row.Scan(&line)
				plan = append(plan, line)
				return err
			}
			var a, b, c int
			err := row.Scan(&a, &b, &c, &line)
			plan = append(plan, line)
			return err
		})
	}))
	return plan
}
