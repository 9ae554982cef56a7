package engineconfig_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/transport/predictiveapi/predictivepart"
)

func TestPredictiveByDefault(t *testing.T) {
	parts, problems := build(t, "{}")
	require.Empty(t, problems)
	o := parts.Options.Predictive
	require.Equal(t, 7*24*time.Hour, o.Service.Horizon)
	require.Equal(t, 2*365*24*time.Hour, o.Service.Lookback)
	require.Equal(t, predictive.DefaultComponents(), o.Service.Components)
	require.Equal(t, 10, o.Service.MinFailures)
	require.Equal(t, 10, o.Keep)
	require.Empty(t, o.Tags)
}

func TestPredictive(t *testing.T) {
	parts, problems := build(t, `
predictive:
  horizon: 48h
  lookback: 8760h
  components: [Blade, Shaft]
  minFailures: 5
  maxRows: 1000
  promoteIfBetter: true
  seed: 7
  trainingTimeout: 5m
  keep: 3
  settingTags: ['*.load']
`, "Predictive__ExcludeDrivers=weather,erp")
	require.Empty(t, problems)
	o := parts.Options.Predictive
	require.Equal(t, predictive.Options{Horizon: 48 * time.Hour, Lookback: 365 * 24 * time.Hour, Components: []string{"Blade", "Shaft"}, MinFailures: 5, MaxRows: 1000,
		PromoteIfBetter: true, Seed: 7, TrainingTimeout: 5 * time.Minute}, o.Service)
	require.Equal(t, 3, o.Keep)
	require.Equal(t, predictivepart.InventoryOptions{Settings: []string{"*.load"}, Exclude: []string{"weather", "erp"}}, o.Tags)
}
