package busstore_test

import (
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage/busstore"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/sqlite"
)

// plain returns a connection of a test to a database.
func plain(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func do(t testing.TB, db *sql.DB, statement string) {
	t.Helper()
	_, err := db.ExecContext(context.Background(), statement)
	require.NoError(t, err)
}

func count(t testing.TB, db *sql.DB, query string) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(context.Background(), query).Scan(&n))
	return n
}

func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	require.Eventually(t, ok, patience, 5*time.Millisecond, what)
}

// publish publishes, and again while the bus does not take it.
func publish(t testing.TB, b bus.Bus, subject string, data []byte) {
	t.Helper()
	eventually(t, "the bus is down", func() bool {
		err := b.Publish(subject, data)
		if err != nil {
			require.ErrorIs(t, err, bus.ErrDown)
		}
		return err == nil
	})
}

// Transactions of several engines become visible in another order than they begin in.
func TestNothingIsSkipped(t *testing.T) {
	const engines, messages = 6, 400
	o := postgres.Options{DSN: pgtest.DSN(t)}
	reader := join(t, o, busstore.Options{})
	db := plain(t, o.DSN)
	do(t, db, `CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(random() * 0.02); RETURN NULL; END $$`)
	do(t, db, `CREATE TRIGGER dawdle AFTER INSERT ON bus_messages FOR EACH STATEMENT EXECUTE FUNCTION dawdle()`)
	var mu sync.Mutex
	last, got := map[byte]uint64{}, 0
	_, err := reader.Subscribe("values", func(data []byte) {
		mu.Lock()
		defer mu.Unlock()
		n := binary.BigEndian.Uint64(data[1:])
		if n != last[data[0]]+1 {
			t.Errorf("of engine %d, %d came after %d", data[0], n, last[data[0]])
		}
		last[data[0]] = n
		got++
	})
	require.NoError(t, err)
	var all sync.WaitGroup
	for engine := range byte(engines) {
		b := join(t, o, busstore.Options{})
		all.Go(func() {
			for n := range uint64(messages) {
				publish(t, b, "values", binary.BigEndian.AppendUint64([]byte{engine}, n+1))
				if n%7 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
		})
	}
	all.Wait()
	eventually(t, "messages are missing", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return got == engines*messages
	})
	require.Zero(t, reader.Status().Lost)
}

func TestIdleBusesWriteNothing(t *testing.T) {
	o := postgres.Options{DSN: pgtest.DSN(t)}
	a, b := join(t, o, busstore.Options{}), join(t, o, busstore.Options{})
	require.True(t, a.Status().Up)
	require.True(t, b.Status().Up)
	time.Sleep(1500 * time.Millisecond) // they look for news meanwhile
	db := plain(t, o.DSN)
	require.Zero(t, count(t, db, "SELECT COUNT(*) FROM bus_messages"))
	before := count(t, db, "SELECT txid_current()")
	time.Sleep(1500 * time.Millisecond)
	require.Equal(t, before+1, count(t, db, "SELECT txid_current()"), "something has written")
}

func TestOldMessagesAreRemoved(t *testing.T) {
	o := postgres.Options{DSN: pgtest.DSN(t)}
	short := busstore.Options{}.Shorten(600 * time.Millisecond)
	gone, stays := join(t, o, short), join(t, o, short)
	db := plain(t, o.DSN)
	for range 10 {
		publish(t, gone, "values", nil)
		publish(t, stays, "values", nil)
		time.Sleep(20 * time.Millisecond)
	}
	require.Positive(t, count(t, db, "SELECT COUNT(*) FROM bus_messages"))
	closeBus(t, gone) // the other one removes its rows
	eventually(t, "old messages are not removed", func() bool { return count(t, db, "SELECT COUNT(*) FROM bus_messages") == 0 })
	got := make(chan struct{}, 100)
	third := join(t, o, short)
	_, err := third.Subscribe("values", func([]byte) { got <- struct{}{} })
	require.NoError(t, err)
	eventually(t, "later messages do not arrive", func() bool { publish(t, stays, "values", nil); return len(got) > 0 })
}

func TestMessagesFromBeforeAreNotDelivered(t *testing.T) {
	o := postgres.Options{DSN: pgtest.DSN(t)}
	a := join(t, o, busstore.Options{})
	publish(t, a, "values", []byte("before"))
	eventually(t, "it is not written", func() bool { return count(t, plain(t, o.DSN), "SELECT COUNT(*) FROM bus_messages") == 1 })
	b := join(t, o, busstore.Options{})
	got := make(chan string, 1000)
	_, err := b.Subscribe("values", func(data []byte) { got <- string(data) })
	require.NoError(t, err)
	publish(t, a, "values", []byte("after"))
	require.Equal(t, "after", <-got)
}

