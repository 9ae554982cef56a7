package main_test

import (
	"context"
	endian "encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/cluster/bus"
	"github.com/otkit/otkit/cluster/bus/natsbus"
	"github.com/otkit/otkit/cluster/bus/natsbus/embedded"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/storage/busstore"
	"github.com/otkit/otkit/storage/postgres"
)

// busRig is two engines on a bus, or what stands for them without one.
type busRig struct {
	publish   func(data []byte) error
	subscribe func(handle func(data []byte))
	server    int // id of the process of the server; 0: it is this one
}

// BenchmarkBus tells how long messages take from one engine to another, and what processor time they cost: both ends, which are in this process, and the server, which is in
// one of its own except for the embedded one. The messages come at a steady pace: small ones, and such as an engine sends that runs 33,000 tags which change every second. The
// bare runs send the same bytes by nats.go, and by a statement that inserts a row and notifies. Run it with -benchtime 1x.
func BenchmarkBus(b *testing.B) {
	for _, load := range []struct{ size, rate int }{{256, 1000}, {75_000, 20}} {
		for _, kind := range []struct {
			name string
			open func(b *testing.B) *busRig
		}{{"nats/bare", bareNATS}, {"nats/natsbus", overNATS}, {"nats/embedded", overEmbedded}, {"postgres/bare", barePostgres}, {"postgres/busstore", overPostgres}} {
			b.Run(fmt.Sprintf("bytes=%d/rate=%d/%s", load.size, load.rate, kind.name), func(b *testing.B) {
				r := kind.open(b)
				for b.Loop() {
					r.measure(b, load.size, load.rate)
				}
			})
		}
	}
}

func (r *busRig) measure(b *testing.B, size, rate int) {
	b.Helper()
	const seconds = 10
	var (
		mu   sync.Mutex
		lags []time.Duration
	)
	r.subscribe(func(data []byte) {
		lag := time.Since(time.Unix(0, int64(endian.LittleEndian.Uint64(data))))
		mu.Lock()
		defer mu.Unlock()
		lags = append(lags, lag)
	})
	got := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(lags)
	}
	data := make([]byte, size)
	send := func() {
		endian.LittleEndian.PutUint64(data, uint64(time.Now().UnixNano()))
		require.NoError(b, r.publish(data))
	}
	eventually(b, "messages do not arrive", func() bool { send(); return got() > 0 })
	time.Sleep(time.Second)
	own, server, before := selfCPU(b), r.serverCPU(b), got()
	pace := time.NewTicker(time.Second / time.Duration(rate))
	defer pace.Stop()
	count := seconds * rate
	for range count {
		<-pace.C
		send()
	}
	eventually(b, "messages are lost", func() bool { return got() >= before+count })
	b.ReportMetric(float64((selfCPU(b)-own).Microseconds())/float64(count), "µs-cpu-both-ends/msg")
	b.ReportMetric(float64((r.serverCPU(b)-server).Microseconds())/float64(count), "µs-cpu-server/msg")
	mu.Lock()
	defer mu.Unlock()
	list := lags[before:]
	slices.Sort(list)
	b.ReportMetric(ms(list[len(list)/2]), "ms-p50")
	b.ReportMetric(ms(list[len(list)*99/100]), "ms-p99")
	b.ReportMetric(loadAverage(b), "load")
	b.ReportMetric(0, "ns/op")
}

