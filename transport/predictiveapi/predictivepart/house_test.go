package predictivepart_test

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"math"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/alarms"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/alarmfailures"
	"github.com/otkit/otkit/predictive/monitor"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/transport/alarmsapi/alarmspart"
	"github.com/otkit/otkit/transport/predictiveapi/predictivepart"
	"github.com/otkit/otkit/transport/server"
	"github.com/otkit/otkit/transport/tagsapi/tagspart"
)

// wave is a history with a sample each minute that is as those before, but for a fault while there is one.
type wave struct {
	mu    sync.Mutex
	fault time.Time // zero for none
}

func (w *wave) set(fault time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fault = fault
}

func (w *wave) Samples(_ context.Context, _ string, from, to time.Time) iter.Seq2[predictive.Sample, error] {
	w.mu.Lock()
	fault := w.fault
	w.mu.Unlock()
	return func(yield func(predictive.Sample, error) bool) {
		for at := from.Truncate(time.Minute); at.Before(to); at = at.Add(time.Minute) {
			x := float64(at.Unix() / 60)
			s := predictive.Sample{Time: at, Value: 50 + 3*math.Sin(x*1.7) + 2*math.Sin(x*x)}
			if !fault.IsZero() && !at.Before(fault) {
				s.Value += 500
			}
			if !at.Before(from) && !yield(s, nil) {
				return
			}
		}
	}
}

// house is a server's parts that know of predictions. It is for use within a bubble.
type house struct {
	tags    *tagspart.Tags
	alarms  *alarmspart.Alarms
	part    *predictivepart.Predictive
	history wave
	log     bytes.Buffer
}

var ovenAlone = predictive.DriverInventory(func(context.Context) ([]predictive.DriverTag, error) {
	return []predictive.DriverTag{{ID: "oven.temp", DriverID: "oven"}}, nil
})

// inHouse runs a test in a house in which some alarms are active already.
func inHouse(t *testing.T, o predictivepart.Options, test func(t *testing.T, h *house), active ...alarms.Alarm) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		h := &house{}
		var err error
		h.tags, err = tagspart.New(t.Context(), tagspart.Options{ModelPath: filepath.Join(t.TempDir(), "model.json")})
		require.NoError(t, err)
		h.alarms, err = alarmspart.New(t.Context(), h.tags, alarmspart.Options{})
		require.NoError(t, err)
		o.History, o.Logger = &h.history, slog.New(slog.NewTextHandler(&h.log, nil))
		if len(o.Tags.Exclude) == 0 { // else those of the house
			o.Inventory = ovenAlone
		}
		h.part, err = predictivepart.New(t.Context(), h.tags, h.alarms, o)
		require.NoError(t, err)
		for _, a := range active {
			_, err := h.alarms.Service().Raise(t.Context(), a)
			require.NoError(t, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var jobs sync.WaitGroup
		for _, job := range h.part.Part().Jobs {
			jobs.Go(func() { job(ctx) })
		}
		defer func() {
			cancel()
			jobs.Wait()
			require.NoError(t, server.CloseParts(context.Background(), h.tags.Part(), h.alarms.Part(), h.part.Part()))
		}()
		test(t, h)
	})
}

func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// quality returns the quality of a tag, empty if there is none.
func (h *house) quality(name string) string {
	s, ok := h.tags.Current(name)
	if !ok {
		return ""
	}
	return s.Sample.Quality.String()
}

func TestResultsAreTagsAndAlarms(t *testing.T) {
	o := predictivepart.Options{Monitor: monitor.Options{Interval: time.Minute, Anomalies: []string{"*"}, Positive: 2, Results: 3}}
	inHouse(t, o, func(t *testing.T, h *house) {
		score := "predictive.oven.temp.anomalyScore"
		pass(time.Minute)
		require.Equal(t, tags.Good.String(), h.quality(score), h.log.String())
		require.Empty(t, h.quality("predictive.oven.oven.temp.failureProbability"), "no model was trained")
		pass(10 * time.Minute)
		list, err := h.alarms.Service().Active(t.Context())
		require.NoError(t, err)
		require.Empty(t, list)

		h.history.set(time.Now())
		pass(5 * time.Minute)
		list, err = h.alarms.Service().Active(t.Context())
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, "predictive-anomaly:oven", list[0].Key)
		require.Contains(t, list[0].Message, "oven.temp is 5")
		require.Empty(t, h.log.String())
	})
}

