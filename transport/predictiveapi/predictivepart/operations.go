package predictivepart

import (
	"net/http"

	"github.com/otkit/otkit/transport/auth"
)

// Operations are the operations of the part. What the specification serves without a token reads, or trains a model from what is there. What
// trainings learn from is changed with a token.
func Operations() []auth.Operation {
	const (
		base         = "/api/v1.0/predictive-maintenance"
		equipments   = base + "/equipments"
		jobs         = base + "/jobs"
		failures     = base + "/failures"
		replacements = base + "/replacements"
	)
	csv := []string{"text/csv"}
	return []auth.Operation{
		{ID: "predictFailure", Method: http.MethodGet, Path: base + "/failure-prediction/{equipmentId}/{tagId}", Access: auth.Viewer, OpenSurface: true},
		{ID: "predictRUL", Method: http.MethodGet, Path: base + "/rul/{equipmentId}/{componentName}", Access: auth.Viewer, OpenSurface: true},
		{ID: "detectAnomaly", Method: http.MethodGet, Path: base + "/anomaly/{tagId}", Access: auth.Viewer, OpenSurface: true},
		{ID: "detectMultivariateAnomaly", Method: http.MethodPost, Path: base + "/anomaly/multivariate", Access: auth.Viewer, OpenSurface: true,
			Unaudited: "reads only"},
		{ID: "retrainModel", Method: http.MethodPost, Path: base + "/retrain/{modelType}", Access: auth.Operator, OpenSurface: true},
		{ID: "getModelMetrics", Method: http.MethodGet, Path: base + "/metrics/{modelType}", Access: auth.Viewer, OpenSurface: true, Gzip: true},
		{ID: "listEquipments", Method: http.MethodGet, Path: equipments, Access: auth.Viewer, OpenSurface: true, Gzip: true},
		{ID: "listEquipmentTags", Method: http.MethodGet, Path: equipments + "/{equipmentId}/tags", Access: auth.Viewer, OpenSurface: true, Gzip: true},
		{ID: "listEquipmentComponents", Method: http.MethodGet, Path: equipments + "/{equipmentId}/components", Access: auth.Viewer, OpenSurface: true, Gzip: true},

		{ID: "listTrainingJobs", Method: http.MethodGet, Path: jobs, Access: auth.Viewer, OpenSurface: true, Gzip: true},
		{ID: "streamTrainingJobs", Method: http.MethodGet, Path: jobs + "/stream", Access: auth.Viewer, OpenSurface: true, QueryToken: true, Stream: true, Gzip: true},
		{ID: "getTrainingJob", Method: http.MethodGet, Path: jobs + "/{id}", Access: auth.Viewer, OpenSurface: true},
		{ID: "startTraining", Method: http.MethodPost, Path: jobs, Access: auth.Operator},
		{ID: "cancelTraining", Method: http.MethodDelete, Path: jobs + "/{id}", Access: auth.Operator},

		{ID: "listFailures", Method: http.MethodGet, Path: failures, Access: auth.Viewer, Gzip: true},
		{ID: "addFailures", Method: http.MethodPost, Path: failures, Access: auth.Operator, Media: csv},
		{ID: "deleteFailure", Method: http.MethodDelete, Path: failures + "/{id}", Access: auth.Operator},
		{ID: "listReplacements", Method: http.MethodGet, Path: replacements, Access: auth.Viewer, Gzip: true},
		{ID: "addReplacements", Method: http.MethodPost, Path: replacements, Access: auth.Operator, Media: csv},
		{ID: "deleteReplacement", Method: http.MethodDelete, Path: replacements + "/{id}", Access: auth.Operator},

		{ID: "listModels", Method: http.MethodGet, Path: base + "/models/{modelType}", Access: auth.Viewer, Gzip: true},
		{ID: "deleteModel", Method: http.MethodDelete, Path: base + "/models/{modelType}/{version}", Access: auth.Admin},
		{ID: "exportTrainingSet", Method: http.MethodGet, Path: base + "/training-set/{modelType}", Access: auth.Viewer, Gzip: true},
	}
}
