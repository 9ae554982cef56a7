package predictive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive/features"
)

func TestRequestsAreChecked(t *testing.T) {
	p := newFleet(t, smallFleet)
	s := newService(t, p)
	ctx := t.Context()
	_, err := s.FailurePrediction(ctx, "pump99", "pump99.sensor1")
	require.ErrorIs(t, err, ErrUnknownEquipment)
	_, err = s.FailurePrediction(ctx, "pump01", "pump02.sensor1")
	require.ErrorIs(t, err, ErrUnknownTag)
	require.ErrorContains(t, err, "the equipment pump01 has no tag pump02.sensor1")
	_, err = s.RUL(ctx, "pump99", "Bearing")
	require.ErrorIs(t, err, ErrUnknownEquipment)
	_, err = s.RUL(ctx, "pump01", "Flux capacitor")
	require.ErrorIs(t, err, ErrUnknownComponent)
	_, err = s.FailurePrediction(ctx, "pump01", "pump01.sensor1")
	require.ErrorIs(t, err, ErrModelNotAvailable)
	_, err = s.RUL(ctx, "pump01", "Bearing")
	require.ErrorIs(t, err, ErrModelNotAvailable)
	_, err = s.Metrics(ctx, RULModel, 3)
	require.ErrorIs(t, err, ErrModelNotFound)
	_, err = s.Metrics(ctx, RULModel, -1)
	require.ErrorIs(t, err, ErrModelVersion)
	_, err = s.Metrics(ctx, "x", 1)
	require.ErrorIs(t, err, ErrModelType)
}

func TestLists(t *testing.T) {
	p := newFleet(t, smallFleet)
	s := newService(t, p)
	list, err := s.Equipments(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"pump01", "pump02", "pump03", "pump04"}, list)
	list, err = s.Tags(t.Context(), "pump01")
	require.NoError(t, err)
	require.Equal(t, []string{"pump01.sensor1", "pump01.sensor2", "pump01.sensor3"}, list)
	list, err = s.Tags(t.Context(), "unknown")
	require.NoError(t, err)
	require.Equal(t, []string{}, list)
	list, err = s.Components(t.Context(), "pump01")
	require.NoError(t, err)
	require.Equal(t, []string{"Bearing"}, list)
	list, err = s.Components(t.Context(), "unknown")
	require.NoError(t, err)
	require.Equal(t, []string{"Bearing", "Motor", "Gearbox", "Pump", "Seal"}, list)
}

func TestDriverInventory(t *testing.T) {
	d := DriverInventory(func(context.Context) ([]DriverTag, error) {
		return []DriverTag{{ID: "b.t", DriverID: "b"}, {ID: "a.t", DriverID: "a", Unit: "bar"}, {ID: "lost"}, {ID: "b.load", DriverID: "b", Setting: true}}, nil
	})
	list, err := d.Equipments(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, list)
	tags, err := d.Tags(t.Context(), "b")
	require.NoError(t, err)
	require.Equal(t, []Tag{{ID: "b.t"}, {ID: "b.load", Setting: true}}, tags)
	tags, err = d.Tags(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, tags)
	for tag, want := range map[string]bool{"lost": true, "c": false} {
		has, err := d.HasTag(t.Context(), tag)
		require.NoError(t, err)
		require.Equal(t, want, has)
	}
}

