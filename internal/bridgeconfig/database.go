package bridgeconfig

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/otkit/otkit/bridgehost"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/accountstore"
	"github.com/otkit/otkit/storage/auditstore"
	"github.com/otkit/otkit/storage/sqlite"
)

// databaseFile is in the data directory.
const databaseFile = "bridge.db"

func schemas() []storage.Schema { return []storage.Schema{accountstore.Schema(), auditstore.Schema()} }

// OpenStores opens the database of the bridge that runs on it, and puts its stores into o. Close it after the bridge.
func (b Bridge) OpenStores(ctx context.Context, o *bridgehost.Options, log *slog.Logger) (*storage.DB, error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Options: storage.Options{Logger: log, Reserve: b.Storage.Reserve, OnQuery: o.Server.Metrics.ObserveStore},
		Dir: b.Storage.DataDir, State: databaseFile, Readers: 2}, schemas()...)
	if err != nil {
		return nil, fmt.Errorf("database in %s: %w", b.Storage.DataDir, err)
	}
	accounts, accountsErr := accountstore.New(db)
	audit, auditErr := auditstore.New(db)
	if err := errors.Join(accountsErr, auditErr); err != nil {
		return nil, errors.Join(err, db.Close(ctx))
	}
	o.Accounts.Accounts, o.Accounts.Sessions, o.Audit.Store, o.Ping, o.Shortage = accounts, accounts, audit, db.Ping, db.Shortage
	return db, nil
}
