package monitor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/monitor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errStore = errors.New("the store does not answer")

// fleet predicts what a test sets. The zero value has nothing.
type fleet struct {
	mu         sync.Mutex
	tags       map[string][]string
	components map[string][]string
	listErr    error
	took       time.Duration // of a prediction
	hangs      bool          // predictions take until their context ends
	failure    func(tag string) (predictive.FailurePrediction, error)
	rul        func(component string) (predictive.RUL, error)
	anomaly    func(tag string) (predictive.Anomaly, error)
	calls      []string
	looked     int // for components
}

func (f *fleet) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
}

func (f *fleet) asked() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := f.calls
	f.calls = nil
	return list
}

func (f *fleet) Equipments(context.Context) (list []string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.tags {
		list = append(list, id)
	}
	slices.Sort(list)
	return list, f.listErr
}

func (f *fleet) Tags(_ context.Context, equipment string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tags[equipment], f.listErr
}

func (f *fleet) RecordedComponents(_ context.Context, equipment string) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.looked++
	return f.components[equipment], nil
}

// work takes as long as a prediction.
func (f *fleet) work(ctx context.Context, call string) error {
	f.mu.Lock()
	f.calls = append(f.calls, call)
	took, hangs := f.took, f.hangs
	f.mu.Unlock()
	if hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	time.Sleep(took)
	return nil
}

func (f *fleet) FailurePrediction(ctx context.Context, _, tag string) (predictive.FailurePrediction, error) {
	if err := f.work(ctx, "failure "+tag); err != nil || f.failure == nil {
		return normal(), err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failure(tag)
}

func (f *fleet) RUL(ctx context.Context, equipment, component string) (predictive.RUL, error) {
	if err := f.work(ctx, "rul "+equipment+"/"+component); err != nil || f.rul == nil {
		return predictive.RUL{Confidence: 1, RULDays: 30, PredictedAt: time.Now(), PredictedFailureDate: time.Now().Add(30 * 24 * time.Hour)}, err
	}
	return f.rul(component)
}

func (f *fleet) Anomaly(ctx context.Context, tag string) (predictive.Anomaly, error) {
	if err := f.work(ctx, "anomaly "+tag); err != nil || f.anomaly == nil {
		return predictive.Anomaly{DetectedAt: time.Now(), SampledAt: time.Now()}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.anomaly(tag)
}

func normal() predictive.FailurePrediction {
	return predictive.FailurePrediction{Prediction: predictive.PredictionNormal, Confidence: 1, PredictedAt: time.Now()}
}

func failing() predictive.FailurePrediction {
	return predictive.FailurePrediction{Prediction: predictive.PredictionFailure, Confidence: 1, FailureProbability: 0.9, PredictedAt: time.Now()}
}

// pumps returns so many pumps with a tag each.
func pumps(n int) map[string][]string {
	tags := map[string][]string{}
	for i := range n {
		id := fmt.Sprintf("pump%05d", i)
		tags[id] = []string{id + ".vibration"}
	}
	return tags
}

// site is a fleet that is monitored. It is for use within a bubble.
type site struct {
	*fleet
	t       *testing.T
	latest  monitor.Latest
	monitor *monitor.Monitor
	log     bytes.Buffer
}

// watch runs a test with a monitor in a bubble.
func watch(t *testing.T, f *fleet, o monitor.Options, test func(t *testing.T, s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &site{fleet: f, t: t}
		o.Log = slog.New(slog.NewTextHandler(&s.log, nil))
		var err error
		s.monitor, err = monitor.New(f, &s.latest, o)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); s.monitor.Run(ctx) }()
		defer func() { cancel(); <-done }()
		test(t, s)
	})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// states returns the states of all targets.