func TestWithoutTheMonitor(t *testing.T) {
	o := predictivepart.Options{WithoutMonitor: true, Monitor: monitor.Options{Anomalies: []string{"*"}}}
	inHouse(t, o, func(t *testing.T, h *house) {
		pass(time.Hour)
		require.Empty(t, h.quality("predictive.oven.temp.anomalyScore"))
	})
}

func TestAlarmsEndWithTheMonitor(t *testing.T) {
	inHouse(t, predictivepart.Options{WithoutMonitor: true}, func(t *testing.T, h *house) {
		pass(time.Minute)
		list, err := h.alarms.Service().Active(t.Context())
		require.NoError(t, err)
		require.Empty(t, list)
	}, alarms.Alarm{Key: "predictive-anomaly:oven", Source: "oven", Severity: alarms.Warning, Labels: map[string]string{"equipmentId": "oven", "tags": "oven.temp"}})
}

func TestCriticalAlarmsAreRecordedAsFailures(t *testing.T) {
	for name, o := range map[string]predictivepart.Options{"the tags of the house": {Tags: predictivepart.InventoryOptions{Exclude: []string{"door"}}}, "another inventory": {}} {
		t.Run(name, func(t *testing.T) { testCriticalAlarms(t, o) })
	}
}

func testCriticalAlarms(t *testing.T, o predictivepart.Options) {
	o.Failures.Keys = []string{"rule:*"}
	inHouse(t, o, func(t *testing.T, h *house) {
		require.NoError(t, h.tags.Engine().DefineTags(tag("oven", "oven.temp"), tag("door", "door.open")))
		for _, source := range []string{"oven.temp", "oven", "door", "door.open", "nothing"} {
			key := "rule:" + source
			_, err := h.alarms.Service().Raise(t.Context(), alarms.Alarm{Key: key, Source: source, Severity: alarms.Critical})
			require.NoError(t, err)
			pass(time.Minute)
			_, err = h.alarms.Service().Clear(t.Context(), alarms.ByKey(key), "", "")
			require.NoError(t, err)
		}
		pass(2 * time.Hour)
		page, err := h.part.Records().Failures(t.Context(), predictive.RecordQuery{})
		require.NoError(t, err)
		require.Len(t, page.Items, 2)
		for _, f := range page.Items {
			require.Equal(t, "oven", f.EquipmentID)
			require.Equal(t, time.Minute, f.End.Sub(f.Start))
		}
	})
}

// engineRecords are records that several engines use.
type engineRecords struct {
	predictive.MemoryRecords
	alarmfailures.MemoryPositions // of an engine alone
	of                            map[string]*alarmfailures.MemoryPositions
}

func (r *engineRecords) PositionsOf(engine string) alarmfailures.Positions { return r.of[engine] }

func TestEnginesReadTheJournalForThemselves(t *testing.T) {
	r := &engineRecords{of: map[string]*alarmfailures.MemoryPositions{"one": {}, "other": {}}}
	inHouse(t, predictivepart.Options{Records: r, Engine: "one"}, func(t *testing.T, h *house) {
		_, err := h.alarms.Service().Raise(t.Context(), alarms.Alarm{Key: "rule:a", Source: "of another engine", Severity: alarms.Critical})
		require.NoError(t, err)
		_, err = h.alarms.Service().Clear(t.Context(), alarms.ByKey("rule:a"), "", "")
		require.NoError(t, err)
		pass(2 * time.Hour)
		for name, p := range map[string]alarmfailures.Positions{"one": r.of["one"], "other": r.of["other"], "shared": r} {
			position, err := p.Position(t.Context())
			require.NoError(t, err)
			require.Equal(t, name == "one", position > 0, name)
		}
	})
}
