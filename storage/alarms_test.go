package storage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms/alarmstest"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/alerting/alertingtest"
	"github.com/otkit/otkit/internal/pgtest"
	"github.com/otkit/otkit/storage"
)

// reopening gives a suite that restarts its store a new database for each of its parts.
func reopening[S any](t *testing.T, store func(*storage.DB) S, suite func(*testing.T, func(testing.TB) (S, func() S))) {
	t.Helper()
	for kind, fresh := range map[string]func(testing.TB) tryer{
		"sqlite":   func(t testing.TB) tryer { return trySQLite(t.TempDir()) },
		"postgres": func(t testing.TB) tryer { return tryPostgres(pgtest.DSN(t)) },
	} {
		t.Run(kind, func(t *testing.T) {
			suite(t, func(t testing.TB) (S, func() S) {
				open := must(fresh(t))
				db := open(t, storage.Options{})
				return store(db), func() S {
					require.NoError(t, db.Close())
					return store(open(t, storage.Options{}))
				}
			})
		})
	}
}

func TestAlarms(t *testing.T) {
	reopening(t, func(db *storage.DB) alarmstest.Store { return db.Alarms() }, alarmstest.TestStore)
}

func TestAlarmRules(t *testing.T) {
	reopening(t, func(db *storage.DB) alarmstest.RuleStore { return db.AlarmRules() }, alarmstest.TestRuleStore)
}

func TestSilences(t *testing.T) {
	each(t, func(t *testing.T, fresh func(testing.TB) *storage.DB) {
		alertingtest.TestSilenceStore(t, func(t testing.TB) alerting.SilenceStore { return fresh(t).Silences() })
	})
}

func TestAlertHistory(t *testing.T) {
	each(t, func(t *testing.T, fresh func(testing.TB) *storage.DB) {
		alertingtest.TestHistoryStore(t, func(t testing.TB) alerting.HistoryStore { return fresh(t).AlertHistory() })
	})
}

func TestOutbox(t *testing.T) {
	each(t, func(t *testing.T, fresh func(testing.TB) *storage.DB) {
		alertingtest.TestOutbox(t, func(t testing.TB) alertingtest.Outbox { return fresh(t).Outbox() })
	})
}
