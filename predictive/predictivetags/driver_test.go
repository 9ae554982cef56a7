package predictivetags_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/monitor"
	"github.com/otkit/otkit/predictive/predictivetags"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/tagstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func target(kind monitor.Kind, equipment, name string) monitor.Target {
	return monitor.Target{Kind: kind, Equipment: equipment, Name: name}
}

// result returns a result with a prediction of some figures.
func result(t monitor.Target, figure float64) monitor.Result {
	r := monitor.Result{Target: t, At: time.Now()}
	switch t.Kind {
	case monitor.Failure:
		r.Failure = &predictive.FailurePrediction{FailureProbability: figure, Confidence: 0.75}
	case monitor.RUL:
		r.RUL = &predictive.RUL{RULDays: int(figure), LowDays: figure / 2, HealthScore: 0.5, Confidence: 0.25}
	case monitor.Anomaly:
		r.Anomaly = &predictive.Anomaly{AnomalyScore: figure, IsAnomaly: figure > 0.99}
	}
	return r
}

var (
	vibration = target(monitor.Failure, "pump1", "pump1.vibration")
	bearing   = target(monitor.RUL, "pump1", "Bearing")
	pressure  = target(monitor.Anomaly, "pump1", "pump1.pressure")
)

func TestConformance(t *testing.T) {
	latest := new(monitor.Latest)
	latest.Put(result(vibration, 0.5))
	latest.Put(result(bearing, 12))
	tagstest.TestDriver(t, tagstest.DriverHarness{
		New: func(t testing.TB) tags.Driver {
			d, err := predictivetags.New(latest, predictivetags.Options{})
			require.NoError(t, err)
			return d
		},
		Readable: []tags.Point{{Address: "pump1.pump1.vibration.failureProbability", Type: tags.Float}, {Address: "pump1.Bearing.rulDays", Type: tags.Int}},
		Refused: []tags.WriteItem{
			{Point: tags.Point{Address: "pump1.Bearing.rulDays", Type: tags.Int}, Value: tags.IntValue(1)},
		},
		Missing:   tags.Point{Address: "pump2.Bearing.rulDays", Type: tags.Int},
		Malformed: tags.Point{Address: "pump1.Bearing", Type: tags.Int},
	})
}

// plant has results with their tags in an engine. It is for use within a bubble.
type plant struct {
	t       *testing.T
	latest  monitor.Latest
	engine  *tags.Engine
	defined atomic.Int64 // how often
	refuses atomic.Bool  // tags cannot be defined
	period  atomic.Int64 // between the results of a target
}

func run(t *testing.T, test func(t *testing.T, p *plant)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &plant{t: t}
		driver, err := predictivetags.New(&p.latest, predictivetags.Options{Interval: 100 * time.Millisecond,
			Period: func() time.Duration { return time.Duration(p.period.Load()) }})
		require.NoError(t, err)
		p.engine, err = tags.New(tags.Options{})
		require.NoError(t, err)
		require.NoError(t, p.engine.AddDriver(predictivetags.DriverID, driver, tags.DriverOptions{RefreshInterval: 10 * time.Second}))
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			known := map[string]bool{}
			done <- driver.Follow(ctx, func(list []tags.Tag) error {
				if p.defined.Add(1); p.refuses.Load() {
					return errors.New("the configuration cannot be written")
				}
				gone := known
				known = map[string]bool{}
				for _, tag := range list {
					known[tag.Name] = true
					delete(gone, tag.Name)
				}
				for name := range gone {
					p.engine.RemoveTags(name)
				}
				return p.engine.DefineTags(list...)
			})
		}()
		defer func() {
			cancel()
			require.ErrorIs(t, <-done, context.Canceled)
			require.NoError(t, p.engine.Close(context.Background()))
		}()
		pass(2 * time.Second)
		test(t, p)
	})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// all returns the values of all tags, those that are not good with their quality and reason.
func (p *plant) all() map[string]string {
	p.t.Helper()
	list, _, err := p.engine.List(tags.ListQuery{PageSize: 100})
	require.NoError(p.t, err)
	found := map[string]string{}
	for _, s := range list {
		text := s.Sample.Value.String()
		if s.Sample.Quality != tags.Good {
			text = fmt.Sprintf("%s %s", s.Sample.Quality, s.Sample.Reason)
		}
		found[strings.TrimPrefix(s.Tag.Name, "predictive.")] = text
	}
	return found
}

