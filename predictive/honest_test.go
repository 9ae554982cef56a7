package predictive

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// testLives returns the lives that judge a model of a type, as a training divides them.
func testLives(t *testing.T, s *Service, modelType ModelType) (list []life) {
	t.Helper()
	f, err := s.fleet(t.Context())
	require.NoError(t, err)
	tr := &trainer{s: s, fleet: f, bundle: bundle{modelType: modelType, horizon: s.o.Horizon.Hours()}}
	p, missing := tr.planRUL(tr.components())
	require.Empty(t, missing)
	if modelType == FailureModel {
		members, roles := tr.failing()
		p = tr.planRole(members, roles[0])
	}
	p, err = tr.divide(t.Context(), p)
	require.NoError(t, err)
	for _, l := range livesOfSources(p.sources) {
		if p.division.tests(l.group) {
			list = append(list, l)
		}
	}
	require.NotEmpty(t, list)
	return list
}

// trainAnew returns the bytes and the metrics of a new model.
func trainAnew(t *testing.T, p *plant, modelType ModelType) ([]byte, Metrics) {
	t.Helper()
	s := newService(t, p, func(_ *Deps, o *Options) { o.MaxRows = 50_000 })
	_, err := s.Retrain(t.Context(), modelType)
	require.NoError(t, err)
	meta, data, err := s.deps.Registry.Get(t.Context(), modelType, 0)
	require.NoError(t, err)
	return data, meta.Metrics
}

// TestTrainingDoesNotSeeTheTest changes all that is known of the lives that judge: the model stays the same to the last bit.
func TestTrainingDoesNotSeeTheTest(t *testing.T) {
	for _, o := range []fleetOptions{{pumps: 1, lives: 12, sensors: 2, component: "Bearing", conditions: 4}, {pumps: 10, lives: 1, sensors: 2, component: "Bearing", conditions: 4}} {
		for _, modelType := range ModelTypes() {
			p := newFleet(t, o)
			p.now = p.now.AddDate(1, 0, 0)
			before, was := trainAnew(t, p, modelType)
			for _, l := range testLives(t, newService(t, p), modelType) {
				for tag, list := range p.samples {
					for i := range list {
						if RoleOf(l.equipment, tag) != tag && !list[i].Time.Before(l.from) && list[i].Time.Before(l.end) {
							list[i].Value = 7*list[i].Value + float64(i%13)
						}
					}
				}
				if was.Split == SplitUnits && l.failed { // the lives that judge become shorter
					require.NoError(t, p.AddFailures(t.Context(), []Failure{{ID: l.equipment + "-early", EquipmentID: l.equipment, Component: o.component,
						Start: l.from.Add(l.end.Sub(l.from) / 3)}}))
				}
			}
			after, is := trainAnew(t, p, modelType)
			require.NotEqual(t, was, is)
			require.True(t, bytes.Equal(before, after), "%s of %+v", modelType, o)
		}
	}
}

// TestFalseAlarmsOfHealthyEquipmentCount makes equipment that never failed look as if it would.
func TestFalseAlarmsOfHealthyEquipmentCount(t *testing.T) {
	o := fleetOptions{pumps: 6, lives: 2, sensors: 2, component: "Bearing", spares: 4}
	p := newFleet(t, o)
	p.now = laterOf(p.now, epoch.Add(540*time.Hour))
	for n := range o.spares {
		for k := range 6 { // a pump whose bearing is of unknown age
			require.NoError(t, p.DeleteReplacement(t.Context(), fmt.Sprintf("spare%02d%d", n+1, k)))
		}
	}
	models, metrics := make(map[ModelType][]byte), make(map[ModelType]Metrics)
	for _, modelType := range ModelTypes() {
		models[modelType], metrics[modelType] = trainAnew(t, p, modelType)
	}
	end := failureOf(t, p, "pump01")
	for _, l := range testLives(t, newService(t, p), RULModel) {
		if _, spare := strings.CutPrefix(l.equipment, "spare"); !spare {
			continue
		}
		for j, tag := range p.tags[l.equipment] {
			worn := p.samples[p.tags["pump01"][j].ID]
			at := slices.IndexFunc(worn, func(s Sample) bool { return !s.Time.Before(end) }) - 1
			list := p.samples[tag.ID]
			for i := range list { // worn from the middle on
				list[i].Value = worn[at-max(300-i, i%5)*at/300].Value
			}
		}
	}
	for _, modelType := range ModelTypes() {
		was := metrics[modelType]
		model, is := trainAnew(t, p, modelType)
		require.True(t, bytes.Equal(models[modelType], model), modelType)
		require.Positive(t, is.UnfinishedLives)
		require.Greater(t, is.ConfusionMatrix.FalsePositive, was.ConfusionMatrix.FalsePositive, modelType)
		require.Less(t, is.Precision, was.Precision, modelType)
		require.Equal(t, []*float64{was.RMSE, was.MAE, was.NASAScore, was.Coverage}, []*float64{is.RMSE, is.MAE, is.NASAScore, is.Coverage}, "they need an end")
		require.Equal(t, was.TestLives, is.TestLives)
	}
}

