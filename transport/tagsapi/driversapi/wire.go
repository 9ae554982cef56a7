package driversapi

import (
	"encoding/json"
	"time"

	"github.com/otkit/otkit/fault"
	"github.com/otkit/otkit/tags"
	"github.com/otkit/otkit/tags/driverconfig"
	"github.com/otkit/otkit/tags/drivers"
)

// These are the schemas of the OpenAPI document.

// driverType is the schema DriverType.
type driverType struct {
	Name           string          `json:"name"`
	Title          string          `json:"title"`
	Description    string          `json:"description,omitempty"`
	Address        string          `json:"address"`
	DefaultPort    int             `json:"defaultPort,omitempty"`
	CanBrowse      bool            `json:"canBrowse"`
	SettingsSchema json.RawMessage `json:"settingsSchema"`
}

func typeOf(t driverconfig.Type) driverType {
	d := driverType{Name: t.Name, Title: t.Title, Description: t.Description, Address: string(t.Address), DefaultPort: t.DefaultPort,
		CanBrowse: t.CanBrowse, SettingsSchema: t.SettingsSchema()}
	if d.Title == "" {
		d.Title = t.Name
	}
	if d.Address == "" {
		d.Address = string(driverconfig.AddressNone)
	}
	return d
}

// definition is the schema DriverDefinition.
type definition struct {
	ID             string            `json:"id"`
	Type           string            `json:"type"`
	Enabled        *bool             `json:"enabled,omitempty"` // default true
	IPAddress      string            `json:"ipAddress,omitempty"`
	Port           int               `json:"port,omitempty"`
	PollIntervalMs int64             `json:"pollIntervalMs,omitempty"`
	TimeoutMs      int64             `json:"timeoutMs,omitempty"`
	BackoffMaxMs   int64             `json:"backoffMaxMs,omitempty"`
	Settings       json.RawMessage   `json:"settings,omitempty"`
	Requires       map[string]string `json:"requires,omitempty"`
}

// maxMilliseconds is far beyond what is allowed, and what fits in a time.Duration.
const maxMilliseconds = int64(1) << 40

func (b *definition) definition() (drivers.Definition, error) {
	var bad []fault.Field
	ms := func(field string, n int64) time.Duration {
		if n < -maxMilliseconds || n > maxMilliseconds {
			bad = append(bad, fault.Field{Field: field, Message: "must be 0 to 86400000 milliseconds"})
			return 0
		}
		return time.Duration(n) * time.Millisecond
	}
	d := drivers.Definition{ID: b.ID, Type: b.Type, Enabled: b.Enabled == nil || *b.Enabled, IPAddress: b.IPAddress, Port: b.Port,
		PollInterval: ms("pollIntervalMs", b.PollIntervalMs), Timeout: ms("timeoutMs", b.TimeoutMs), MaxBackoff: ms("backoffMaxMs", b.BackoffMaxMs),
		Requires: b.Requires}
	if string(b.Settings) != "null" {
		d.Settings = b.Settings
	}
	if len(bad) > 0 {
		return d, drivers.ErrInvalid.Invalid(bad...)
	}
	return d, nil
}

func shown(d *drivers.Definition) definition {
	enabled := d.Enabled
	b := definition{ID: d.ID, Type: d.Type, Enabled: &enabled, IPAddress: d.IPAddress, Port: d.Port, PollIntervalMs: d.PollInterval.Milliseconds(),
		TimeoutMs: d.Timeout.Milliseconds(), BackoffMaxMs: d.MaxBackoff.Milliseconds(), Settings: d.Settings, Requires: d.Requires}
	if !json.Valid(b.Settings) {
		b.Settings = nil
	}
	return b
}

// driver is the schema Driver.
type driver struct {
	definition
	Origin    drivers.Origin `json:"origin"`
	CreatedAt time.Time      `json:"createdAt,omitzero"`
	UpdatedAt time.Time      `json:"updatedAt,omitzero"`
	Status    status         `json:"status"`
	Shadowed  *definition    `json:"shadowed,omitempty"`
}

func detailOf(i drivers.Info) driver {
	d := driver{definition: shown(&i.Definition), Origin: i.Origin, CreatedAt: i.CreatedAt.UTC(), UpdatedAt: i.UpdatedAt.UTC(), Status: statusOf(&i.Status)}
	if i.Shadowed != nil {
		hidden := shown(i.Shadowed)
		d.Shadowed = &hidden
	}
	return d
}

// listed is an item of the list: the schema DriverStatus with what the list has in addition.
type listed struct {
	status
	Origin  drivers.Origin `json:"origin"`
	Enabled bool           `json:"enabled"`
}

func listedOf(i *drivers.Info) listed {
	return listed{status: statusOf(&i.Status), Origin: i.Origin, Enabled: i.Enabled}
}

