package busstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/cluster/bus/bustest"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/busstore"
	"github.com/otkit/otkit/storage/postgres"
)

func TestMain(m *testing.M) {
	pgtest.Main(m, func() int {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			return 1
		}
		return 0
	})
}

const patience = time.Minute

func open(t testing.TB, o postgres.Options) *storage.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), o, busstore.Schema())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close(context.Background())) })
	return db
}

// join returns the bus of an engine, with connections of its own.
func join(t testing.TB, o postgres.Options, bo busstore.Options) *busstore.Bus {
	t.Helper()
	b, err := busstore.New(t.Context(), open(t, o), bo)
	require.NoError(t, err)
	t.Cleanup(func() { closeBus(t, b) })
	return b
}

func closeBus(t testing.TB, b bus.Bus) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, b.Close(ctx))
}

func TestBus(t *testing.T) {
	o := postgres.Options{DSN: pgtest.DSN(t)}
	bustest.TestBus(t, func(t *testing.T) (a, b bus.Bus) {
		return join(t, o, busstore.Options{}), join(t, o, busstore.Options{})
	})
}

func TestBusBehindAPooler(t *testing.T) {
	for _, schema := range []string{"", "plant"} {
		t.Run("schema "+schema, func(t *testing.T) {
			o := postgres.Options{DSN: pgtest.Pooler(t, pgtest.DSN(t)), Schema: schema}
			bustest.TestBus(t, func(t *testing.T) (a, b bus.Bus) {
				return join(t, o, busstore.Options{}), join(t, o, busstore.Options{})
			})
		})
	}
}