func (s *site) states() map[string]string {
	list, all, _ := s.latest.Changes(0)
	require.True(s.t, all)
	states := map[string]string{}
	for _, r := range list {
		text := string(r.State)
		if r.Err != nil {
			text += " " + r.Err.Error()
		}
		states[string(r.Kind)+" "+r.Name] = text
	}
	return states
}

func TestTargetsAreChosenByPatterns(t *testing.T) {
	f := &fleet{tags: map[string][]string{"pump1": {"pump1.temp", "pump1.vibration"}, "pump2": {"pump2.vibration"}, "oven": {"oven.temp"}},
		components: map[string][]string{"pump1": {"Bearing", "Seal"}, "oven": {"Door"}}}
	for name, c := range map[string]struct {
		o    monitor.Options
		want []string
	}{
		"default": {monitor.Options{}, []string{"failure oven.temp", "failure pump1.temp", "failure pump1.vibration", "failure pump2.vibration",
			"rul oven/Door", "rul pump1/Bearing", "rul pump1/Seal"}},
		"chosen": {monitor.Options{Equipments: []string{"pump*"}, Tags: []string{"*.vibration"}, Components: []string{"B*"}, Anomalies: []string{"*.temp"}},
			[]string{"anomaly pump1.temp", "failure pump1.vibration", "failure pump2.vibration", "rul pump1/Bearing"}},
		"none": {monitor.Options{Equipments: []string{"mill*"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, f, c.o, func(t *testing.T, s *site) {
				pass(time.Minute)
				require.Equal(t, c.want, s.asked())
				require.Len(t, s.states(), len(c.want))
				require.Equal(t, len(c.want), s.monitor.Stats().Targets)
				pass(14 * time.Minute)
				s.asked()
				pass(15 * time.Minute)
				require.ElementsMatch(t, c.want, s.asked(), "each once in an interval")
			})
		})
	}
}

// No equipment has all targets because its name comes first.
func TestEachEquipmentHasItsShareOfTheTargets(t *testing.T) {
	f := &fleet{tags: map[string][]string{"a": {"a.1", "a.2", "a.3", "a.4", "a.5"}, "b": {"b.1"}, "c": {"c.1", "c.2", "c.3"}},
		components: map[string][]string{"b": {"Seal"}, "c": {"Bearing", "Seal"}}}
	watch(t, f, monitor.Options{MaxTargets: 8}, func(t *testing.T, s *site) {
		pass(time.Minute)
		require.ElementsMatch(t, []string{"rul b/Seal", "rul c/Bearing", "rul c/Seal", "failure a.1", "failure a.2", "failure b.1", "failure c.1", "failure c.2"}, s.asked())
		stats := s.monitor.Stats()
		require.Equal(t, 4, stats.Omitted)
		require.Equal(t, map[monitor.Kind]int{monitor.Failure: 4}, stats.OmittedOf)
		require.Contains(t, s.log.String(), `targets=8 omitted=4 equipments="a, c"`)
	})
	watch(t, f, monitor.Options{MaxTargets: 3}, func(t *testing.T, s *site) {
		pass(time.Minute)
		require.ElementsMatch(t, []string{"rul b/Seal", "rul c/Bearing", "rul c/Seal"}, s.asked())
	})
}

// Who shows results must know how far apart they are, from the first prediction on.
func TestThePeriodFollowsTheLoad(t *testing.T) {
	f := &fleet{tags: pumps(600), took: 6 * time.Second}
	watch(t, f, monitor.Options{Interval: time.Minute, MaxLoad: 0.5}, func(t *testing.T, s *site) {
		pass(time.Second)
		require.Equal(t, time.Minute, s.monitor.Period())
		pass(time.Hour)
		require.InDelta(t, time.Hour, s.monitor.Period(), float64(time.Minute), "the first round")
		pass(time.Hour + 10*time.Minute)
		s.monitor.Renew()
		pass(time.Hour)
		require.Greater(t, s.monitor.Period(), 2*time.Hour, "those at the end of the ring")
		s.set(func() { f.took = 0 })
		pass(10 * time.Minute)
		require.Equal(t, time.Minute, s.monitor.Period())
		s.set(func() { f.took = 10 * time.Hour }) // the process was stopped
		pass(10*time.Hour + 2*time.Minute)
		s.set(func() { f.took = 0 })
		pass(5 * time.Minute)
		require.LessOrEqual(t, s.monitor.Period(), 3*time.Minute)
	})
}

