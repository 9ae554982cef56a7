package predictive

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var standardFleet = fleetOptions{pumps: 8, lives: 4, sensors: 3, component: "Bearing"}

func TestFailureModel(t *testing.T) {
	p := newFleet(t, standardFleet)
	s := newService(t, p)
	result, err := s.Retrain(t.Context(), FailureModel)
	require.NoError(t, err)
	require.True(t, result.Success)
	require.Equal(t, 1, result.Version)
	m, err := s.Metrics(t.Context(), FailureModel, 0)
	require.NoError(t, err)
	checkMetrics(t, m, result)
	require.Greater(t, *m.AUC, 0.95)
	require.Less(t, *m.ECE, 0.06)
	require.NotEmpty(t, m.Calibration)
	require.Nil(t, m.RMSE)

	failures, err := p.Failures(t.Context(), RecordQuery{EquipmentID: "pump03"})
	require.NoError(t, err)
	p.now = failures.Items[1].Start.Add(-4 * time.Hour)
	soon, err := s.FailurePrediction(t.Context(), "pump03", "pump03.sensor2")
	require.NoError(t, err)
	p.now = failures.Items[0].End.Add(40 * time.Hour)
	young, err := s.FailurePrediction(t.Context(), "pump03", "pump03.sensor2")
	require.NoError(t, err)
	require.Greater(t, soon.FailureProbability, 0.7)
	require.Equal(t, PredictionFailure, soon.Prediction)
	require.Less(t, young.FailureProbability, 0.2)
	require.Equal(t, PredictionNormal, young.Prediction)
	for _, f := range []FailurePrediction{soon, young} {
		require.Greater(t, f.Confidence, 0.5)
		require.InDelta(t, 1, f.ConfidenceDetail.Model, 0)
		require.NotZero(t, f.Features.Mean)
		require.Positive(t, f.Features.StdDev)
		require.InDelta(t, 30, f.HorizonHours, 0)
	}
	constant, err := s.FailurePrediction(t.Context(), "pump01", "pump01.sensor1") // simfleet's first sensor never changes
	require.NoError(t, err)
	require.Zero(t, constant.Confidence, "it tells nothing")
}

func TestRULModel(t *testing.T) {
	p := newFleet(t, standardFleet)
	s := newService(t, p)
	result, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	m, err := s.Metrics(t.Context(), RULModel, 1)
	require.NoError(t, err)
	checkMetrics(t, m, result)
	require.Less(t, *m.RMSE, 0.2**m.CapDays, "a quarter of the longest life is what the mean would reach")
	require.InDelta(t, 0.9, *m.Coverage, 0.1)
	require.Nil(t, m.AUC)

	failures, err := p.Failures(t.Context(), RecordQuery{EquipmentID: "pump05"})
	require.NoError(t, err)
	end := failures.Items[1].Start
	p.now = end.Add(-10 * time.Hour)
	soon, err := s.RUL(t.Context(), "pump05", "Bearing")
	require.NoError(t, err)
	require.WithinDuration(t, end, soon.PredictedFailureDate, 15*time.Hour)
	require.Less(t, soon.HealthScore, 0.3)
	require.Zero(t, soon.RULDays)
	require.False(t, soon.Capped)
	require.Contains(t, soon.Recommendation, "eplace")
	p.now = failures.Items[0].End.Add(40 * time.Hour)
	young, err := s.RUL(t.Context(), "pump05", "Bearing")
	require.NoError(t, err)
	require.Greater(t, young.HealthScore, 0.8)
	require.Contains(t, young.Recommendation, "No action")
	for _, r := range []RUL{soon, young} {
		hours := r.PredictedFailureDate.Sub(r.PredictedAt).Hours()
		require.LessOrEqual(t, r.LowDays, hours/24)
		require.GreaterOrEqual(t, r.HighDays, hours/24-1e-9)
		require.GreaterOrEqual(t, r.LowDays, 0.)
		require.LessOrEqual(t, r.HighDays, *m.CapDays+1e-9)
	}
	require.NoError(t, p.AddReplacements(t.Context(), []Replacement{{ID: "seal", EquipmentID: "pump05", Component: "Seal", At: epoch, Reason: ReasonPreventive}}))
	other, err := s.RUL(t.Context(), "pump05", "Seal")
	require.True(t, err == nil || errors.Is(err, ErrInsufficientData), err)
	require.LessOrEqual(t, other.ConfidenceDetail.Model, 0.5, "the model knows bearings only")
}

