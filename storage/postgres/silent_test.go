package postgres_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/alarmstore"
	"github.com/otkit/otkit/storage/postgres"
)

// relay stands before a server, and swallows what is sent while it is silent: nothing is refused, closed or
// answered.
type relay struct {
	listener net.Listener
	server   string // its socket
	silent   atomic.Bool

	mu   sync.Mutex
	open []net.Conn
	all  sync.WaitGroup
}

// newRelay gives a relay and the name of a new database behind it.
func newRelay(t *testing.T) (*relay, string) {
	dsn, err := url.Parse(pgtest.DSN(t))
	require.NoError(t, err)
	query := dsn.Query()
	socket := filepath.Join(query.Get("host"), ".s.PGSQL.5432")
	query.Del("host")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &relay{listener: l, server: socket}
	r.all.Go(r.accept)
	t.Cleanup(func() {
		require.NoError(t, l.Close())
		r.mu.Lock()
		for _, c := range r.open {
			_ = c.Close()
		}
		r.mu.Unlock()
		r.all.Wait()
	})
	dsn.Host = l.Addr().String()
	query.Set("sslmode", "disable")
	dsn.RawQuery = query.Encode()
	return r, dsn.String()
}

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("unix", r.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		r.mu.Lock()
		r.open = append(r.open, client, server)
		r.mu.Unlock()
		r.all.Go(func() { r.pass(server, client) })
		r.all.Go(func() { r.pass(client, server) })
	}
}

func (r *relay) pass(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if r.silent.Load() {
			n = 0
		} else if err != nil {
			_ = to.Close()
		}
		if err != nil {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// TestAlarmsOutliveASilentServer has a server that says nothing any more, without closing a connection: calls
// end with their contexts, the service ends, and it works again when the server does.
func TestAlarmsOutliveASilentServer(t *testing.T) {
	r, dsn := newRelay(t)
	db, err := postgres.Open(t.Context(), postgres.Options{DSN: dsn}, storetest.Schemas()...)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close(t.Context())) }()
	store, err := alarmstore.New(db)
	require.NoError(t, err)
	service, err := alarms.New(t.Context(), store, alarms.Options{WriteTimeout: 2 * time.Second})
	require.NoError(t, err)
	raise := func(key string, within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		_, err := service.Raise(ctx, alarms.Alarm{Key: key, Source: "s"})
		return err
	}
	require.NoError(t, raise("first", time.Minute))
	r.silent.Store(true)
	for range 3 {
		require.ErrorIs(t, raise("second", 200*time.Millisecond), context.DeadlineExceeded)
	}
	r.silent.Store(false)
	require.Eventually(t, func() bool { return raise("third", 5*time.Second) == nil }, time.Minute, 10*time.Millisecond)
	r.silent.Store(true)
	require.Error(t, raise("fourth", 200*time.Millisecond))
	require.NoError(t, service.Close(context.Background()))
	r.silent.Store(false)
}

func TestARollbackOnASilentServerEndsWithItsCaller(t *testing.T) {
	r, dsn := newRelay(t)
	db := storetest.OpenPostgres(t, dsn, storage.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	refused := errors.New("no such alarm")
	done := make(chan error, 1)
	go func() {
		done <- db.Update(ctx, "refuse", func(context.Context, *storage.Tx) error {
			r.silent.Store(true)
			return refused
		})
	}()
	select {
	case err := <-done:
		require.Fail(t, "the server has answered", "%v", err)
	case <-time.After(100 * time.Millisecond):
	}
	cancel()
	require.ErrorIs(t, <-done, refused)
}