func TestPredictionsAreSpreadOverTheInterval(t *testing.T) {
	f := &fleet{tags: pumps(60), took: time.Millisecond}
	watch(t, f, monitor.Options{Interval: time.Minute}, func(t *testing.T, s *site) {
		pass(500 * time.Millisecond)
		require.Len(t, s.asked(), 60, "the first ones come soon")
		pass(time.Minute)
		s.asked()
		pass(10 * time.Second)
		require.Len(t, s.asked(), 10, "one in a second")
		require.Zero(t, s.monitor.Stats().Skipped)

		s.monitor.Renew()
		pass(500 * time.Millisecond)
		require.Len(t, s.asked(), 60, "there is a new model")
	})
}

// A hundred times the targets that can be predicted for in time: the load stays, all have their turn, and nothing piles up.
func TestMoreTargetsThanCanBePredictedFor(t *testing.T) {
	f := &fleet{tags: pumps(600), took: 250 * time.Millisecond}
	watch(t, f, monitor.Options{Interval: time.Second, MaxLoad: 0.5, MaxTargets: 590}, func(t *testing.T, s *site) {
		pass(6 * time.Minute) // the first round takes 295 s
		s.asked()
		pass(100 * time.Second)
		calls := s.asked()
		require.InDelta(t, 200, len(calls), 2, "half of the time")
		slices.Sort(calls)
		require.Len(t, slices.Compact(calls), len(calls), "none is preferred")
		pass(10 * time.Minute)
		stats := s.monitor.Stats()
		require.Equal(t, 10, stats.Omitted)
		s.set(func() { require.Zero(t, s.looked%590, "equipments that are omitted cost nothing more") })
		require.Equal(t, 590, stats.Targets)
		require.InDelta(t, 295, stats.Round.Seconds(), 5)
		require.Greater(t, stats.Skipped, uint64(100_000))
		require.Contains(t, s.log.String(), "targets are predicted for less often")
		require.Contains(t, s.log.String(), "some are omitted")
		require.Contains(t, s.log.String(), `equipments="pump00590, pump00591, pump00592, pump00593, pump00594, pump00595, pump00596, pump00597, pump00598, pump00599"`)
		require.InDelta(t, 295, s.monitor.Period().Seconds(), 5)
		require.Len(t, s.states(), 590)
	})
}

func TestATargetIsFailingAfterSomeOfItsLastResults(t *testing.T) {
	f := &fleet{tags: pumps(1)}
	next, low := false, false
	var fault error
	f.failure = func(string) (predictive.FailurePrediction, error) {
		p := normal()
		if next {
			p = failing()
		}
		if low {
			p.Confidence = 0.1
		}
		return p, fault
	}
	watch(t, f, monitor.Options{Interval: time.Minute, Positive: 2, Results: 3, MinConfidence: 0.2}, func(t *testing.T, s *site) {
		round := func(positive bool) string {
			s.set(func() { next = positive })
			pass(time.Minute)
			list, _, _ := s.latest.Changes(0)
			return string(list[0].State)
		}
		pass(time.Second)
		var got []string
		for _, positive := range []bool{false, false, true, false, true, true, false, true, false, false, false, true} {
			got = append(got, round(positive))
		}
		require.Equal(t, []string{"", "normal", "normal", "normal", "failing", "failing", "failing", "failing", "failing", "failing", "normal", "normal"}, got)
		require.Equal(t, "failing", round(true))
		s.set(func() { fault = predictive.ErrInsufficientData })
		for range 5 {
			require.Equal(t, "failing", round(false), "what is not known changes nothing")
		}
		s.set(func() { fault, low = nil, true })
		for range 5 {
			require.Equal(t, "failing", round(false), "neither does what is told without confidence")
		}
		s.set(func() { low = false })
		round(false)
		round(false)
		require.Equal(t, "normal", round(false))
	})
}

