package predictivealarms_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alarms/predictivealarms"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/monitor"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// flaky is a store whose writes fail while it is told so.
type flaky struct {
	*alarms.Memory
	broken atomic.Bool
}

var errDisk = errors.New("disk is full")

func (f *flaky) Write(ctx context.Context, refs []alarms.Ref, change func(int64, []alarms.RefResult) (alarms.Changes, error)) error {
	if f.broken.Load() {
		return errDisk
	}
	return f.Memory.Write(ctx, refs, change)
}

// site has results and their alarms. It is for use within a bubble.
type site struct {
	t *testing.T
	*monitor.Latest
	store   *flaky
	service *alarms.Service
	log     bytes.Buffer
	end     func()
}

func run(t *testing.T, o predictivealarms.Options, test func(t *testing.T, s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &site{t: t, Latest: new(monitor.Latest), store: &flaky{Memory: alarms.NewMemory()}}
		var err error
		s.service, err = alarms.New(t.Context(), s.store, alarms.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.service.Close(context.Background())) }()
		s.start(s.service, o)
		defer func() { s.end() }()
		test(t, s)
	})
}

func (s *site) start(target alarms.Target, o predictivealarms.Options) {
	s.t.Helper()
	o.Logger = slog.New(slog.NewTextHandler(&s.log, nil))
	m, err := predictivealarms.New(s, target, o)
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	s.end = func() { cancel(); <-done }
	pass(time.Millisecond)
}

// restart begins as after a start of the process: there are no results.
func (s *site) restart(o predictivealarms.Options) {
	s.end()
	s.Latest = new(monitor.Latest)
	s.start(s.service, o)
}

// put puts a result of a state; figure is a probability, a score or days.
func (s *site) put(kind monitor.Kind, equipment, name string, state monitor.State, figure float64) {
	r := monitor.Result{Target: monitor.Target{Kind: kind, Equipment: equipment, Name: name}, At: time.Now(), State: state}
	switch kind {
	case monitor.Failure:
		r.Failure = &predictive.FailurePrediction{FailureProbability: figure, HorizonHours: 24}
	case monitor.RUL:
		r.RUL = &predictive.RUL{RULDays: int(figure), LowDays: figure / 4, HighDays: figure * 2, Recommendation: "Replace it.", PredictedAt: r.At,
			PredictedFailureDate: r.At.Add(time.Duration(figure * 24 * float64(time.Hour)))}
	case monitor.Anomaly:
		r.Anomaly = &predictive.Anomaly{AnomalyScore: figure, CurrentValue: 95.25, ExpectedRange: predictive.Range{Min: 60, Max: 70.5}}
	}
	s.Put(r)
}

// journal returns what has happened to the alarms, as "Raised predictive-failure:pump1".
func (s *site) journal() []string {
	s.t.Helper()
	events, err := s.service.Events(s.t.Context(), 0, 10_000)
	require.NoError(s.t, err)
	list := []string{}
	for _, e := range events {
		list = append(list, strings.TrimSpace(string(e.Kind)+" "+e.Occurrence.Key+" "+e.Comment))
	}
	return list
}