// TestOperatingConditionsAreFound uses pumps whose values tell their load and not their wear, unless the setting is used.
func TestOperatingConditionsAreFound(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 8, lives: 4, sensors: 4, component: "Bearing", conditions: 4})
	s := newService(t, p)
	for _, modelType := range ModelTypes() {
		_, err := s.Retrain(t.Context(), modelType)
		require.NoError(t, err)
	}
	m, err := s.Metrics(t.Context(), RULModel, 0)
	require.NoError(t, err)
	require.Less(t, *m.RMSE, 0.2**m.CapDays)
	m, err = s.Metrics(t.Context(), FailureModel, 0)
	require.NoError(t, err)
	require.Greater(t, *m.AUC, 0.9)
	failures, err := p.Failures(t.Context(), RecordQuery{EquipmentID: "pump02"})
	require.NoError(t, err)
	p.now = failures.Items[2].Start.Add(-3 * time.Hour)
	f, err := s.FailurePrediction(t.Context(), "pump02", "pump02.sensor2")
	require.NoError(t, err)
	require.Equal(t, PredictionFailure, f.Prediction)
	r, err := s.RUL(t.Context(), "pump02", "Bearing")
	require.NoError(t, err)
	require.Less(t, r.HealthScore, 0.3)
}

// TestPreventiveReplacementIsNoFailure compares what is learned from bearings that are renewed in time with what would be learned if they had failed.
func TestPreventiveReplacementIsNoFailure(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 6, lives: 4, sensors: 2, component: "Bearing", spares: 8})
	p.now = epoch.Add(700 * time.Hour)
	ask := func(reader RecordReader) float64 {
		t.Helper()
		s := newService(t, p, func(d *Deps, o *Options) { d.Records, o.MinFailures = reader, 6 })
		_, err := s.Retrain(t.Context(), FailureModel)
		require.NoError(t, err)
		p.now = epoch.Add(80 * time.Hour) // the first bearing of a spare pump is soon renewed
		defer func() { p.now = epoch.Add(700 * time.Hour) }()
		f, err := s.FailurePrediction(t.Context(), "spare01", "spare01.sensor2")
		require.NoError(t, err)
		return f.FailureProbability
	}
	require.Less(t, ask(p), 0.2)
	require.Greater(t, ask(allFailed{p}), 0.4)
}

// allFailed takes each replacement for that of a failed component.
type allFailed struct{ *plant }

func (a allFailed) Replacements(ctx context.Context, q RecordQuery) (Page[Replacement], error) {
	page, err := a.plant.Replacements(ctx, q)
	for i := range page.Items {
		page.Items[i].Reason = ReasonFailure
	}
	return page, err
}

func TestOneMachineIsJudgedByLaterLives(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 1, lives: 14, sensors: 3, component: "Bearing"})
	s := newService(t, p)
	for _, modelType := range ModelTypes() {
		_, err := s.Retrain(t.Context(), modelType)
		require.NoError(t, err)
		m, err := s.Metrics(t.Context(), modelType, 0)
		require.NoError(t, err)
		require.Equal(t, SplitTime, m.Split)
		require.Equal(t, 4, m.TestLives, "the newest 30%")
		meta, _, err := s.deps.Registry.Get(t.Context(), modelType, 0)
		require.NoError(t, err)
		require.Equal(t, 1, meta.Units)
		require.True(t, meta.To.Before(p.now.AddDate(0, 0, -20)), "what judges is not learned from")
	}
}

// checkMetrics checks what holds for the metrics of any model.
func checkMetrics(t *testing.T, m Metrics, r Training) {
	t.Helper()
	requireFinite(t, m)
	requireFinite(t, r)
	c := m.ConfusionMatrix
	require.Equal(t, m.TestSampleCount, c.TruePositive+c.TrueNegative+c.FalsePositive+c.FalseNegative)
	require.Positive(t, m.TestSampleCount)
	require.InDelta(t, float64(c.TruePositive+c.TrueNegative)/float64(m.TestSampleCount), m.Accuracy, 1e-12)
	require.Equal(t, []float64{m.Accuracy, m.Precision, m.Recall, m.F1Score}, []float64{r.Accuracy, r.Precision, r.Recall, r.F1Score})
	require.Equal(t, m.Version, r.Version)
	require.Greater(t, m.F1Score, 0.7)
}

func TestModelsAreTheSameOnAnyNumberOfProcessors(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 4, lives: 4, sensors: 2, component: "Bearing"})
	for _, modelType := range ModelTypes() {
		var models [2][]byte
		for i, processors := range []int{1, 4} {
			before := runtime.GOMAXPROCS(processors)
			s := newService(t, p, func(_ *Deps, o *Options) { o.Seed = 3 })
			_, err := s.Retrain(t.Context(), modelType)
			runtime.GOMAXPROCS(before)
			require.NoError(t, err)
			_, models[i], err = s.deps.Registry.Get(t.Context(), modelType, 0)
			require.NoError(t, err)
		}
		require.True(t, bytes.Equal(models[0], models[1]), modelType)
		require.Less(t, len(models[0]), 1<<20*4)
	}
}