// TestOldAndBadSamples checks that an answer says how far it can be relied on.
func TestOldAndBadSamples(t *testing.T) {
	p := newFleet(t, smallFleet)
	s := newService(t, p)
	for _, modelType := range ModelTypes() {
		_, err := s.Retrain(t.Context(), modelType)
		require.NoError(t, err)
	}
	ask := func() FailurePrediction {
		t.Helper()
		f, err := s.FailurePrediction(t.Context(), "pump02", "pump02.sensor2")
		require.NoError(t, err)
		requireFinite(t, f)
		r, err := s.RUL(t.Context(), "pump02", "Bearing")
		require.NoError(t, err)
		requireFinite(t, r)
		return f
	}
	fresh := ask()
	original := slices.Clone(p.samples["pump02.sensor2"])
	end := p.now
	cut := func(age time.Duration) {
		p.samples["pump02.sensor2"] = slices.DeleteFunc(slices.Clone(original), func(x Sample) bool { return x.Time.After(end.Add(-age)) })
	}
	cut(10 * time.Hour)
	require.Less(t, ask().Confidence, fresh.Confidence, "old samples")
	cut(1000 * time.Hour)
	_, err := s.FailurePrediction(t.Context(), "pump02", "pump02.sensor2")
	require.ErrorIs(t, err, ErrInsufficientData)
	require.ErrorContains(t, err, "needed")

	p.samples["pump02.sensor2"] = slices.Clone(original)
	for i := range p.samples["pump02.sensor2"] {
		switch x := &p.samples["pump02.sensor2"][i]; i % 5 {
		case 0:
			x.Value = math.NaN()
		case 1:
			x.Value = math.Inf(1)
		case 2:
			x.Bad, x.Value = true, 1e300
		}
	}
	bad := ask()
	require.InDelta(t, fresh.Features.Mean, bad.Features.Mean, 3*fresh.Features.StdDev, "bad samples do not count")
	p.samples["pump02.sensor2"] = slices.Clone(original)
	for i := range p.samples["pump02.sensor2"] { // in another unit
		p.samples["pump02.sensor2"][i].Value = p.samples["pump02.sensor2"][i].Value*1.8 + 32
	}
	require.Less(t, ask().ConfidenceDetail.InDistribution, 0.8)
}

func TestTagOfUnknownRoleHasThePooledModel(t *testing.T) {
	p := newFleet(t, smallFleet)
	s := newService(t, p)
	_, err := s.Retrain(t.Context(), FailureModel)
	require.NoError(t, err)
	p.tags["mixer"] = []Tag{{ID: "mixer.torque"}}
	p.samples["mixer.torque"] = p.samples["pump01.sensor2"]
	f, err := s.FailurePrediction(t.Context(), "mixer", "mixer.torque")
	require.NoError(t, err)
	requireFinite(t, f)
	require.InDelta(t, 0.5, f.ConfidenceDetail.Model, 0)
	require.Positive(t, f.Features.StdDev)
}

func TestSeveralComponents(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 8, lives: 4, sensors: 4, component: "Bearing"})
	// A seal that never fails but is renewed, and one that fails seldom.
	var seals []Replacement
	for _, pump := range []string{"pump01", "pump02"} {
		for k := range 3 {
			seals = append(seals, Replacement{ID: pump + string(rune('a'+k)), EquipmentID: pump, Component: "Seal", At: epoch.Add(time.Duration(k+1) * 150 * time.Hour), Reason: ReasonFailure})
		}
	}
	require.NoError(t, p.AddReplacements(t.Context(), seals))
	s := newService(t, p)
	_, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	bearing, err := s.RUL(t.Context(), "pump01", "Bearing")
	require.NoError(t, err)
	require.InDelta(t, 1, bearing.ConfidenceDetail.Model, 0)
	list, err := s.Components(t.Context(), "pump01")
	require.NoError(t, err)
	require.Equal(t, []string{"Bearing", "Seal"}, list)
	_, err = s.RUL(t.Context(), "pump01", "Motor")
	require.ErrorIs(t, err, ErrUnknownComponent, "the list does not have it")

	for _, sensor := range []string{"sensor1", "sensor2", "sensor3", "sensor4"} {
		p.tags["mixer"] = append(p.tags["mixer"], Tag{ID: "mixer." + sensor})
		p.samples["mixer."+sensor] = p.samples["pump01."+sensor]
	}
	list, err = s.Components(t.Context(), "mixer")
	require.NoError(t, err)
	require.Contains(t, list, "Motor", "by default")
	motor, err := s.RUL(t.Context(), "mixer", "Motor")
	require.NoError(t, err)
	require.InDelta(t, 0.5, motor.ConfidenceDetail.Model, 0, "no motor ever failed")
}

