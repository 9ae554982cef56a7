package main

import (
	"errors"

	"github.com/otkit/otkit/engine"
	"github.com/otkit/otkit/storage"
	"github.com/otkit/otkit/storage/aasstore"
	"github.com/otkit/otkit/storage/alarmstore"
	"github.com/otkit/otkit/storage/alertstore"
	"github.com/otkit/otkit/storage/auditstore"
	"github.com/otkit/otkit/storage/derivedstore"
	"github.com/otkit/otkit/storage/devicestore"
	"github.com/otkit/otkit/storage/driverstore"
	"github.com/otkit/otkit/storage/historystore"
	"github.com/otkit/otkit/storage/maintenancestore"
	"github.com/otkit/otkit/storage/tagconfigstore"
	"github.com/otkit/otkit/storage/tagstore"
)

// schemas are the tables of the stores below, for sqlite.Open or postgres.Open.
func schemas() []storage.Schema {
	return []storage.Schema{
		tagstore.Schema(), historystore.Schema(), alarmstore.Schema(), alertstore.Schema(), aasstore.Schema(), auditstore.Schema(),
		devicestore.Schema(), maintenancestore.Schema(), tagconfigstore.Schema(), derivedstore.Schema(), driverstore.Schema(),
	}
}

// useDatabase has the engine keep everything in a database. A store that stays nil is in memory.
func useDatabase(o *engine.Options, db *storage.DB) error {
	writes, writesErr := tagstore.New(db)
	history, historyErr := historystore.New(db, historystore.Options{})
	alarms, alarmsErr := alarmstore.New(db)
	alerts, alertsErr := alertstore.New(db)
	shells, shellsErr := aasstore.New(db)
	audit, auditErr := auditstore.New(db)
	devices, devicesErr := devicestore.New(db)
	records, recordsErr := maintenancestore.New(db)
	config, configErr := tagconfigstore.New(db)
	drivers, driversErr := driverstore.New(db)
	computed, computedErr := derivedstore.New(db)
	if err := errors.Join(writesErr, historyErr, alarmsErr, alertsErr, shellsErr, auditErr, devicesErr, recordsErr, configErr, computedErr, driversErr); err != nil {
		return err
	}
	o.Tags.Writes, o.Tags.HistoryStore, o.Tags.Config = writes, history, config
	o.Tags.DriverStore = drivers
	o.Alarms.Alarms, o.Alarms.Resolutions, o.Alarms.Rules, o.Alarms.RuleStates = alarms, alarms, alarms, alarms
	o.Alerting.Silences, o.Alerting.History, o.Alerting.Outbox, o.Alerting.DeadLetters = alerts, alerts, alerts, alerts
	o.AAS.Store, o.Audit.Store = shells, audit
	o.Devices.Store, o.Predictive.Records, o.Derived.Repository = devices, records, computed
	o.Ping, o.Shortage = db.Ping, db.Shortage
	return nil
}