// A request is carried out by one engine, even if two serve its subject for a moment, and by none when nobody waits for it.
func TestRequestsAreTakenOnce(t *testing.T) {
	o := postgres.Options{DSN: pgtest.DSN(t)}
	asks, one, two := join(t, o, busstore.Options{}), join(t, o, busstore.Options{}), join(t, o, busstore.Options{})
	var mu sync.Mutex
	served := map[string]int{}
	for _, b := range []bus.Bus{one, two} {
		_, err := b.Serve("write", func(_ context.Context, data []byte) []byte {
			mu.Lock()
			defer mu.Unlock()
			served[string(data)]++
			return data
		})
		require.NoError(t, err)
	}
	for i := range 50 {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		answer, err := asks.Request(ctx, "write", fmt.Append(nil, i))
		cancel()
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i), string(answer))
	}
	mu.Lock()
	defer mu.Unlock()
	require.Len(t, served, 50)
	for request, n := range served {
		require.Equal(t, 1, n, "request %s", request)
	}
}

func TestARequestThatHasExpiredIsNotCarriedOut(t *testing.T) {
	o := postgres.Options{DSN: pgtest.DSN(t)}
	asks, serves := join(t, o, busstore.Options{}), join(t, o, busstore.Options{})
	db := plain(t, o.DSN)
	lock, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	served := make(chan string, 10)
	_, err = serves.Serve("write", func(_ context.Context, data []byte) []byte { served <- string(data); return nil })
	require.NoError(t, err)
	// Nobody can take a request while the table is locked against changes of rows, but the asker has written its own already.
	_, err = lock.ExecContext(t.Context(), "CREATE FUNCTION hinder() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(4711); RETURN OLD; END $$")
	require.NoError(t, err)
	_, err = lock.ExecContext(t.Context(), "CREATE TRIGGER hinder BEFORE DELETE ON bus_messages FOR EACH ROW EXECUTE FUNCTION hinder()")
	require.NoError(t, err)
	require.NoError(t, lock.Commit())
	hold, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = hold.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(4711)")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err = asks.Request(ctx, "write", []byte("late"))
	require.ErrorIs(t, err, bus.ErrNoAnswer)
	require.NoError(t, hold.Commit())
	do(t, db, "DROP TRIGGER hinder ON bus_messages")
	eventually(t, "requests are not served", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := asks.Request(ctx, "write", []byte("in time"))
		return err == nil
	})
	require.Equal(t, "in time", <-served)
}

// What waits to be written while the database hangs is not written when nobody waits for the answer any more.
func TestARequestWhoseCallerHasGivenUpIsNotSent(t *testing.T) {
	o := postgres.Options{DSN: pgtest.DSN(t)}
	asks, serves := join(t, o, busstore.Options{}), join(t, o, busstore.Options{})
	db := plain(t, o.DSN)
	served := make(chan string, 10)
	_, err := serves.Serve("write", func(_ context.Context, data []byte) []byte { served <- string(data); return nil })
	require.NoError(t, err)
	do(t, db, "CREATE FUNCTION hinder() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(4712); RETURN NEW; END $$")
	do(t, db, "CREATE TRIGGER hinder BEFORE INSERT ON bus_messages FOR EACH ROW EXECUTE FUNCTION hinder()")
	hold, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = hold.ExecContext(t.Context(), "SELECT pg_advisory_xact_lock(4712)")
	require.NoError(t, err)
	publish(t, asks, "values", nil)
	eventually(t, "nothing is being written", func() bool {
		return count(t, db, "SELECT COUNT(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4712 AND NOT granted") == 1
	})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = asks.Request(ctx, "write", []byte("given up"))
	require.ErrorIs(t, err, bus.ErrNoAnswer)
	require.NoError(t, hold.Commit())
	eventually(t, "requests are not served", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := asks.Request(ctx, "write", []byte("wanted"))
		return err == nil
	})
	for range len(served) {
		require.Equal(t, "wanted", <-served)
	}
}

func TestATableThatIsEmptied(t *testing.T) {
	o := postgres.Options{DSN: pgtest.DSN(t)}
	a, b := join(t, o, busstore.Options{}), join(t, o, busstore.Options{})
	got := make(chan string, 1000)
	_, err := b.Subscribe("values", func(data []byte) { got <- string(data) })
	require.NoError(t, err)
	publish(t, a, "values", []byte("1"))
	require.Equal(t, "1", <-got)
	do(t, plain(t, o.DSN), "TRUNCATE bus_messages")
	publish(t, a, "values", []byte("2"))
	require.Equal(t, "2", <-got)
}

func TestOtherDatabases(t *testing.T) {
	_, err := busstore.New(t.Context(), nil, busstore.Options{})
	require.Error(t, err)
	db, err := sqlite.Open(t.Context(), sqlite.Options{Dir: t.TempDir()}, busstore.Schema())
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(context.Background())) }()
	_, err = busstore.New(t.Context(), db, busstore.Options{})
	require.ErrorContains(t, err, "engines share a PostgreSQL, not sqlite")
}

func TestABusEndsWithItsDatabase(t *testing.T) {
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: pgtest.DSN(t)}, busstore.Schema())
	require.NoError(t, err)
	b, err := busstore.New(t.Context(), db, busstore.Options{})
	require.NoError(t, err)
	require.NoError(t, db.Close(t.Context()))
	require.ErrorIs(t, b.Publish("values", nil), bus.ErrClosed)
	require.False(t, b.Status().Up)
	closeBus(t, b)
	require.ErrorIs(t, b.Publish("values", nil), bus.ErrClosed)
}

func databaseOf(t testing.TB, db *sql.DB) (name string) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT current_database()").Scan(&name))
	return name
}
