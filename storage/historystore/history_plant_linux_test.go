package historystore_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/storage/sqlite"
)

// BenchmarkHistoryPlant appends what a plant gives in simulated time, each tag once a second, compacts as
// the store would by itself, and measures processor time, also in steps to show growth, and the size on the
// disk. OTKIT_PLANT_SECONDS says how long the plant runs; default 300.
func BenchmarkHistoryPlant(b *testing.B) {
	seconds, _ := strconv.Atoi(os.Getenv("OTKIT_PLANT_SECONDS"))
	if seconds == 0 {
		seconds = 300
	}
	for _, kind := range []string{"sqlite", "postgres"} {
		for _, count := range []int{1000, 100_000} {
			b.Run(fmt.Sprintf("%s/tags=%d", kind, count), func(b *testing.B) {
				for b.Loop() {
					runPlant(b, kind, count, seconds)
				}
			})
		}
	}
}

func runPlant(b *testing.B, kind string, count, seconds int) {
	p := storetest.NewPlant(count)
	opts, quiet := storage.Options{Now: func() time.Time { return p.At }}, historystore.Options{CompactAfter: -1}
	var (
		db     *storetest.DB
		server = func() time.Duration { return 0 }
		dir    = b.TempDir()
	)
	if kind == "sqlite" {
		db = storetest.OpenSQLite(b, dir, opts, quiet)
	} else {
		dsn := pgtest.DSN(b)
		db = storetest.OpenPostgres(b, dsn, opts, quiet)
		beside, err := sql.Open("pgx", dsn)
		require.NoError(b, err)
		defer func() { require.NoError(b, beside.Close()) }()
		server = serverTime(b, beside)
	}
	var used, step time.Duration
	busy := func(work func() error) {
		before := ownTime(b)
		require.NoError(b, work())
		used += ownTime(b) - before
	}
	serverBefore, stepServer := server(), server()
	var steps []string
	waiting := 0
	for second := 1; second <= seconds; second++ {
		for part := range slices.Chunk(p.Batch(count), 50_000) {
			busy(func() error { return db.History().Append(b.Context(), part) })
		}
		if waiting += count; waiting >= 500_000 || second%30 == 0 {
			waiting = 0
			busy(func() error { return db.History().CompactDue(b.Context()) })
		}
		if at := max(seconds/6, 1); second%at == 0 {
			now := server()
			steps = append(steps, fmt.Sprintf("%.2f", (used-step+now-stepServer).Seconds()/float64(count)/float64(at)*1e6))
			step, stepServer = used, now
		}
	}
	total := float64(count) * float64(seconds)
	stats, err := db.History().Stats(b.Context())
	require.NoError(b, err)
	require.EqualValues(b, count*seconds, stats.ChunkSamples+stats.WaitingRows)
	whole, err := db.Stats(b.Context())
	require.NoError(b, err)
	size := whole.HistoryBytes
	if kind == "sqlite" {
		size = 0
		for _, end := range []string{"", "-wal"} {
			info, err := os.Stat(filepath.Join(dir, sqlite.HistoryFile+end))
			require.NoError(b, err)
			size += info.Size()
		}
	}
	b.Logf("CPU s/million samples by sixths: %s; waiting %d samples; chunks %.2f B/sample", strings.Join(steps, " "), stats.WaitingRows, float64(stats.ChunkBytes)/float64(stats.ChunkSamples))
	b.ReportMetric((used+server()-serverBefore).Seconds()/total*1e6, "cpu-s/million")
	b.ReportMetric(float64(size)/total, "B/sample")
	before, n := ownTime(b)+server(), 0
	for _, err := range db.History().Range(b.Context(), p.Names[count/2], time.Time{}, p.At.Add(time.Hour)) {
		require.NoError(b, err)
		n++
	}
	require.Equal(b, seconds, n)
	b.ReportMetric(float64((ownTime(b) + server() - before).Microseconds()), "us-cpu/range")
}

func ownTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serverTime tells what processor time a local server and its processes have used.
func serverTime(tb testing.TB, pool *sql.DB) func() time.Duration {
	tb.Helper()
	var backend int
	require.NoError(tb, pool.QueryRowContext(tb.Context(), "SELECT pg_backend_pid()").Scan(&backend))
	main := procStat(strconv.Itoa(backend))[1]
	return func() time.Duration {
		var ticks int
		all, err := os.ReadDir("/proc")
		require.NoError(tb, err)
		for _, e := range all {
			stat := procStat(e.Name())
			switch {
			case len(stat) < 15:
			case e.Name() == main:
				ticks += number(stat[11]) + number(stat[12]) + number(stat[13]) + number(stat[14])
			case stat[1] == main:
				ticks += number(stat[11]) + number(stat[12])
			}
		}
		return time.Duration(ticks) * 10 * time.Millisecond
	}
}

// procStat gives what follows the name of a process in its stat file: state, parent, ...
func procStat(pid string) []string {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return nil
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.Fields(rest)
}

func number(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}
