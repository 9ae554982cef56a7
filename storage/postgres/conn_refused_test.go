package postgres

import (
	"context"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"
	"github.com/stretchr/testify/require"
)

// A pooler whose server is away accepts connections and refuses each transaction. The error has its reason.
func TestTransactionThatAPoolerRefuses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go refuse(c)
		}
	}()
	config, err := pgx.ParseConfig("postgres://otkit@" + l.Addr().String() + "/otkit?sslmode=disable&default_query_exec_mode=simple_protocol")
	require.NoError(t, err)
	pool := openPool(config)
	defer func() { _ = pool.Close() }()
	for range 3 {
		_, err = pool.BeginTx(t.Context(), nil)
		require.ErrorContains(t, err, "server login has been failing")
	}
}

// A caller that is canceled ends its connection, but asks a pooler for nothing on another one.
func TestAPoolerIsNotAskedToCancelQueries(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	config, err := pgx.ParseConfig("postgres://otkit@" + l.Addr().String() + "/otkit?sslmode=disable&default_query_exec_mode=simple_protocol")
	require.NoError(t, err)
	config.DialFunc = withoutCancel(config.DialFunc)
	pool := openPool(config)
	defer func() { _ = pool.Close() }()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, err := pool.ExecContext(ctx, "SELECT pg_sleep(60)")
		ended <- err
	}()
	c, err := l.Accept()
	require.NoError(t, err)
	defer func() { _ = c.Close() }()
	b, err := login(c)
	require.NoError(t, err)
	query, err := b.Receive()
	require.NoError(t, err)
	require.IsType(t, &pgproto3.Query{}, query)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
	last, err := b.Receive() // after the answer to a request to cancel, where there is one
	require.NoError(t, err)
	require.IsType(t, &pgproto3.Terminate{}, last)
}

// login answers a client that begins a connection.
func login(c net.Conn) (*pgproto3.Backend, error) {
	b := pgproto3.NewBackend(c, c)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return nil, err
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	b.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	return b, b.Flush()
}

// refuse is a pooler that accepts a connection and ends it with the first statement.
func refuse(c net.Conn) {
	defer func() { _ = c.Close() }()
	b, err := login(c)
	if err != nil {
		return
	}
	if _, err := b.Receive(); err != nil {
		return
	}
	b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: "server login has been failing, try again later (server_login_retry)"})
	_ = b.Flush()
}
