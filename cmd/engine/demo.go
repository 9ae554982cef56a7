package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/otkit/otkit/aas"
	"github.com/otkit/otkit/aas/netcompliance"
	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/demo"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/simdriver"
	"github.com/otkit/otkit/transport/server"
)

// addDemo adds the demo plant to a server's options, and gives it a past on its first start.
func addDemo(ctx context.Context, db *storage.DB, log *slog.Logger, o *server.Options) error {
	d, known, err := demo.NewDriver(nil)
	if err != nil {
		return err
	}
	began := time.Now()
	samples, err := demo.FillHistory(ctx, d, known, db.History(), began)
	if err != nil {
		return err
	}
	events, err := fillAlarms(ctx, db, d, began)
	if err != nil {
		return err
	}
	if samples > 0 || events > 0 {
		log.Info("demo plant has a past", "samples", samples, "alarmEvents", events, "took", time.Since(began).Round(time.Millisecond))
	}
	if err := addShellsOfDemo(ctx, db, known, o); err != nil {
		return err
	}
	o.Drivers = append(o.Drivers, server.Driver{ID: demo.DriverID, Driver: d,
		Options: tags.DriverOptions{Type: simdriver.TypeName, Interval: 500 * time.Millisecond, Tags: known}})
	return nil
}

// fillAlarms stores the plant's past alarms, of which nobody is to be told, however soon the engine is
// stopped: what an engine did that was killed is done again until the outbox has passed over them. An
// outbox that has passed over events is of an engine that has a past.
func fillAlarms(ctx context.Context, db *storage.DB, d *simdriver.Driver, now time.Time) (last int64, err error) {
	if cursor, err := db.Outbox().Cursor(ctx); err != nil || cursor > 0 {
		return 0, err
	}
	if last, err = pastAlarms(ctx, db, d, now); err != nil || last == 0 {
		return 0, err
	}
	return last, db.Outbox().Plan(ctx, 0, last, nil)
}

// pastAlarms stores the plant's past alarms, before anybody is there to be told of them.
func pastAlarms(ctx context.Context, db *storage.DB, d *simdriver.Driver, now time.Time) (int64, error) {
	service, err := alarms.New(ctx, db.Alarms(), alarms.Options{})
	if err != nil {
		return 0, err
	}
	events, err := demo.FillAlarms(ctx, d, service, now)
	if err != nil {
		_ = service.Close()
		return 0, err
	}
	return events, service.Close()
}

// addShellsOfDemo brings the plant's shells in, and what is known of its network.
func addShellsOfDemo(ctx context.Context, db *storage.DB, known []tags.Tag, o *server.Options) error {
	service, err := aas.NewService(db.AAS(), o.AAS)
	if err != nil {
		return err
	}
	if err := errors.Join(demo.FillShells(ctx, service, o.TagMapping.Mapper, known), service.Close()); err != nil {
		return err
	}
	network, err := netcompliance.New(netcompliance.SourceFunc(demo.NetworkFacts), netcompliance.Options{})
	if err != nil {
		return err
	}
	o.AAS.Providers = append(o.AAS.Providers, network)
	return nil
}