func TestTrainingTellsWhatIsMissing(t *testing.T) {
	few := newFleet(t, fleetOptions{pumps: 2, lives: 1, sensors: 3, component: "Bearing"})
	untagged := newFleet(t, standardFleet)
	untagged.tags = map[string][]Tag{"pump01": nil}
	broken := newFleet(t, standardFleet)
	broken.fail = errors.New("disk on fire")
	for _, test := range []struct {
		name, want string
		plant      *plant
	}{{"empty", "no equipment has tags and failures", newPlant()}, {"few", "needed", few}, {"untagged", "no", untagged}, {"broken", "training failed", broken}} {
		for _, modelType := range ModelTypes() {
			s := newService(t, test.plant)
			result, err := s.Retrain(t.Context(), modelType)
			require.ErrorIs(t, err, ErrTrainingFailed, test.name)
			require.False(t, result.Success)
			require.Contains(t, result.Message, test.want, test.name)
			require.NotContains(t, result.Message, "fire", "no inner texts")
			_, err = s.Metrics(t.Context(), modelType, 0)
			require.ErrorIs(t, err, ErrModelNotFound)
		}
	}
	_, err := newService(t, few).Retrain(t.Context(), "Weather")
	require.ErrorIs(t, err, ErrModelType)
}

func TestEquipmentsWithoutCommonRoles(t *testing.T) {
	p := newFleet(t, standardFleet)
	for _, list := range p.tags {
		for i := range list {
			list[i].Role = list[i].ID
		}
	}
	s := newService(t, p)
	result, err := s.Retrain(t.Context(), RULModel)
	require.ErrorIs(t, err, ErrTrainingFailed)
	require.Contains(t, result.Message, "no roles in common")
	require.ErrorContains(t, s.Export(t.Context(), RULModel, io.Discard), "no roles in common")
}

func TestAHorizonThatIsLongerThanTheLivesIsTold(t *testing.T) {
	p := newFleet(t, standardFleet)
	for horizon, told := range map[time.Duration]bool{0: false, 1000 * time.Hour: true} {
		r, err := newService(t, p, func(_ *Deps, o *Options) { o.Horizon = cmp.Or(horizon, o.Horizon) }).Retrain(t.Context(), RULModel)
		require.NoError(t, err)
		require.Equal(t, told, strings.Contains(r.Message, "the horizon of 1000 hours is longer than the lives"), r.Message)
	}
}

func TestFewLivesAreLearnedByALine(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 3, lives: 2, sensors: 4, component: "Bearing"})
	s := newService(t, p)
	_, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	b, _, err := s.model(t.Context(), RULModel)
	require.NoError(t, err)
	require.Len(t, b.predictors, 1)
	require.NotNil(t, b.predictors[0].ridge)
	r, err := s.RUL(t.Context(), "pump01", "Bearing")
	require.NoError(t, err)
	requireFinite(t, r)
}

// TestNoTestRowIsKnown checks the division of rows: no equipment, or no time, on both sides.
func TestNoTestRowIsKnown(t *testing.T) {
	for _, o := range []fleetOptions{{pumps: 1, lives: 12, sensors: 3, spares: 2}, {pumps: 8, lives: 2, sensors: 3}, {pumps: 12, lives: 1, sensors: 3}} {
		p := newFleet(t, o)
		p.now = p.now.AddDate(1, 0, 0)
		s := newService(t, p)
		f, err := s.fleet(t.Context())
		require.NoError(t, err)
		tr := &trainer{s: s, fleet: f, bundle: bundle{modelType: FailureModel, horizon: 30}}
		members, roles := tr.failing()
		pooled, err := tr.divide(t.Context(), tr.planPooled(members, roles))
		require.NoError(t, err)
		pooled.maxRows = 10_000
		tab, err := s.build(t.Context(), pooled)
		require.NoError(t, err)
		how, train, test := pooled.division.how, tab.all().only(pooled.division.trains), tab.all().only(pooled.division.tests)
		require.NotEmpty(t, train.rows)
		require.NotEmpty(t, test.rows)
		units := make(map[string]bool)
		var last time.Time
		for i := range train.rows {
			units[tab.unit(train.Group(i))] = true
			last = laterOf(last, tab.lives[train.Group(i)].end)
		}
		for i := range test.rows {
			l := tab.lives[test.Group(i)]
			require.True(t, l.failed || test.Label(i) > 30, "not known to be no failure")
			if how == SplitTime {
				require.True(t, l.failed || !test.Time(i).Before(last), "%v: a row of the test is of %s, before %s", o, test.Time(i), last)
				require.False(t, l.failed && l.from.Before(last), "%v: a life of the test began at %s, before %s", o, l.from, last)
			} else {
				require.False(t, units[l.equipment], "%v: %s", o, l.equipment)
			}
		}
		if o.pumps == 1 {
			require.Equal(t, SplitTime, how)
		}
		for _, f := range train.folds(1, tab.unit) {
			known := make(map[string]bool)
			for i := range f.train.rows {
				known[fmt.Sprint(f.train.Group(i))] = true
			}
			for i := range f.test.rows {
				require.False(t, known[fmt.Sprint(f.test.Group(i))])
			}
		}
	}
}