func TestPredictionsAreTags(t *testing.T) {
	run(t, func(t *testing.T, p *plant) {
		require.Empty(t, p.all())
		failing := result(bearing, 12)
		failing.State = monitor.Failing
		p.latest.Put(failing)
		p.latest.Put(result(vibration, 0.5))
		p.latest.Put(result(pressure, 0.995))
		pass(2 * time.Second)
		require.Equal(t, map[string]string{
			"pump1.pump1.vibration.failureProbability": "0.5", "pump1.pump1.vibration.failing": "Uncertain WaitingForData", "pump1.pump1.vibration.confidence": "0.75",
			"pump1.Bearing.rulDays": "12", "pump1.Bearing.rulLowDays": "6", "pump1.Bearing.healthScore": "0.5", "pump1.Bearing.failing": "true",
			"pump1.Bearing.confidence": "0.25", "pump1.pressure.anomalyScore": "0.995", "pump1.pressure.anomaly": "true",
		}, p.all())
		s, err := p.engine.Read("predictive.pump1.Bearing.rulDays")
		require.NoError(t, err)
		require.Equal(t, "d", s.Tag.Unit)
		require.Equal(t, tags.ReadOnly, s.Tag.Access)
		require.True(t, s.Sample.SourceTime.Equal(failing.At), "the time of the prediction")

		p.latest.Put(result(bearing, 11))
		pass(200 * time.Millisecond)
		require.Equal(t, "11", p.all()["pump1.Bearing.rulDays"])
		defined := p.defined.Load()
		for range 20 {
			p.latest.Put(result(bearing, 11))
			pass(time.Second)
		}
		require.Equal(t, defined, p.defined.Load(), "results alone define nothing")
	})
}

func TestTagsAreBadWithoutAPrediction(t *testing.T) {
	run(t, func(t *testing.T, p *plant) {
		p.latest.Put(monitor.Result{Target: bearing, At: time.Now(), Err: predictive.ErrModelNotAvailable})
		pass(2 * time.Second)
		require.Empty(t, p.all(), "nothing has been trained")
		p.latest.Put(result(bearing, 12))
		pass(2 * time.Second)
		for err, want := range map[error]string{
			predictive.ErrInsufficientData.Because("3 samples"): "Bad DeviceError",
			predictive.ErrModelNotAvailable:                     "Bad DeviceError",
			predictive.ErrUnknownComponent:                      "Bad ConfigError",
			context.DeadlineExceeded:                            "Bad Timeout",
			errors.New("disk I/O error"):                        "Bad NotConnected",
		} {
			p.latest.Put(monitor.Result{Target: bearing, At: time.Now(), Err: err})
			pass(200 * time.Millisecond)
			require.Equal(t, want, p.all()["pump1.Bearing.rulDays"], "%v", err)
			require.Len(t, p.all(), 5)
		}
		p.latest.Put(result(bearing, 12))
		pass(200 * time.Millisecond)
		require.Equal(t, "12", p.all()["pump1.Bearing.rulDays"])
		pass(time.Hour + 20*time.Second)
		require.Equal(t, "Bad Stale", p.all()["pump1.Bearing.rulDays"], "the monitor has stopped")
	})
}

func TestTagsComeAndGoWithTheirTargets(t *testing.T) {
	run(t, func(t *testing.T, p *plant) {
		p.latest.Put(result(bearing, 12))
		p.latest.Put(result(vibration, 0.5))
		pass(2 * time.Second)
		require.Len(t, p.all(), 8)
		p.latest.Remove([]monitor.Target{vibration})
		pass(2 * time.Second)
		require.Len(t, p.all(), 5)
		p.latest.Put(result(vibration, 0.25))
		pass(2 * time.Second)
		require.Equal(t, "0.25", p.all()["pump1.pump1.vibration.failureProbability"])
	})
}

// The targets of a large plant come one after the other: their tags are defined a few times only.
func TestManyTargetsAreDefinedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var latest monitor.Latest
		driver, err := predictivetags.New(&latest, predictivetags.Options{})
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done, defined, most := make(chan error, 1), 0, 0
		go func() {
			done <- driver.Follow(ctx, func(list []tags.Tag) error {
				defined, most = defined+1, len(list)
				time.Sleep(time.Second)
				return nil
			})
		}()
		for i := range 600 {
			latest.Put(result(target(monitor.Anomaly, "oven", fmt.Sprint("oven.", i)), 0.5))
			pass(time.Second)
		}
		pass(time.Minute)
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
		require.LessOrEqual(t, defined, 31)
		require.Equal(t, 1200, most)
	})
}

