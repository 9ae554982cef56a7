package bridge

import (
	"context"
	"log/slog"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

// Options configure a Host. ID, Tags, DriverID, Buffer, StateFile and Dial are required.
type Options struct {
	ID      string // of the bridge, unique in the network, 1..128 bytes
	Version string // of the program

	Tags       *tags.Engine // has the driver and its tags
	DriverID   string       // of the driver whose tags are delivered
	DriverType string
	// ScanInterval is the polling interval of tags that have none of their own, for the manifest; 0 if the device sends by itself.
	ScanInterval time.Duration
	Browser      tags.Browser // lists the points of the device; nil: the engine's requests to browse fail
	// Submodels returns the idShorts of the submodels that the bridge can provide, and of those that it provides. Nil: none.
	Submodels func() (available, active []string)
	// Shell returns the identity of the bridge's shell. Nil: it is that of link.DefaultShell.
	Shell func() link.Shell

	Buffer    Buffer // of this Host alone; the caller closes it after the Host
	StateFile string // has the binding; made with mode 0600

	// Dial opens a connection to an engine, whose certificate must have one of the pins unless there are none.
	Dial func(ctx context.Context, url string, pins []string) (link.BridgeConn, error)
	// EngineURL replaces the address that the engine gives when it binds the bridge; empty: that address is used.
	EngineURL string
	// FindEngine looks for the address of an engine that does not answer at the one that is known. Nil: it is not looked for.
	FindEngine func(ctx context.Context, engineID string) (url string, err error)
	// RetryInterval is the longest wait between two attempts to open the link; each is 80 to 100 percent of it. Default 5 s.
	RetryInterval time.Duration
	BindSecret    string // a bind request must have it; empty: none is needed

	DrainPerSecond int // entries by which a backlog shrinks in a second at most; default 100,000
	MaxPending     int // bytes of entries kept in memory while the buffer cannot take them; default 16 MiB

	// OnStatus is called with the status of the bridge once it has changed, and by New. Calls do not overlap.
	OnStatus func(link.Status)
	// OnDiscard is called when entries are discarded that waited for the engine owner, because another engine has bound the bridge.
	OnDiscard func(ctx context.Context, owner string, entries uint64)

	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default: discards
}

// LinkStatus describes the link to the engine.
type LinkStatus struct {
	EngineURL       string    // the address that is used, or that was found; empty if no engine is known
	Connected       bool      // the engine has accepted the link
	Since           time.Time // when Connected became what it is
	DiscoveryMethod string    // DiscoveryManual, DiscoveryMDNS or DiscoveryNone
	LastError       string    // of the last attempt; empty while connected
}

// Where EngineURL comes from, as health reports it.
const (
	DiscoveryManual = "manual" // Options.EngineURL, or the request that bound the bridge
	DiscoveryMDNS   = "mDNS"   // SetFoundEngine or Options.FindEngine
	DiscoveryNone   = "none"
)

// Stats describes what waits for the engine.
type Stats struct {
	BufferStats

	Pending       int       // entries in memory that are not in the buffer yet
	MemoryDropped uint64    // entries dropped from memory because the buffer could not take them, since the start
	BufferError   string    // why the buffer cannot take entries; empty if it can
	LastDropAt    time.Time // of any kind, since the start; zero if there was none
	Sent          uint64    // the last number that was sent on a link
	Acknowledged  uint64    // the last number that the engine has stored
}

// Buffer returns the stats as engines are told.
func (s *Stats) Buffer(now time.Time) link.Buffer {
	b := link.Buffer{Waiting: s.Entries + uint64(s.Pending), Bytes: s.Bytes, MaxBytes: s.MaxBytes, Dropped: s.Dropped + s.Expired + s.MemoryDropped}
	if !s.Oldest.IsZero() {
		b.OldestSeconds = max(0, now.Sub(s.Oldest).Seconds()) // the clock may have been set back
	}
	return b
}

// Kinds of events beside those of package link.
const (
	EventBufferDamaged  = "BufferDamaged"  // the buffer was damaged: entries may be missing or come twice
	EventSamplesDropped = "SamplesDropped" // the buffer was full or entries too old, or it could not be written
)
