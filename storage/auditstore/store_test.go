package auditstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/audit"
	"github.com/otkit/otkit/audit/audittest"
	"github.com/otkit/otkit/internal/storetest"
)

func TestStore(t *testing.T) {
	storetest.Each(t, func(t *testing.T, fresh func(testing.TB) *storetest.DB) {
		audittest.TestStore(t, func(t *testing.T) audit.Store { return fresh(t).Audit() })
	})
}

// TestTamperedRow holds that a row that somebody changes in the database is found.
func TestTamperedRow(t *testing.T) {
	storetest.Each(t, func(t *testing.T, fresh func(testing.TB) *storetest.DB) {
		for name, change := range map[string]string{
			"actor":   "UPDATE audit_entries SET actor = 'eve' WHERE seq = 3",
			"time":    "UPDATE audit_entries SET at_us = at_us - 1 WHERE seq = 3",
			"objects": "UPDATE audit_entries SET objects = '' WHERE seq = 3",
			"outcome": "UPDATE audit_entries SET outcome = 'refused' WHERE seq = 4",
			"removed": "DELETE FROM audit_entries WHERE seq = 3",
			"cut off": "DELETE FROM audit_entries WHERE seq = 1",
			"tail":    "DELETE FROM audit_entries WHERE seq = 6",
		} {
			db := fresh(t)
			log, err := audit.New(db.Audit(), audit.Options{})
			require.NoError(t, err)
			for range 3 {
				intent, err := log.Begin(t.Context(), audit.Act{Actor: "anna", Action: "writeTag", Objects: []string{"line.level"}})
				require.NoError(t, err)
				intent.End(audit.Result{Outcome: audit.Succeeded})
				_, err = log.Head(t.Context())
				require.NoError(t, err)
			}
			report, err := log.Verify(t.Context())
			require.NoError(t, err)
			require.True(t, report.Intact(), "%s: %s", name, report.Problem)
			db.Exec(t, change)
			report, err = log.Verify(t.Context())
			require.NoError(t, err)
			require.False(t, report.Intact(), name)
			require.NoError(t, log.Close(t.Context()))
		}
	})
}

// BenchmarkWrite is what an act costs: an intent that is awaited, and an outcome.
func BenchmarkWrite(b *testing.B) {
	for _, kind := range []string{"sqlite", "postgres"} {
		for _, callers := range []int{1, 16, 64} {
			b.Run(fmt.Sprintf("%s/callers=%d", kind, callers), func(b *testing.B) {
				db, _ := storetest.Bench(b, kind)
				log, err := audit.New(db.Audit(), audit.Options{})
				require.NoError(b, err)
				act := audit.Act{Actor: "anna", Principal: "otkit anna", Role: "Admin", Session: "019ab3c1-0000-7000-8000-000000000000", Address: "192.0.2.7",
					Via: "rest", Action: "writeTag", Objects: []string{"line.level"}, Before: `{"value":{"floatValue":21.5}}`, After: `{"value":"22.5"}`}
				storetest.Callers(b, callers, func(int) error {
					return log.Do(b.Context(), act, func(context.Context) error { return nil }, nil)
				})
				require.NoError(b, log.Close(b.Context()))
			})
		}
	}
}
