package predictive

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestDrift(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 6, lives: 3, sensors: 3, component: "Bearing"})
	s := newService(t, p)
	_, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	psi := func() (sum float64) {
		m, err := s.Metrics(t.Context(), RULModel, 0)
		require.NoError(t, err)
		requireFinite(t, m)
		require.NotEmpty(t, m.Drift)
		for _, d := range m.Drift {
			if d.Feature == "sensor3.mean" {
				return d.PSI
			}
		}
		return 0
	}
	before := psi()
	for pump := range p.tags {
		list := p.samples[pump+".sensor3"]
		for i := range list {
			if list[i].Time.After(p.now.Add(-80 * time.Hour)) {
				list[i].Value += 1000
			}
		}
	}
	require.InDelta(t, before, psi(), 0, "not computed for each caller")
	p.now = p.now.Add(2 * time.Minute)
	require.Greater(t, psi(), before+1)
}

// TestDriftOfSixPumps trains with the first half of a history and judges the second, in which nothing changes, or one sensor.
func TestDriftOfSixPumps(t *testing.T) {
	for seed := range uint64(2) {
		p := newFleet(t, fleetOptions{pumps: 6, lives: 6, sensors: 4, component: "Bearing", seed: seed})
		registry := new(MemoryRegistry)
		half := p.now.Sub(epoch) / 2
		p.now = epoch.Add(half)
		trained := p.now
		for _, modelType := range ModelTypes() {
			_, err := newService(t, p, func(d *Deps, _ *Options) { d.Registry = registry }).Retrain(t.Context(), modelType)
			require.NoError(t, err)
		}
		worst := func(after float64) (list []FeatureDrift) {
			p.now = trained.Add(time.Duration(after * float64(half)))
			for _, modelType := range ModelTypes() {
				m, err := newService(t, p, func(d *Deps, _ *Options) { d.Registry = registry }).Metrics(t.Context(), modelType, 0)
				require.NoError(t, err)
				require.NotEmpty(t, m.Drift)
				list = append(list, m.Drift[0])
			}
			return list
		}
		for _, after := range []float64{0, 0.3, 1} {
			for _, d := range worst(after) {
				require.Less(t, d.PSI, 0.25, "%s after %v", d.Feature, after)
			}
		}
		for tag, list := range p.samples {
			if _, deviation := moments(list); strings.HasSuffix(tag, ".sensor3") {
				for i := range list {
					if list[i].Time.After(trained) {
						list[i].Value += 2 * deviation
					}
				}
			}
		}
		for _, after := range []float64{0.1, 0.3, 1} {
			for _, d := range worst(after) {
				require.Greater(t, d.PSI, 0.25, "after %v", after)
				require.Contains(t, d.Feature, "sensor3.")
			}
		}
	}
}

func TestDriftOfAllTagsIsOfNoSetting(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 4, lives: 4, sensors: 3, component: "Bearing", conditions: 4})
	for pump, tags := range p.tags {
		for i := range tags { // so that there is a model of all tags only
			tags[i].Role = tags[i].ID
		}
		p.tags[pump] = slices.DeleteFunc(tags, func(t Tag) bool { return t.ID == pump+".sensor1" })
	}
	registry := new(MemoryRegistry)
	drift := func() []FeatureDrift {
		s := newService(t, p, func(d *Deps, _ *Options) { d.Registry = registry })
		m, err := s.Metrics(t.Context(), FailureModel, 0)
		require.NoError(t, err)
		return m.Drift
	}
	_, err := newService(t, p, func(d *Deps, _ *Options) { d.Registry = registry }).Retrain(t.Context(), FailureModel)
	require.NoError(t, err)
	before := drift()
	require.NotEmpty(t, before)
	for pump := range p.tags {
		delete(p.samples, pump+".load")
	}
	require.Equal(t, before, drift())
}

// The quantiles of chi-squared with 95% are those of scipy.stats.chi2.ppf.
func TestIndexOfChance(t *testing.T) {
	for _, test := range []struct {
		bins     int
		n, m     float64
		quantile float64
	}{{10, 50, 200, 16.919}, {5, 10, 10, 9.488}, {10, 0.2, 1e9, 16.919}, {2, 1, 1, 3.841}} {
		require.InEpsilon(t, test.quantile*(1/max(test.n, 1)+1/test.m), chance(test.bins, test.n, test.m), 0.03)
	}
}
