package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// openPool returns a pool in which a transaction that finds its connection closed by the server begins on another one: after a
// restart of the server or of a pooler there may be many of those, and a BEGIN that was not answered has changed nothing.
func openPool(config *pgx.ConnConfig) *sql.DB {
	return sql.OpenDB(connector{stdlib.GetConnector(*config)})
}

type connector struct{ driver.Connector }

// connecting marks the contexts in which connections of a pool are made.
type connecting struct{}

// withoutCancel returns dial without the connections that pgx makes only to ask the server to cancel a query. PgBouncer 1.18 ends by such requests
// (https://github.com/pgbouncer/pgbouncer/issues/822), and others may cancel what another client does by then.
func withoutCancel(dial pgconn.DialFunc) pgconn.DialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if ctx.Value(connecting{}) == nil {
			return nil, errors.New("a pooler is not asked to cancel queries")
		}
		return dial(ctx, network, addr)
	}
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := c.Connector.Connect(context.WithValue(ctx, connecting{}, true))
	if err != nil {
		return nil, err
	}
	return &conn{Conn: made.(*stdlib.Conn)}, nil
}

type conn struct {
	*stdlib.Conn
	kept bool // it was in the pool
}

// ResetSession implements driver.SessionResetter: the connection is taken from the pool.
func (c *conn) ResetSession(ctx context.Context) error {
	c.kept = true
	return c.Conn.ResetSession(ctx)
}

// BeginTx implements driver.ConnBeginTx. With driver.ErrBadConn, database/sql takes another connection, at last a new one, whose error says why
// there is none: a pooler accepts connections while its server is away.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.BeginTx(ctx, opts)
	if err != nil && c.kept && ctx.Err() == nil && c.Conn.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	return tx, err
}
