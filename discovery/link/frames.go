package link

import (
	"time"

	"github.com/otkit/otkit/tags"
)

// Protocol is the version of the protocol that this package describes.
const Protocol = 1

// Limits of what travels over a link. A frame that exceeds one ends the link.
const (
	MaxData  = 900_000 // bytes of the data of a Batch or a Live
	MaxCount = 65_536  // entries of a Batch or a Live
	MaxNames = 200_000 // names of a dictionary, and tags of a manifest

	MaxUnackedBatches = 8       // batches that a bridge may have sent and the engine not acknowledged
	MaxUnackedBytes   = 4 << 20 // bytes of their data
)

// The intervals of a link. Both sides measure them by a monotonic clock.
const (
	PingInterval  = 10 * time.Second // between two Pings of the engine
	SilenceLimit  = 30 * time.Second // a side that has received nothing for this long ends the link; see Reach.Silence
	HelloDeadline = 10 * time.Second // from the begin of a link to Hello, and from Hello to Welcome
)

// Sample is a reading of a tag.
type Sample struct {
	Tag     uint32 // index in the dictionary, see Names
	Time    time.Time
	Value   tags.Value // zero if the quality is Bad and no value is known
	Quality tags.Quality
	Reason  tags.Reason
}

// The kinds of events.
const (
	DriverOffline = "DriverOffline"
	DriverOnline  = "DriverOnline"
)

// Event is something that happened on the bridge, in the order of its samples.
type Event struct {
	Kind string // such as DriverOffline; a kind that the engine does not know is not an error
	Time time.Time
	Text string // for people, such as the error of the driver
}

// Entry is a sample, or an event if Event is set.
type Entry struct {
	Sample
	Event *Event
}

// Block is the entries First to First+Count-1 in the form of Encode.
type Block struct {
	First uint64 // at least 1
	Count int    // at least 1
	Data  []byte
}

// Last returns the number of the last entry.
func (b *Block) Last() uint64 { return b.First + uint64(b.Count) - 1 }

// FromBridge is a frame from a bridge. Exactly one member is set.
type FromBridge struct {
	Hello    *Hello
	Names    *Names
	Manifest *Manifest
	Batch    *Batch
	Live     *Live
	Written  *Written
	Browsed  *Browsed
	Pong     *Pong
	Released *Released
}

// FromEngine is a frame from an engine. Exactly one member is set.
type FromEngine struct {
	Welcome *Welcome
	Ack     *Ack
	Write   *Write
	Browse  *Browse
	Ping    *Ping
	Reach   *Reach // the bridge stores it in place of what it had
}

// Hello opens a link, and confirms a new session key.
type Hello struct {
	Protocol     int
	BridgeID     string
	Token        string // the binding token; empty once the bridge has a key
	Key          string // the session key
	Epoch        string // of the bridge's buffer
	Version      string // of the bridge's program
	ManifestHash string // changes with the manifest; see Manifest.Hash
	Unreachable  string // the engine that the bridge was sent to by ErrElsewhere and does not reach; empty for none
}

// Welcome accepts a bridge.
type Welcome struct {
	EngineID     string
	Key          string // a session key, in exchange for the token; empty if Hello had a key
	Position     uint64 // the last entry of the epoch that is stored; the next batch begins after it
	WantManifest bool   // the bridge sends its manifest before the first batch
	Reach        Reach
	Time         time.Time // the engine's clock, as in Ping
}

// Reach is how a bridge reaches the engines of its plant.
type Reach struct {
	// Pins are the keys that the certificates of the engines may have, in the form of BindRequest.EnginePins. Empty: the bridge keeps those that it has.
	Pins []string
	// URLs are where the engines are reached, beside BindRequest.EngineURL.
	URLs []string
	// Silence is how long the bridge waits for a frame of the engine, in place of SilenceLimit; 0: SilenceLimit. Where other engines are ready to take the
	// link over, one that hangs is given up soon. The engine sends at least three Pings in that time.
	Silence time.Duration
}

// Names extends the dictionary of a session: Names[i] is the tag with index First+i, without the driver's prefix. An index keeps its
// name for the whole epoch. The bridge sends the dictionary in each session, from 0 in order, before it uses an index.
type Names struct {
	First uint32
	Names []string
}

// Batch delivers a block.
type Batch struct {
	Block
	Late int // leading entries that Live frames have overtaken: history, not current values
}

// Live delivers the newest values of tags, ahead of the batches. They come again in a batch.
type Live struct {
	Data []byte // samples in the form of Encode
}

// Ack reports that all entries up to Through are stored.
type Ack struct {
	Through uint64
}

// Write asks the bridge to write a value.
type Write struct {
	ID       uint64 // unique within the link
	Tag      string // without the driver's prefix
	Value    tags.Value
	Deadline time.Time // by the engine's clock, see Ping
}

// The outcomes of a write.
const (
	OutcomeDone      = "done"      // the device took the value
	OutcomeFailed    = "failed"    // the device certainly did not take it
	OutcomeUncertain = "uncertain" // the device may have taken it
)

// Written reports the outcome of a write. Bridges report outcomes in the order of the writes.
type Written struct {
	ID      uint64
	Outcome string
	Error   string // unless done
}

// Ping has the engine's clock, which neither steps nor is adjusted within a link. The bridge answers each with a Pong and estimates the engine's clock
// from the Ping that came fastest, on its own monotonic clock.
type Ping struct {
	Time time.Time
}

// Pong answers a Ping.
type Pong struct {
	Time   time.Time // of the Ping
	Buffer Buffer
}

// Buffer is what waits at a bridge.
type Buffer struct {
	Waiting       uint64  `json:"waiting"`                 // entries that wait for their acknowledgement
	Bytes         int64   `json:"bytes"`                   // on disk; in memory, of data
	MaxBytes      int64   `json:"maxBytes"`                // the limit of Bytes; 0 if there is none
	Dropped       uint64  `json:"dropped"`                 // entries that the buffer has lost, by its size or their age
	OldestSeconds float64 `json:"oldestSeconds,omitempty"` // age of the oldest entry that waits; 0 for none
}

// Released reports that the bridge was made free by somebody else than the engine. The engine ends the link.
type Released struct{}

// Browse asks for the points of the bridge's device.
type Browse struct {
	ID uint64
}

// Browsed answers Browse.
type Browsed struct {
	ID    uint64
	Tags  []ManifestTag
	Error string
}
