package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	otkit "github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/internal/engineconfig"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/aasstore"
	"github.com/otkit/otkit/storage/accountstore"
	"github.com/otkit/otkit/storage/alarmstore"
	"github.com/otkit/otkit/storage/alertstore"
	"github.com/otkit/otkit/storage/auditstore"
	"github.com/otkit/otkit/storage/bindingstore"
	"github.com/otkit/otkit/storage/busstore"
	"github.com/otkit/otkit/storage/clusterstore"
	"github.com/otkit/otkit/storage/derivedstore"
	"github.com/otkit/otkit/storage/devicestore"
	"github.com/otkit/otkit/storage/driverstore"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/storage/maintenancestore"
	"github.com/otkit/otkit/storage/modelstore"
	"github.com/otkit/otkit/storage/tagconfigstore"
	"github.com/otkit/otkit/storage/tagstore"
	"github.com/otkit/otkit/transport/alertingapi/alertingpart"
	"github.com/otkit/otkit/transport/clusterapi/clusterpart"
)

// schemas returns the tables of the engine.
func schemas() []storage.Schema {
	return []storage.Schema{
		accountstore.Schema(), tagstore.Schema(), alarmstore.Schema(), alertstore.Schema(), aasstore.Schema(), auditstore.Schema(), historystore.Schema(), devicestore.Schema(),
		bindingstore.Schema(), maintenancestore.Schema(), tagconfigstore.Schema(), derivedstore.Schema(), driverstore.Schema(), modelstore.Schema(), clusterstore.Schema(), busstore.Schema(),
	}
}

// useStores keeps everything in a database.
func useStores(ctx context.Context, o *otkit.Options, s engineconfig.Engine, db *storage.DB, log *slog.Logger) error {
	accounts, accountsErr := accountstore.New(db)
	tags, tagsErr := tagstore.New(db)
	history, historyErr := historystore.New(db, historystore.Options{})
	alarms, alarmsErr := alarmstore.New(db)
	alerts, alertsErr := alertstore.New(db)
	aas, aasErr := aasstore.New(db)
	audit, auditErr := auditstore.New(db)
	devices, devicesErr := devicestore.New(db)
	bridges, bridgesErr := bindingstore.New(db)
	records, recordsErr := maintenancestore.New(db)
	config, configErr := tagconfigstore.New(db)
	drivers, driversErr := driverstore.New(db)
	computed, computedErr := derivedstore.New(db)
	if err := errors.Join(accountsErr, tagsErr, historyErr, alarmsErr, alertsErr, aasErr, auditErr, devicesErr, bridgesErr, recordsErr, configErr, computedErr, driversErr); err != nil {
		return err
	}
	o.Accounts.Accounts, o.Accounts.Sessions = accounts, accounts
	o.Tags.Writes, o.Tags.HistoryStore, o.Tags.Config = tags, history, config
	o.Tags.DriverStore = drivers
	o.Alarms.Alarms, o.Alarms.Resolutions, o.Alarms.Rules, o.Alarms.RuleStates = alarms, alarms, alarms, alarms
	o.Alerting.Silences, o.Alerting.History, o.Alerting.Outbox, o.Alerting.DeadLetters = alerts, alerts, alerts, alerts
	o.AAS.Store, o.Audit.Store, o.Devices.Store, o.Discovery.Store = aas, audit, devices, bridges
	o.Predictive.Records, o.Derived.Repository = records, computed
	o.Ping, o.Shortage = db.Ping, db.Shortage
	if s.Storage.Driver == "postgres" {
		o.Shared = &otkit.Shared{Keys: accounts}
		return share(ctx, o, s, db, config, log)
	}
	return nil
}

// share lets the engine share the plant with the others that use the database.
func share(ctx context.Context, o *otkit.Options, s engineconfig.Engine, db *storage.DB, config *tagconfigstore.Store, log *slog.Logger) error {
	name, err := alertingpart.EngineName(s.Storage.DataDir)
	if err != nil {
		return err
	}
	id, _, _ := strings.Cut(name, "@") // a container that is made again has another host
	o.Tags.Config = config.Of(id)
	sessions, sessionsErr := clusterstore.New(db)
	models, modelsErr := modelstore.New(db, modelstore.Options{Keep: s.Predictive.Keep, Logger: log})
	if err := errors.Join(sessionsErr, modelsErr); err != nil {
		return err
	}
	o.Predictive.Registry = models
	labels, err := s.Cluster.LabelMap()
	if err != nil {
		return err
	}
	messages, err := s.Cluster.OpenBus(ctx, db, log)
	if err != nil {
		return err
	}
	o.Shared.Cluster = &clusterpart.Options{Store: sessions, Bus: messages, Name: s.Cluster.Name, URL: s.ClusterURL(), Labels: labels}
	return nil
}
