package alarmstore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

// TestEventsFromBefore migrates a journal whose events do not name their occurrences.
func TestEventsFromBefore(t *testing.T) {
	for _, kind := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			fresh := storetest.Fresh(t, kind)
			db := storetest.Before(t, fresh, 10, 2)
			require.NoError(t, db.Update(t.Context(), "old", func(ctx context.Context, tx *storage.Tx) error {
				for i, occurrence := range []string{
					`{"seq":1,"id":"a","code":1,"key":"hot","raised":1,"active":true}`,
					`{"seq":1234567890,"id":"b","code":2,"key":"dry","raised":2,"active":true}`,
					`{"seq":1,"id":"a","code":1,"key":"hot","raised":1,"acknowledged":3,"active":true}`,
					`{"code":3,"key":"\"seq\":1","withheld":1}`, // of a condition that had no occurrence
					`{"seq":`, `{"seq":x}`, `{"seq":-1,"code":1}`, `{`, ``,
				} {
					_, err := tx.Exec(ctx, "INSERT INTO alarm_events (seq, id, kind, done_by, comment, is_new, occurrence) VALUES (?, '', 'raised', '', '', ?, ?)",
						i+1, false, occurrence)
					if err != nil {
						return err
					}
				}
				return nil
			}))
			require.NoError(t, db.Close())

			store := storetest.Must(fresh())(t, storage.Options{}).Alarms()
			of := func(occurrence int64) (seqs []int64) {
				events, total, err := store.EventsOf(t.Context(), occurrence, 0, 10)
				require.NoError(t, err)
				require.Equal(t, len(events), total)
				for _, e := range events {
					seqs = append(seqs, e.Seq)
					require.Equal(t, occurrence, e.Occurrence.Seq)
				}
				return seqs
			}
			require.Equal(t, []int64{1, 3}, of(1))
			require.Equal(t, []int64{2}, of(1234567890))
		})
	}
}
