package devices

// State is where a device is in its life.
type State string

// The states.
const (
	Unknown        State = "Unknown"        // the device reports a state that says nothing
	Provisioned    State = "Provisioned"    // brought back after decommissioning, not heard from since
	Offline        State = "Offline"        // not connected; the state of a new device
	Online         State = "Online"         // connected, has not reported what it does
	Idle           State = "Idle"           // ready for a command
	Working        State = "Working"        // carries out a command
	Error          State = "Error"          // reports a fault or an emergency stop
	Maintenance    State = "Maintenance"    // taken out of automatic operation by a person
	Decommissioned State = "Decommissioned" // out of use; kept for the record
)

// States returns all states.
func States() []State {
	return []State{Unknown, Provisioned, Offline, Online, Idle, Working, Error, Maintenance, Decommissioned}
}

// Valid reports whether s is one of the states.
func (s State) Valid() bool {
	switch s {
	case Unknown, Provisioned, Offline, Online, Idle, Working, Error, Maintenance, Decommissioned:
		return true
	}
	return false
}

// Event is what changes the state of a device: what its executor reports, or a call of a person.
type Event string

// The events that an executor reports.
const (
	Connected      Event = "connected"
	Disconnected   Event = "disconnected"
	ReportsIdle    Event = "reports idle"
	ReportsWorking Event = "reports working"
	ReportsError   Event = "reports error"
	ReportsManual  Event = "reports manual" // its operating mode is not automatic
	ReportsUnknown Event = "reports unknown"
)

// The events that a person causes.
const (
	MaintenanceBegins Event = "maintenance begins"
	MaintenanceEnds   Event = "maintenance ends"
	Decommission      Event = "decommission"
	Provision         Event = "provision"
)

// reported is what the reports of an executor lead to, for a device that is in use.
var reported = map[Event]State{
	Connected: Online, Disconnected: Offline, ReportsIdle: Idle, ReportsWorking: Working, ReportsError: Error,
	ReportsManual: Maintenance, ReportsUnknown: Unknown,
}

// called is what calls lead to. An event that is missing is not possible in the state.
var called = map[State]map[Event]State{
	Unknown:        {MaintenanceBegins: Maintenance, Decommission: Decommissioned},
	Provisioned:    {MaintenanceBegins: Maintenance, Decommission: Decommissioned},
	Offline:        {MaintenanceBegins: Maintenance, Decommission: Decommissioned},
	Online:         {MaintenanceBegins: Maintenance, Decommission: Decommissioned},
	Idle:           {MaintenanceBegins: Maintenance, Decommission: Decommissioned},
	Working:        {MaintenanceBegins: Maintenance},
	Error:          {MaintenanceBegins: Maintenance, Decommission: Decommissioned},
	Maintenance:    {MaintenanceBegins: Maintenance, MaintenanceEnds: Offline, Decommission: Decommissioned},
	Decommissioned: {Provision: Provisioned},
}

// Next returns the state after an event, and whether the event is possible in s. held reports whether a person has put the device
// into maintenance: then what the device reports does not end it.
//
//   - A report moves a device in use to the state reported. A device that is connected and has reported what it does
//     stays as it is on Connected.
//   - Maintenance that a person began ends by MaintenanceEnds, after which the device is Offline until its next report.
//   - A Working device cannot be decommissioned. A Decommissioned one leaves that state by Provision only; its
//     reports change nothing.
func (s State) Next(e Event, held bool) (State, bool) {
	to, report := reported[e]
	switch {
	case !report:
		to, ok := called[s][e]
		return to, ok
	case s == Decommissioned, s == Maintenance && held:
		return s, true
	case e == Connected && s != Offline && s != Provisioned:
		return s, true
	case e == Disconnected && s == Provisioned:
		return s, true
	}
	return to, true
}
