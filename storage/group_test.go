package storage_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags"
)

func put(id string) func(context.Context, *storage.Tx) error {
	return func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO tag_writes (id, tag, value_type, value, written_by, state, error, confirm)
			VALUES (?, 't', '', ?, 'b', 'Written', '', ?)`, id, []byte{}, false)
		return err
	}
}

func stored(t testing.TB, db *storetest.DB, id string) bool {
	t.Helper()
	_, err := db.Writes().Get(t.Context(), id)
	if err != nil {
		require.ErrorIs(t, err, tags.ErrWriteNotFound)
	}
	return err == nil
}

// together runs updates that meet in one group: a first one holds the writer until all wait. Each
// gives its error at its place.
func together(t *testing.T, db *storetest.DB, updates ...func(context.Context, *storage.Tx) error) []error {
	t.Helper()
	held, free := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		err := db.Update(t.Context(), "hold", func(context.Context, *storage.Tx) error {
			close(held)
			<-free
			return nil
		})
		if err != nil {
			t.Errorf("holding: %v", err)
		}
	})
	<-held
	errs := make([]error, len(updates))
	for i, update := range updates {
		wg.Go(func() { errs[i] = db.Update(t.Context(), "test", update) })
	}
	require.Eventually(t, func() bool { return db.Pending() == len(updates) }, time.Minute, time.Millisecond)
	close(free)
	wg.Wait()
	return errs
}

func TestOneFailedWriteOfAGroupLeavesTheOthers(t *testing.T) {
	db := storetest.OnSQLite(t)(t, storage.Options{})
	refused := errors.New("refused")
	errs := together(t, db, put("a"), put("b"),
		func(ctx context.Context, tx *storage.Tx) error { return errors.Join(put("c")(ctx, tx), refused) },
		func(ctx context.Context, tx *storage.Tx) error {
			return errors.Join(put("d")(ctx, tx), put("d")(ctx, tx))
		},
		put("e"))
	require.NoError(t, errs[0])
	require.NoError(t, errs[1])
	require.ErrorIs(t, errs[2], refused)
	require.ErrorIs(t, errs[3], storage.ErrUnique)
	require.NoError(t, errs[4])
	for id, want := range map[string]bool{"a": true, "b": true, "c": false, "d": false, "e": true} {
		require.Equal(t, want, stored(t, db, id), id)
	}
	stats, err := db.Stats(t.Context())
	require.NoError(t, err)
	require.Less(t, stats.Groups, stats.GroupedWrites)
}

func TestAFailedCommitTellsEveryCaller(t *testing.T) {
	db := storetest.OnSQLite(t)(t, storage.Options{})
	require.NoError(t, db.Update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "CREATE TABLE needy (id TEXT REFERENCES accounts (name_key) DEFERRABLE INITIALLY DEFERRED)")
		return err
	}))
	errs := together(t, db, put("a"), func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO needy (id) VALUES ('nobody')") // noticed by the commit alone
		return err
	}, put("b"))
	for i, err := range errs {
		require.ErrorIs(t, err, storage.ErrFailed, "caller %d", i)
	}
	require.False(t, stored(t, db, "a"))
	require.False(t, stored(t, db, "b"))
	require.NoError(t, db.Update(t.Context(), "test", put("c")), "the writer goes on")
}

func TestAPanicIsItsCallersAlone(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{})
		require.PanicsWithValue(t, "oops", func() {
			_ = db.Update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
				_ = put("a")(ctx, tx)
				panic("oops")
			})
		})
		require.NoError(t, db.Update(t.Context(), "test", put("b")))
		require.False(t, stored(t, db, "a"))
		require.True(t, stored(t, db, "b"))
	})
}

func TestAWriteThatIsGivenUpBeforeItBeginsIsNotMade(t *testing.T) {
	db := storetest.OnSQLite(t)(t, storage.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	given := make(chan error, 1)
	errs := together(t, db, put("a"), func(context.Context, *storage.Tx) error {
		go func() { given <- db.Update(ctx, "test", put("late")) }() // it waits behind this group
		require.Eventually(t, func() bool { return db.Pending() == 1 }, time.Minute, time.Millisecond)
		cancel()
		require.ErrorIs(t, <-given, context.Canceled)
		return nil
	})
	require.Equal(t, []error{nil, nil}, errs)
	require.NoError(t, db.Update(t.Context(), "test", put("b")))
	require.False(t, stored(t, db, "late"))
}

// When the time for closing is up, what has begun is finished and what waits is refused.
func TestCloseWithoutTimeRefusesWhatWaits(t *testing.T) {
	db := storetest.OnSQLite(t)(t, storage.Options{MaxGroup: 1})
	begun, busy := make(chan struct{}), make(chan struct{})
	var writes sync.WaitGroup
	var first, second error
	writes.Go(func() {
		first = db.Update(t.Context(), "test", func(ctx context.Context, tx *storage.Tx) error {
			close(begun)
			<-busy
			return put("begun")(ctx, tx)
		})
	})
	<-begun
	writes.Go(func() { second = db.Update(t.Context(), "test", put("waits")) })
	require.Eventually(t, func() bool { return db.Pending() == 1 }, time.Minute, time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	closed := make(chan error)
	go func() { closed <- db.DB.Close(ctx) }()
	soon(t, "the queue is still served", db.Abandoned)
	close(busy)
	require.NoError(t, <-closed)
	writes.Wait()
	require.NoError(t, first)
	require.ErrorIs(t, second, storage.ErrClosed)
	require.NoError(t, db.DB.Close(t.Context()), "twice")
}

func TestCloseFinishesWhatItTookAndRefusesTheRest(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{})
		var (
			wg   sync.WaitGroup
			mu   sync.Mutex
			kept []string
		)
		for i := range 8 {
			wg.Go(func() {
				for n := 0; ; n++ {
					id := fmt.Sprintf("w%d-%d", i, n)
					if err := db.Update(context.Background(), "test", put(id)); err != nil {
						return
					}
					mu.Lock()
					kept = append(kept, id)
					mu.Unlock()
				}
			})
		}
		require.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(kept) > 50 }, time.Minute, time.Millisecond)
		require.NoError(t, db.Close())
		wg.Wait()
		require.ErrorIs(t, db.Update(t.Context(), "test", put("after")), storage.ErrClosed)
		_, err := db.Writes().Get(t.Context(), "after")
		require.ErrorIs(t, err, storage.ErrClosed)
		again := open(t, storage.Options{})
		for _, id := range kept {
			require.True(t, stored(t, again, id), id)
		}
	})
}

func TestQueriesAreObserved(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		var mu sync.Mutex
		seen := map[string]int{}
		db := open(t, storage.Options{OnQuery: func(op string, d time.Duration, err error) {
			mu.Lock()
			defer mu.Unlock()
			seen[fmt.Sprint(op, " ", err == nil, " ", d > 0)]++
		}})
		require.NoError(t, db.Writes().Put(t.Context(), []tags.Write{storetest.OneWrite(1)}))
		_, err := db.Writes().Get(t.Context(), "absent")
		require.Error(t, err)
		mu.Lock()
		defer mu.Unlock()
		require.Equal(t, 1, seen["writes.put true true"])
		require.Equal(t, 1, seen["writes.get false true"])
	})
}
