package predictive

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// ownModel is a model of the caller.
type ownModel struct {
	spec   InputSpec
	input  ModelInput
	answer ModelOutput
	err    error
}

func (m *ownModel) InputSpec() InputSpec { return m.spec }

func (m *ownModel) Predict(_ context.Context, input ModelInput) (ModelOutput, error) {
	m.input = input
	return m.answer, m.err
}

func newOwnModels(failure, rul *ownModel) func(*Deps, *Options) {
	return func(d *Deps, _ *Options) {
		failure.spec.Step, rul.spec.Step = time.Hour, time.Hour
		d.Models = map[ModelType]Model{FailureModel: failure, RULModel: rul}
	}
}

func TestModelOfTheCallerAnswers(t *testing.T) {
	p := newFleet(t, smallFleet)
	sure := 0.8
	failure := &ownModel{spec: InputSpec{Samples: 5}, answer: ModelOutput{Probability: 0.7, Threshold: 0.9, Confidence: &sure}}
	rul := &ownModel{answer: ModelOutput{Days: 3.5, LowDays: 2, HighDays: 5, CapDays: 7}}
	s := newService(t, p, newOwnModels(failure, rul))

	f, err := s.FailurePrediction(t.Context(), "pump02", "pump02.sensor2")
	require.NoError(t, err)
	requireFinite(t, f)
	require.InDelta(t, 0.7, f.FailureProbability, 0)
	require.Equal(t, PredictionNormal, f.Prediction, "the threshold is 0.9")
	require.InDelta(t, sure, f.ConfidenceDetail.Model, 0)
	require.Positive(t, f.ConfidenceDetail.Support)
	require.LessOrEqual(t, f.Confidence, sure)
	require.Equal(t, "sensor2", failure.input.Role)
	at := func(name string) float64 { return failure.input.Values[slices.Index(failure.input.Names, name)] }
	require.Equal(t, FailureFeatures{at("mean"), at("stdDev"), at("trend")}, f.Features)
	require.Positive(t, at("age"))
	newest := failure.input.Samples["pump02.sensor2"]
	require.Len(t, newest, 5)
	require.InDelta(t, at("last"), newest[4].Value, 0)

	r, err := s.RUL(t.Context(), "pump02", "Bearing")
	require.NoError(t, err)
	requireFinite(t, r)
	require.Equal(t, []any{3, 2., 5., 0.5, false}, []any{r.RULDays, r.LowDays, r.HighDays, r.HealthScore, r.Capped})
	require.Equal(t, p.now.Add(84*time.Hour), r.PredictedFailureDate)
	require.Nil(t, rul.input.Samples, "not asked for")
	require.InDelta(t, 1-3./7, r.ConfidenceDetail.Precision, 1e-12)
	rul.answer.CapDays = 0
	r, err = s.RUL(t.Context(), "pump02", "Bearing")
	require.NoError(t, err)
	require.InDelta(t, 3.5/12.5, r.HealthScore, 1e-12, "ten horizons of 30 hours")
	_, err = s.RUL(t.Context(), "pump02", "Flux capacitor")
	require.ErrorIs(t, err, ErrUnknownComponent)
	p.now = p.now.AddDate(1, 0, 0)
	_, err = s.RUL(t.Context(), "pump02", "Bearing")
	require.ErrorIs(t, err, ErrInsufficientData, "nothing is known of the last year")
}

// TestModelOfTheCallerKnowsTheTrainingSet checks that what a model is trained with elsewhere is what it gets.
func TestModelOfTheCallerKnowsTheTrainingSet(t *testing.T) {
	p := newFleet(t, fleetOptions{pumps: 4, lives: 3, sensors: 3, component: "Bearing", conditions: 4})
	failure, rul := &ownModel{}, &ownModel{}
	s := newService(t, p, newOwnModels(failure, rul), func(_ *Deps, o *Options) { o.Features.Step, o.MaxRows = time.Hour, 100_000 })
	at := p.now.Truncate(time.Hour)
	p.now = at
	_, err := s.FailurePrediction(t.Context(), "pump02", "pump02.sensor2")
	require.NoError(t, err)
	_, err = s.RUL(t.Context(), "pump02", "Bearing")
	require.NoError(t, err)
	p.now = at.AddDate(1, 0, 0) // when it is known what ended the life
	require.NoError(t, p.AddFailures(t.Context(), []Failure{{ID: "end", EquipmentID: "pump02", Component: "Bearing", Source: SourceManual, Start: at.Add(2 * time.Hour)}}))
	for unit, input := range map[string]ModelInput{"pump02/pump02.sensor2": failure.input, "pump02/Bearing": rul.input} {
		var b bytes.Buffer
		require.NoError(t, s.Export(t.Context(), input.ModelType, &b))
		rows, err := csv.NewReader(&b).ReadAll()
		require.NoError(t, err)
		row := slices.IndexFunc(rows, func(row []string) bool { return row[0] == unit && row[2] == at.Format(time.RFC3339Nano) })
		require.Positive(t, row)
		require.Greater(t, len(rows[0]), 10)
		require.Equal(t, []string{"stepSeconds", "3600"}, []string{rows[0][4], rows[row][4]})
		for i, name := range rows[0][5:] {
			column := slices.Index(input.Names, name)
			require.GreaterOrEqual(t, column, 0, name)
			want, err := strconv.ParseFloat(rows[row][5+i], 64)
			require.NoError(t, err)
			require.InDelta(t, want, input.Values[column], 1e-9*max(1, math.Abs(want)), name)
		}
	}
}

