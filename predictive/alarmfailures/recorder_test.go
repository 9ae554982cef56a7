package alarmfailures_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/alerting"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/alarmfailures"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDisk = errors.New("disk is full")

// shop has alarms from which failures are recorded. It is for use within a bubble.
type shop struct {
	t         *testing.T
	alarms    *alarms.Service
	records   *predictive.MemoryRecords
	positions alarmfailures.MemoryPositions
	broken    atomic.Bool // records cannot be stored, equipments not be read
	mu        sync.Mutex
	after     []int64 // from where events were read
	log       bytes.Buffer
	began     time.Time
	clockOff  atomic.Int64
	o         alarmfailures.Options
	end       func()
}

func (s *shop) AddFailures(ctx context.Context, list []predictive.Failure) error {
	if s.broken.Load() {
		return errDisk
	}
	return s.records.AddFailures(ctx, list)
}

func (s *shop) equipment(_ context.Context, source string) (string, error) {
	equipment, _, isTag := strings.Cut(source, ".")
	switch {
	case s.broken.Load():
		return "", errDisk
	case isTag || strings.HasPrefix(source, "pump"):
		return equipment, nil
	}
	return "", nil
}

func (s *shop) Events(ctx context.Context, after int64, limit int) ([]alarms.Event, error) {
	s.mu.Lock()
	s.after = append(s.after, after)
	s.mu.Unlock()
	return s.alarms.Events(ctx, after, limit)
}

func (s *shop) Wait(ctx context.Context, after int64) error { return s.alarms.Wait(ctx, after) }

func run(t *testing.T, o alarmfailures.Options, test func(t *testing.T, s *shop)) {
	t.Helper()
	if o.Keys == nil {
		o.Keys = []string{"*"}
	}
	synctest.Test(t, func(t *testing.T) {
		s := &shop{t: t, records: new(predictive.MemoryRecords), began: time.Now(), o: o}
		var err error
		s.alarms, err = alarms.New(t.Context(), alarms.NewMemory(), alarms.Options{})
		require.NoError(t, err)
		defer func() { require.NoError(t, s.alarms.Close(context.Background())) }()
		s.start()
		defer func() { s.end() }()
		test(t, s)
	})
}

func (s *shop) start() {
	o := s.o
	o.Logger = slog.New(slog.NewTextHandler(&s.log, nil))
	o.Now = func() time.Time { return time.Now().Add(time.Duration(s.clockOff.Load())) }
	r, err := alarmfailures.New(alarmfailures.Deps{Journal: s, Records: s, Equipment: s.equipment, Positions: &s.positions}, o)
	require.NoError(s.t, err)
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); r.Run(ctx) }()
	s.end = func() { cancel(); <-done }
	pass(time.Millisecond)
}

// alarm lets an alarm of a tag be active for a time.
func (s *shop) alarm(source string, severity alarms.Severity, d time.Duration) {
	s.t.Helper()
	s.labeled(source, severity, d, nil)
}

func (s *shop) labeled(source string, severity alarms.Severity, d time.Duration, labels map[string]string) {
	s.t.Helper()
	key := "rule:" + source
	_, err := s.alarms.Raise(s.t.Context(), alarms.Alarm{Key: key, Source: source, Message: "Trip of " + source, Severity: severity, Labels: labels})
	require.NoError(s.t, err)
	pass(d)
	_, err = s.alarms.Clear(s.t.Context(), alarms.ByKey(key), "", "")
	require.NoError(s.t, err)
	pass(time.Millisecond)
}

