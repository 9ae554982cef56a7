package main_test

import (
	"database/sql"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
)

// without is a fault of all engines: the database is away until none of them asks a press, since none can renew its leases, and then comes back.
func (c *campaign) without(name string, lose, restore func()) fault {
	return fault{name: name, silent: true, stays: true, begin: func(*engine) {
		lose()
		eventually(c.t, "presses are asked without a database", func() bool {
			for _, p := range c.presses {
				if p.idle() < 1500*time.Millisecond {
					return false
				}
			}
			return true
		})
		restore()
	}, end: func(e *engine) *engine { return e }}
}

// TestEnginesWithoutADatabase restarts the database of a plant, stops its processes and makes it read-only. The engines stop asking devices in time and go on by
// themselves, with the same account as when they are killed.
func TestEnginesWithoutADatabase(t *testing.T) {
	t.Parallel()
	database := pgtest.Own(t)
	// The slow alarm could be due while nobody asks for longer than an excursion lasts.
	c := newCampaign(t, []string{"Storage__Driver=postgres", "Storage__Dsn=" + database.DSN()}, "127.0.0.1", map[string]time.Duration{"fast": 500 * time.Millisecond}, nearSeats(t, 3)...)
	do := func(statements ...string) {
		db, err := sql.Open("pgx", database.DSN()+"&options=-cdefault_transaction_read_only%3Doff")
		require.NoError(t, err)
		defer func() { require.NoError(t, db.Close()) }()
		for _, s := range append(statements, "SELECT pg_reload_conf()") {
			_, err := db.ExecContext(t.Context(), s)
			require.NoError(t, err, s)
		}
	}
	c.run(campaignRounds(3),
		c.without("database restarted", database.Kill, database.Start),
		c.without("database silent", database.Freeze, database.Thaw),
		c.without("database read-only", func() { do("ALTER SYSTEM SET default_transaction_read_only = on") }, func() { do("ALTER SYSTEM RESET default_transaction_read_only") }))
}
