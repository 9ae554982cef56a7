package tags

import "time"

// DriverState is where a driver stands.
type DriverState string

// The states of a driver.
const (
	DriverConnecting DriverState = "Connecting" // not connected yet, or again
	DriverOnline     DriverState = "Online"
	// DriverNotResponding is connected, but the device did not answer for any point of the last poll,
	// or a call of the driver has been running for more than twice its timeout. The next answer makes
	// it Online again. Writes are refused meanwhile.
	DriverNotResponding DriverState = "NotResponding"
	DriverBackoff       DriverState = "Backoff" // the last attempt failed; the next one waits
	DriverStopped       DriverState = "Stopped"
)

// DriverStatus is the status of a driver. Counters run from the driver's registration.
type DriverStatus struct {
	ID             string
	Type           string
	Engine         string // that runs the driver; empty if it is not shared, or if no engine is known to run it
	State          DriverState
	LastError      string // text of the last failure, of a call or of a single point; empty when there was none
	LastErrorAt    time.Time
	ConnectedSince time.Time // zero unless Online or NotResponding
	Tags           int
	Reads          uint64 // requests for points: calls of Read, or of a Planner the requests that it made
	ReadErrors     uint64 // calls and single points that failed
	Samples        uint64 // readings taken over
	Changes        uint64 // samples that were reported
	Writes         uint64 // writes that the device took
	WriteErrors    uint64
	Connects       uint64
	RoundTrip      time.Duration // of the last request for points
	RoundTripMean  time.Duration // of the requests of the last 10 to 20 seconds in which there were any
	RoundTripMax   time.Duration // the longest of these
	Cycles         []Cycle       // by polling interval; none unless Online or NotResponding
	Breakers       []Breaker     // of drivers that are a BreakerReporter
	QueuedWrites   int
	SamplesPerSec  float64 // mean over about the last ten seconds
}
