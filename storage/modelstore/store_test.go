package modelstore_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/predictivetest"
	"github.com/otkit/otkit/predictive/registry"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/modelstore"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
)

// opener opens one database again and again.
type opener func(t testing.TB) *storage.DB

func onBoth(t *testing.T, test func(t *testing.T, fresh func(t testing.TB) opener)) {
	t.Helper()
	closing := func(t testing.TB, db *storage.DB, err error) *storage.DB {
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
		return db
	}
	t.Run("sqlite", func(t *testing.T) {
		test(t, func(t testing.TB) opener {
			dir := t.TempDir()
			return func(t testing.TB) *storage.DB {
				db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir}, modelstore.Schema())
				return closing(t, db, err)
			}
		})
	})
	t.Run("postgres", func(t *testing.T) {
		test(t, func(t testing.TB) opener {
			dsn := pgtest.DSN(t)
			return func(t testing.TB) *storage.DB {
				db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn}, modelstore.Schema())
				return closing(t, db, err)
			}
		})
	})
}

func storeOn(t testing.TB, db *storage.DB, o modelstore.Options) *modelstore.Store {
	t.Helper()
	s, err := modelstore.New(db, o)
	require.NoError(t, err)
	return s
}

func TestRegistry(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh func(testing.TB) opener) {
		predictivetest.TestRegistry(t, func(t testing.TB) predictive.Registry { return storeOn(t, fresh(t)(t), modelstore.Options{Keep: 20}) })
	})
}

func TestJobStore(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh func(testing.TB) opener) {
		predictivetest.TestJobStore(t, func(t testing.TB) predictive.JobStore { return storeOn(t, fresh(t)(t), modelstore.Options{}) })
	})
}

var day = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)

func meta(promoted bool, trained time.Time) predictive.Meta {
	return predictive.Meta{ModelType: predictive.RULModel, Kind: predictive.KindBundle, TrainedAt: trained, Default: promoted}
}

func put(t testing.TB, s *modelstore.Store, m predictive.Meta, data []byte) {
	t.Helper()
	_, err := s.Put(t.Context(), m, data)
	require.NoError(t, err)
}

// What one engine has trained serves at all, also when it is too large for a row.
func TestModelsOfOneEngineServeAtAnother(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh func(testing.TB) opener) {
		db := fresh(t)(t)
		a, b := storeOn(t, db, modelstore.Options{}), storeOn(t, db, modelstore.Options{})
		large := bytes.Repeat([]byte{1, 2, 3, 0}, 700_000)
		put(t, a, meta(true, day), large)
		for range 2 { // also from memory
			m, data, err := b.Get(t.Context(), predictive.RULModel, 0)
			require.NoError(t, err)
			require.Equal(t, 1, m.Version)
			require.True(t, bytes.Equal(large, data))
		}
		put(t, a, meta(true, day), []byte("second"))
		m, data, err := b.Get(t.Context(), predictive.RULModel, 0)
		require.NoError(t, err)
		require.Equal(t, 2, m.Version)
		require.Equal(t, "second", string(data))
		require.NoError(t, a.Delete(t.Context(), predictive.RULModel, 2))
		m, _, err = b.Get(t.Context(), predictive.RULModel, 0)
		require.NoError(t, err)
		require.Equal(t, 1, m.Version)
	})
}

