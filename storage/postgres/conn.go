package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// openPool returns a pool in which a transaction that finds its connection closed by the server begins on another one: after a
// restart of the server or of a pooler there may be many of those, and a BEGIN that was not answered has changed nothing.
func openPool(config *pgx.ConnConfig) *sql.DB {
	return sql.OpenDB(connector{stdlib.GetConnector(*config)})
}

type connector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := c.Connector.Connect(ctx)
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
