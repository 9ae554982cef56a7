package predictivepart_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
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
	t    *testing.T
	stop func() // the monitor
}

// inPlant runs a test with two engines. It is a bubble.
func inPlant(t *testing.T, o predictivepart.Options, test func(t *testing.T, engines []*member)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		plant, store := plantest.New(t), alarms.NewMemory()
		ruleStore := rules.NewMemory(store)
		o.Registry = shared{new(predictive.MemoryRegistry), new(predictive.MemoryJobs)}
		o.Records = sharedRecords{new(predictive.MemoryRecords), new(alarmfailures.MemoryPositions)}
		o.Inventory = ovenAlone
		var engines []*member
		for _, id := range []string{"a", "b"} {
			e := &member{Engine: plant.Join(id), t: t}
			var err error
			e.tags, err = tagspart.New(t.Context(), tagspart.Options{ModelPath: filepath.Join(t.TempDir(), "model.json")})
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
			e.Start(parts[2])
			engines = append(engines, e)
		}
		test(t, engines)
	})
}

// run runs the monitor of an engine, as beside its driver, until stop is called.
func (e *member) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); e.part.RunMonitor(ctx) }()
	e.stop = func() { cancel(); <-done }
	e.t.Cleanup(e.stop)
}

func TestOneEngineOfAPlantPredictsOnATimer(t *testing.T) {
	const score = "predictive.oven.temp.anomalyScore"
	o := predictivepart.Options{Monitor: monitor.Options{Interval: time.Minute, Anomalies: []string{"*"}, Positive: 2, Results: 3}}
	inPlant(t, o, func(t *testing.T, engines []*member) {
		a, b := engines[0], engines[1]
		journal := func() (list []string) {
			events, err := a.alarms.Service().Events(t.Context(), 0, 1000)
			require.NoError(t, err)
			for _, e := range events {
				list = append(list, string(e.Kind)+" "+e.Occurrence.Key)
			}
			return list
		}
		pass(time.Minute)
		for _, e := range engines {
			require.Equal(t, tags.Bad.String(), e.quality(score), "every engine has the tags before there is a result: %s", e.log.String())
			require.Empty(t, e.quality("predictive.oven.oven.temp.failureProbability"), "no model was trained")
		}
		a.run()
		pass(time.Minute)
		require.Equal(t, tags.Good.String(), a.quality(score))
		require.Equal(t, tags.Bad.String(), b.quality(score), "it would have the values from the engine that runs the driver")
		fault := time.Now()
		a.history.set(fault)
		b.history.set(fault)
		pass(5 * time.Minute)
		require.Equal(t, []string{"Raised predictive-anomaly:oven"}, journal())
		list, err := b.alarms.Service().Active(t.Context())
		require.NoError(t, err)
		require.NotContains(t, list[0].Labels, "engine")
		a.stop()
		b.run()
		pass(4 * time.Minute) // later it would be taken for normal, on any engine
		require.Len(t, journal(), 1, "the alarm stays when the driver moves")
		require.Equal(t, tags.Good.String(), b.quality(score))
		b.history.set(time.Time{})
		pass(10 * time.Minute)
		require.Equal(t, []string{"Raised predictive-anomaly:oven", "Cleared predictive-anomaly:oven"}, journal())
		b.stop()
		a.history.set(time.Time{})
		a.run() // again
		pass(3 * time.Minute)
		require.Equal(t, tags.Good.String(), a.quality(score))
		a.stop()
		require.Empty(t, a.log.String()+b.log.String())
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
			registry := prometheus.NewRegistry()
			registry.MustRegister(engines[i].part.Part().Metrics...)
			families, err := registry.Gather()
			require.NoError(t, err)
			total := 0.0
			for _, f := range families {
				if f.GetName() == "otkit_predictive_trainings_total" {
					for _, m := range f.GetMetric() {
						total += m.GetCounter().GetValue()
					}
				}
			}
			require.InDelta(t, want, total, 0)
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
