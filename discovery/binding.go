package discovery

import (
	"slices"
	"time"

	"github.com/otkit/otkit/discovery/link"
)

// Binding is a bound bridge, as it is stored. Times are UTC, to the microsecond.
type Binding struct {
	BridgeID   string
	DriverID   string // its driver in the tag engine
	DriverType string // of the bridge, such as Modbus
	EngineID   string // by which the bridge knows the engine
	BoundAt    time.Time
	URLs       []string // base URLs of the bridge, in the order in which they are tried; at least one

	Token string // the binding token, until the bridge has used its session key; then empty
	Key   string // the session key; empty until the bridge has opened its first link

	LinkedAt    time.Time // of the first link; zero: there was none
	HeartbeatAt time.Time // of the last heartbeat, stored now and then; zero: there was none
	Offline     bool      // three heartbeats were missed

	Lost         uint64    // entries that the bridge has dropped since it was bound
	RecentlyLost uint64    // those of a series without a pause of LossPause
	LostAt       time.Time // when the engine learned of the last ones
	LostText     string    // what the bridge said about them; empty if it said nothing

	DriverDownAt   time.Time // when the bridge's driver lost its device; zero while it has it
	DriverDownText string    // why

	ManifestHash    string   // of the stored manifest
	TagCount        int      // in it
	ActiveSubmodels []string // of it; see Submodels

	Epoch    string // of the bridge's buffer
	Position uint64 // the last entry of the epoch that is stored

	// Where several engines use the store.
	Fence  uint64 // epoch of the lease by which the link was claimed last, see SharedStore; 0: it was not
	Report Report // of the engine that runs the driver
}

// LossPause is how long no entries must be lost until later ones count as another series.
const LossPause = time.Hour

// BaseURL returns the URL at which the bridge has answered last.
func (b *Binding) BaseURL() string {
	if len(b.URLs) == 0 {
		return ""
	}
	return b.URLs[0]
}

func (b *Binding) clone() Binding {
	c := *b
	c.URLs, c.ActiveSubmodels = slices.Clone(b.URLs), slices.Clone(b.ActiveSubmodels)
	return c
}

// Report is what the engine that runs the driver of a bridge knows of it, for the others. Times are UTC, to the microsecond.
type Report struct {
	Engine string `json:"engine"` // its id; empty: there is no report
	Epoch  uint64 `json:"epoch"`  // of its lease

	LinkOpen     bool      `json:"linkOpen,omitempty"`
	Since        time.Time `json:"since,omitzero"`   // of LinkOpen
	Missed       int       `json:"missed,omitempty"` // heartbeats in a row, no more than make a bridge offline
	Problem      string    `json:"problem,omitempty"`
	Released     bool      `json:"released,omitempty"` // the bridge is free though it was not unbound
	Down         bool      `json:"down,omitempty"`     // see Info
	DriverDown   bool      `json:"driverDown,omitempty"`
	ShellKnown   bool      `json:"shellKnown,omitempty"`
	ShellProblem string    `json:"shellProblem,omitempty"`

	// What changes all the time; reports are stored for it at the interval of heartbeats.
	HeartbeatAt time.Time    `json:"heartbeatAt,omitzero"`
	Buffer      *link.Buffer `json:"buffer,omitempty"` // see Info
	BufferAt    time.Time    `json:"bufferAt,omitzero"`
}

// news reports whether the others are to be told immediately.
func (r Report) news(was Report) bool {
	same := r.Since.Equal(was.Since)
	r.Since, r.HeartbeatAt, r.Buffer, r.BufferAt = was.Since, was.HeartbeatAt, was.Buffer, was.BufferAt
	return !same || r != was
}

// Info is a bound bridge as it is now. Its HeartbeatAt is the newest.
type Info struct {
	Binding
	// Elsewhere means that another engine runs the driver of the bridge and looks after it, or none does. The rest is as that one has reported it last.
	Elsewhere bool

	Online   bool      // the link is open, or it was and three heartbeats are not missed yet; false once the bridge was released there
	LinkOpen bool      //
	Missed   int       // heartbeats in a row
	Problem  string    // why its tags are not shown, its manifest is refused or the last heartbeat was missed, for people; empty for none
	Since    time.Time // of LinkOpen; when the bridge was bound, or the service began, if there was no change since

	// Buffer is what waits at the bridge, as it said at BufferAt; nil if it has not said so since the service began.
	Buffer   *link.Buffer
	BufferAt time.Time

	// Down means that samples do not arrive: for as long as three heartbeats take, no link was open for 10 s.
	Down bool
	// ShellKnown means that the bridge's shell was brought up to date since the service began. ShellProblem is why the shell does not have the id
	// that the bridge is configured to give it; empty for no reason.
	ShellKnown   bool
	ShellProblem string
	// DriverDown means that the bridge's driver has no device, and that DriverDownDelay has passed since the engine learned of it.
	DriverDown bool
}

// DriverDownDelay is how long the driver of a bridge must be without its device to be worth an alarm.
const DriverDownDelay = 30 * time.Second

// BridgeStatus is the status of a bridge in a scan.
type BridgeStatus string

// The statuses.
const (
	Free       BridgeStatus = "Free"
	InProgress BridgeStatus = "Binding"
	Bound      BridgeStatus = "Bound"
)

// BridgeInfo is a bridge that a scan has found, as it advertises itself.
type BridgeInfo struct {
	BridgeID      string
	HostName      string
	Address       string // IP address
	Port          int
	Version       string
	Status        BridgeStatus
	DriverType    string
	TenantID      string // empty for none
	BoundEngineID string // empty for none
	TagCount      int
	DiscoveredAt  time.Time
	BaseURL       string

	// Beyond the above.
	Name, Location string
	Addresses      []string // all base URLs, BaseURL first
}
