package main

import (
	"context"
	"errors"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/alerting/history"
	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/alerting/silences"
	"github.com/otkit/otkit/storage/alarmstore"
	"github.com/otkit/otkit/storage/alertstore"
	"github.com/otkit/otkit/storage/sqlite"
)

// stores are what the services of the plant keep their data in. One store of the database serves several of them.
type stores struct {
	alarms      alarms.Store
	rules       rules.Store
	silences    silences.Store
	outbox      outbox.Store
	deadLetters outbox.DeadLetters
	history     history.Store
	close       func(context.Context) error
}

// open opens stores in memory, or those of a SQLite database in dir. For PostgreSQL, use postgres.Open.
func open(ctx context.Context, dir string) (*stores, error) {
	if dir == "" {
		a, o := alarms.NewMemory(), outbox.NewMemory()
		return &stores{a, rules.NewMemory(a), silences.NewMemory(), o, o, history.NewMemory(), func(context.Context) error { return nil }}, nil
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Dir: dir}, alarmstore.Schema(), alertstore.Schema())
	if err != nil {
		return nil, err
	}
	a, alarmsErr := alarmstore.New(db)
	n, alertsErr := alertstore.New(db)
	if err := errors.Join(alarmsErr, alertsErr); err != nil {
		return nil, errors.Join(err, db.Close(ctx))
	}
	return &stores{a, a, n, n, n, n, db.Close}, nil
}