func TestDamagedModelIsNotServed(t *testing.T) {
	p := newFleet(t, smallFleet)
	registry := new(MemoryRegistry)
	s := newService(t, p, func(d *Deps, _ *Options) { d.Registry = registry })
	_, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	meta, data, err := registry.Get(t.Context(), RULModel, 1)
	require.NoError(t, err)
	data[len(data)/2]++
	version, err := registry.Put(t.Context(), meta, data)
	require.NoError(t, err)
	require.Equal(t, 2, version)
	p.now = p.now.Add(time.Minute) // past the refresh
	r, err := s.RUL(t.Context(), "pump01", "Bearing")
	require.NoError(t, err)
	require.Equal(t, 1, r.ModelVersion)
	require.NoError(t, registry.Delete(t.Context(), RULModel, 1))
	p.now = p.now.Add(time.Minute)
	_, err = s.RUL(t.Context(), "pump01", "Bearing")
	require.ErrorIs(t, err, ErrModelNotAvailable)
}

// unreadable is a registry that fails for a while.
type unreadable struct {
	MemoryRegistry
	err error
}

func (r *unreadable) Get(ctx context.Context, modelType ModelType, version int) (Meta, []byte, error) {
	if r.err != nil {
		return Meta{}, nil, r.err
	}
	return r.MemoryRegistry.Get(ctx, modelType, version)
}

func TestMetricsWithoutAModelTellThatNoneIsTrained(t *testing.T) {
	_, err := newService(t, newFleet(t, smallFleet)).Metrics(t.Context(), RULModel, 0)
	require.ErrorIs(t, err, ErrModelNotFound)
	require.ErrorContains(t, err, "no model of type RUL has been trained")
}

func TestModelServesWhileTheRegistryFails(t *testing.T) {
	p := newFleet(t, smallFleet)
	registry := new(unreadable)
	s := newService(t, p, func(d *Deps, _ *Options) { d.Registry = registry })
	registry.err = errors.New("too many open files")
	_, err := s.RUL(t.Context(), "pump01", "Bearing")
	require.ErrorIs(t, err, ErrModelNotAvailable, "none was read yet")
	registry.err = nil
	_, err = s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	before, err := s.RUL(t.Context(), "pump01", "Bearing")
	require.NoError(t, err)
	registry.err = errors.New("too many open files")
	s.refresh(RULModel)
	r, err := s.RUL(t.Context(), "pump01", "Bearing")
	require.NoError(t, err)
	require.Equal(t, before, r)
	registry.err = ErrModelNotFound // deleted
	s.refresh(RULModel)
	_, err = s.RUL(t.Context(), "pump01", "Bearing")
	require.ErrorIs(t, err, ErrModelNotAvailable)
}

// full is a registry that takes no model.
type full struct {
	MemoryRegistry
	err error
}

func (r *full) Put(context.Context, Meta, []byte) (int, error) { return 0, r.err }

func TestTrainingTellsWhyTheModelCannotBeStored(t *testing.T) {
	p := newFleet(t, smallFleet)
	registry := new(full)
	s := newService(t, p, func(d *Deps, _ *Options) { d.Registry = registry })
	for want, err := range map[string]error{
		"cannot be stored: the disk of the models is full":      syscall.ENOSPC,
		"cannot be stored: the disk of the models is read-only": syscall.EROFS,
		"cannot be stored: their directory may not be written":  fs.ErrPermission,
		"cannot be stored": errors.New("something else"),
	} {
		registry.err = fmt.Errorf("registry: %w", &fs.PathError{Op: "open", Path: "/secret/RUL_v1", Err: err})
		r, err := s.Retrain(t.Context(), RULModel)
		require.ErrorIs(t, err, ErrTrainingFailed)
		require.Equal(t, "training failed: the model "+want, messageOf(err))
		require.NotContains(t, r.Message, "secret")
	}
}

// A dead sensor has samples, which cannot be used.
func TestPredictionTellsOfValuesThatAreTooLarge(t *testing.T) {
	p := newFleet(t, smallFleet)
	s := newService(t, p)
	for _, model := range ModelTypes() {
		_, err := s.Retrain(t.Context(), model)
		require.NoError(t, err)
	}
	r, err := s.RUL(t.Context(), "pump01", "Bearing")
	require.NoError(t, err)
	var newest time.Time
	for _, sample := range p.samples["pump01.sensor1"] {
		if !sample.Time.After(p.now) {
			newest = sample.Time
		}
	}
	require.Equal(t, newest, r.SampledAt)
	require.Positive(t, r.Step)
	f, err := s.FailurePrediction(t.Context(), "pump01", "pump01.sensor1")
	require.NoError(t, err)
	require.Equal(t, newest, f.SampledAt)
	for _, list := range p.samples {
		for i := range list {
			list[i].Value = 1e200
		}
	}
	_, err = s.FailurePrediction(t.Context(), "pump01", "pump01.sensor1")
	require.ErrorIs(t, err, ErrInsufficientData)
	require.ErrorContains(t, err, "left out, because their values are beyond 1e+100")
	_, err = s.RUL(t.Context(), "pump01", "Bearing")
	require.ErrorContains(t, err, "left out")
}

