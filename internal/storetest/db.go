package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/aasstore"
	"github.com/otkit/otkit/storage/accountstore"
	"github.com/otkit/otkit/storage/alarmstore"
	"github.com/otkit/otkit/storage/alertstore"
	"github.com/otkit/otkit/storage/auditstore"
	"github.com/otkit/otkit/storage/bindingstore"
	"github.com/otkit/otkit/storage/busstore"
	"github.com/otkit/otkit/storage/derivedstore"
	"github.com/otkit/otkit/storage/devicestore"
	"github.com/otkit/otkit/storage/driverstore"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/storage/maintenancestore"
	"github.com/otkit/otkit/storage/modelstore"
	"github.com/otkit/otkit/storage/tagconfigstore"
	"github.com/otkit/otkit/storage/tagstore"
)

// DB is an open database with the stores of every domain.
type DB struct {
	*storage.DB
	accounts *accountstore.Store
	tags     *tagstore.Store
	history  *historystore.Store
	alarms   *alarmstore.Store
	alerts   *alertstore.Store
	aas      *aasstore.Store
	audit    *auditstore.Store
}

// Schemas returns the schemas of every domain.
func Schemas() []storage.Schema {
	return []storage.Schema{accountstore.Schema(), tagstore.Schema(), alarmstore.Schema(), alertstore.Schema(), aasstore.Schema(), auditstore.Schema(), historystore.Schema(), devicestore.Schema(),
		bindingstore.Schema(), maintenancestore.Schema(), tagconfigstore.Schema(), derivedstore.Schema(), driverstore.Schema(), busstore.Schema(), modelstore.Schema()}
}

// New makes the stores over a database that was opened with all schemas, and closes it if that fails.
func New(db *storage.DB, history historystore.Options) (*DB, error) {
	all := &DB{DB: db}
	var errs [7]error
	all.accounts, errs[0] = accountstore.New(db)
	all.tags, errs[1] = tagstore.New(db)
	all.history, errs[2] = historystore.New(db, history)
	all.alarms, errs[3] = alarmstore.New(db)
	all.alerts, errs[4] = alertstore.New(db)
	all.aas, errs[5] = aasstore.New(db)
	all.audit, errs[6] = auditstore.New(db)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, errors.Join(err, db.Close(context.Background()))
	}
	return all, nil
}

// Accounts returns the store of accounts.
func (db *DB) Accounts() *accountstore.Store { return db.accounts }

// Sessions returns the store of accounts.
func (db *DB) Sessions() *accountstore.Store { return db.accounts }

// Keys returns the store of accounts.
func (db *DB) Keys() *accountstore.Store { return db.accounts }

// Writes returns the write log.
func (db *DB) Writes() *tagstore.Store { return db.tags }

// History returns the history of samples.
func (db *DB) History() *historystore.Store { return db.history }

// Alarms returns the store of alarms.
func (db *DB) Alarms() *alarmstore.Store { return db.alarms }

// Resolutions returns the store of alarms.
func (db *DB) Resolutions() *alarmstore.Store { return db.alarms }

// AlarmRules returns the store of alarms.
func (db *DB) AlarmRules() *alarmstore.Store { return db.alarms }

// Silences returns the store of alerts.
func (db *DB) Silences() *alertstore.Store { return db.alerts }

// AlertHistory returns the store of alerts.
func (db *DB) AlertHistory() *alertstore.Store { return db.alerts }

// Outbox returns the store of alerts.
func (db *DB) Outbox() *alertstore.Store { return db.alerts }

// AAS returns the store of shells.
func (db *DB) AAS() *aasstore.Store { return db.aas }

// Audit returns the store of the audit log.
func (db *DB) Audit() *auditstore.Store { return db.audit }

// Close closes the database and waits for the writes that were accepted.
func (db *DB) Close() error { return db.DB.Close(context.Background()) }

// Update runs a transaction on the state.
func (db *DB) Update(ctx context.Context, op string, fn func(context.Context, *storage.Tx) error) error {
	return db.update(ctx, accountstore.Schema(), op, fn)
}

func (db *DB) update(ctx context.Context, of storage.Schema, op string, fn func(context.Context, *storage.Tx) error) error {
	set, err := db.SetOf(of)
	if err != nil {
		return err
	}
	return set.Update(ctx, op, fn)
}

// View runs a transaction that reads the state.
func (db *DB) View(ctx context.Context, op string, fn func(context.Context, *storage.Tx) error) error {
	set, err := db.SetOf(accountstore.Schema())
	if err != nil {
		return err
	}
	return set.View(ctx, op, fn)
}

// Exec runs a statement on the state.
func (db *DB) Exec(t testing.TB, query string, args ...any) {
	t.Helper()
	db.exec(t, accountstore.Schema(), query, args)
}

// ExecHistory runs a statement on the history.
func (db *DB) ExecHistory(t testing.TB, query string, args ...any) {
	t.Helper()
	db.exec(t, historystore.Schema(), query, args)
}

func (db *DB) exec(t testing.TB, of storage.Schema, query string, args []any) {
	t.Helper()
	require.NoError(t, db.update(t.Context(), of, "test", func(ctx context.Context, tx *storage.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	}))
}
