package postgres

import (
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

// refuse is a pooler that accepts a connection and ends it with the first statement.
func refuse(c net.Conn) {
	defer func() { _ = c.Close() }()
	b := pgproto3.NewBackend(c, c)
	if _, err := b.ReceiveStartupMessage(); err != nil {
		return
	}
	b.Send(&pgproto3.AuthenticationOk{})
	b.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	b.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if b.Flush() != nil {
		return
	}
	if _, err := b.Receive(); err != nil {
		return
	}
	b.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: "server login has been failing, try again later (server_login_retry)"})
	_ = b.Flush()
}
