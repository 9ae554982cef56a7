package tagconfigstore_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
	"github.com/otkit/otkit/storage/tagconfigstore"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/tags/tagstest"
)

func each(t *testing.T, run func(t *testing.T, open func(testing.TB) *storage.DB)) {
	closing := func(t testing.TB, db *storage.DB, err error) *storage.DB {
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
		return db
	}
	t.Run("sqlite", func(t *testing.T) {
		run(t, func(t testing.TB) *storage.DB {
			db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()}, tagconfigstore.Schema())
			return closing(t, db, err)
		})
	})
	t.Run("postgres", func(t *testing.T) {
		run(t, func(t testing.TB) *storage.DB {
			db, err := postgres.Open(t.Context(), postgres.Options{DSN: pgtest.DSN(t)}, tagconfigstore.Schema())
			return closing(t, db, err)
		})
	})
}

func TestStore(t *testing.T) {
	each(t, func(t *testing.T, open func(testing.TB) *storage.DB) {
		tagstest.TestConfigRepository(t, func(t testing.TB) tagconfig.Repository {
			s, err := tagconfigstore.New(open(t))
			require.NoError(t, err)
			return s
		})
	})
}

// Whoever was away for too long to know what was removed reads everything.
func TestRemovalsAreForgotten(t *testing.T) {
	each(t, func(t *testing.T, open func(testing.TB) *storage.DB) {
		db := open(t)
		s, err := tagconfigstore.New(db)
		require.NoError(t, err)
		apply := func(from int64, text string) {
			r := tagconfig.Record{TagID: "a", Position: 1}
			if text != "" {
				r.Text = []byte(text)
			}
			_, err := s.Apply(t.Context(), from, tagconfig.Changeset{Records: []tagconfig.Record{r}})
			require.NoError(t, err)
		}
		apply(0, "1")
		apply(1, "")
		set, err := db.SetOf(tagconfigstore.Schema())
		require.NoError(t, err)
		require.NoError(t, set.Update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
			_, err := tx.Exec(ctx, "UPDATE tag_config_state SET revision = 10999 WHERE id = 1") // as after so many edits
			return err
		}))
		_, err = s.Apply(t.Context(), 10_999, tagconfig.Changeset{Records: []tagconfig.Record{{TagID: "b", Text: []byte("2"), Position: 2}}})
		require.NoError(t, err)
		_, err = s.Changes(t.Context(), 1, func(tagconfig.Record) error { return nil })
		require.ErrorIs(t, err, tagconfig.ErrRevision)
		found := 0
		_, err = s.Changes(t.Context(), 10_998, func(tagconfig.Record) error { found++; return nil })
		require.NoError(t, err)
		require.Equal(t, 1, found)
	})
}

// Engines with a file each do not take what the others have changed meanwhile for an edit of their own file.
func TestEnginesWithAFileEach(t *testing.T) {
	each(t, func(t *testing.T, open func(testing.TB) *storage.DB) {
		s, err := tagconfigstore.New(open(t))
		require.NoError(t, err)
		dir := t.TempDir()
		start := func(engine string) *tagconfig.Store {
			store, err := tagconfig.Open(t.Context(), tagconfig.Options{Path: filepath.Join(dir, engine+".json"), Repository: s.Of(engine)})
			require.NoError(t, err)
			return store
		}
		edit := func(at *tagconfig.Store, id, description string) {
			_, err := at.Bulk(t.Context(), []tagconfig.Config{{TagID: id, DriverID: "plc", DataType: tags.Float, Description: description}})
			require.NoError(t, err)
		}
		one := start("one")
		edit(one, "a", "1")
		start("two") // and ends
		edit(one, "a", "2")
		edit(one, "b", "2")
		for _, engine := range []string{"two", "one", "three"} {
			list := start(engine).List()
			require.Len(t, list, 2, engine)
			require.Equal(t, "2", list[0].Description, engine)
		}
		one, err = tagconfig.Open(t.Context(), tagconfig.Options{Path: filepath.Join(dir, "two.json")})
		require.NoError(t, err)
		require.Equal(t, 2, one.Len(), "its file has followed")
	})
}
