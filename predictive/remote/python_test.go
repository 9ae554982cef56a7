package remote_test

import (
	"bufio"
	"context"
	"fmt"
	"iter"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/otkit/otkit/internal/realtest"
	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/predictive/remote"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// wear is the vibration of a bearing that fails every 100 hours, a sample each hour.
type wear struct{}

func (wear) Samples(_ context.Context, tag string, from, to time.Time) iter.Seq2[predictive.Sample, error] {
	return func(yield func(predictive.Sample, error) bool) {
		for hour := max(int(from.Sub(epoch).Hours()), 0); ; hour++ {
			at := epoch.Add(time.Duration(hour) * time.Hour)
			value := 2 + math.Exp(float64(hour%100)/30)/10 + 0.2*math.Sin(float64(hour*hour))
			if !at.Before(to) || !at.Before(from) && !yield(predictive.Sample{Time: at, Value: value}, nil) {
				return
			}
		}
	}
}

// newPlant returns a service of a pump whose failures a model predicts, and a function that sets the hour that it is.
func newPlant(t *testing.T, model predictive.Model) (*predictive.Service, func(hour int)) {
	t.Helper()
	now := epoch.Add(2000 * time.Hour)
	var records predictive.MemoryRecords
	for n := range 20 {
		require.NoError(t, records.AddFailures(t.Context(), []predictive.Failure{{ID: fmt.Sprint(n), EquipmentID: "pump", Source: predictive.SourceManual,
			Start: epoch.Add(time.Duration(100*(n+1)) * time.Hour)}}))
	}
	deps := predictive.Deps{History: wear{}, Records: &records, Registry: new(predictive.MemoryRegistry),
		Inventory: predictive.DriverInventory(func(context.Context) ([]predictive.DriverTag, error) {
			return []predictive.DriverTag{{ID: "pump.vibration", DriverID: "pump"}}, nil
		})}
	if model != nil {
		deps.Models = map[predictive.ModelType]predictive.Model{predictive.FailureModel: model}
	}
	o := predictive.Options{Horizon: 24 * time.Hour, Clock: func() time.Time { return now }}
	o.Features.Step = time.Hour
	s, err := predictive.New(deps, o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close(context.Background())) })
	return s, func(hour int) { now = epoch.Add(time.Duration(hour) * time.Hour) }
}

// startPython trains a model in Python with the training set, serves it, and returns its URL and process.
func startPython(t *testing.T) (url string, process *os.Process) {
	t.Helper()
	python := realtest.Need(t, "python3")
	s, _ := newPlant(t, nil)
	file, err := os.Create(filepath.Join(t.TempDir(), "training-set.csv"))
	require.NoError(t, err)
	require.NoError(t, s.Export(t.Context(), predictive.FailureModel, file))
	require.NoError(t, file.Close())
	cmd := exec.Command(python, "testdata/server.py", file.Name(), "24")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return "http://127.0.0.1:" + strings.TrimSpace(port), cmd.Process
}

// TestModelInPython trains elsewhere what is exported here, and asks it.
func TestModelInPython(t *testing.T) {
	url, _ := startPython(t)
	model := newModel(t, remote.Options{URL: url, Token: "T0ken"})
	s, set := newPlant(t, model)
	for hour, want := range map[int]string{2030: predictive.PredictionNormal, 2060: predictive.PredictionNormal, 2090: predictive.PredictionFailure,
		2097: predictive.PredictionFailure} {
		set(hour)
		f, err := s.FailurePrediction(t.Context(), "pump", "pump.vibration")
		require.NoError(t, err)
		require.Equal(t, want, f.Prediction, "%d: %+v", hour, f)
		require.Positive(t, f.Confidence)
	}
	_, err := model.Predict(t.Context(), predictive.ModelInput{ModelType: predictive.FailureModel, Names: []string{"other"}, Values: []float64{1}})
	require.ErrorIs(t, err, predictive.ErrModelNotAvailable, "Python writes NaN")
	_, err = newModel(t, remote.Options{URL: url}).Predict(t.Context(), predictive.ModelInput{ModelType: predictive.FailureModel})
	require.ErrorContains(t, err, "answered 401")
}
