package alarmstore_test

import (
	"testing"

	"github.com/otkit/otkit/alarms/alarmstest"
	"github.com/otkit/otkit/alarms/rules/rulestest"
	"github.com/otkit/otkit/internal/storetest"
)

func TestAlarms(t *testing.T) {
	storetest.Reopening(t, func(db *storetest.DB) alarmstest.Store { return db.Alarms() }, alarmstest.TestStore)
}

func TestAlarmRules(t *testing.T) {
	storetest.Reopening(t, func(db *storetest.DB) rulestest.Store { return db.AlarmRules() }, rulestest.TestStore)
}