func TestTrainingRepairsARegistryOfDamagedModels(t *testing.T) {
	p := newFleet(t, smallFleet)
	registry := &unreadable{err: ErrModelNotAvailable.Because("every version of RUL is damaged")}
	s := newService(t, p, func(d *Deps, o *Options) { d.Registry, o.PromoteIfBetter = registry, true })
	_, err := s.RUL(t.Context(), "pump01", "Bearing")
	require.ErrorContains(t, err, "every version of RUL is damaged")
	r, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	registry.err = nil
	meta, _, err := registry.Get(t.Context(), RULModel, r.Version)
	require.NoError(t, err)
	require.True(t, meta.Default)
}

func TestWorseModelIsNotPromoted(t *testing.T) {
	p := newFleet(t, smallFleet)
	registry := new(MemoryRegistry)
	s := newService(t, p, func(d *Deps, o *Options) { d.Registry, o.PromoteIfBetter = registry, true })
	first, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	second, err := s.Retrain(t.Context(), RULModel) // the same, so not better
	require.NoError(t, err)
	require.Equal(t, []int{1, 2}, []int{first.Version, second.Version})
	require.Contains(t, second.Message, "v1 stays")
	m, err := s.Metrics(t.Context(), RULModel, 0)
	require.NoError(t, err)
	require.Equal(t, 1, m.Version)
	m, err = s.Metrics(t.Context(), RULModel, 2)
	require.NoError(t, err)
	require.Equal(t, 2, m.Version)
}

func TestOptions(t *testing.T) {
	p := newPlant()
	full := Deps{History: p, Inventory: p, Records: p, Registry: new(MemoryRegistry)}
	for field, change := range map[string]func(*Deps, *Options){
		"Deps.History":         func(d *Deps, _ *Options) { d.History = nil },
		"Deps.Inventory":       func(d *Deps, _ *Options) { d.Inventory = nil },
		"Deps.Records":         func(d *Deps, _ *Options) { d.Records = nil },
		"Deps.Registry":        func(d *Deps, _ *Options) { d.Registry = nil },
		"Options.Horizon":      func(_ *Deps, o *Options) { o.Horizon = -1 },
		"Options.MaxRows is 3": func(_ *Deps, o *Options) { o.MaxRows = 3 },
		"Options.MinFailures":  func(_ *Deps, o *Options) { o.MinFailures = 1 },
		"Options.Features":     func(_ *Deps, o *Options) { o.Features.Window = -4 },
	} {
		deps, o := full, Options{}
		change(&deps, &o)
		_, err := New(deps, o)
		require.ErrorContains(t, err, field)
	}
	s, err := New(full, Options{})
	require.NoError(t, err)
	require.NoError(t, s.Close(t.Context()))
}

// TestBeginningOfLifeIsReadOnce checks that later predictions need the newest window only, and answer the same.
func TestBeginningOfLifeIsReadOnce(t *testing.T) {
	p := newFleet(t, smallFleet)
	h := &counting{plant: p}
	s := newService(t, p, func(d *Deps, _ *Options) { d.History = h })
	_, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	failures, err := p.Failures(t.Context(), RecordQuery{EquipmentID: "pump01"})
	require.NoError(t, err)
	p.now = failures.Items[0].Start.Add(-5 * time.Hour)
	h.yielded = 0
	first, err := s.RUL(t.Context(), "pump01", "Bearing")
	require.NoError(t, err)
	before := h.yielded
	h.yielded = 0
	second, err := s.RUL(t.Context(), "pump01", "Bearing")
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.Less(t, h.yielded, before)
}

