package predictive

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// ModelType is what a model predicts.
type ModelType string

// The model types.
const (
	// FailureModel predicts whether an equipment fails within the horizon, from one tag.
	FailureModel ModelType = "FailurePrediction"
	// RULModel predicts the remaining useful life of a component, from all tags of its equipment.
	RULModel ModelType = "RUL"
)

// ModelTypes returns all model types.
func ModelTypes() []ModelType { return []ModelType{FailureModel, RULModel} }

// ParseModelType returns the model type that a text names, without regard to case. For another text it returns
// [ErrModelType].
func ParseModelType(text string) (ModelType, error) {
	for _, t := range ModelTypes() {
		if strings.EqualFold(text, string(t)) {
			return t, nil
		}
	}
	return "", ErrModelType
}

// FormatVersion returns a version as it is written: v1, v2 and so on.
func FormatVersion(version int) string { return "v" + strconv.Itoa(version) }

// ParseVersion returns the version that a text such as v3 or 3 names, and 0, which means the default one, for an empty text. For another
// text it returns [ErrModelVersion].
func ParseVersion(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	digits := strings.TrimPrefix(text, "v")
	version, err := strconv.Atoi(digits)
	if err != nil || version < 1 || version > maxVersion || strconv.Itoa(version) != digits {
		return 0, ErrModelVersion
	}
	return version, nil
}

const maxVersion = 1<<31 - 1

// Meta describes a model of a [Registry].
type Meta struct {
	ModelType ModelType `json:"modelType"`
	// Version is given by the registry: 1, 2 and so on. A deleted version is not used again.
	Version int `json:"version"`
	// Kind is the form of the model's bytes. The models of this package have the kind [KindBundle].
	Kind string `json:"kind"`
	// TrainedAt is when the training ended.
	TrainedAt time.Time `json:"trainedAt"`
	Seed      uint64    `json:"seed"`
	// ExtractorVersion and Features tell the inputs.
	ExtractorVersion string   `json:"extractorVersion"`
	Features         []string `json:"features"`
	// Samples, Positives, Units and Lives count the rows, the rows with a failure within the horizon, the equipments and the lives that the
	// model was trained with.
	Samples   int `json:"samples"`
	Positives int `json:"positives"`
	Units     int `json:"units"`
	Lives     int `json:"lives"`
	// From and To limit the times of the training data.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// DataHash is the SHA-256 of the training rows in hexadecimal.
	DataHash string `json:"dataHash"`
	// Metrics judge the model by data that its training did not see.
	Metrics Metrics `json:"metrics"`
	// Threshold is the probability from which Failure is predicted. It is 0 for an RUL model.
	Threshold float64       `json:"threshold"`
	Horizon   time.Duration `json:"horizonNanoseconds"`
	// SHA256 and Size are those of the model's bytes, set by the registry.
	SHA256 string `json:"sha256"`
	Size   int    `json:"size"`
	// Library is the version of the program.
	Library string `json:"library"`
	// Parent is the version that was the default before, 0 for none.
	Parent int `json:"parent"`
	// Default reports whether the model may serve where no version is asked for: the highest undamaged version with Default does, and
	// without one the highest undamaged version. It is false for a model that was not better than its parent; see
	// [Options.PromoteIfBetter].
	Default bool `json:"default"`
}

// KindBundle is the kind of the models that [Service.Retrain] makes.
const KindBundle = "bundle"

// Registry keeps models. It is safe for concurrent use, by several processes too. Methods return [ErrModelType] for a type that is not
// one of [ModelTypes] and [ErrModelVersion] for a negative version. Package predictivetest has a conformance suite.
type Registry interface {
	// Put adds a model, which has at least one byte, and returns its version. It sets Version, SHA256 and Size of meta. What it has returned
	// without an error is durable. After an error the model may be there, but never a part of it.
	Put(ctx context.Context, meta Meta, model []byte) (version int, err error)
	// Get returns a model. Version 0 is the highest undamaged one with Default, and without one the highest undamaged one. Get returns
	// [ErrModelNotFound] if the version, or for 0 any version, is absent, and [ErrModelNotAvailable] if all that could be returned are damaged.
	Get(ctx context.Context, modelType ModelType, version int) (Meta, []byte, error)
	// List returns the undamaged models of a type, the highest version first.
	List(ctx context.Context, modelType ModelType) ([]Meta, error)
	// Delete removes a model, damaged or not, or returns [ErrModelNotFound]. Its version is not used again.
	Delete(ctx context.Context, modelType ModelType, version int) error
}

// Inspector is an optional part of a [Registry] whose models can be damaged.
type Inspector interface {
	// Damaged returns the damaged models of a type, the highest version first.
	Damaged(ctx context.Context, modelType ModelType) ([]Damage, error)
}

// Damage is a model that is in a registry and cannot be used.
type Damage struct {
	ModelType ModelType
	Version   int
	Problem   string // for logs: it may name files
}