func TestDamagedModelsAreReportedAndNotUsed(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh func(testing.TB) opener) {
		open := fresh(t)
		db := open(t)
		var log strings.Builder
		s := storeOn(t, db, modelstore.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for i := range 3 {
			put(t, s, meta(true, day), fmt.Appendf(nil, "model %d", i+1))
		}
		set, err := db.SetOf(modelstore.Schema())
		require.NoError(t, err)
		require.NoError(t, set.Update(t.Context(), "damage", func(ctx context.Context, tx *storage.Tx) error {
			if _, err := tx.Exec(ctx, "UPDATE predictive_model_parts SET data = ? WHERE version = 3", []byte("model X")); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "UPDATE predictive_models SET meta = '{' WHERE version = 2")
			return err
		}))
		for range 2 {
			m, data, err := s.Get(t.Context(), predictive.RULModel, 0)
			require.NoError(t, err)
			require.Equal(t, 1, m.Version)
			require.Equal(t, "model 1", string(data))
		}
		require.Equal(t, 1, strings.Count(log.String(), "version=v3"), "%s", log.String())
		_, _, err = s.Get(t.Context(), predictive.RULModel, 3)
		require.ErrorIs(t, err, predictive.ErrModelNotAvailable)
		list, err := s.List(t.Context(), predictive.RULModel)
		require.NoError(t, err)
		require.Len(t, list, 1)
		damaged, err := s.Damaged(t.Context(), predictive.RULModel)
		require.NoError(t, err)
		require.Len(t, damaged, 2)
		require.Equal(t, 3, damaged[0].Version)
		require.NoError(t, s.Delete(t.Context(), predictive.RULModel, 1))
		_, _, err = s.Get(t.Context(), predictive.RULModel, 0)
		require.ErrorIs(t, err, predictive.ErrModelNotAvailable)
		require.NoError(t, s.Delete(t.Context(), predictive.RULModel, 3))
		damaged, err = s.Damaged(t.Context(), predictive.RULModel)
		require.NoError(t, err)
		require.Len(t, damaged, 1)
		put(t, s, meta(true, day), []byte("model 4"))
		m, _, err := s.Get(t.Context(), predictive.RULModel, 0)
		require.NoError(t, err)
		require.Equal(t, 4, m.Version)
	})
}

func TestSoManyVersionsAreKept(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh func(testing.TB) opener) {
		s := storeOn(t, fresh(t)(t), modelstore.Options{Keep: 4})
		for n := range 12 { // three a day; only the first serves
			put(t, s, meta(n == 0, day.Add(time.Duration(n)*8*time.Hour)), []byte("x"))
		}
		list, err := s.List(t.Context(), predictive.RULModel)
		require.NoError(t, err)
		var versions []int
		for _, m := range list {
			versions = append(versions, m.Version)
		}
		require.Equal(t, []int{12, 11, 10, 7, 1}, versions, "the newest, the first of days, and the one that serves")
	})
}

func TestModelsOfADirectoryAreAdoptedOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, fresh func(testing.TB) opener) {
		db := fresh(t)(t)
		files, err := registry.Open(registry.Options{Dir: filepath.Join(t.TempDir(), "models"), Logger: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		for n := range 3 {
			_, err := files.Put(t.Context(), meta(n == 1, day), fmt.Appendf(nil, "model %d", n+1))
			require.NoError(t, err)
		}
		require.NoError(t, files.Delete(t.Context(), predictive.RULModel, 1))
		for range 2 {
			s := storeOn(t, db, modelstore.Options{})
			require.NoError(t, s.Adopt(t.Context(), files))
			m, data, err := s.Get(t.Context(), predictive.RULModel, 0)
			require.NoError(t, err)
			require.Equal(t, 2, m.Version)
			require.Equal(t, "model 2", string(data))
			list, err := s.List(t.Context(), predictive.RULModel)
			require.NoError(t, err)
			require.Len(t, list, 2)
		}
		s := storeOn(t, db, modelstore.Options{})
		put(t, s, meta(true, day), []byte("new"))
		require.NoError(t, s.Delete(t.Context(), predictive.RULModel, 2))
		require.NoError(t, s.Adopt(t.Context(), files))
		m, _, err := s.Get(t.Context(), predictive.RULModel, 0)
		require.NoError(t, err)
		require.Equal(t, 4, m.Version, "versions go on")
		_, _, err = s.Get(t.Context(), predictive.RULModel, 2)
		require.ErrorIs(t, err, predictive.ErrModelNotFound)
	})
}
