package alarmstore_test

import (
	"testing"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/alarmstest"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/alarms/rules/rulestest"
	"github.com/otkit/otkit/internal/storetest"
)

func TestAlarms(t *testing.T) {
	storetest.Reopening(t, func(db *storetest.DB) alarms.Store { return db.Alarms() }, alarmstest.TestStore)
}

func TestAlarmRules(t *testing.T) {
	storetest.Reopening(t, func(db *storetest.DB) rules.Store { return db.AlarmRules() }, rulestest.TestStore)
}