// The threshold of a tag that shows little is low.
// Five results are days apart if lives are long: nobody waits for them after a repair.
func TestANewLifeIsNotFailing(t *testing.T) {
	f := &fleet{tags: pumps(1), components: map[string][]string{"pump00000": {"Seal"}}}
	var began time.Time // zero: not known
	short := true
	f.failure = func(string) (predictive.FailurePrediction, error) {
		p := normal()
		if short {
			p = failing()
		}
		p.LifeStart = began
		return p, nil
	}
	f.rul = func(string) (predictive.RUL, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		days := 30
		if short {
			days = 1
		}
		return predictive.RUL{Confidence: 1, PredictedAt: time.Now(), LifeStart: began, PredictedFailureDate: time.Now().AddDate(0, 0, days)}, nil
	}
	watch(t, f, monitor.Options{}, func(t *testing.T, s *site) {
		both := func(state string) map[string]string {
			return map[string]string{"failure pump00000.vibration": state, "rul Seal": state}
		}
		pass(46 * time.Minute)
		require.Equal(t, both("failing"), s.states())
		s.set(func() { short = false })
		pass(30 * time.Minute)
		require.Equal(t, both("failing"), s.states())
		s.set(func() { began = time.Now() })
		pass(15 * time.Minute)
		require.Equal(t, both("normal"), s.states())
		s.set(func() { short = true })
		pass(30 * time.Minute)
		require.Equal(t, both("normal"), s.states(), "those of the life before do not count")
		pass(15 * time.Minute)
		require.Equal(t, both("failing"), s.states())
	})
}

func TestAnUnlikelyFailureIsNotPositive(t *testing.T) {
	f := &fleet{tags: pumps(1)}
	f.failure = func(string) (predictive.FailurePrediction, error) {
		p := failing()
		p.FailureProbability, p.Threshold = 0.49, 0.1
		return p, nil
	}
	for limit, want := range map[float64]monitor.State{0: monitor.Normal, 0.4: monitor.Failing} {
		watch(t, f, monitor.Options{Interval: time.Minute, MinProbability: limit}, func(t *testing.T, s *site) {
			pass(10 * time.Minute)
			list, _, _ := s.latest.Changes(0)
			require.Equal(t, want, list[0].State)
		})
	}
}

func TestAShortRemainingLifeIsPositive(t *testing.T) {
	f := &fleet{tags: map[string][]string{"pump": nil}, components: map[string][]string{"pump": {"Bearing", "Motor", "Seal"}}}
	f.rul = func(component string) (predictive.RUL, error) {
		left := 49 * time.Hour
		if component != "Bearing" {
			left = 47 * time.Hour
		}
		return predictive.RUL{Capped: component == "Motor", Confidence: 1, PredictedAt: time.Now(), PredictedFailureDate: time.Now().Add(left)}, nil
	}
	watch(t, f, monitor.Options{Within: 48 * time.Hour, Positive: 1, Results: 1}, func(t *testing.T, s *site) {
		pass(time.Second)
		require.Equal(t, map[string]string{"rul Bearing": "normal", "rul Motor": "normal", "rul Seal": "failing"}, s.states(), "the motor may last longer")
	})
}

