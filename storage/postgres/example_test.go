package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/postgres"
	"github.com/otkit/otkit/storage/tagstore"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestOpen(t *testing.T) {
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: pgtest.DSN(t)}, tagstore.Schema())
	require.NoError(t, err)
	require.Equal(t, "postgres", db.Dialect())
	require.NoError(t, db.Ping(t.Context()))
	require.NoError(t, db.Close(t.Context()))
}

func TestAServerThatIsNotThereIsAnError(t *testing.T) {
	_, err := postgres.Open(t.Context(), postgres.Options{DSN: "postgres://nobody:hush@127.0.0.1:1/none?connect_timeout=2"}, tagstore.Schema())
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hush")
}

func Example() {
	_, err := postgres.Open(context.Background(), postgres.Options{DSN: "port=wrong"}, tagstore.Schema())
	fmt.Println(errors.Is(err, storage.ErrOption))
	// Output: true
}
