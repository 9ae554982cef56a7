// Package dbbench measures lists over both databases by processor time.
package dbbench

import (
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

// EachDatabase runs a benchmark over SQLite and PostgreSQL. cpu returns the processor time of this
// process and of the database's.
func EachDatabase(b *testing.B, run func(b *testing.B, db *storetest.DB, cpu func() time.Duration, ready func())) {
	b.Run("sqlite", func(b *testing.B) {
		db := storetest.OpenSQLite(b, b.TempDir(), storage.Options{})
		run(b, db, func() time.Duration { return ownCPU(b) }, func() {})
	})
	b.Run("postgres", func(b *testing.B) {
		dsn := pgtest.DSN(b)
		db := storetest.OpenPostgres(b, dsn, storage.Options{})
		bare, err := sql.Open("pgx", dsn)
		require.NoError(b, err)
		defer bare.Close()
		cpu := func() time.Duration { return ownCPU(b) + backendCPU(b, bare) }
		run(b, db, cpu, func() {
			_, err := bare.Exec("VACUUM ANALYZE")
			require.NoError(b, err)
		})
	})
}

func ownCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// backendCPU returns the processor time of the connections' processes.
func backendCPU(b *testing.B, bare *sql.DB) (total time.Duration) {
	b.Helper()
	rows, err := bare.Query("SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
	require.NoError(b, err)
	defer rows.Close()
	for rows.Next() {
		var pid int
		require.NoError(b, rows.Scan(&pid))
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
		if err != nil {
			continue // it has ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(stat))[0], 10, 64)
		require.NoError(b, err)
		total += time.Duration(ns)
	}
	require.NoError(b, rows.Err())
	return total
}

// Measure reports the processor time of one call, which other programs on the machine change less than its duration.
func Measure(b *testing.B, name string, cpu func() time.Duration, call func() error) {
	b.Run(name, func(b *testing.B) {
		for range 8 {
			require.NoError(b, call())
		}
		before := cpu()
		for b.Loop() {
			if err := call(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64((cpu()-before).Microseconds())/float64(b.N), "cpu-µs/op")
	})
}

// Start is when the first alarms and records of benchmarks are raised.
var Start = time.Now().Add(-24 * time.Hour).UTC().Truncate(time.Second)

// PageOf is a page of a list.
type PageOf struct {
	Name string
	Page int
}

// Pages returns the first, the middle and the last page of 50 out of so many entries.
func Pages(entries int) []PageOf {
	return []PageOf{{"first", 1}, {"middle", entries / 100}, {"last", entries / 50}}
}
