package demo

import (
	"context"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/history"
	"github.com/otkit/otkit/tags/tagstest"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestPumpIsADriver(t *testing.T) {
	tagstest.TestDriver(t, tagstest.DriverHarness{
		New:      func(testing.TB) tags.Driver { return &pumpDriver{pump: pump{1}, now: time.Now} },
		Readable: []tags.Point{{Address: "vibration", Type: tags.Float}, {Address: "flow", Type: tags.Float}},
		Refused:  []tags.WriteItem{{Point: tags.Point{Address: "flow", Type: tags.Float}, Value: tags.FloatValue(1)}},
		Missing:  tags.Point{Address: "colour", Type: tags.Float},
	})
	names := make(map[string]bool)
	for _, p := range allPumps() {
		for _, tag := range p.tags() {
			require.NoError(t, tag.Validate())
			names[tag.Name] = true
		}
	}
	require.Len(t, names, pumps*len(pumpSignals))
}

// What a pump does follows from the time alone, so that the plant goes on where its past has ended, also after a restart.
func TestPumpGoesOnAfterItsPast(t *testing.T) {
	store := history.NewMemory()
	samples, err := fillPumpHistory(t.Context(), allPumps(), store, noon)
	require.NoError(t, err)
	require.Equal(t, pumps*len(pumpSignals)*31*24*12, samples)
	again, err := fillPumpHistory(t.Context(), allPumps(), store, noon.Add(time.Minute))
	require.NoError(t, err)
	require.Equal(t, pumps*len(pumpSignals), again, "the past is made once")
	again, err = fillPumpHistory(t.Context(), allPumps(), store, noon.AddDate(0, 0, 3))
	require.NoError(t, err)
	require.Equal(t, pumps*len(pumpSignals)*(3*24*12-1), again, "the pumps went on")

	list := slices.Collect(samplesOf(t, store, "pump3.vibration"))
	last := list[len(list)-1]
	for _, p := range allPumps() {
		now := noon
		d := &pumpDriver{pump: p, now: func() time.Time { return now }}
		require.NoError(t, d.Connect(t.Context()))
		read := func(at time.Time) float64 {
			now = at
			var out [1]tags.Reading
			require.NoError(t, d.Read(t.Context(), []tags.Point{{Address: "vibration", Type: tags.Float}}, out[:]))
			v, _ := out[0].Value.Float()
			return v
		}
		if p.number == 3 {
			require.Equal(t, last.Value, tags.FloatValue(read(last.Time)))
		}
		failures, _ := p.records(noon, noon.AddDate(0, 2, 0))
		require.Greater(t, len(failures), 8, p.id())
		for _, f := range failures {
			require.Greater(t, read(f.Start.Add(-time.Minute)), 3., "%s is worn", f.ID)
			require.Zero(t, read(f.Start.Add(time.Minute)), "%s: down", f.ID)
			if f.End.IsZero() { // its repair is not done yet
				continue
			}
			if _, down := p.damage(seal, f.End); !down {
				if _, down = p.damage(bearing, f.End); !down {
					require.Positive(t, read(f.End), f.ID)
				}
			}
		}
	}
}

func TestPumpRecordsAreAddedOnce(t *testing.T) {
	var store predictive.MemoryRecords
	add := func(at time.Time) int {
		n, err := addPumpRecords(t.Context(), allPumps(), &store, at)
		require.NoError(t, err)
		return n
	}
	all := func() ([]predictive.Failure, []predictive.Replacement) {
		failures, err := store.Failures(t.Context(), predictive.RecordQuery{})
		require.NoError(t, err)
		replacements, err := store.Replacements(t.Context(), predictive.RecordQuery{})
		require.NoError(t, err)
		return failures.Items, replacements.Items
	}
	require.Greater(t, add(noon), 60)
	require.Zero(t, add(noon))
	failures, replacements := all()
	require.Greater(t, len(failures), 30)
	reasons := make(map[predictive.Reason]int)
	for _, r := range replacements {
		require.NoError(t, r.Validate())
		require.False(t, r.At.After(noon))
		reasons[r.Reason]++
	}
	require.GreaterOrEqual(t, reasons[predictive.ReasonPreventive], 3)
	for _, p := range allPumps() { // the first life has a beginning
		for _, component := range []string{"Bearing", "Seal"} {
			require.True(t, slices.ContainsFunc(replacements, func(r predictive.Replacement) bool {
				return r.EquipmentID == p.id() && r.Component == component && r.At.Before(noon.Add(-HistoryAge))
			}), "%s of %s", component, p.id())
		}
	}

	// What is deleted stays away, and what another adds does not stop the demo's own.
	require.NoError(t, store.DeleteFailure(t.Context(), failures[0].ID))
	require.NoError(t, store.AddFailures(t.Context(), []predictive.Failure{{ID: "mine", EquipmentID: "pump1", Source: predictive.SourceManual, Start: noon.AddDate(1, 0, 0)}}))
	require.Positive(t, add(noon.AddDate(0, 0, 10)))
	later, _ := all()
	require.NotContains(t, later, failures[0])
	require.Greater(t, len(later), len(failures))
	seen := make(map[string]bool)
	for _, f := range later {
		require.NoError(t, f.Validate())
		require.False(t, seen[f.ID])
		seen[f.ID] = true
	}
	// Step by step the records are those of one call.
	var steps predictive.MemoryRecords
	for at := noon; !at.After(noon.AddDate(0, 0, 10)); at = at.Add(7 * time.Minute) {
		_, err := addPumpRecords(t.Context(), allPumps(), &steps, at)
		require.NoError(t, err)
	}
	_, err := addPumpRecords(t.Context(), allPumps(), &steps, noon.AddDate(0, 0, 10))
	require.NoError(t, err)
	page, err := steps.Failures(t.Context(), predictive.RecordQuery{})
	require.NoError(t, err)
	require.Len(t, page.Items, len(later), "with the one that was deleted, without the one that was added")
}

// outdated is a store that another engine has filled since it was read.
type outdated struct{ predictive.MemoryRecords }

func (*outdated) Failures(context.Context, predictive.RecordQuery) (predictive.Page[predictive.Failure], error) {
	return predictive.Page[predictive.Failure]{}, nil
}

func (*outdated) Replacements(context.Context, predictive.RecordQuery) (predictive.Page[predictive.Replacement], error) {
	return predictive.Page[predictive.Replacement]{}, nil
}

func TestTwoEnginesRecordThePumps(t *testing.T) {
	var store outdated
	for range 2 {
		_, err := addPumpRecords(t.Context(), allPumps(), &store, noon)
		require.NoError(t, err)
	}
}

func samplesOf(t *testing.T, store history.Store, tag string) iter.Seq[history.Sample] {
	return func(yield func(history.Sample) bool) {
		for s, err := range store.Range(t.Context(), tag, time.Time{}, noon.AddDate(1, 0, 0)) {
			require.NoError(t, err)
			if !yield(s) {
				return
			}
		}
	}
}