func TestAnswersOfModelsAreChecked(t *testing.T) {
	p := newFleet(t, smallFleet)
	failure, rul := &ownModel{}, &ownModel{}
	s := newService(t, p, newOwnModels(failure, rul))
	bad := -0.1
	nan, inf := math.NaN(), math.Inf(1)
	for _, answer := range []ModelOutput{{Probability: nan}, {Probability: 1.01}, {Probability: -1}, {Threshold: nan}, {Threshold: 2}, {Confidence: &bad}, {Confidence: &nan}} {
		failure.answer = answer
		_, err := s.FailurePrediction(t.Context(), "pump02", "pump02.sensor2")
		require.ErrorIs(t, err, ErrModelNotAvailable)
		require.ErrorContains(t, err, "cannot be used: its ")
	}
	for _, answer := range []ModelOutput{{Days: nan}, {Days: -1}, {Days: inf, HighDays: inf}, {Days: 5}, {Days: 5, HighDays: 9, LowDays: 6}, {Days: 5, HighDays: nan},
		{Days: 1, HighDays: 1e9}, {CapDays: nan}, {CapDays: -1}} {
		rul.answer = answer
		_, err := s.RUL(t.Context(), "pump02", "Bearing")
		require.ErrorIs(t, err, ErrModelNotAvailable)
		require.ErrorContains(t, err, "cannot be used: its ")
	}
	rul.err = errors.New("SECRET")
	_, err := s.RUL(t.Context(), "pump02", "Bearing")
	require.ErrorIs(t, err, ErrModelNotAvailable)
	require.ErrorIs(t, err, rul.err)
	require.NotContains(t, messageOf(err), "SECRET")
	rul.err = ErrModelNotAvailable.Because("it sleeps")
	_, err = s.RUL(t.Context(), "pump02", "Bearing")
	require.ErrorContains(t, err, "it sleeps")
}

func TestModelsOfTheCallerAreChecked(t *testing.T) {
	p := newPlant()
	for want, models := range map[string]map[ModelType]Model{
		"Deps.Models[x] is not a model type": {"x": &ownModel{}},
		"Deps.Models[RUL] is nil":            {RULModel: nil},
		"needs a step":                       {RULModel: &ownModel{}},
		"asks for -1 samples":                {RULModel: &ownModel{spec: InputSpec{Step: time.Hour, Samples: -1}}},
		"has 65 roles":                       {RULModel: &ownModel{spec: InputSpec{Step: time.Hour, Roles: make([]string, 65)}}},
	} {
		_, err := New(Deps{History: p, Inventory: p, Records: p, Registry: new(MemoryRegistry), Models: models}, Options{})
		require.ErrorContains(t, err, want)
	}
}

func TestModelOfTheCallerChoosesRoles(t *testing.T) {
	p := newFleet(t, smallFleet)
	rul := &ownModel{spec: InputSpec{Roles: []string{"sensor3", "torque"}}, answer: ModelOutput{HighDays: 1}}
	s := newService(t, p, newOwnModels(&ownModel{}, rul))
	r, err := s.RUL(t.Context(), "pump02", "Bearing")
	require.NoError(t, err)
	require.Contains(t, rul.input.Names, "sensor3.mean")
	require.Contains(t, rul.input.Names, "torque.mean")
	require.NotContains(t, rul.input.Names, "sensor1.mean")
	require.True(t, math.IsNaN(rul.input.Values[slices.Index(rul.input.Names, "torque.mean")]))
	require.InDelta(t, 0.5, r.ConfidenceDetail.Support, 0, "one of two roles")
}