// active returns the messages of the active alarms, also of those that are not stored.
func (s *site) active() (messages []string) {
	s.t.Helper()
	page, err := s.service.List(s.t.Context(), alarms.ListQuery{Page: 1, PageSize: 100})
	require.NoError(s.t, err)
	for _, o := range page.Occurrences {
		messages = append(messages, o.Message)
	}
	slices.Sort(messages)
	return messages
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestTagsOfAnEquipmentShareAnAlarmThatFollowsThem(t *testing.T) {
	run(t, predictivealarms.Options{Severities: map[monitor.Kind]alarms.Severity{monitor.Failure: alarms.Critical}}, func(t *testing.T, s *site) {
		s.put(monitor.Failure, "pump1", "pump1.temp", monitor.Unknown, 0.9)
		s.put(monitor.Failure, "pump1", "pump1.vibration", monitor.Normal, 0.1)
		pass(time.Minute)
		require.Empty(t, s.journal())
		s.put(monitor.Failure, "pump1", "pump1.temp", monitor.Failing, 0.811)
		pass(time.Second)
		list, err := s.service.Active(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 1)
		o := list[0]
		require.Equal(t, alarms.Critical, o.Severity)
		require.Equal(t, "Equipment", o.SourceType)
		require.Equal(t, "pump1", o.Source)
		require.Equal(t, map[string]string{"equipmentId": "pump1", "tags": "pump1.temp"}, o.Labels)
		require.Equal(t, "Failure of pump1 predicted within 24 hours: pump1.temp 81%", o.Message)

		s.put(monitor.Failure, "pump1", "pump1.temp", monitor.Failing, 0.95)
		pass(time.Second)
		require.Len(t, s.journal(), 1, "figures alone are no news")
		s.put(monitor.Failure, "pump1", "pump1.vibration", monitor.Failing, 0.99)
		pass(time.Second)
		require.Equal(t, []string{"Failure of pump1 predicted within 24 hours: pump1.vibration 99%; pump1.temp 95%"}, s.active())
		s.put(monitor.Failure, "pump1", "pump1.temp", monitor.Normal, 0.1)
		pass(time.Second)
		require.Equal(t, []string{"Failure of pump1 predicted within 24 hours: pump1.vibration 99%"}, s.active())
		s.Put(monitor.Result{Target: monitor.Target{Kind: monitor.Failure, Equipment: "pump1", Name: "pump1.vibration"}, State: monitor.Failing,
			Err: predictive.ErrInsufficientData, At: time.Now()})
		pass(time.Hour)
		require.Len(t, s.active(), 1, "what cannot be predicted changes nothing")
		s.put(monitor.Failure, "pump1", "pump1.vibration", monitor.Normal, 0.1)
		pass(time.Second)
		key := " predictive-failure:pump1"
		require.Equal(t, []string{"Raised" + key, "Updated" + key, "Updated" + key, "Cleared" + key}, s.journal())
	})
}

func TestAShortRemainingLifeIsAnAlarmThatFollowsIt(t *testing.T) {
	run(t, predictivealarms.Options{}, func(t *testing.T, s *site) {
		for _, days := range []float64{6, 7, 6, 5, 6, 5} {
			s.put(monitor.RUL, "pump1", "Bearing", monitor.Failing, days)
			pass(time.Second)
		}
		require.Equal(t, []string{"Failure of Bearing of pump1 predicted: 5 days left, 30 hours to 10 days likely. Replace it."}, s.active())
		s.put(monitor.RUL, "pump1", "Seal", monitor.Failing, 1)
		s.put(monitor.RUL, "pump1", "Bearing", monitor.Normal, 60)
		pass(time.Second)
		key := " predictive-rul:pump1/Bearing"
		require.ElementsMatch(t, []string{"Raised" + key, "Updated" + key, "Cleared" + key, "Raised predictive-rul:pump1/Seal"}, s.journal())
	})
}

func TestAnomaliesOfManyTagsAreOneAlarm(t *testing.T) {
	run(t, predictivealarms.Options{}, func(t *testing.T, s *site) {
		for i := range 100 {
			s.put(monitor.Anomaly, "oven", fmt.Sprintf("oven.%03d", i), monitor.Failing, 0.999)
		}
		pass(time.Second)
		require.Len(t, s.active(), 1)
		require.True(t, strings.HasPrefix(s.active()[0], "Anomaly of oven: oven.000 is 95.25, expected 60 to 70.5; oven.001"), s.active()[0])
		require.True(t, strings.HasSuffix(s.active()[0], "; and 95 more"), s.active()[0])
	})
}

func TestAlarmsAfterARestart(t *testing.T) {
	run(t, predictivealarms.Options{}, func(t *testing.T, s *site) {
		for _, pump := range []string{"pump1", "pump2", "pump3"} {
			s.put(monitor.Failure, pump, "a", monitor.Failing, 0.9)
			s.put(monitor.Failure, pump, "b", monitor.Failing, 0.9)
		}
		s.put(monitor.RUL, "pump1", "Bearing", monitor.Failing, 5)
		pass(time.Second)
		require.Len(t, s.journal(), 4)
		s.restart(predictivealarms.Options{})
		s.put(monitor.Failure, "pump1", "a", monitor.Unknown, 0.9)
		s.put(monitor.Failure, "pump1", "b", monitor.Unknown, 0.9)
		s.put(monitor.RUL, "pump1", "Bearing", monitor.Unknown, 5)
		s.put(monitor.Failure, "pump2", "a", monitor.Failing, 0.9)
		s.put(monitor.Failure, "pump2", "b", monitor.Normal, 0.1)
		pass(time.Minute)
		require.Equal(t, []string{"Updated predictive-failure:pump2"}, s.journal()[4:], "what is active is not raised again, and stays until more is known")
		pass(time.Hour)
		require.Equal(t, []string{"Cleared predictive-failure:pump3 it is no longer monitored"}, s.journal()[5:])
		s.put(monitor.Failure, "pump1", "a", monitor.Normal, 0.1)
		s.put(monitor.Failure, "pump1", "b", monitor.Normal, 0.1)
		s.put(monitor.RUL, "pump1", "Bearing", monitor.Normal, 90)
		pass(time.Second)
		require.ElementsMatch(t, []string{"Cleared predictive-failure:pump1", "Cleared predictive-rul:pump1/Bearing"}, s.journal()[6:])
		s.Remove([]monitor.Target{{Kind: monitor.Failure, Equipment: "pump2", Name: "a"}})
		pass(time.Second)
		require.Equal(t, []string{"Cleared predictive-failure:pump2 it is no longer monitored"}, s.journal()[8:])

		s.put(monitor.Failure, "pump1", "a", monitor.Failing, 0.9)
		pass(time.Second)
		s.restart(predictivealarms.Options{Disabled: true})
		require.Equal(t, "Cleared predictive-failure:pump1 predictions raise no alarms any more", s.journal()[10])
		require.Empty(t, s.active())
	})
}

func TestAlarmsEndAfterTheClockWasSetBack(t *testing.T) {
	run(t, predictivealarms.Options{}, func(t *testing.T, s *site) {
		s.put(monitor.Failure, "pump1", "a", monitor.Failing, 0.9)
		pass(time.Second)
		var ahead atomic.Int64
		ahead.Store(int64(10 * 365 * 24 * time.Hour))
		s.restart(predictivealarms.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }})
		pass(time.Minute)
		ahead.Store(0)
		pass(59 * time.Minute)
		require.Len(t, s.active(), 1)
		pass(2 * time.Minute)
		require.Empty(t, s.active(), "nothing is known of its target")
	})
}