func TestBaselinesOfTagsWithOneSetting(t *testing.T) {
	p := newPlant()
	for hour := range 200 {
		at := epoch.Add(time.Duration(hour) * time.Hour)
		p.samples["hall.load"] = append(p.samples["hall.load"], Sample{Time: at, Value: float64(hour % 2)})
		p.samples["pump1.p"] = append(p.samples["pump1.p"], Sample{Time: at, Value: 1 + float64(hour%5)/10})
		p.samples["pump2.p"] = append(p.samples["pump2.p"], Sample{Time: at, Value: 100 + float64(hour%5)/10})
	}
	s := newService(t, p)
	x, err := newPlainExtractor(t.Context(), []features.Signal{{Name: "load", Setting: true}, {Name: "p"}}, features.Options{Step: time.Hour})
	require.NoError(t, err)
	for tag, want := range map[string]float64{"pump1.p": 1.2, "pump2.p": 100.2} {
		got, err := s.baseline(t.Context(), x, []input{{0, "hall.load", true}, {1, tag, false}}, life{from: epoch}, nil, epoch.Add(199*time.Hour))
		require.NoError(t, err)
		require.InDelta(t, want, got[1], 0.1, tag)
	}
}

// reads counts the samples of each tag that are read.
type reads struct {
	*plant
	counts map[string]int
}

func (r *reads) Samples(ctx context.Context, tag string, from, to time.Time) iter.Seq2[Sample, error] {
	return func(yield func(Sample, error) bool) {
		for sample, err := range r.plant.Samples(ctx, tag, from, to) {
			r.counts[tag]++
			if !yield(sample, err) {
				return
			}
		}
	}
}

func TestBaselineOfManySamplesBesideASilentTag(t *testing.T) {
	p := newPlant()
	for i := range 400_000 { // 40,000 an hour
		at := epoch.Add(time.Duration(i) * 90 * time.Millisecond)
		p.samples["load"] = append(p.samples["load"], Sample{Time: at, Value: 1})
		p.samples["p"] = append(p.samples["p"], Sample{Time: at, Value: 5 + float64(i%2)})
	}
	r := &reads{p, make(map[string]int)}
	s := newService(t, p, func(d *Deps, _ *Options) { d.History = r })
	x, err := newPlainExtractor(t.Context(), []features.Signal{{Name: "p"}, {Name: "silent"}, {Name: "load", Setting: true}}, features.Options{Step: 20 * time.Minute})
	require.NoError(t, err)
	for range 2 {
		got, err := s.baseline(t.Context(), x, []input{{2, "load", true}, {0, "p", false}, {1, "silent", false}}, life{from: epoch}, nil, epoch.Add(10*time.Hour))
		require.NoError(t, err)
		require.InDelta(t, 5.5, got[0], 0.01)
		require.True(t, math.IsNaN(got[1]))
	}
	require.Less(t, r.counts["p"], 300_000, "once, and no more than the baseline is made of")
	require.Less(t, r.counts["load"], 300_000, "not for the silent tag")
}

func TestPlannedDowntimeIsNotPredictedFrom(t *testing.T) {
	p := newFleet(t, smallFleet)
	registry := new(MemoryRegistry)
	ask := func(d Downtime) RUL {
		s := newService(t, p, func(deps *Deps, _ *Options) { deps.Registry, deps.Downtime = registry, d })
		r, err := s.RUL(t.Context(), "pump01", "Bearing")
		require.NoError(t, err)
		return r
	}
	_, err := newService(t, p, func(deps *Deps, _ *Options) { deps.Registry = registry }).Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	stop := Interval{p.now.Add(-5 * time.Hour), p.now.Add(-time.Hour)}
	for _, tag := range p.tags["pump01"] {
		p.samples[tag.ID] = slices.DeleteFunc(p.samples[tag.ID], func(s Sample) bool { return within([]Interval{stop}, s.Time) })
	}
	want := ask(nil)
	for _, tag := range p.tags["pump01"] {
		list := p.samples[tag.ID]
		for at := stop.Start; at.Before(stop.End); at = at.Add(time.Hour) {
			list = append(list, Sample{Time: at, Value: 0})
		}
		slices.SortFunc(list, func(a, b Sample) int { return a.Time.Compare(b.Time) })
		p.samples[tag.ID] = list
	}
	require.NotEqual(t, want, ask(nil))
	require.Equal(t, want, ask(downtime{stop}))
}

