package alarmstore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/internal/storetest"
	"github.com/otkit/otkit/storage"
)

// TestLabelsAreReadOnlyOnRequest keeps the list that has no pages from reading all labels of all active alarms.
func TestLabelsAreReadOnlyOnRequest(t *testing.T) {
	storetest.OnBoth(t, func(t *testing.T, open storetest.Opener) {
		db := open(t, storage.Options{})
		service, err := alarms.New(t.Context(), db.Alarms(), alarms.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, service.Close(context.Background())) }()
		labels := map[string]string{"l": strings.Repeat("x", 4000)}
		raised, err := service.Raise(t.Context(), alarms.Alarm{Key: "k", Source: "s", Message: "m", Severity: alarms.Error, Labels: labels})
		require.NoError(t, err)
		page, err := db.Alarms().Occurrences(t.Context(), alarms.Query{Limit: 1, NoLabels: true})
		require.NoError(t, err)
		require.Len(t, page.Occurrences, 1)
		require.Nil(t, page.Occurrences[0].Labels)
		list, err := service.Active(t.Context())
		require.NoError(t, err)
		require.Equal(t, labels, list[0].Labels)
		brief, err := service.ActiveBrief(t.Context())
		require.NoError(t, err)
		raised.Labels = nil
		require.Equal(t, []alarms.Occurrence{raised}, brief)
	})
}