// failureOf returns the time of the first failure of an equipment.
func failureOf(t *testing.T, p *plant, equipment string) time.Time {
	t.Helper()
	list, err := p.Failures(t.Context(), RecordQuery{EquipmentID: equipment})
	require.NoError(t, err)
	return list.Items[0].Start
}

// TestStaleModelDoesNotStay changes what the sensors show, and makes them noisier, so that the figures of the new model are worse than those that the
// old one had. A model that is judged by figures of the past would stay.
func TestStaleModelDoesNotStay(t *testing.T) {
	for _, modelType := range ModelTypes() {
		p := newFleet(t, fleetOptions{pumps: 1, lives: 20, sensors: 3, component: "Bearing"})
		end := p.now
		registry := new(MemoryRegistry)
		s := newService(t, p, func(d *Deps, o *Options) { d.Registry, o.PromoteIfBetter, o.MinFailures = registry, true, 6 })
		p.now = epoch.Add(end.Sub(epoch) / 2)
		_, err := s.Retrain(t.Context(), modelType)
		require.NoError(t, err)
		was, err := s.Metrics(t.Context(), modelType, 0)
		require.NoError(t, err)
		random := rand.New(rand.NewPCG(1, 2))
		for _, list := range p.samples {
			mean, spread := moments(list)
			for i := range list {
				if list[i].Time.After(p.now) {
					list[i].Value = mean - 3*(list[i].Value-mean) + spread*(10+2*random.NormFloat64())
				}
			}
		}
		p.now = end
		r, err := s.Retrain(t.Context(), modelType)
		require.NoError(t, err)
		meta, _, err := registry.Get(t.Context(), modelType, r.Version)
		require.NoError(t, err)
		if modelType == RULModel {
			require.Greater(t, *meta.Metrics.RMSE, *was.RMSE)
		} else {
			require.Less(t, meta.Metrics.F1Score, was.F1Score)
		}
		require.True(t, meta.Default, "%s: %s", modelType, r.Message)
		r, err = s.Retrain(t.Context(), modelType) // the same again
		require.NoError(t, err)
		require.Contains(t, r.Message, "v2 stays")
	}
}

// TestModelOfAnotherHorizonDoesNotStay is of a model that answers another question.
func TestModelOfAnotherHorizonDoesNotStay(t *testing.T) {
	p := newFleet(t, smallFleet)
	registry := new(MemoryRegistry)
	for version, horizon := range []time.Duration{30 * time.Hour, 20 * time.Hour} {
		s := newService(t, p, func(d *Deps, o *Options) { d.Registry, o.PromoteIfBetter, o.Horizon = registry, true, horizon })
		_, err := s.Retrain(t.Context(), FailureModel)
		require.NoError(t, err)
		m, err := s.Metrics(t.Context(), FailureModel, 0)
		require.NoError(t, err)
		require.Equal(t, version+1, m.Version)
	}
}

func moments(list []Sample) (mean, deviation float64) {
	for _, s := range list {
		mean += s.Value / float64(len(list))
	}
	for _, s := range list {
		deviation += (s.Value - mean) * (s.Value - mean) / float64(len(list))
	}
	return mean, math.Sqrt(deviation)
}

// TestHealthyEquipmentIsKnown has pumps that never fail beside two that wear out, one life after the other. A model that is made of lives that ended
// takes the healthy ones for worn.
func TestHealthyEquipmentIsKnown(t *testing.T) {
	o := fleetOptions{pumps: 2, lives: 9, sensors: 4, component: "Bearing", spares: 6, seed: 2}
	p := newFleet(t, o)
	hours := int(p.now.Sub(epoch) / time.Hour)
	for n := range o.spares {
		pump := fmt.Sprintf("spare%02d", n+1)
		for k := range 6 {
			require.NoError(t, p.DeleteReplacement(t.Context(), fmt.Sprintf("%s%d", pump, k)))
		}
		for _, tag := range p.tags[pump] {
			list := p.samples[tag.ID]
			for i := len(list); i < hours; i++ {
				list = append(list, Sample{Time: list[i-1].Time.Add(time.Hour), Value: list[i%540].Value})
			}
			p.samples[tag.ID] = list
		}
	}
	for _, modelType := range ModelTypes() {
		_, m := trainAnew(t, p, modelType)
		require.Equal(t, SplitTime, m.Split)
		require.Equal(t, 4, m.UnfinishedLives, "those of both pumps, and of a third of the healthy ones")
		require.Greater(t, m.Precision, 0.4, modelType)
		require.Greater(t, m.Recall, 0.8, modelType)
	}
}

// TestExportHasTheLivesThatJudge: they are for trainings elsewhere, which judge by lives of their own choice.
func TestExportHasTheLivesThatJudge(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 1, lives: 12, sensors: 2, component: "Bearing"})
	s := newService(t, p)
	for _, modelType := range ModelTypes() {
		var b bytes.Buffer
		require.NoError(t, s.Export(t.Context(), modelType, &b))
		lives := make(map[string]bool)
		for line := range strings.Lines(b.String()) {
			lives[strings.Join(strings.Split(line, ",")[:2], " ")] = true
		}
		tags := 1
		if modelType == FailureModel {
			tags = 2
		}
		require.GreaterOrEqual(t, len(lives), 1+12*tags, "the head, and 12 lives that failed")
	}
}