func selfCPU(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (r *busRig) serverCPU(b *testing.B) time.Duration {
	b.Helper()
	if r.server == 0 {
		return 0
	}
	return treeCPU(b, r.server)
}

// startNATS starts a server and returns its URL.
func startNATS(b *testing.B) (url string, pid int) {
	b.Helper()
	port := strconv.Itoa(realtest.FreePort(b))
	cmd := exec.Command(realtest.Need(b, "nats-server", "/usr/sbin/nats-server"), "-a", "127.0.0.1", "-p", port)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url = "nats://127.0.0.1:" + port
	eventually(b, "nats-server does not start", func() bool {
		c, err := nats.Connect(url)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return url, cmd.Process.Pid
}

func bareNATS(b *testing.B) *busRig {
	b.Helper()
	url, pid := startNATS(b)
	var ends [2]*nats.Conn
	for i := range ends {
		c, err := nats.Connect(url)
		require.NoError(b, err)
		b.Cleanup(c.Close)
		ends[i] = c
	}
	return &busRig{server: pid,
		publish: func(data []byte) error { return ends[0].Publish("values", data) },
		subscribe: func(handle func([]byte)) {
			_, err := ends[1].Subscribe("values", func(m *nats.Msg) { handle(m.Data) })
			require.NoError(b, err)
		}}
}

// ours is a rig of two ends of a bus.
func ours(b *testing.B, from, to bus.Bus, pid int) *busRig {
	b.Helper()
	for _, end := range []bus.Bus{from, to} {
		b.Cleanup(func() { require.NoError(b, end.Close(context.Background())) })
	}
	return &busRig{server: pid,
		publish: func(data []byte) error { return from.Publish("values", data) },
		subscribe: func(handle func([]byte)) {
			_, err := to.Subscribe("values", handle)
			require.NoError(b, err)
		}}
}

func overNATS(b *testing.B) *busRig {
	b.Helper()
	url, pid := startNATS(b)
	var ends [2]bus.Bus
	for i := range ends {
		end, err := natsbus.Connect(b.Context(), natsbus.Options{URLs: []string{url}})
		require.NoError(b, err)
		ends[i] = end
	}
	return ours(b, ends[0], ends[1], pid)
}

func overEmbedded(b *testing.B) *busRig {
	b.Helper()
	from, err := embedded.Start(b.Context(), embedded.Options{Listen: "127.0.0.1:0"})
	require.NoError(b, err)
	to, err := embedded.Start(b.Context(), embedded.Options{Listen: "127.0.0.1:0", Routes: []string{from.Addr().String()}})
	require.NoError(b, err)
	return ours(b, from, to, 0)
}

func overPostgres(b *testing.B) *busRig {
	b.Helper()
	s := pgtest.Own(b)
	var ends [2]bus.Bus
	for i := range ends {
		db, err := postgres.Open(b.Context(), postgres.Options{DSN: s.DSN()}, busstore.Schema())
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, db.Close(context.Background())) })
		end, err := busstore.New(b.Context(), db, busstore.Options{})
		require.NoError(b, err)
		ends[i] = end
	}
	return ours(b, ends[0], ends[1], postmaster(b, s))
}

// postmaster returns the id of the process of a PostgreSQL.
func postmaster(b *testing.B, s *pgtest.Server) int {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(s.Socket(), "data", "postmaster.pid"))
	require.NoError(b, err)
	var pid int
	_, err = fmt.Sscan(string(text), &pid)
	require.NoError(b, err)
	return pid
}

func barePostgres(b *testing.B) *busRig {
	b.Helper()
	s := pgtest.Own(b)
	var ends [2]*pgx.Conn
	for i := range ends {
		c, err := pgx.Connect(b.Context(), s.DSN())
		require.NoError(b, err)
		ends[i] = c
	}
	_, err := ends[0].Exec(b.Context(), "CREATE UNLOGGED TABLE messages (seq bigserial PRIMARY KEY, data bytea NOT NULL)")
	require.NoError(b, err)
	_, err = ends[1].Exec(b.Context(), "LISTEN messages")
	require.NoError(b, err)
	ctx, stop := context.WithCancel(context.Background())
	var reading sync.WaitGroup
	b.Cleanup(func() {
		stop()
		reading.Wait()
		for _, c := range ends {
			_ = c.Close(context.Background())
		}
	})
	return &busRig{server: postmaster(b, s),
		publish: func(data []byte) error {
			_, err := ends[0].Exec(ctx, "WITH new AS (INSERT INTO messages (data) VALUES ($1) RETURNING seq) SELECT pg_notify('messages', seq::text) FROM new", data)
			return err
		},
		subscribe: func(handle func([]byte)) { reading.Go(func() { readRows(ctx, b, ends[1], handle) }) }}
}

// readRows reads what is new with each notification, until ctx ends.
func readRows(ctx context.Context, b *testing.B, c *pgx.Conn, handle func([]byte)) {
	last := int64(0)
	for {
		if _, err := c.WaitForNotification(ctx); err != nil {
			return
		}
		rows, err := c.Query(ctx, "SELECT seq, data FROM messages WHERE seq > $1 ORDER BY seq", last)
		if err != nil {
			return
		}
		for rows.Next() {
			var data []byte
			if err := rows.Scan(&last, &data); err != nil {
				b.Error(err)
			}
			handle(data)
		}
		if rows.Err() != nil {
			return
		}
	}
}
