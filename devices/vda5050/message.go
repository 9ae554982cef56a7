package vda5050

import (
	"encoding/json"
	"slices"
	"time"
)

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

func (h *header) head() *header { return h }

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

// maxItems is how many items of a list of a state are kept.
const maxItems = 1000

// bound shortens the lists of a state. What matters is kept: a fatal error and the last actions.
func (s *state) bound() {
	if len(s.Errors) > maxItems {
		fatal := slices.IndexFunc(s.Errors, vehicleError.fatal)
		if fatal >= maxItems {
			s.Errors[0] = s.Errors[fatal]
		}
		s.Errors = slices.Clone(s.Errors[:maxItems])
	}
	if n := len(s.ActionStates); n > maxItems {
		s.ActionStates = slices.Clone(s.ActionStates[n-maxItems:])
	}
	if len(s.Loads) > maxItems {
		s.Loads = slices.Clone(s.Loads[:maxItems])
	}
}

type position struct {
	X           float64 `json:"x"`
	Y           float64 `json:"y"`
	Theta       float64 `json:"theta"`
	MapID       string  `json:"mapId"`
	Initialized bool    `json:"positionInitialized"`
}

// UnmarshalJSON decodes a position. One that lacks a coordinate is none, and not at 0.
func (p *position) UnmarshalJSON(data []byte) error {
	type plain position
	m := struct {
		*plain
		X *float64 `json:"x"`
		Y *float64 `json:"y"`
	}{plain: (*plain)(p)}
	if err := json.Unmarshal(data, &m); err != nil {
		return err
	}
	if m.X == nil || m.Y == nil {
		p.Initialized = false
		return nil
	}
	p.X, p.Y = *m.X, *m.Y
	return nil
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

func (e vehicleError) fatal() bool { return e.Level == "FATAL" }

type reference struct {
	Key   string `json:"referenceKey"`
	Value string `json:"referenceValue"`
}

type safetyState struct {
	EStop string `json:"eStop"`
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

// factsheet is what of a factsheet is used.
type factsheet struct {
	header
	limits
}

type limits struct {
	Type struct {
		Series  string  `json:"seriesName"`
		MaxLoad float64 `json:"maxLoadMass"` // kilograms
	} `json:"typeSpecification"`
	Physical struct {
		MaxSpeed  float64 `json:"speedMax"` // metres a second
		Length    float64 `json:"length"`   // metres
		Width     float64 `json:"width"`
		MaxHeight float64 `json:"heightMax"`
	} `json:"physicalParameters"`
}

func stamp(t time.Time) string { return t.UTC().Format(timeFormat) }
