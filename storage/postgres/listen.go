package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"

	"github.com/jackc/pgx/v5/stdlib"
)

// Listen implements storage.Notifier.
func (dialect) Listen(ctx context.Context, pool *sql.DB, channel string, ready func(), notified func(string)) error {
	c, err := pool.Conn(ctx)
	if err != nil {
		return err
	}
	err = c.Raw(func(raw any) error {
		conn := raw.(*stdlib.Conn).Conn()
		_, err := conn.Exec(ctx, "LISTEN "+channel)
		if err == nil {
			ready()
		}
		for err == nil {
			n, waited := conn.WaitForNotification(ctx)
			if err = waited; err == nil {
				notified(n.Payload)
			}
		}
		return errors.Join(err, driver.ErrBadConn) // a connection that listens is of no other use
	})
	_ = c.Close() // Raw has closed it, unless it was lost before
	return err
}