// The first predictions of very many targets take hours.
func TestAlarmsStayWhileTheFirstPredictionsAreMade(t *testing.T) {
	run(t, predictivealarms.Options{}, func(t *testing.T, s *site) {
		s.put(monitor.Failure, "pump1", "a", monitor.Failing, 0.9)
		s.put(monitor.Failure, "pump2", "a", monitor.Failing, 0.9)
		pass(time.Second)
		began := time.Now()
		s.restart(predictivealarms.Options{Period: func() time.Duration { return min(time.Since(began), 3*time.Hour) }})
		pass(3 * time.Hour)
		s.put(monitor.Failure, "pump1", "a", monitor.Failing, 0.9)
		require.Len(t, s.active(), 2)
		pass(8 * time.Hour)
		require.Len(t, s.active(), 2)
		pass(2 * time.Hour)
		require.Len(t, s.active(), 1)
	})
}

func TestEnginesLeaveTheAlarmsOfOthersAlone(t *testing.T) {
	run(t, predictivealarms.Options{Engine: "a"}, func(t *testing.T, s *site) {
		s.put(monitor.Failure, "pump1", "a", monitor.Failing, 0.9)
		pass(time.Second)
		s.restart(predictivealarms.Options{Engine: "b"})
		pass(3 * time.Hour)
		require.Len(t, s.active(), 1)
		s.restart(predictivealarms.Options{Engine: "a"})
		pass(3 * time.Hour)
		require.Empty(t, s.active())
	})
}