func TestPlannedDowntimeIsNotLearnedFrom(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 4, lives: 3, sensors: 3, component: "Bearing"})
	count := func(d Downtime) int {
		s := newService(t, p, func(deps *Deps, _ *Options) { deps.Downtime = d })
		var b bytes.Buffer
		require.NoError(t, s.Export(t.Context(), RULModel, &b))
		list, err := csv.NewReader(&b).ReadAll()
		require.NoError(t, err)
		return len(list)
	}
	all := count(nil)
	stopped := count(downtime{{epoch.Add(100 * time.Hour), epoch.Add(150 * time.Hour)}})
	require.Less(t, stopped, all-100, "50 hours of 4 pumps")
}

type downtime []Interval

func (d downtime) Downtimes(context.Context, string, time.Time, time.Time) ([]Interval, error) {
	return d, nil
}

func TestMemoryOfTrainingIsBounded(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 4, lives: 4, sensors: 3, component: "Bearing"})
	s := newService(t, p, func(_ *Deps, o *Options) { o.MaxRows = 500 })
	result, err := s.Retrain(t.Context(), RULModel)
	require.NoError(t, err)
	require.LessOrEqual(t, result.TrainingSamples, 500)
	result, err = newService(t, p, func(_ *Deps, o *Options) { o.MaxRows = 100 }).Retrain(t.Context(), FailureModel)
	require.ErrorIs(t, err, ErrTrainingFailed)
	require.Contains(t, result.Message, "40 of each needed; one of 32 rows is used, to bound the memory")
}

// leaving is a reader that gives up at the first bytes.
type leaving context.CancelFunc

func (l leaving) Write(p []byte) (int, error) {
	l()
	return len(p), nil
}

func TestExportEndsWithItsCaller(t *testing.T) {
	s := newService(t, newFleet(t, smallFleet))
	ctx, cancel := context.WithCancel(t.Context())
	require.ErrorIs(t, s.Export(ctx, RULModel, leaving(cancel)), context.Canceled)
	require.NoError(t, s.Export(t.Context(), RULModel, io.Discard))
}

func TestExport(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 3, lives: 2, sensors: 3, component: "Bearing"})
	s := newService(t, p)
	for modelType, unit := range map[ModelType]string{FailureModel: "pump01/pump01.sensor2", RULModel: "pump01/Bearing"} {
		var b bytes.Buffer
		require.NoError(t, s.Export(t.Context(), modelType, &b))
		rows, err := csv.NewReader(&b).ReadAll()
		require.NoError(t, err)
		require.Equal(t, []string{"unit", "life", "time", "label"}, rows[0][:4])
		require.True(t, slices.ContainsFunc(rows, func(r []string) bool { return r[0] == unit }), modelType)
		require.NotContains(t, fmt.Sprint(rows), "NaN")
	}
	require.ErrorIs(t, s.Export(t.Context(), "x", nil), ErrModelType)
	require.ErrorIs(t, newService(t, newPlant()).Export(t.Context(), RULModel, nil), ErrInsufficientData)
}

// Failures from before the history begins are none to learn from.
func TestLivesWithoutSamplesAreNotCounted(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 1, lives: 12, sensors: 2, component: "Bearing"})
	failures, err := p.Failures(t.Context(), RecordQuery{})
	require.NoError(t, err)
	begins := failures.Items[8].Start.Add(time.Hour)
	for tag, list := range p.samples {
		for len(list) > 0 && list[0].Time.Before(begins) {
			list = list[1:]
		}
		p.samples[tag] = list
	}
	for _, modelType := range ModelTypes() {
		s := newService(t, p, func(_ *Deps, o *Options) { o.MinFailures = 10 })
		r, err := s.Retrain(t.Context(), modelType)
		require.ErrorIs(t, err, ErrTrainingFailed)
		require.Contains(t, r.Message, "3 lives that ended by a failure")
	}
}
