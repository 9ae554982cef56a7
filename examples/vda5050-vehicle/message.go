package main

type header struct {
	HeaderID     int    `json:"headerId"`
	Timestamp    string `json:"timestamp"`
	Version      string `json:"version"`
	Manufacturer string `json:"manufacturer"`
	SerialNumber string `json:"serialNumber"`
}

func (h *header) setHeader(to header) { *h = to }

type connection struct {
	header
	State string `json:"connectionState"`
}

type order struct {
	header
	OrderID       string `json:"orderId"`
	OrderUpdateID int    `json:"orderUpdateId"`
	Nodes         []node `json:"nodes"`
	Edges         []edge `json:"edges"`
}

type node struct {
	nodeState
	Position *struct{ X, Y float64 } `json:"nodePosition"`
	Actions  []action                `json:"actions"`
}

type edge struct {
	edgeState
	MaxSpeed float64 `json:"maxSpeed"`
}

type action struct {
	Type string `json:"actionType"`
	ID   string `json:"actionId"`
}

type instantActions struct {
	Actions []action `json:"actions"`
}

type state struct {
	header
	OrderID            string         `json:"orderId"`
	OrderUpdateID      int            `json:"orderUpdateId"`
	LastNodeID         string         `json:"lastNodeId"`
	LastNodeSequenceID int            `json:"lastNodeSequenceId"`
	Driving            bool           `json:"driving"`
	Paused             bool           `json:"paused"`
	OperatingMode      string         `json:"operatingMode"`
	NodeStates         []nodeState    `json:"nodeStates"`
	EdgeStates         []edgeState    `json:"edgeStates"`
	Position           position       `json:"agvPosition"`
	Loads              []load         `json:"loads,omitempty"`
	ActionStates       []actionState  `json:"actionStates"`
	Battery            battery        `json:"batteryState"`
	Errors             []vehicleError `json:"errors"`
	Safety             safety         `json:"safetyState"`
}

type nodeState struct {
	NodeID     string `json:"nodeId"`
	SequenceID int    `json:"sequenceId"`
	Released   bool   `json:"released"`
}

type edgeState struct {
	EdgeID     string `json:"edgeId"`
	SequenceID int    `json:"sequenceId"`
	Released   bool   `json:"released"`
}

type position struct {
	X           float64 `json:"x"`
	Y           float64 `json:"y"`
	Theta       float64 `json:"theta"`
	MapID       string  `json:"mapId"`
	Initialized bool    `json:"positionInitialized"`
}

type load struct {
	ID string `json:"loadId"`
}

type actionState struct {
	ID     string `json:"actionId"`
	Type   string `json:"actionType"`
	Status string `json:"actionStatus"`
	Result string `json:"resultDescription,omitempty"`
}

type battery struct {
	Charge   float64 `json:"batteryCharge"`
	Charging bool    `json:"charging"`
}

type vehicleError struct {
	Type        string      `json:"errorType"`
	Level       string      `json:"errorLevel"`
	Description string      `json:"errorDescription"`
	References  []reference `json:"errorReferences"`
}

type reference struct {
	Key   string `json:"referenceKey"`
	Value string `json:"referenceValue"`
}

type safety struct {
	EStop          string `json:"eStop"`
	FieldViolation bool   `json:"fieldViolation"`
}

type factsheet struct {
	header
	Type     values `json:"typeSpecification"`
	Physical values `json:"physicalParameters"`
	Limits   values `json:"protocolLimits"`
	Features values `json:"protocolFeatures"`
	Geometry values `json:"agvGeometry"`
	Load     values `json:"loadSpecification"`
}

type values map[string]any