func TestASampleIsJudgedOnce(t *testing.T) {
	f := &fleet{tags: pumps(1)}
	at := time.Time{}
	f.anomaly = func(string) (predictive.Anomaly, error) {
		return predictive.Anomaly{IsAnomaly: true, SampledAt: at, DetectedAt: time.Now()}, nil
	}
	watch(t, f, monitor.Options{Equipments: []string{"pump*"}, Tags: []string{"none"}, Anomalies: []string{"*"}, Interval: time.Minute},
		func(t *testing.T, s *site) {
			name := "anomaly pump00000.vibration"
			s.set(func() { at = time.Now() })
			pass(time.Hour)
			require.Empty(t, s.states()[name], "the tag has sent nothing more")
			for range 3 {
				s.set(func() { at = time.Now() })
				pass(time.Minute)
			}
			require.Equal(t, "failing", s.states()[name])
		})
}

// What has seen the same samples, or those of the same step of the model, is no further evidence.
func TestAResultCountsWithNewSamplesOfANewStep(t *testing.T) {
	f := &fleet{tags: pumps(1), components: map[string][]string{"pump00000": {"Seal"}}}
	var sampled time.Time // zero: the last minute
	at := func() time.Time {
		if sampled.IsZero() {
			return time.Now().Truncate(time.Minute)
		}
		return sampled
	}
	confidence := 1.0
	f.failure = func(string) (predictive.FailurePrediction, error) {
		p := failing()
		p.SampledAt, p.Step, p.Confidence = at(), 6*time.Hour, confidence
		return p, nil
	}
	f.rul = func(string) (predictive.RUL, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		return predictive.RUL{Confidence: confidence, PredictedAt: time.Now(), SampledAt: at(), Step: 6 * time.Hour, PredictedFailureDate: time.Now().Add(time.Hour)}, nil
	}
	watch(t, f, monitor.Options{MinConfidence: 0.1}, func(t *testing.T, s *site) {
		both := func(state string) map[string]string {
			return map[string]string{"failure pump00000.vibration": state, "rul Seal": state}
		}
		s.set(func() { confidence = 0.05 })
		pass(5 * time.Hour)
		s.set(func() { confidence = 1 })
		pass(6*time.Hour - time.Minute) // until 11 o'clock, in the second step
		s.monitor.Renew()
		s.monitor.Renew()
		pass(time.Minute)
		require.Equal(t, both(""), s.states())
		s.set(func() { sampled = time.Now() })
		pass(24 * time.Hour)
		require.Equal(t, both(""), s.states(), "the tag has sent nothing more")
		s.set(func() { sampled = time.Time{} })
		pass(20 * time.Minute)
		require.Equal(t, both("failing"), s.states())
	})
}

// A store that has stopped costs no more than the load, and the results come back with it.
func TestAStoreThatHasStopped(t *testing.T) {
	f := &fleet{tags: pumps(10)}
	watch(t, f, monitor.Options{Interval: time.Minute, Timeout: 3 * time.Second, Positive: 1, Results: 1}, func(t *testing.T, s *site) {
		pass(90 * time.Second)
		before := s.states()
		s.set(func() { f.hangs, f.listErr = true, errStore })
		s.asked()
		pass(time.Hour)
		require.InDelta(t, 300, len(s.asked()), 5, "3 s of 12")
		require.Len(t, s.states(), 10, "the targets stay")
		require.Contains(t, s.states()["failure pump00003.vibration"], context.DeadlineExceeded.Error())
		s.set(func() { f.hangs, f.listErr = false, nil })
		pass(3 * time.Minute)
		require.Equal(t, before, s.states())
	})
}

// A process that was stopped for hours goes on soon, and makes up for nothing.
func TestAProcessThatWasStopped(t *testing.T) {
	f := &fleet{tags: pumps(60)}
	watch(t, f, monitor.Options{Interval: time.Minute, Timeout: 3 * time.Second}, func(t *testing.T, s *site) {
		pass(90 * time.Second)
		s.set(func() { f.took = 5 * time.Hour })
		pass(10 * time.Second)
		s.set(func() { f.took = 0 })
		pass(5*time.Hour - 10*time.Second)
		s.asked()
		pass(20 * time.Second)
		require.InDelta(t, 11, len(s.asked()), 3, "after a rest of three times the timeout")
		pass(time.Minute)
		require.InDelta(t, 60, len(s.asked()), 2)
	})
}

