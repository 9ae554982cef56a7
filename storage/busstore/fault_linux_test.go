package busstore_test

import (
	"context"
	"encoding/binary"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage/busstore"
	"github.com/otkit/otkit/storage/postgres"
)

// line publishes rising numbers from one engine to another, which checks them and serves requests.
type line struct {
	t      testing.TB
	a, b   *busstore.Bus
	n      uint64
	last   atomic.Uint64
	served atomic.Int64
}

func newLine(t testing.TB, o postgres.Options) *line {
	t.Helper()
	l := &line{t: t, a: join(t, o, busstore.Options{}), b: join(t, o, busstore.Options{})}
	_, err := l.b.Subscribe("values", func(data []byte) {
		n := binary.BigEndian.Uint64(data)
		if n <= l.last.Load() {
			t.Errorf("%d came after %d", n, l.last.Load())
		}
		l.last.Store(n)
	})
	require.NoError(t, err)
	_, err = l.b.Serve("write", func(_ context.Context, data []byte) []byte { l.served.Add(1); return data })
	require.NoError(t, err)
	return l
}

func (l *line) publish() error {
	l.n++
	return l.a.Publish("values", binary.BigEndian.AppendUint64(nil, l.n))
}

func (l *line) request(within time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	_, err := l.a.Request(ctx, "write", nil)
	return err
}

// works waits until messages and requests arrive.
func (l *line) works() {
	l.t.Helper()
	before := l.n
	eventually(l.t, "messages do not arrive", func() bool { return l.publish() == nil && l.last.Load() > before })
	eventually(l.t, "requests are not answered", func() bool { return l.request(time.Second) == nil })
	for _, b := range []*busstore.Bus{l.a, l.b} {
		eventually(l.t, "the bus does not tell that it is up", func() bool { return b.Status().Up })
		require.Empty(l.t, b.Status().Err)
	}
}

// down waits until both ends have noticed that the database cannot be used.
func (l *line) down() {
	l.t.Helper()
	began := time.Now()
	eventually(l.t, "the loss is not noticed", func() bool {
		return errors.Is(l.publish(), bus.ErrDown) && !l.a.Status().Up && !l.b.Status().Up
	})
	require.NotEmpty(l.t, l.a.Status().Err)
	l.t.Logf("noticed after %s: %s", time.Since(began).Round(time.Millisecond), l.a.Status().Err)
}

func TestADatabaseThatIsKilledAndStartedAgain(t *testing.T) {
	server := pgtest.Own(t)
	l := newLine(t, postgres.Options{DSN: server.DSN()})
	l.works()
	for range 2 {
		server.Kill()
		l.down()
		require.ErrorIs(t, l.request(time.Second), bus.ErrDown)
		server.Start()
		l.works()
	}
}

func TestADatabaseThatHangs(t *testing.T) {
	server := pgtest.Own(t)
	l := newLine(t, postgres.Options{DSN: server.DSN()})
	l.works()
	served := l.served.Load()
	server.Freeze()
	began := time.Now()
	require.ErrorIs(t, l.request(300*time.Millisecond), bus.ErrNoAnswer)
	var slowest time.Duration
	large := make([]byte, 100<<10)
	for refused := false; !refused || l.b.Status().Up; time.Sleep(time.Millisecond) {
		require.Less(t, time.Since(began), patience, "the silence is not noticed")
		before := time.Now()
		refused = errors.Is(l.a.Publish("other", large), bus.ErrDown)
		slowest = max(slowest, time.Since(before))
	}
	t.Logf("noticed after %s; slowest Publish %s", time.Since(began).Round(time.Millisecond), slowest)
	require.Less(t, slowest, 5*time.Second, "Publish waits for the database")
	server.Thaw()
	l.works()
	require.LessOrEqual(t, l.served.Load()-served, int64(1), "a request of which nobody knew any more was carried out")
}

func TestADatabaseThatCannotBeWritten(t *testing.T) {
	server := pgtest.Own(t)
	l := newLine(t, postgres.Options{DSN: server.DSN()})
	l.works()
	db := plain(t, server.DSN())
	do(t, db, "ALTER SYSTEM SET default_transaction_read_only = on")
	do(t, db, "SELECT pg_reload_conf()")
	eventually(t, "it is not noticed", func() bool { return errors.Is(l.publish(), bus.ErrDown) })
	require.Contains(t, l.a.Status().Err, "read-only")
	do(t, plain(t, server.DSN()+"&options=-cdefault_transaction_read_only%3Doff"), "ALTER SYSTEM RESET default_transaction_read_only")
	do(t, db, "SELECT pg_reload_conf()")
	l.works()
}

func TestNotificationsThatAreCut(t *testing.T) {
	server := pgtest.Own(t)
	l := newLine(t, postgres.Options{DSN: server.DSN()})
	db := plain(t, server.DSN())
	for range 3 {
		l.works()
		eventually(t, "nobody listens", func() bool {
			return count(t, db, "SELECT COUNT(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'") == 2
		})
		do(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'")
	}
	l.works()
}

func TestADatabaseThatIsStartedLater(t *testing.T) {
	server := pgtest.Own(t)
	o := postgres.Options{DSN: server.DSN()}
	db := open(t, o)
	server.Kill()
	b, err := busstore.New(t.Context(), db, busstore.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { closeBus(t, b) })
	eventually(t, "it is up without a database", func() bool { return !b.Status().Up }) // processes of the server end a little later
	require.ErrorIs(t, b.Publish("values", nil), bus.ErrDown)
	server.Start()
	eventually(t, "it does not come up", func() bool { return b.Publish("values", nil) == nil })
}

func TestCloseWithADatabaseThatHangs(t *testing.T) {
	server := pgtest.Own(t)
	b := join(t, postgres.Options{DSN: server.DSN()}, busstore.Options{})
	server.Freeze()
	for range 100 {
		_ = b.Publish("values", make([]byte, 100<<10))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	before := time.Now()
	require.ErrorIs(t, b.Close(ctx), context.DeadlineExceeded)
	require.Less(t, time.Since(before), 20*time.Second)
	closeBus(t, b)
	server.Thaw()
}

// The clock of the database may be set. Here that of the engine is off from the beginning, which must not matter.
func TestClocksThatDiffer(t *testing.T) {
	o := postgres.Options{DSN: pgtest.DSN(t)}
	l := newLine(t, o)
	l.works()
	db := plain(t, o.DSN)
	for _, by := range []string{"1 hour", "-1 hour"} {
		// The statements find this function before the one of the system.
		do(t, db, "CREATE OR REPLACE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS $$ SELECT pg_catalog.clock_timestamp() + INTERVAL '"+by+"' $$")
		do(t, db, "ALTER DATABASE "+databaseOf(t, db)+" SET search_path = public, pg_catalog")
		do(t, db, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
		time.Sleep(50 * time.Millisecond)
		l.works()
	}
}
