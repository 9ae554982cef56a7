package predictiveapi

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/transport/predictiveapi/internal/gen"
	"github.com/otkit/otkit/transport/remote"
)

const basePath = "/api/v1.0/predictive-maintenance"

// RetrainModel implements POST .../retrain/{modelType}.
func (h *handlers) RetrainModel(ctx context.Context, r gen.RetrainModelRequestObject) (gen.RetrainModelResponseObject, error) {
	modelType, err := h.toTrain(ctx, r.ModelType)
	if err != nil {
		return nil, err
	}
	ctx, done, err := h.wait(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	result, err := h.service.Retrain(ctx, modelType)
	if err != nil {
		return nil, causeOf(ctx, err)
	}
	return gen.RetrainModel200JSONResponse(trainingOf(result)), nil
}

// StartTraining implements POST .../jobs.
func (h *handlers) StartTraining(ctx context.Context, r gen.StartTrainingRequestObject) (gen.StartTrainingResponseObject, error) {
	if err := required("modelType", r.Body.ModelType); err != nil {
		return nil, err
	}
	modelType, err := h.toTrain(ctx, r.Body.ModelType)
	if err != nil {
		return nil, err
	}
	j, err := h.service.StartTraining(ctx, modelType)
	if err != nil {
		return nil, err
	}
	return gen.StartTraining202JSONResponse{Body: jobOf(j), Headers: gen.StartTraining202ResponseHeaders{Location: basePath + "/jobs/" + j.ID}}, nil
}

// toTrain returns the model type that a caller may train. What joins a training that runs is not counted.
func (h *handlers) toTrain(ctx context.Context, text string) (predictive.ModelType, error) {
	modelType, err := predictive.ParseModelType(text)
	if err != nil {
		return "", err
	}
	// A process on this machine has other ways to harm it.
	from, ok := remote.From(ctx)
	if !ok || from.Local {
		return modelType, nil
	}
	jobs, err := h.service.Jobs(ctx)
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(jobs, func(j predictive.Job) bool { return j.ModelType == modelType && j.State == predictive.JobRunning }) {
		return modelType, nil
	}
	return modelType, h.trainings.Allow(from.Host())
}

// ListTrainingJobs implements GET .../jobs.
func (h *handlers) ListTrainingJobs(ctx context.Context, _ gen.ListTrainingJobsRequestObject) (gen.ListTrainingJobsResponseObject, error) {
	list, err := h.service.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	return gen.ListTrainingJobs200JSONResponse(jobsOf(list)), nil
}

// GetTrainingJob implements GET .../jobs/{id}.
func (h *handlers) GetTrainingJob(ctx context.Context, r gen.GetTrainingJobRequestObject) (gen.GetTrainingJobResponseObject, error) {
	j, err := h.service.Job(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return gen.GetTrainingJob200JSONResponse(jobOf(j)), nil
}

// CancelTraining implements DELETE .../jobs/{id}.
func (h *handlers) CancelTraining(ctx context.Context, r gen.CancelTrainingRequestObject) (gen.CancelTrainingResponseObject, error) {
	j, err := h.service.CancelJob(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	return gen.CancelTraining200JSONResponse(jobOf(j)), nil
}

// GetModelMetrics implements GET .../metrics/{modelType}.
func (h *handlers) GetModelMetrics(ctx context.Context, r gen.GetModelMetricsRequestObject) (gen.GetModelMetricsResponseObject, error) {
	modelType, err := predictive.ParseModelType(r.ModelType)
	if err != nil {
		return nil, err
	}
	version, err := predictive.ParseVersion(r.Params.Version)
	if err != nil {
		return nil, err
	}
	leave, err := h.qualities.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	m, err := h.service.Metrics(ctx, modelType, version)
	if err != nil {
		return nil, err
	}
	return gen.GetModelMetrics200JSONResponse(metricsOf(m)), nil
}

// ListModels implements GET .../models/{modelType}.
func (h *handlers) ListModels(ctx context.Context, r gen.ListModelsRequestObject) (gen.ListModelsResponseObject, error) {
	modelType, err := predictive.ParseModelType(r.ModelType)
	if err != nil {
		return nil, err
	}
	leave, err := h.qualities.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	m, err := h.service.Models(ctx, modelType)
	if err != nil {
		return nil, err
	}
	answer := gen.ListModels200JSONResponse{ModelType: string(modelType), Models: make([]gen.ModelVersion, len(m.List)), Damaged: make([]gen.DamagedModel, len(m.Damaged))}
	for i, meta := range m.List {
		answer.Models[i] = modelOf(meta, meta.Version == m.Serving)
	}
	for i, d := range m.Damaged {
		answer.Damaged[i] = gen.DamagedModel{Version: versionOf(d.Version)}
	}
	return answer, nil
}

// DeleteModel implements DELETE .../models/{modelType}/{version}.
func (h *handlers) DeleteModel(ctx context.Context, r gen.DeleteModelRequestObject) (gen.DeleteModelResponseObject, error) {
	modelType, err := predictive.ParseModelType(r.ModelType)
	if err != nil {
		return nil, err
	}
	version, err := predictive.ParseVersion(r.Version)
	if err != nil {
		return nil, err
	}
	if err := h.service.DeleteModel(ctx, modelType, version); err != nil {
		return nil, err
	}
	return gen.DeleteModel204Response{}, nil
}

func modelOf(m predictive.Meta, serving bool) gen.ModelVersion {
	metrics := m.Metrics
	metrics.ModelType, metrics.Version, metrics.TrainedAt = m.ModelType, m.Version, m.TrainedAt
	return gen.ModelVersion{Version: versionOf(m.Version), Serving: serving, Kind: m.Kind, TrainedAt: m.TrainedAt.UTC(), Seed: strconv.FormatUint(m.Seed, 10),
		ExtractorVersion: m.ExtractorVersion, Features: notNull(m.Features), Samples: m.Samples, Positives: m.Positives, Units: m.Units, Lives: m.Lives,
		From: m.From.UTC(), To: m.To.UTC(), DataHash: m.DataHash, Threshold: m.Threshold, HorizonHours: m.Horizon.Hours(), Sha256: m.SHA256, Size: m.Size,
		Library: m.Library, Parent: versionOf(m.Parent), Promoted: m.Default, Metrics: metricsOf(metrics)}
}

func metricsOf(m predictive.Metrics) gen.ModelMetrics {
	c := m.ConfusionMatrix
	answer := gen.ModelMetrics{ModelType: string(m.ModelType), Version: versionOf(m.Version), TrainedAt: m.TrainedAt.UTC(), TestSampleCount: m.TestSampleCount,
		Accuracy: m.Accuracy, Precision: m.Precision, Recall: m.Recall, F1Score: m.F1Score,
		ConfusionMatrix: gen.ConfusionMatrix{TruePositive: c.TruePositive, TrueNegative: c.TrueNegative, FalsePositive: c.FalsePositive, FalseNegative: c.FalseNegative},
		Split:           m.Split, TestLives: m.TestLives, UnfinishedLives: m.UnfinishedLives, Auc: m.AUC, Ece: m.ECE, Brier: m.Brier, Rmse: m.RMSE, Mae: m.MAE, NasaScore: m.NASAScore,
		Coverage: m.Coverage, CapDays: m.CapDays}
	for _, c := range m.Calibration {
		answer.Calibration = append(answer.Calibration, gen.Calibration{Low: c.Low, High: c.High, Predicted: c.Predicted, Observed: c.Observed, Count: c.Count})
	}
	for _, d := range m.Drift {
		answer.Drift = append(answer.Drift, gen.FeatureDrift{Feature: d.Feature, Psi: d.PSI, Ks: d.KS, Missing: d.Missing})
	}
	return answer
}

func trainingOf(t predictive.Training) gen.TrainingResult {
	return gen.TrainingResult{Success: t.Success, ModelType: string(t.ModelType), Version: versionOf(t.Version), TrainedAt: timeOrNull(t.TrainedAt),
		TrainingSamples: t.TrainingSamples, Accuracy: t.Accuracy, Precision: t.Precision, Recall: t.Recall, F1Score: t.F1Score, Message: t.Message}
}

func jobOf(j predictive.Job) gen.TrainingJob {
	answer := gen.TrainingJob{ID: j.ID, ModelType: string(j.ModelType), State: gen.TrainingJobState(j.State), Progress: j.Progress, Stage: j.Stage,
		StartedAt: j.StartedAt.UTC(), EndedAt: timeOrNull(j.EndedAt)}
	if j.Training != nil {
		answer.Training = trainingOf(*j.Training)
	}
	return answer
}

func jobsOf(list []predictive.Job) []gen.TrainingJob {
	answer := make([]gen.TrainingJob, len(list))
	for i, j := range list {
		answer[i] = jobOf(j)
	}
	return answer
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
