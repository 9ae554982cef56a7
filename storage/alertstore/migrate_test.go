package alertstore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alerting/outbox"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

// TestDashboardDeliveriesFromBefore brings up an outbox of when the dashboard was a channel: nobody sends those deliveries, and none
// may become a dead letter.
func TestDashboardDeliveriesFromBefore(t *testing.T) {
	for _, kind := range storetest.Kinds {
		t.Run(kind, func(t *testing.T) {
			schemas := storetest.Schemas()
			for i, s := range schemas {
				if s.Name == "alerts" {
					schemas[i] = storetest.Earlier(t, s, 7)
				}
			}
			fresh := storetest.Fresh(t, kind)
			db := storetest.Must(fresh(schemas...))(t, storage.Options{NoMaintenance: true})
			now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			states := []outbox.DeliveryState{outbox.Pending, outbox.Sending, outbox.Silenced, outbox.DeadLettered, outbox.Sent}
			var add []outbox.Delivery
			for _, channel := range []string{"dashboard", "email"} {
				for _, state := range states {
					d := outbox.Delivery{ID: channel + string(state), EventID: channel + string(state), Occurrence: string(state), Channel: channel,
						State: state, NextAttempt: now, CreatedAt: now, ExpiresAt: now.Add(time.Hour)}
					if state == outbox.Sending {
						d.Owner, d.LeaseUntil = "gone", now
					}
					if state.Final() {
						d.SettledAt = now
					}
					add = append(add, d)
				}
			}
			require.NoError(t, db.Outbox().Plan(t.Context(), 0, 1, add))
			require.NoError(t, db.Close())

			store := storetest.Must(fresh())(t, storage.Options{}).Outbox()
			late := now.Add(48 * time.Hour)
			expired, err := store.ExpireOrphaned(t.Context(), nil, late, late, "late")
			require.NoError(t, err)
			require.Equal(t, map[string]int{"email": 2}, expired)
			counts, err := store.CountDeadLetters(t.Context())
			require.NoError(t, err)
			require.Len(t, counts, 1)
			require.Equal(t, 3, counts["email"].Count)
			silenced, err := store.SilencedDeliveries(t.Context(), outbox.Delivery{}, 10)
			require.NoError(t, err)
			require.Len(t, silenced, 1)
			require.Equal(t, "email", silenced[0].Channel)
			require.Equal(t, map[outbox.DeliveryState]int{outbox.Discarded: 4, outbox.Sent: 1}, dashboardStates(t, store, states))
			require.NoError(t, store.TrimDeliveries(t.Context(), late, late))
			require.Empty(t, dashboardStates(t, store, states))
		})
	}
}

func dashboardStates(t *testing.T, store outbox.Store, states []outbox.DeliveryState) map[outbox.DeliveryState]int {
	t.Helper()
	occurrences := make([]string, len(states))
	for i, s := range states {
		occurrences[i] = string(s)
	}
	list, err := store.FirstDeliveries(t.Context(), occurrences)
	require.NoError(t, err)
	found := make(map[outbox.DeliveryState]int)
	for _, d := range list {
		if d.Channel == "dashboard" {
			found[d.State]++
		}
	}
	return found
}
