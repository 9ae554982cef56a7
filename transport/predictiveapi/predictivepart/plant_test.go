package predictivepart_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/rules"
	"github.com/otkit/otkit/internal/plantest"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/alarmfailures"
	"github.com/otkit/otkit/predictive/monitor"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/drivers"
	"github.com/otkit/otkit/tags/tagconfig"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/predictiveapi/predictivepart"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// shared are the stores of a plant.
type shared struct {
	*predictive.MemoryRegistry
	*predictive.MemoryJobs
}

type sharedRecords struct {
	*predictive.MemoryRecords
	*alarmfailures.MemoryPositions
}

// member is an engine of a plant.
type member struct {
	*plantest.Engine
	house
}

// inPlant runs a test with two engines. It is a bubble.
func inPlant(t *testing.T, o predictivepart.Options, test func(t *testing.T, engines []*member)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		plant, store := plantest.New(t), alarms.NewMemory()
		config, definitions := tagconfig.NewMemory(), drivers.NewMemory()
		ruleStore := rules.NewMemory(store)
		o.Registry = shared{new(predictive.MemoryRegistry), new(predictive.MemoryJobs)}
		o.Records = sharedRecords{new(predictive.MemoryRecords), new(alarmfailures.MemoryPositions)}
		o.Inventory = ovenAlone
		var engines []*member
		for _, id := range []string{"a", "b"} {
			e := &member{Engine: plant.Join(id)}
			var err error
			e.tags, err = tagspart.New(t.Context(), tagspart.Options{Config: config, DriverStore: definitions, Cluster: e.Cluster})
			require.NoError(t, err)
			e.alarms, err = alarmspart.New(t.Context(), e.tags, alarmspart.Options{Alarms: store, Resolutions: store, Rules: ruleStore, RuleStates: ruleStore, Poll: 100 * time.Millisecond})
			require.NoError(t, err)
			o.Cluster, o.History, o.Logger = e.Cluster, &e.history, slog.New(slog.NewTextHandler(&e.log, nil))
			e.part, err = predictivepart.New(t.Context(), e.tags, e.alarms, o)
			require.NoError(t, err)
			parts := []server.Part{e.tags.Part(), e.alarms.Part(), e.part.Part()}
			t.Cleanup(func() {
				e.Leave() // which ends its jobs
				require.NoError(t, server.CloseParts(context.Background(), parts...))
			})
			e.Start(parts[0], parts[2])
			engines = append(engines, e)
		}
		test(t, engines)
	})
}