// A row that is computed for a prediction at the end of a step is that which a training has of the step.
func TestPredictionsSeeWhatTrainingsSee(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 4, lives: 4, sensors: 2, component: "Bearing", conditions: 4})
	s := newService(t, p)
	_, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	b, _, err := s.model(t.Context(), RULModel)
	require.NoError(t, err)
	model := &b.predictors[0]
	f, err := s.fleet(t.Context())
	require.NoError(t, err)
	of := trainer{s: s, fleet: f, bundle: bundle{modelType: RULModel, horizon: 30}}
	rows, missing := of.planRUL(of.components())
	require.Empty(t, missing)
	of.measure(&rows, livesOfSources(rows.sources))
	rows.extractor, rows.maxRows = model.extractor, 100_000
	trained, err := s.build(t.Context(), rows)
	require.NoError(t, err)
	all, compared := trained.all(), 0
	for i := 0; i < len(all.rows); i += 7 {
		life, at := trained.lives[all.Group(i)], all.Time(i)
		if !at.Before(life.end) {
			continue
		}
		tags, err := s.tags(t.Context(), life.equipment)
		require.NoError(t, err)
		r, err := s.records(t.Context(), life.equipment, at)
		require.NoError(t, err)
		seen, err := s.observe(t.Context(), model, inputsOf(model.extractor.Signals(), tags), r.current(life.equipment, "Bearing", f.from, at), at)
		require.NoError(t, err)
		for j, want := range all.Row(i) {
			if math.IsNaN(want) {
				require.True(t, math.IsNaN(seen.row[j]), "%s at %s", model.names()[j], at)
			} else {
				require.InDelta(t, want, seen.row[j], 1e-9, "%s at %s", model.names()[j], at)
			}
		}
		compared++
	}
	require.Greater(t, compared, 100)
}

// TestSettingOfAPlannedStopIsNotUsed has a setting that is written when it changes only, also in a stop.
func TestSettingOfAPlannedStopIsNotUsed(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 4, lives: 4, sensors: 2, component: "Bearing", conditions: 4})
	registry := new(MemoryRegistry)
	failures, err := p.Failures(t.Context(), RecordQuery{EquipmentID: "pump01"})
	require.NoError(t, err)
	end := p.now
	p.now = failures.Items[2].Start.Add(-10 * time.Hour)
	stop := Interval{p.now.Add(-60 * time.Hour), p.now.Add(-50 * time.Hour)}
	s := newService(t, p, func(d *Deps, _ *Options) { d.Registry, d.Downtime = registry, downtime{stop} })
	now := p.now
	p.now = end
	_, err = s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	p.now = now
	load := slices.DeleteFunc(p.samples["pump01.load"], func(s Sample) bool { return !s.Time.Before(stop.Start) })
	answers := make(map[float64]RUL)
	for _, value := range []float64{0, 10, 20, 30} {
		p.samples["pump01.load"] = append(slices.Clone(load), Sample{Time: stop.Start.Add(time.Hour), Value: value})
		answers[value], err = s.RUL(t.Context(), "pump01", "Bearing")
		require.NoError(t, err)
	}
	p.samples["pump01.load"] = load
	want, err := s.RUL(t.Context(), "pump01", "Bearing")
	require.NoError(t, err)
	for value, answer := range answers {
		require.Equal(t, want, answer, value)
	}
}

func TestAnswersTellWhenTheLifeBegan(t *testing.T) {
	p := newFleet(t, smallFleet)
	s := newService(t, p)
	for _, modelType := range ModelTypes() {
		_, err := s.Retrain(t.Context(), modelType)
		require.NoError(t, err)
	}
	replaced := p.now.Add(-4 * time.Hour)
	require.NoError(t, p.AddReplacements(t.Context(), []Replacement{{ID: "new", EquipmentID: "pump01", Component: "Bearing", At: replaced, Reason: ReasonPreventive}}))
	f, err := s.FailurePrediction(t.Context(), "pump01", "pump01.sensor1")
	require.NoError(t, err)
	require.Equal(t, replaced, f.LifeStart)
	r, err := s.RUL(t.Context(), "pump01", "Bearing")
	require.NoError(t, err)
	require.Equal(t, replaced, r.LifeStart)
}
