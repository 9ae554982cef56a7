package storage

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// server is a database server that can be away.
type server struct{ away atomic.Bool }

func (s *server) Driver() driver.Driver { return nil }

func (s *server) Connect(context.Context) (driver.Conn, error) {
	if s.away.Load() {
		return nil, errors.New("connection refused")
	}
	return serverConn{server: s}, nil
}

type serverConn struct {
	driver.Conn
	server *server
}

func (c serverConn) Close() error { return nil }

func (c serverConn) Ping(context.Context) error {
	if c.server.away.Load() {
		return driver.ErrBadConn
	}
	return nil
}

// An engine of a plant whose session is not renewed for three seconds is lost: calls may not fail for long after the server is back.
func TestAServerIsSoonNoticedToBeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, missed := &server{}, 0
		p := newPresence(sql.OpenDB(s), slog.New(slog.DiscardHandler))
		for range 30 {
			time.Sleep(3130 * time.Millisecond)
			s.away.Store(true)
			time.Sleep(1500 * time.Millisecond)
			if p.err() != nil {
				missed++
			}
			s.away.Store(false)
			time.Sleep(300 * time.Millisecond)
			require.NoError(t, p.err())
		}
		require.NotZero(t, missed, "no outage was noticed")
		require.NoError(t, p.close())
	})
}