// failures returns what was recorded, as "pump1 1m0s-3m0s" from the beginning of the test.
func (s *shop) failures() []string {
	s.t.Helper()
	page, err := s.records.Failures(s.t.Context(), predictive.RecordQuery{})
	require.NoError(s.t, err)
	list := []string{}
	for _, f := range page.Items {
		require.Equal(s.t, predictive.SourceAlarm, f.Source)
		list = append(list, fmt.Sprintf("%s %s-%s", f.EquipmentID, f.Start.Sub(s.began).Round(time.Minute), f.End.Sub(s.began).Round(time.Minute)))
	}
	return list
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestCriticalAlarmsAreFailures(t *testing.T) {
	run(t, alarmfailures.Options{}, func(t *testing.T, s *shop) {
		s.alarm("pump1.motor", alarms.Critical, 10*time.Minute)
		s.alarm("pump2.motor", alarms.Error, 10*time.Minute)
		s.alarm("weather", alarms.Critical, 10*time.Minute)
		pass(30 * time.Minute)
		require.Empty(t, s.failures(), "it may come back within the hour")
		pass(time.Hour)
		require.Equal(t, []string{"pump1 0s-10m0s"}, s.failures())
		page, err := s.records.Failures(t.Context(), predictive.RecordQuery{})
		require.NoError(t, err)
		f := page.Items[0]
		require.Equal(t, "Trip of pump1.motor", f.Note)
		require.Equal(t, "1", f.Code)
		require.Equal(t, f.Start, f.Noticed)
		require.NoError(t, f.Validate())
	})
}

// A controller of many machines is one source: an alarm must tell what has failed unless the operator does.
func TestOnlyAlarmsThatTellWhatHasFailedAreFailuresByThemselves(t *testing.T) {
	run(t, alarmfailures.Options{Keys: []string{}}, func(t *testing.T, s *shop) {
		s.alarm("plc.any", alarms.Critical, time.Minute)
		s.labeled("plc.press", alarms.Critical, time.Minute, map[string]string{"equipmentId": "pump-press", "area": "hall 1"})
		s.labeled("plc.oil", alarms.Critical, time.Minute, map[string]string{"component": "Seal"})
		s.labeled("plc.oven", alarms.Critical, time.Minute, map[string]string{"equipmentId": "unknown"})
		s.labeled("plc.door", alarms.Critical, time.Minute, map[string]string{"area": "hall 1"})
		s.labeled("plc.warm", alarms.Error, time.Minute, map[string]string{"component": "Motor"})
		// Anyone on the machine may send alerts.
		_, err := s.alarms.Raise(t.Context(), alarms.Alarm{Key: alerting.ReceivedKeyPrefix + "1", Source: "plc", Severity: alarms.Critical, Labels: map[string]string{"equipmentId": "pump-1"}})
		require.NoError(t, err)
		_, err = s.alarms.Clear(t.Context(), alarms.ByKey(alerting.ReceivedKeyPrefix+"1"), "", "")
		require.NoError(t, err)
		pass(2 * time.Hour)
		require.Equal(t, []string{"pump-press 1m0s-2m0s", "plc 2m0s-3m0s"}, s.failures())
		page, err := s.records.Failures(t.Context(), predictive.RecordQuery{EquipmentID: "plc"})
		require.NoError(t, err)
		require.Equal(t, "Seal", page.Items[0].Component)
	})
}

func TestAChatteringAlarmIsOneFailure(t *testing.T) {
	run(t, alarmfailures.Options{}, func(t *testing.T, s *shop) {
		for range 5 {
			s.alarm("pump1.motor", alarms.Critical, 2*time.Minute)
			pass(58 * time.Minute)
		}
		s.alarm("pump1.motor", alarms.Critical, 9*time.Hour) // longer than the gap
		pass(59 * time.Minute)
		require.Empty(t, s.failures())
		pass(2 * time.Minute)
		require.Equal(t, []string{"pump1 0s-14h0m0s"}, s.failures())
		s.alarm("pump1.motor", alarms.Critical, time.Hour)
		pass(2 * time.Hour)
		require.Equal(t, []string{"pump1 0s-14h0m0s", "pump1 15h1m0s-16h1m0s"}, s.failures())
	})
}

func TestAlarmsThatAreNoFailures(t *testing.T) {
	run(t, alarmfailures.Options{Keys: []string{"rule:*", "driver-*", "bridge-*", "engine-*", "predictive-*"}}, func(t *testing.T, s *shop) {
		for _, key := range []string{"driver-offline:pump1", "bridge-offline:pump1", "engine-lost:pump1", "predictive-failure:pump1", "other:pump1"} {
			_, err := s.alarms.Raise(t.Context(), alarms.Alarm{Key: key, Source: "pump1", Severity: alarms.Critical})
			require.NoError(t, err)
			_, err = s.alarms.Clear(t.Context(), alarms.ByKey(key), "", "")
			require.NoError(t, err)
		}
		_, err := s.alarms.OutOfService(t.Context(), alarms.Ref{Key: "rule:pump1.motor", Create: true}, "ann", "maintenance")
		require.NoError(t, err)
		s.alarm("pump1.motor", alarms.Critical, time.Minute)
		pass(3 * time.Hour)
		require.Empty(t, s.failures())
	})
}

func TestAnAlarmOfACombustionEngineIsAFailure(t *testing.T) {
	run(t, alarmfailures.Options{Keys: []string{"engine-*"}}, func(t *testing.T, s *shop) {
		for _, key := range []string{"engine-overheat:pump1", "engine-lost:pump2"} {
			_, source, _ := strings.Cut(key, ":")
			_, err := s.alarms.Raise(t.Context(), alarms.Alarm{Key: key, Source: source, Severity: alarms.Critical})
			require.NoError(t, err)
			pass(time.Hour)
			_, err = s.alarms.Clear(t.Context(), alarms.ByKey(key), "", "")
			require.NoError(t, err)
		}
		pass(24 * time.Hour)
		require.Equal(t, []string{"pump1 0s-1h0m0s"}, s.failures())
	})
}

// The time until someone has reset a latching alarm is no failure.
func TestALatchingAlarmIsOverWhenItsConditionIs(t *testing.T) {
	run(t, alarmfailures.Options{}, func(t *testing.T, s *shop) {
		ref := alarms.ByKey("rule:x")
		_, err := s.alarms.Raise(t.Context(), alarms.Alarm{Key: "rule:x", Source: "pump1.x", Severity: alarms.Warning, Latching: true})
		require.NoError(t, err)
		pass(time.Hour)
		_, err = s.alarms.Raise(t.Context(), alarms.Alarm{Key: "rule:x", Source: "pump1.x", Severity: alarms.Critical, Latching: true, Labels: map[string]string{"component": "Seal"}})
		require.NoError(t, err)
		pass(time.Hour)
		_, err = s.alarms.Clear(t.Context(), ref, "", "")
		require.NoError(t, err)
		pass(24 * time.Hour)
		require.Empty(t, s.failures())
		_, err = s.alarms.Reset(t.Context(), ref, "ann", "")
		require.NoError(t, err)
		pass(2 * time.Minute)
		require.Equal(t, []string{"pump1 0s-2h0m0s"}, s.failures())
	})
}

// A bridge reports after an outage what has happened meanwhile.
func TestLateReports(t *testing.T) {
	run(t, alarmfailures.Options{}, func(t *testing.T, s *shop) {
		late := func(from, to time.Duration) {
			at := s.began.Add(from)
			_, err := s.alarms.Apply(t.Context(), []alarms.Signal{{Ended: s.began.Add(to),
				Raise: &alarms.Alarm{Key: "rule:pump1.motor", Source: "pump1.motor", Severity: alarms.Critical, At: at}}})
			require.NoError(t, err)
			pass(time.Millisecond)
		}
		pass(10 * time.Hour)
		s.alarm("pump1.motor", alarms.Critical, 10*time.Minute)
		late(time.Hour, 2*time.Hour)
		pass(10 * time.Minute)
		_, err := s.alarms.Raise(t.Context(), alarms.Alarm{Key: "rule:pump1.motor", Source: "pump1.motor", Severity: alarms.Critical})
		require.NoError(t, err)
		late(9*time.Hour+50*time.Minute, 9*time.Hour+55*time.Minute)
		pass(5 * time.Hour)
		require.Equal(t, []string{"pump1 1h0m0s-2h0m0s"}, s.failures(), "the newer one goes on")
		_, err = s.alarms.Clear(t.Context(), alarms.ByKey("rule:pump1.motor"), "", "")
		require.NoError(t, err)
		pass(2 * time.Hour)
		require.Equal(t, []string{"pump1 1h0m0s-2h0m0s", "pump1 9h50m0s-15h20m0s"}, s.failures())
	})
}

func TestARestartGoesOnWhereItWas(t *testing.T) {
	run(t, alarmfailures.Options{}, func(t *testing.T, s *shop) {
		s.alarm("pump1.motor", alarms.Critical, 10*time.Minute)
		pass(2 * time.Hour)
		require.Len(t, s.failures(), 1)
		page, err := s.records.Failures(t.Context(), predictive.RecordQuery{})
		require.NoError(t, err)
		require.NoError(t, s.records.DeleteFailure(t.Context(), page.Items[0].ID), "it was a false alarm")

		s.alarm("pump2.motor", alarms.Critical, 10*time.Minute)
		for range 3 { // also within a failure that may go on
			s.end()
			s.start()
			s.alarm("pump2.motor", alarms.Critical, 10*time.Minute)
		}
		s.end()
		s.alarm("pump3.motor", alarms.Critical, 10*time.Minute) // nothing follows the journal
		pass(2 * time.Hour)
		s.start()
		require.Equal(t, []string{"pump2 2h10m0s-2h50m0s", "pump3 2h50m0s-3h0m0s"}, s.failures(), "what was deleted stays so")
	})
}

// The program ended between the record and the position.
func TestAPositionThatWasNotStored(t *testing.T) {
	run(t, alarmfailures.Options{}, func(t *testing.T, s *shop) {
		for _, source := range []string{"pump1.a", "pump1.b", "pump1.a"} {
			s.alarm(source, alarms.Critical, 10*time.Minute)
			pass(2 * time.Hour)
		}
		want := s.failures()
		require.Len(t, want, 3)
		s.end()
		require.NoError(t, s.positions.SetPosition(t.Context(), 0))
		s.start()
		pass(time.Hour)
		require.Equal(t, want, s.failures())
	})
}

func TestAStoreThatHasStopped(t *testing.T) {
	run(t, alarmfailures.Options{}, func(t *testing.T, s *shop) {
		s.alarm("pump1.motor", alarms.Critical, 10*time.Minute)
		s.broken.Store(true)
		for i := range 3 {
			s.alarm(fmt.Sprintf("pump%d.motor", i+2), alarms.Critical, 10*time.Minute)
		}
		pass(24 * time.Hour)
		require.Empty(t, s.failures())
		require.Equal(t, 1, strings.Count(s.log.String(), "retrying"))
		s.broken.Store(false)
		pass(2 * time.Minute)
		require.Len(t, s.failures(), 4)
		require.Contains(t, s.log.String(), "resumed")
	})
}

func TestClockJumps(t *testing.T) {
	run(t, alarmfailures.Options{}, func(t *testing.T, s *shop) {
		s.alarm("pump1.motor", alarms.Critical, 10*time.Minute)
		s.clockOff.Store(int64(-24 * time.Hour))
		pass(3 * time.Hour)
		require.Empty(t, s.failures())
		s.clockOff.Store(0)
		pass(time.Minute)
		require.Equal(t, []string{"pump1 0s-10m0s"}, s.failures())
	})
}

// The position is not stored with each of the many alarms that are no failures.
func TestAFloodOfOtherAlarms(t *testing.T) {
	run(t, alarmfailures.Options{}, func(t *testing.T, s *shop) {
		for i := range 3000 {
			_, err := s.alarms.Raise(t.Context(), alarms.Alarm{Key: fmt.Sprint("rule:", i), Source: "pump1.x", Severity: alarms.Warning})
			require.NoError(t, err)
		}
		position, err := s.positions.Position(t.Context())
		require.NoError(t, err)
		require.Zero(t, position)
		pass(2 * time.Minute)
		position, err = s.positions.Position(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 3000, position)
		s.end()
		s.after = nil
		s.start()
		require.EqualValues(t, 3000, s.after[0])
	})
}

func TestBadOptions(t *testing.T) {
	deps := alarmfailures.Deps{Journal: &shop{}, Records: &shop{}, Equipment: (&shop{}).equipment}
	for want, o := range map[string]alarmfailures.Options{"Keys": {Keys: []string{"["}}, "MergeGap": {MergeGap: -1}, "RetryInterval": {RetryInterval: -1}} {
		_, err := alarmfailures.New(deps, o)
		require.ErrorContains(t, err, "Options."+want)
	}
	for want, d := range map[string]alarmfailures.Deps{"Journal": {Records: deps.Records, Equipment: deps.Equipment},
		"Records": {Journal: deps.Journal, Equipment: deps.Equipment}, "Equipment": {Journal: deps.Journal, Records: deps.Records}} {
		_, err := alarmfailures.New(d, alarmfailures.Options{})
		require.ErrorContains(t, err, "Deps."+want)
	}
}

// Who names the keys of alarms must see why none is recorded.
func TestAnAlarmOfNoEquipmentIsLoggedOnceInAnHour(t *testing.T) {
	run(t, alarmfailures.Options{}, func(t *testing.T, s *shop) {
		logged := func() int {
			return strings.Count(s.log.String(), `level=WARN msg="an alarm is not recorded as a failure: its source belongs to no equipment" source=`)
		}
		for range 5 {
			s.alarm("weather", alarms.Critical, 10*time.Minute)
		}
		require.Equal(t, 1, logged())
		require.Contains(t, s.log.String(), "source=weather key=rule:weather")
		s.alarm("harbour", alarms.Critical, time.Minute)
		s.alarm("door", alarms.Error, time.Minute) // is no failure
		require.Equal(t, 2, logged())
		pass(30 * time.Minute)
		s.alarm("weather", alarms.Critical, time.Minute)
		require.Equal(t, 3, logged())
		require.Empty(t, s.failures())
	})
}
