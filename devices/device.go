package devices

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/otkit/otkit/fault"
)

// The longest members of a device, in characters.
const (
	MaxID          = 128
	MaxName        = 200
	MaxDescription = 2000
)

// Device is a robot or an automation device.
type Device struct {
	ID          string
	TenantID    string // empty: none
	Name        string
	Description string
	State       State
	Held        bool      // a person has put it into maintenance
	LastSeen    time.Time // of the last report; when the device was created, until there is one
	CreatedAt   time.Time
	// StopLatched is set by [EmergencyStop] and by a device that reports an emergency stop. Only [ResetEmergencyStop] clears it:
	// neither time, nor a restart, nor a device that connects again does.
	StopLatched bool
	// Unheard is set where another engine has the device and is not heard: the rest is what was known last. It is not stored.
	Unheard bool
	// Telemetry is the last report, nil when there is none.
	Telemetry *Telemetry
}

// Telemetry is what a device reports about itself. A nil member is not known.
type Telemetry struct {
	Time     time.Time `json:"time,omitzero"`     // by the clock of the device; not after it was received
	Received time.Time `json:"received,omitzero"` // by our clock
	Pose     *Pose     `json:"pose,omitzero"`
	Velocity *Velocity `json:"velocity,omitzero"`
	Battery  *float64  `json:"battery,omitzero"` // 0 to 100 percent
	Charging bool      `json:"charging,omitzero"`
	State    State     `json:"state,omitzero"`  // Idle, Working, Error, Maintenance or Unknown; empty: as before
	Stop     Stop      `json:"stop,omitzero"`   // emergency stop
	Faults   []string  `json:"faults,omitzero"` // errors that it reports, at most [MaxFaults]
	Loads    []string  `json:"loads,omitzero"`  // what it carries
}

// Stop is an emergency stop as a device reports it.
type Stop string

// The kinds of emergency stop.
const (
	NoStop     Stop = ""
	LocalStop  Stop = "Local"  // must be released at the device, such as a button that is pressed
	RemoteStop Stop = "Remote" // ends by [ResetEmergencyStop]
)

// The largest lists of [Telemetry], and the longest of their texts in characters.
const (
	MaxFaults    = 100
	MaxLoads     = 100
	MaxFaultText = 500
)

// Pose is a position on a map.
type Pose struct {
	Map   string  `json:"map,omitzero"`
	X     float64 `json:"x,omitzero"`     // metres
	Y     float64 `json:"y,omitzero"`     // metres
	Theta float64 `json:"theta,omitzero"` // radians, counter-clockwise from the x axis
}

// Velocity is a velocity in the coordinates of the map.
type Velocity struct {
	X     float64 `json:"x,omitzero"`     // metres a second
	Y     float64 `json:"y,omitzero"`     // metres a second
	Omega float64 `json:"omega,omitzero"` // radians a second
}

// Validate returns an [ErrInvalid] with what is wrong with the id, the name and the description of a new device.
func Validate(id, name, description string) error {
	fields := checkID(id)
	fields = append(fields, checkText("name", name, true, MaxName)...)
	fields = append(fields, checkText("description", description, false, MaxDescription)...)
	if len(fields) > 0 {
		return ErrInvalid.Invalid(fields...)
	}
	return nil
}

// checkID returns the violations of an id, which consists of letters, digits and "._:-".
func checkID(id string) []fault.Field {
	bad := strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._:-", r)
	})
	if id == "" || len(id) > MaxID || bad || id == "." || id == ".." {
		return []fault.Field{{Field: "deviceId", Message: fmt.Sprintf(`must be 1 to %d letters, digits or any of "._:-", and neither "." nor ".."`, MaxID)}}
	}
	return nil
}

func checkText(field, text string, required bool, longest int) []fault.Field {
	switch {
	case required && strings.TrimSpace(text) == "":
		return []fault.Field{{Field: field, Message: "is required"}}
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return []fault.Field{{Field: field, Message: "must be text in UTF-8 without NUL"}}
	case utf8.RuneCountInString(text) > longest:
		return []fault.Field{{Field: field, Message: fmt.Sprintf("must have at most %d characters", longest)}}
	}
	return nil
}