// Names of equipments and tags may be such that two targets have tags of one name.
func TestTagsOfTheSameNameAreShownOnce(t *testing.T) {
	run(t, func(t *testing.T, p *plant) {
		p.latest.Put(result(target(monitor.RUL, "line", "pump.Seal"), 1))
		p.latest.Put(result(target(monitor.RUL, "line.pump", "Seal"), 2))
		p.latest.Put(result(target(monitor.Failure, "line", "pump.Seal"), 0.5))
		p.latest.Put(result(target(monitor.RUL, "line", "\x00"), 3))
		p.latest.Put(result(target(monitor.RUL, "line", strings.Repeat("x", 5000)), 3))
		pass(2 * time.Second)
		for range 2 {
			found := p.all()
			require.Len(t, found, 6)
			require.Equal(t, "1", found["line.pump.Seal.rulDays"])
			require.Equal(t, "0.75", found["line.pump.Seal.confidence"], "of the failure prediction, which comes first")
			pass(20 * time.Second) // a refresh
		}
	})
}

func TestTheDriverRefusesBadOptions(t *testing.T) {
	_, err := predictivetags.New(nil, predictivetags.Options{})
	require.ErrorContains(t, err, "source")
	_, err = predictivetags.New(new(monitor.Latest), predictivetags.Options{Interval: -1})
	require.ErrorContains(t, err, "Interval")
	_, err = predictivetags.New(new(monitor.Latest), predictivetags.Options{StaleAfter: -1})
	require.ErrorContains(t, err, "StaleAfter")
}

func TestTagsThatCannotBeDefinedAreDefinedLater(t *testing.T) {
	run(t, func(t *testing.T, p *plant) {
		p.refuses.Store(true)
		p.latest.Put(result(target(monitor.Failure, "pump1", "pump1.vibration"), 0.25))
		pass(time.Minute)
		require.Empty(t, p.all())
		require.InDelta(t, 6, p.defined.Load(), 1, "not without a pause")
		p.refuses.Store(false)
		pass(15 * time.Second)
		require.Equal(t, "0.25", p.all()["pump1.pump1.vibration.failureProbability"])
		defined := p.defined.Load()
		pass(time.Hour)
		require.Equal(t, defined, p.defined.Load())
	})
}

// More targets than can be predicted for in an interval have their turns hours apart.
func TestResultsAreGoodUntilTheNextOnesAreDue(t *testing.T) {
	run(t, func(t *testing.T, p *plant) {
		p.period.Store(int64(2 * time.Hour))
		p.latest.Put(result(target(monitor.Failure, "pump1", "pump1.vibration"), 0.25))
		pass(7 * time.Hour)
		require.Equal(t, "0.25", p.all()["pump1.pump1.vibration.failureProbability"])
		pass(2 * time.Hour)
		require.Contains(t, p.all()["pump1.pump1.vibration.failureProbability"], "Bad")
	})
}

// An engine that takes the driver over from another one goes on with the values of that until it has results of its own.
func TestTagsKeepTheirValuesWhenTheDriverMoves(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var latest monitor.Latest
	last := map[string]tags.Sample{
		"predictive.pump1.Bearing.rulDays": {Value: tags.IntValue(12), Quality: tags.Uncertain, Reason: tags.ReasonEngine, SourceTime: now.Add(-time.Minute)},
		"predictive.pump1.Bearing.failing": {Value: tags.BoolValue(true), Quality: tags.Good, SourceTime: now.Add(-time.Minute)},
	}
	d, err := predictivetags.New(&latest, predictivetags.Options{Now: func() time.Time { return now }, Last: func(tag string) (tags.Sample, bool) {
		s, ok := last[tag]
		return s, ok
	}})
	require.NoError(t, err)
	require.NoError(t, d.Connect(t.Context()))
	points := []tags.Point{{Address: "pump1.Bearing.rulDays", Type: tags.Int}, {Address: "pump1.Bearing.failing", Type: tags.Bool}, {Address: "pump2.Bearing.rulDays", Type: tags.Int}}
	read := func() []tags.Reading {
		t.Helper()
		out := make([]tags.Reading, len(points))
		require.NoError(t, d.Read(t.Context(), points, out))
		return out
	}
	require.Equal(t, []tags.Reading{
		{Value: tags.IntValue(12), Quality: tags.Good, Time: now.Add(-time.Minute)},
		{Value: tags.BoolValue(true), Quality: tags.Good, Time: now.Add(-time.Minute)},
		{Quality: tags.Bad, Reason: tags.ReasonWaiting},
	}, read())

	r := result(bearing, 11)
	r.At = now
	latest.Put(r)
	got := read()
	require.Equal(t, tags.IntValue(11), got[0].Value)
	require.Equal(t, tags.Reading{Value: tags.BoolValue(true), Quality: tags.Uncertain, Reason: tags.ReasonWaiting, Time: now}, got[1], "too few results")
	latest.Remove([]monitor.Target{bearing})
	now = now.Add(2 * time.Hour)
	got = read()
	require.Equal(t, tags.Bad, got[0].Quality)
	require.Equal(t, tags.ReasonStale, got[0].Reason)
}