// Names may be of any length and have any bytes: an alarm that is refused would hold up all others.
func TestNamesOfAnyKind(t *testing.T) {
	run(t, predictivealarms.Options{}, func(t *testing.T, s *site) {
		odd := []string{strings.Repeat("x", 10_000), "a\xff\x00b", ""}
		for _, equipment := range odd {
			for _, name := range odd {
				s.put(monitor.Failure, equipment, name, monitor.Failing, 0.9)
				s.put(monitor.RUL, equipment, name, monitor.Failing, 1)
			}
		}
		pass(time.Second)
		require.Len(t, s.active(), 12)
		require.Empty(t, s.log.String())
		for _, equipment := range odd {
			for _, name := range odd {
				s.put(monitor.Failure, equipment, name, monitor.Normal, 0)
				s.put(monitor.RUL, equipment, name, monitor.Normal, 100)
			}
		}
		pass(time.Second)
		require.Empty(t, s.active())
	})
}

func TestAlarmsWaitForTheStore(t *testing.T) {
	run(t, predictivealarms.Options{}, func(t *testing.T, s *site) {
		s.store.broken.Store(true)
		s.put(monitor.Failure, "pump1", "a", monitor.Failing, 0.9)
		pass(2 * time.Second)
		require.Len(t, s.active(), 1, "it is shown")
		s.put(monitor.Failure, "pump1", "a", monitor.Normal, 0.9)
		pass(2 * time.Second)
		require.Empty(t, s.active())
		s.store.broken.Store(false)
		pass(2 * time.Second)
		require.Equal(t, []string{"Raised predictive-failure:pump1", "Cleared predictive-failure:pump1"}, s.journal())
		require.Contains(t, s.log.String(), "failed to store prediction alarms; retrying")
	})
}

// unreadable is a target whose alarms cannot be read for a while.
type unreadable struct {
	alarms.Target
	since time.Time
}

func (u unreadable) EachActive(ctx context.Context) iter.Seq2[alarms.Occurrence, error] {
	if time.Since(u.since) < 5*time.Second {
		return func(yield func(alarms.Occurrence, error) bool) { yield(alarms.Occurrence{}, errDisk) }
	}
	return u.Target.EachActive(ctx)
}

func TestAlarmsThatCannotBeReadAtTheStart(t *testing.T) {
	run(t, predictivealarms.Options{}, func(t *testing.T, s *site) {
		s.put(monitor.Failure, "pump1", "a", monitor.Failing, 0.9)
		s.put(monitor.Failure, "pump2", "a", monitor.Failing, 0.9)
		pass(time.Second)
		s.end()
		s.put(monitor.Failure, "pump1", "a", monitor.Normal, 0.1)
		s.start(unreadable{s.service, time.Now()}, predictivealarms.Options{})
		pass(10 * time.Second)
		require.Equal(t, []string{"Cleared predictive-failure:pump1"}, s.journal()[2:], "the other one is not raised twice")
	})
}

func TestBadOptions(t *testing.T) {
	s, err := alarms.New(t.Context(), alarms.NewMemory(), alarms.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close(t.Context())) }()
	latest := new(monitor.Latest)
	_, err = predictivealarms.New(latest, s, predictivealarms.Options{AbsentAfter: -1})
	require.ErrorContains(t, err, "AbsentAfter")
	_, err = predictivealarms.New(latest, s, predictivealarms.Options{Severities: map[monitor.Kind]alarms.Severity{"weather": alarms.Info}})
	require.ErrorContains(t, err, "Severities")
	_, err = predictivealarms.New(nil, s, predictivealarms.Options{})
	require.ErrorContains(t, err, "source")
	_, err = predictivealarms.New(latest, nil, predictivealarms.Options{})
	require.ErrorContains(t, err, "target")
}
