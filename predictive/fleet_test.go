package predictive

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/simfleet"
)

var epoch = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)

// plant is a generated plant: its history, its inventory and its records.
type plant struct {
	MemoryRecords
	samples map[string][]Sample
	tags    map[string][]Tag
	now     time.Time
	fail    error
}

func newPlant() *plant {
	return &plant{samples: make(map[string][]Sample), tags: make(map[string][]Tag)}
}

func (p *plant) Samples(ctx context.Context, tag string, from, to time.Time) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		if p.fail != nil {
			yield(Sample{}, p.fail)
			return
		}
		list := p.samples[tag]
		i, _ := slices.BinarySearchFunc(list, from, func(s Sample, at time.Time) int { return s.Time.Compare(at) })
		for ; i < len(list) && list[i].Time.Before(to); i++ {
			if !yield(list[i], nil) {
				return
			}
		}
	}
}

func (p *plant) Equipments(context.Context) ([]string, error) {
	var list []string
	for id := range p.tags {
		list = append(list, id)
	}
	return list, nil
}

func (p *plant) Tags(_ context.Context, equipment string) ([]Tag, error) {
	return p.tags[equipment], nil
}

// fleet describes a plant whose pumps run to failure again and again, an hour for each cycle.
type fleetOptions struct {
	pumps, lives, sensors int
	component             string
	spares                int // pumps whose bearing is renewed each 90 hours, before it fails
	conditions            int // under which they run, told by a setting
	seed                  uint64
}

// newFleet returns a plant in which each pump has had so many failures and runs again since.
func newFleet(t testing.TB, o fleetOptions) *plant {
	t.Helper()
	units, err := simfleet.New(simfleet.Options{Units: o.pumps * (o.lives + 1), Settings: 1, Sensors: o.sensors, Seed: 7 + o.seed})
	require.NoError(t, err)
	if o.conditions > 1 {
		require.NoError(t, simfleet.Operate(units, o.conditions, 5))
	}
	p := newPlant()
	var failures []Failure
	p.addSpares(t, o)
	ends := make([]time.Time, o.pumps)
	for n := range o.pumps {
		pump := fmt.Sprintf("pump%02d", n+1)
		for j := range o.sensors {
			p.tags[pump] = append(p.tags[pump], Tag{ID: fmt.Sprintf("%s.sensor%d", pump, j+1)})
		}
		if o.conditions > 1 {
			p.tags[pump] = append(p.tags[pump], Tag{ID: pump + ".load", Setting: true})
		}
		at := epoch.Add(time.Duration(n) * 17 * time.Hour)
		p.addReplacement(t, pump, o.component, at)
		for k := range o.lives + 1 {
			u := units[n*(o.lives+1)+k]
			if k == o.lives { // has not failed yet
				u.Stop(len(u.Sensors) / 2)
			}
			for i, values := range u.Sensors {
				at = at.Add(time.Hour)
				if o.conditions > 1 {
					p.samples[pump+".load"] = append(p.samples[pump+".load"], Sample{Time: at, Value: u.Settings[i][0]})
				}
				for j, v := range values {
					tag := fmt.Sprintf("%s.sensor%d", pump, j+1)
					p.samples[tag] = append(p.samples[tag], Sample{Time: at, Value: v})
				}
			}
			if k < o.lives {
				failures = append(failures, Failure{ID: fmt.Sprintf("%s-%d", pump, k), EquipmentID: pump, Component: o.component, Source: SourceManual,
					Start: at.Add(time.Minute), End: at.Add(5 * time.Hour)})
				at = at.Add(5 * time.Hour)
			}
		}
		ends[n] = at
	}
	require.NoError(t, p.AddFailures(t.Context(), failures))
	// All are seen at the moment at which the first of them ends, so that each has fresh samples.
	p.now = slices.MinFunc(ends, time.Time.Compare)
	return p
}

func (p *plant) addReplacement(t testing.TB, pump, component string, at time.Time) {
	t.Helper()
	require.NoError(t, p.AddReplacements(t.Context(), []Replacement{{ID: pump + "-new", EquipmentID: pump, Component: component, At: at, Reason: ReasonPreventive}}))
}

// newService returns a service for a plant.
func newService(t testing.TB, p *plant, change ...func(*Deps, *Options)) *Service {
	t.Helper()
	deps := Deps{History: p, Inventory: p, Records: p, Registry: new(MemoryRegistry)}
	o := Options{MaxRows: 3000, Horizon: 30 * time.Hour, Clock: func() time.Time { return p.now }}
	for _, c := range change {
		c(&deps, &o)
	}
	s, err := New(deps, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s
}

// addSpares adds pumps that never fail.
func (p *plant) addSpares(t testing.TB, o fleetOptions) {
	t.Helper()
	units, err := simfleet.New(simfleet.Options{Units: max(o.spares, 1) * 6, Settings: 1, Sensors: o.sensors, Seed: 7})
	require.NoError(t, err)
	var list []Replacement
	for n := range o.spares {
		pump := fmt.Sprintf("spare%02d", n+1)
		for j := range o.sensors {
			p.tags[pump] = append(p.tags[pump], Tag{ID: fmt.Sprintf("%s.sensor%d", pump, j+1)})
		}
		at := epoch
		for k, u := range units[n*6 : n*6+6] {
			list = append(list, Replacement{ID: fmt.Sprint(pump, k), EquipmentID: pump, Component: o.component, At: at, Reason: ReasonPreventive})
			for _, values := range u.Sensors[:90] {
				at = at.Add(time.Hour)
				for j, v := range values {
					tag := fmt.Sprintf("%s.sensor%d", pump, j+1)
					p.samples[tag] = append(p.samples[tag], Sample{Time: at, Value: v})
				}
			}
			at = at.Add(time.Minute)
		}
	}
	require.NoError(t, p.AddReplacements(t.Context(), list))
}
