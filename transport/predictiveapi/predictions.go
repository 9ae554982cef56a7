package predictiveapi

import (
	"context"
	"strings"

	"github.com/otkit/otkit/predictive"
	"github.com/otkit/otkit/transport/predictiveapi/internal/gen"
)

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// PredictFailure implements GET .../failure-prediction/{equipmentId}/{tagId}.
func (h *handlers) PredictFailure(ctx context.Context, r gen.PredictFailureRequestObject) (gen.PredictFailureResponseObject, error) {
	if err := required("equipmentId", r.EquipmentID, "tagId", r.TagID); err != nil {
		return nil, err
	}
	leave, err := h.predictions.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	p, err := h.service.FailurePrediction(ctx, r.EquipmentID, r.TagID)
	if err != nil {
		return nil, err
	}
	return gen.PredictFailure200JSONResponse{EquipmentID: p.EquipmentID, TagID: p.TagID, FailureProbability: p.FailureProbability,
		Prediction: gen.FailurePredictionPrediction(p.Prediction), Confidence: p.Confidence, PredictedAt: p.PredictedAt.UTC(), SampledAt: p.SampledAt.UTC(),
		Features:  gen.FailureFeatures{Mean: p.Features.Mean, StdDev: p.Features.StdDev, Trend: p.Features.Trend},
		Threshold: p.Threshold, HorizonHours: p.HorizonHours, ModelVersion: versionOf(p.ModelVersion), ConfidenceDetail: confidenceOf(p.ConfidenceDetail)}, nil
}

// PredictRUL implements GET .../rul/{equipmentId}/{componentName}.
func (h *handlers) PredictRUL(ctx context.Context, r gen.PredictRULRequestObject) (gen.PredictRULResponseObject, error) {
	if err := required("equipmentId", r.EquipmentID, "componentName", r.ComponentName); err != nil {
		return nil, err
	}
	leave, err := h.predictions.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	p, err := h.service.RUL(ctx, r.EquipmentID, r.ComponentName)
	if err != nil {
		return nil, err
	}
	return gen.PredictRUL200JSONResponse{EquipmentID: p.EquipmentID, ComponentName: p.ComponentName, RulDays: p.RULDays, RulLowDays: p.LowDays,
		RulHighDays: p.HighDays, Capped: p.Capped, Confidence: p.Confidence, PredictedFailureDate: p.PredictedFailureDate.UTC(), HealthScore: p.HealthScore,
		PredictedAt: p.PredictedAt.UTC(), SampledAt: p.SampledAt.UTC(), Recommendation: p.Recommendation, ModelVersion: versionOf(p.ModelVersion),
		ConfidenceDetail: confidenceOf(p.ConfidenceDetail)}, nil
}

// DetectAnomaly implements GET .../anomaly/{tagId}.
func (h *handlers) DetectAnomaly(ctx context.Context, r gen.DetectAnomalyRequestObject) (gen.DetectAnomalyResponseObject, error) {
	if err := required("tagId", r.TagID); err != nil {
		return nil, err
	}
	leave, err := h.anomalies.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	a, err := h.service.Anomaly(ctx, r.TagID)
	if err != nil {
		return nil, err
	}
	return gen.DetectAnomaly200JSONResponse{TagID: a.TagID, IsAnomaly: a.IsAnomaly, AnomalyScore: a.AnomalyScore, Threshold: a.Threshold,
		DetectedAt: a.DetectedAt.UTC(), SampledAt: a.SampledAt.UTC(), CurrentValue: a.CurrentValue,
		ExpectedRange: gen.ExpectedRange{Min: a.ExpectedRange.Min, Max: a.ExpectedRange.Max}, Severity: gen.AnomalySeverity(a.Severity)}, nil
}

// DetectMultivariateAnomaly implements POST .../anomaly/multivariate.
func (h *handlers) DetectMultivariateAnomaly(ctx context.Context, r gen.DetectMultivariateAnomalyRequestObject) (gen.DetectMultivariateAnomalyResponseObject, error) {
	leave, err := h.anomalies.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	m, err := h.service.Multivariate(ctx, r.Body.TagIds)
	if err != nil {
		return nil, err
	}
	return gen.DetectMultivariateAnomaly200JSONResponse{IsAnomaly: m.IsAnomaly, AnomalyScore: m.AnomalyScore, Threshold: m.Threshold,
		ContributingTags: notNull(m.ContributingTags), TagScores: m.TagScores, DetectedAt: m.DetectedAt.UTC(), Severity: gen.AnomalySeverity(m.Severity)}, nil
}

// ListEquipments implements GET .../equipments.
func (h *handlers) ListEquipments(ctx context.Context, _ gen.ListEquipmentsRequestObject) (gen.ListEquipmentsResponseObject, error) {
	list, err := h.service.Equipments(ctx)
	if err != nil {
		return nil, err
	}
	return gen.ListEquipments200JSONResponse(notNull(list)), nil
}

// ListEquipmentTags implements GET .../equipments/{equipmentId}/tags.
func (h *handlers) ListEquipmentTags(ctx context.Context, r gen.ListEquipmentTagsRequestObject) (gen.ListEquipmentTagsResponseObject, error) {
	if err := required("equipmentId", r.EquipmentID); err != nil {
		return nil, err
	}
	list, err := h.service.Tags(ctx, r.EquipmentID)
	if err != nil {
		return nil, err
	}
	return gen.ListEquipmentTags200JSONResponse(notNull(list)), nil
}

// ListEquipmentComponents implements GET .../equipments/{equipmentId}/components.
func (h *handlers) ListEquipmentComponents(ctx context.Context, r gen.ListEquipmentComponentsRequestObject) (gen.ListEquipmentComponentsResponseObject, error) {
	if err := required("equipmentId", r.EquipmentID); err != nil {
		return nil, err
	}
	leave, err := h.components.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	list, err := h.service.Components(ctx, r.EquipmentID)
	if err != nil {
		return nil, err
	}
	return gen.ListEquipmentComponents200JSONResponse(notNull(list)), nil
}

// versionOf returns a version as it is written, "" for none.
func versionOf(version int) string {
	if version == 0 {
		return ""
	}
	return predictive.FormatVersion(version)
}

func confidenceOf(c predictive.Confidence) gen.PredictionConfidence {
	return gen.PredictionConfidence{Support: c.Support, Freshness: c.Freshness, InDistribution: c.InDistribution, Precision: c.Precision, Model: c.Model}
}

// notNull returns an empty list for nil.
func notNull[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