// status is the part of the schema DriverStatus that is about a driver that runs.
type status struct {
	DriverID         string     `json:"driverId"`
	Type             string     `json:"type"`
	State            string     `json:"state"`
	Engine           string     `json:"engine,omitempty"`
	LastError        string     `json:"lastError,omitempty"`
	LastErrorAt      time.Time  `json:"lastErrorAt,omitzero"`
	ConnectedSince   time.Time  `json:"connectedSince,omitzero"`
	TagCount         int        `json:"tagCount"`
	Reads            uint64     `json:"reads"`
	ReadErrors       uint64     `json:"readErrors"`
	Samples          uint64     `json:"samples"`
	Changes          uint64     `json:"changes"`
	Writes           uint64     `json:"writes"`
	WriteErrors      uint64     `json:"writeErrors"`
	Connects         uint64     `json:"connects"`
	QueuedWrites     int        `json:"queuedWrites"`
	SamplesPerSecond float64    `json:"samplesPerSecond"`
	RoundTripMs      float64    `json:"roundTripMs"`
	RoundTripMeanMs  float64    `json:"roundTripMeanMs"`
	RoundTripMaxMs   float64    `json:"roundTripMaxMs"`
	Cycles           []cycle    `json:"cycles"`
	Breakers         []breakers `json:"breakers"`
}

type cycle struct {
	IntervalMs float64 `json:"intervalMs"`
	ReachedMs  float64 `json:"reachedMs"`
	TagCount   int     `json:"tagCount"`
	Requests   int     `json:"requests"`
}

type breakers struct {
	Unit     string    `json:"unit"`
	State    string    `json:"state"`
	Failures int       `json:"failures"`
	ProbeAt  time.Time `json:"probeAt,omitzero"`
}

func statusOf(d *tags.DriverStatus) status {
	s := status{
		DriverID: d.ID, Type: d.Type, State: string(d.State), Engine: d.Engine, LastError: d.LastError, LastErrorAt: d.LastErrorAt.UTC(), ConnectedSince: d.ConnectedSince.UTC(),
		TagCount: d.Tags, Reads: d.Reads, ReadErrors: d.ReadErrors, Samples: d.Samples, Changes: d.Changes, Writes: d.Writes, WriteErrors: d.WriteErrors,
		Connects: d.Connects, QueuedWrites: d.QueuedWrites, SamplesPerSecond: d.SamplesPerSec,
		RoundTripMs: milliseconds(d.RoundTrip), RoundTripMeanMs: milliseconds(d.RoundTripMean), RoundTripMaxMs: milliseconds(d.RoundTripMax),
		Cycles: make([]cycle, len(d.Cycles)), Breakers: make([]breakers, len(d.Breakers)),
	}
	for i, c := range d.Cycles {
		s.Cycles[i] = cycle{IntervalMs: milliseconds(c.Wanted), ReachedMs: milliseconds(c.Reached), TagCount: c.Tags, Requests: c.Requests}
	}
	for i, b := range d.Breakers {
		s.Breakers[i] = breakers{Unit: b.Unit, State: string(b.State), Failures: b.Failures, ProbeAt: b.ProbeAt.UTC()}
	}
	return s
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// trial is the schema DriverTrial.
type trial struct {
	OK          bool         `json:"ok"`
	Connected   bool         `json:"connected"`
	ConnectMs   float64      `json:"connectMs"`
	RoundTripMs float64      `json:"roundTripMs"`
	Error       string       `json:"error,omitempty"`
	InUseBy     string       `json:"inUseBy,omitempty"`
	Units       []unitTrial  `json:"units"`
	Points      []pointTrial `json:"points"`
}

type unitTrial struct {
	Unit        string  `json:"unit,omitempty"`
	Points      int     `json:"points"`
	Answered    int     `json:"answered"`
	RoundTripMs float64 `json:"roundTripMs"`
	Error       string  `json:"error,omitempty"`
}

type pointTrial struct {
	Name    string      `json:"name"`
	Address string      `json:"address"`
	Unit    string      `json:"unit,omitempty"`
	Value   *tags.Value `json:"value,omitempty"`
	Quality string      `json:"quality"`
	Error   string      `json:"error,omitempty"`
}

func trialOf(t drivers.Trial) trial {
	out := trial{OK: t.OK, Connected: t.Connected, ConnectMs: milliseconds(t.ConnectTime), RoundTripMs: milliseconds(t.RoundTrip), Error: t.Error,
		InUseBy: t.InUse, Units: make([]unitTrial, len(t.Units)), Points: make([]pointTrial, len(t.Points))}
	for i, u := range t.Units {
		out.Units[i] = unitTrial{Unit: u.Unit, Points: u.Points, Answered: u.Answered, RoundTripMs: milliseconds(u.RoundTrip), Error: u.Error}
	}
	for i, p := range t.Points {
		out.Points[i] = pointTrial{Name: p.Name, Address: p.Address, Unit: p.Unit, Quality: p.Quality.String(), Error: p.Error}
		if !p.Value.IsZero() {
			out.Points[i].Value = &t.Points[i].Value
		}
	}
	return out
}

// browsed is the schema BrowsedPoints.
type browsed struct {
	Points     []browsedPoint `json:"points"`
	TotalCount int            `json:"totalCount"`
}

type browsedPoint struct {
	Name        string `json:"name"`
	Address     string `json:"address"`
	NativeType  string `json:"nativeType,omitempty"`
	DataType    string `json:"dataType"`
	AccessMode  string `json:"accessMode"`
	Unit        string `json:"unit,omitempty"`
	Description string `json:"description,omitempty"`
}

func browsedOf(list []tags.Tag, total int) browsed {
	out := browsed{Points: make([]browsedPoint, len(list)), TotalCount: total}
	for i, t := range list {
		out.Points[i] = browsedPoint{Name: t.Name, Address: t.Address, NativeType: t.NativeType, DataType: string(t.DataType), AccessMode: string(t.Access),
			Unit: t.Unit, Description: t.Description}
	}
	return out
}
