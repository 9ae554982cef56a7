package predictive

import "github.com/otkit/otkit/fault"

// ErrUnknownEquipment is returned for an equipment that the inventory does not have.
var ErrUnknownEquipment = fault.New(fault.Invalid, "UNKNOWN_EQUIPMENT", "equipment is not known")

// ErrUnknownTag is returned for a tag that the inventory, or the equipment, does not have.
var ErrUnknownTag = fault.New(fault.Invalid, "UNKNOWN_TAG", "tag is not known")

// ErrUnknownComponent is returned for a component that the equipment does not have.
var ErrUnknownComponent = fault.New(fault.Invalid, "UNKNOWN_COMPONENT", "component is not known")

// ErrInsufficientData is returned if the history is too short or too old for an answer. The message says how much there is and how
// much is needed.
var ErrInsufficientData = fault.New(fault.Invalid, "INSUFFICIENT_DATA", "too little history")

// ErrModelNotAvailable is returned by predictions while no usable model is there. The message is for the caller.
var ErrModelNotAvailable = fault.New(fault.Unavailable, "MODEL_NOT_AVAILABLE", "no usable model")

// ErrTrainingFailed is returned if a training does not make a model. The message says what is missing.
var ErrTrainingFailed = fault.New(fault.Conflict, "TRAINING_FAILED", "training failed")

// ErrModelNotFound is returned for a version that is not in the registry.
var ErrModelNotFound = fault.New(fault.NotFound, "MODEL_NOT_FOUND", "model version does not exist")

// ErrModelType is returned for a model type other than those of [ModelTypes].
var ErrModelType = fault.New(fault.Invalid, "MODEL_TYPE", "model type is not known; FailurePrediction and RUL are allowed")

// ErrModelVersion is returned for a version that is not a whole number from 1, such as v1.
var ErrModelVersion = fault.New(fault.Invalid, "MODEL_VERSION", "model version must be v1, v2 and so on")

// ErrJobNotFound is returned for a job that does not exist or is no longer remembered.
var ErrJobNotFound = fault.New(fault.NotFound, "JOB_NOT_FOUND", "job does not exist")

// ErrRecordExists is returned for a failure or replacement whose id is in use.
var ErrRecordExists = fault.New(fault.AlreadyExists, "RECORD_EXISTS", "record exists already")

// ErrRecordNotFound is returned for a failure or replacement that does not exist.
var ErrRecordNotFound = fault.New(fault.NotFound, "RECORD_NOT_FOUND", "record does not exist")

// ErrInvalidRequest names the members of a request that break a rule.
var ErrInvalidRequest = fault.New(fault.Invalid, "INVALID_REQUEST", "request is not valid")