func TestTargetsComeAndGo(t *testing.T) {
	f := &fleet{tags: map[string][]string{}}
	watch(t, f, monitor.Options{}, func(t *testing.T, s *site) {
		pass(5 * time.Second)
		s.set(func() { f.tags = pumps(3) })
		pass(10 * time.Second)
		require.Len(t, s.states(), 3, "drivers come while a server starts")
		_, _, position := s.latest.Changes(0)
		s.set(func() { delete(f.tags, "pump00001") })
		pass(15 * time.Minute)
		list, all, _ := s.latest.Changes(position)
		require.True(t, all)
		require.Len(t, list, 2)
		s.set(func() { f.tags = map[string][]string{} })
		pass(15 * time.Minute)
		require.Empty(t, s.states())
		s.asked()
		s.set(func() { f.tags = pumps(3) })
		pass(15 * time.Minute)
		require.Len(t, s.states(), 3)
	})
}

func TestAPanicIsAnError(t *testing.T) {
	f := &fleet{tags: pumps(2)}
	f.failure = func(tag string) (predictive.FailurePrediction, error) {
		if tag == "pump00000.vibration" {
			panic("odd data")
		}
		return normal(), nil
	}
	watch(t, f, monitor.Options{Positive: 1, Results: 1}, func(t *testing.T, s *site) {
		pass(time.Minute)
		require.Contains(t, s.states()["failure pump00000.vibration"], "odd data")
		require.Equal(t, "normal", s.states()["failure pump00001.vibration"])
	})
}

func TestLatestReturnsWhatHasChanged(t *testing.T) {
	var l monitor.Latest
	list, all, next := l.Changes(0)
	require.True(t, all)
	require.Empty(t, list)
	a, b := monitor.Target{Kind: monitor.RUL, Name: "a"}, monitor.Target{Kind: monitor.RUL, Name: "b"}
	l.Put(monitor.Result{Target: b})
	l.Put(monitor.Result{Target: a})
	list, all, next = l.Changes(next)
	require.False(t, all)
	require.Len(t, list, 2)
	require.Equal(t, "a", list[0].Name)
	l.Put(monitor.Result{Target: a, State: monitor.Failing})
	list, _, next = l.Changes(next)
	require.Len(t, list, 1)
	require.Equal(t, monitor.Failing, list[0].State)
	list, _, next = l.Changes(next)
	require.Empty(t, list)
	l.Remove([]monitor.Target{a})
	list, all, next = l.Changes(next)
	require.True(t, all)
	require.Len(t, list, 1)
	_, all, _ = l.Changes(next)
	require.False(t, all)
}

func TestOptionsAreValidated(t *testing.T) {
	for want, o := range map[string]monitor.Options{
		"Interval":       {Interval: time.Millisecond},
		"Timeout":        {Timeout: -1},
		"Within":         {Within: -1},
		"MaxLoad":        {MaxLoad: 2},
		"MaxTargets":     {MaxTargets: -1},
		"Results":        {Results: 64},
		"Positive":       {Positive: 6},
		"Clear":          {Clear: 3},
		"MinConfidence":  {MinConfidence: 1.5},
		"MinProbability": {MinProbability: -0.1},
		"Anomalies":      {Anomalies: []string{"["}},
	} {
		_, err := monitor.New(plant{}, new(monitor.Latest), o)
		require.ErrorContains(t, err, "Options."+want)
	}
	_, err := monitor.New(nil, new(monitor.Latest), monitor.Options{})
	require.ErrorContains(t, err, "predictor")
	_, err = monitor.New(plant{}, nil, monitor.Options{})
	require.ErrorContains(t, err, "sink")
}
