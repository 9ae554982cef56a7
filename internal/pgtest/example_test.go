package pgtest_test

import (
	"database/sql"
	"fmt"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestDatabasesAreFreshAndApart(t *testing.T) {
	for range 2 {
		db, err := sql.Open("pgx", pgtest.DSN(t))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, db.Close()) })
		_, err = db.ExecContext(t.Context(), "CREATE TABLE things (id INT)")
		require.NoError(t, err)
	}
}

func Example() {
	test := func(t *testing.T) {
		db, err := sql.Open("pgx", pgtest.DSN(t))
		require.NoError(t, err)
		defer func() { _ = db.Close() }()
	}
	fmt.Printf("%T\n", test)
	// Output: func(*testing.T)
}
