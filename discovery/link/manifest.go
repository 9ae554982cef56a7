package link

// Manifest describes a bridge: its driver, its tags and its submodels.
type Manifest struct {
	BridgeID   string        `json:"bridgeId"`
	DriverType string        `json:"driverType"`
	DriverID   string        `json:"driverId"`
	Tags       []ManifestTag `json:"tags"`

	AvailableSubmodels []string `json:"availableSubmodels"` // idShorts that the bridge can provide
	ActiveSubmodels    []string `json:"activeSubmodels"`    // those that it provides
	Shell              *Shell   `json:"shell,omitempty"`    // nil: the one of DefaultShell

	BindingToken string `json:"bindingToken,omitempty"` // only in the answer to a bind request
}

// ManifestTag is a tag of a bridge.
type ManifestTag struct {
	Name         string `json:"name"`    // without the driver's prefix; unique within the bridge
	Address      string `json:"address"` // in the notation of the bridge's driver
	DataType     string `json:"dataType"`
	Length       int    `json:"length"`       // bytes of a String or Bytes where the device has a limit; else 0
	ScanInterval int    `json:"scanInterval"` // ms; 0 if the device sends by itself

	Unit        string   `json:"unit,omitempty"`
	Description string   `json:"description,omitempty"`
	Access      string   `json:"access,omitempty"` // ReadOnly or ReadWrite; empty is ReadOnly
	Min         *float64 `json:"min,omitempty"`
	Max         *float64 `json:"max,omitempty"`
}

// The states of a bridge in Status and its advertisement.
const (
	StatusFree    = "free"
	StatusBinding = "binding" // a bind request has come and its token is not stored yet
	StatusBound   = "bound"
)

// Status is what a bridge tells everybody. It has no secrets.
type Status struct {
	BridgeID      string `json:"bridgeId"`
	Status        string `json:"status"`        // StatusFree, StatusBinding or StatusBound
	BoundEngineID string `json:"boundEngineId"` // empty while free
	DriverType    string `json:"driverType"`
	DriverID      string `json:"driverId"`
	Version       string `json:"version"`

	Buffer *Buffer `json:"buffer,omitempty"` // nil unless it is bound, and where it is not known
}

// BindRequest is an engine's request to bind a bridge.
type BindRequest struct {
	EngineID  string `json:"engineId"`
	EngineURL string `json:"engineUrl"` // where the bridge opens its link: http or https, host and port
	// EnginePins are the keys that the engine's TLS certificate may have: "sha256/" and the base64 of the SHA-256 of the certificate's
	// SubjectPublicKeyInfo. Empty for an http URL.
	EnginePins []string `json:"enginePins,omitempty"`
	// EngineURLs are where the other engines of the plant are reached; see Reach.
	EngineURLs []string `json:"engineUrls,omitempty"`
}
