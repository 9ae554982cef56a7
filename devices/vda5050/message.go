package vda5050

import "time"

// version is the version of the messages, and majorVersion its part of the topics.
const (
	version      = "2.1.0"
	majorVersion = "v2"
)

// timeFormat is that of the standard: UTC with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z"

// header begins every message.
type header struct {
	HeaderID     uint32 `json:"headerId"`
	Timestamp    string `json:"timestamp"`
	Version      string `json:"version"`
	Manufacturer string `json:"manufacturer"`
	SerialNumber string `json:"serialNumber"`
}

type order struct {
	header
	OrderID       string `json:"orderId"`
	OrderUpdateID int    `json:"orderUpdateId"`
	Nodes         []node `json:"nodes"`
	Edges         []edge `json:"edges"`
}

type node struct {
	NodeID     string        `json:"nodeId"`
	SequenceID int           `json:"sequenceId"`
	Released   bool          `json:"released"`
	Position   *nodePosition `json:"nodePosition,omitempty"`
	Actions    []action      `json:"actions"`
}

type nodePosition struct {
	X                float64  `json:"x"`
	Y                float64  `json:"y"`
	Theta            *float64 `json:"theta,omitempty"`
	AllowedDeviation float64  `json:"allowedDeviationXY"`
	MapID            string   `json:"mapId"`
}

type edge struct {
	EdgeID      string   `json:"edgeId"`
	SequenceID  int      `json:"sequenceId"`
	Released    bool     `json:"released"`
	StartNodeID string   `json:"startNodeId"`
	EndNodeID   string   `json:"endNodeId"`
	MaxSpeed    float64  `json:"maxSpeed,omitempty"`
	Actions     []action `json:"actions"`
}

type action struct {
	ActionType   string      `json:"actionType"`
	ActionID     string      `json:"actionId"`
	BlockingType string      `json:"blockingType"`
	Parameters   []parameter `json:"actionParameters,omitempty"`
}

type parameter struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

type instantActions struct {
	header
	Actions []action `json:"actions"`
}

// state is what of a state message is used.
type state struct {
	header
	OrderID            string         `json:"orderId"`
	LastNodeID         string         `json:"lastNodeId"`
	LastNodeSequenceID int            `json:"lastNodeSequenceId"`
	Driving            bool           `json:"driving"`
	Paused             bool           `json:"paused"`
	OperatingMode      string         `json:"operatingMode"`
	NodeStates         []struct{}     `json:"nodeStates"`
	EdgeStates         []struct{}     `json:"edgeStates"`
	Position           *position      `json:"agvPosition"`
	Velocity           *velocity      `json:"velocity"`
	Loads              []load         `json:"loads"`
	ActionStates       []actionState  `json:"actionStates"`
	Battery            *battery       `json:"batteryState"`
	Errors             []vehicleError `json:"errors"`
	Safety             safetyState    `json:"safetyState"`
}

type position struct {
	X           float64 `json:"x"`
	Y           float64 `json:"y"`
	Theta       float64 `json:"theta"`
	MapID       string  `json:"mapId"`
	Initialized bool    `json:"positionInitialized"`
}

type velocity struct {
	VX    float64 `json:"vx"` // in the coordinates of the vehicle
	VY    float64 `json:"vy"`
	Omega float64 `json:"omega"`
}

type load struct {
	LoadID   string `json:"loadId"`
	LoadType string `json:"loadType"`
}

type actionState struct {
	ActionID string `json:"actionId"`
	Status   string `json:"actionStatus"`
	Result   string `json:"resultDescription"`
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

type safetyState struct {
	EStop          string `json:"eStop"`
	FieldViolation bool   `json:"fieldViolation"`
}

// visualization is the message with which a vehicle reports its position more often than its state.
type visualization struct {
	header
	Position *position `json:"agvPosition"`
	Velocity *velocity `json:"velocity"`
}

type connection struct {
	header
	State string `json:"connectionState"`
}

func stamp(t time.Time) string { return t.UTC().Format(timeFormat) }