// metric returns the sum of a metric of an engine.
func metric(t *testing.T, e *member, name string) (sum float64) {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(e.part.Part().Metrics...)
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == name {
			for _, m := range f.GetMetric() {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return sum
}

func TestOneEngineOfAPlantPredictsOnATimer(t *testing.T) {
	const score = "predictive.oven.temp.anomalyScore"
	o := predictivepart.Options{Monitor: monitor.Options{Interval: time.Minute, Anomalies: []string{"*"}, Positive: 2, Results: 3}}
	inPlant(t, o, func(t *testing.T, engines []*member) {
		journal := func() (list []string) {
			events, err := engines[0].alarms.Service().Events(t.Context(), 0, 1000)
			require.NoError(t, err)
			for _, e := range events {
				list = append(list, string(e.Kind)+" "+e.Occurrence.Key)
			}
			return list
		}
		good := func() {
			t.Helper()
			for i, e := range engines {
				require.Equal(t, tags.Good.String(), e.quality(score), "engine %d: %s", i, e.log.String())
			}
		}
		pass(2 * time.Minute)
		good()
		targets := []float64{metric(t, engines[0], "otkit_predictive_monitor_targets"), metric(t, engines[1], "otkit_predictive_monitor_targets")}
		require.ElementsMatch(t, []float64{0, 2}, targets, "a failure and an anomaly, of one engine")
		require.Empty(t, engines[0].quality("predictive.oven.oven.temp.failureProbability"), "no model was trained")
		first, second := engines[0], engines[1]
		if s, _, ok := first.Cluster.Owner("driver", "predictive"); ok && s.Engine == "b" {
			first, second = second, first
		}
		var mu sync.Mutex
		var worse []tags.Change // on either engine
		for _, e := range engines {
			e.tags.Observe(func(changes []tags.Change) {
				mu.Lock()
				defer mu.Unlock()
				for _, c := range changes {
					if c.Tag.Name == score && c.Quality == tags.Bad {
						worse = append(worse, c)
					}
				}
			})
		}
		fault := time.Now()
		for _, e := range engines {
			e.history.set(fault)
		}
		pass(5 * time.Minute)
		require.Equal(t, []string{"Raised predictive-anomaly:oven"}, journal())
		list, err := engines[1].alarms.Service().Active(t.Context())
		require.NoError(t, err)
		require.NotContains(t, list[0].Labels, "engine")

		first.Cut(true)
		pass(10 * time.Second)
		s, _, ok := second.Cluster.Owner("driver", "predictive")
		require.True(t, ok)
		require.NotEqual(t, first.Cluster.Engine(), s.Engine)
		require.Equal(t, tags.Good.String(), second.quality(score))
		pass(3 * time.Minute) // later it would be taken for normal, on any engine
		require.Len(t, journal(), 1, "the alarm stays when the driver moves")
		for _, e := range engines {
			e.history.set(time.Time{})
		}
		first.Cut(false)
		pass(10 * time.Minute)
		require.Equal(t, []string{"Raised predictive-anomaly:oven", "Cleared predictive-anomaly:oven"}, journal())
		good()
		mu.Lock()
		require.Empty(t, worse, "values stay until there are newer ones")
		mu.Unlock()
		second.Leave()
		pass(2 * time.Minute)
		require.Equal(t, tags.Good.String(), first.quality(score))
	})
}

// Without tags there is no driver that says which engine predicts.
func TestOneEngineOfAPlantPredictsWithoutTags(t *testing.T) {
	o := predictivepart.Options{WithoutTags: true, Monitor: monitor.Options{Interval: time.Minute, Anomalies: []string{"*"}, Positive: 1, Results: 1}}
	var mu sync.Mutex
	answers := 0
	o.Service.OnAnswer = func(predictive.Answer) {
		mu.Lock()
		defer mu.Unlock()
		answers++
	}
	inPlant(t, o, func(t *testing.T, engines []*member) {
		pass(20 * time.Minute)
		mu.Lock()
		defer mu.Unlock()
		require.InDelta(t, 40, answers, 6, "a failure prediction and an anomaly a minute, of one engine")
	})
}

func TestTrainingsOfAPlantAreSeenOnAllEngines(t *testing.T) {
	inPlant(t, predictivepart.Options{WithoutMonitor: true}, func(t *testing.T, engines []*member) {
		_, err := engines[0].part.Service().Retrain(t.Context(), predictive.RULModel)
		require.ErrorIs(t, err, predictive.ErrTrainingFailed)
		pass(2 * time.Second)
		jobs, err := engines[1].part.Service().Jobs(t.Context())
		require.NoError(t, err)
		require.Len(t, jobs, 1)
		require.Equal(t, predictive.JobFailed, jobs[0].State)
		require.Equal(t, "a", jobs[0].Engine)
		for i, want := range []float64{1, 0} { // each counts its own
			require.InDelta(t, want, metric(t, engines[i], "otkit_predictive_trainings_total"), 0)
		}
	})
}

func TestFailuresOfAPlantAreRecordedOnce(t *testing.T) {
	o := predictivepart.Options{WithoutMonitor: true, Failures: alarmfailures.Options{MergeGap: time.Minute, StartDelay: time.Second}}
	inPlant(t, o, func(t *testing.T, engines []*member) {
		service := engines[0].alarms.Service()
		fail := func(n int) {
			key := fmt.Sprint("trip-", n)
			_, err := service.Raise(t.Context(), alarms.Alarm{Key: key, Source: "oven", Message: "trip", Severity: alarms.Critical, Labels: map[string]string{"equipmentId": "oven"}})
			require.NoError(t, err)
			pass(time.Minute)
			_, err = service.Apply(t.Context(), []alarms.Signal{{Key: key}})
			require.NoError(t, err)
			pass(30 * time.Second) // it could go on
		}
		for n := range 9 {
			fail(n)
			if n%3 == 2 { // the recorder moves between the end of an alarm and its record
				engines[n/3%2].Cut(true)
				pass(10 * time.Second)
				engines[n/3%2].Cut(false)
			}
		}
		pass(5 * time.Minute)
		page, err := engines[0].part.Records().Failures(t.Context(), predictive.RecordQuery{})
		require.NoError(t, err)
		require.Len(t, page.Items, 9)
		require.NotContains(t, strings.ToLower(engines[0].log.String()+engines[1].log.String()), "error")
	})
}
