package bridge

import (
	"log/slog"
	"sync"
	"time"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/internal/wake"
	"github.com/otkit/otkit/tags"
)

// Sizes of what the collector hands on.
const (
	chunkEntries = 1000
	chunkBytes   = 256 << 10
	collectDelay = 20 * time.Millisecond // from a change to the buffer
)

// collector numbers the changes of tags, in the order in which they come, and keeps them until they are in the buffer.
type collector struct {
	host *Host
	log  *slog.Logger
	max  int // bytes of entries

	work  wake.Signal    // there are entries, or somebody waits for them to be stored
	grown wake.Broadcast // there is more in the buffer, or an attempt to store has failed

	storing sync.Mutex // held while the buffer is written; taken before mu

	mu       sync.Mutex
	active   bool
	stop     func() // ends observing
	epoch    string
	base     uint64 // the last number that the buffer had when the collector began to use this epoch
	next     uint64 // number of the next entry
	records  map[string]*record
	byIndex  []*record // the dictionary
	durable  int       // so much of the dictionary is in the buffer
	overfull bool      // the dictionary is, and that was logged

	filling chunk
	full    []*chunk // oldest first
	bytes   int      // of both
	pending int      // entries of both

	stored   uint64 // the last number that is in the buffer
	attempts uint64 // to store
	err      error  // of the last attempt
	flush    bool   // somebody waits for what is in memory

	recent  recents // nobody reads blocks of the buffer again that are here
	dropped uint64  // from memory, since the start
	gap     uint64  // of these, those that no event has reported
	dropAt  time.Time

	lost     uint64 // entries that the buffer has dropped in this epoch, as far as it was asked
	unlogged uint64 // of these, those that the log does not have

	live  bool // newest values go ahead
	dirty []*record
}

// record is a tag that has been delivered in this epoch.
type record struct {
	name   string // without the driver's prefix
	index  uint32
	seq    uint64      // tags.Change.Seq of sample
	number uint64      // of the entry that has sample; 0 if there is none since the bridge was bound
	sample link.Sample // the newest
	dirty  bool
}

// chunk is entries with consecutive numbers that are a block, or will be one.
type chunk struct {
	first   uint64
	entries []link.Entry // while it is being filled
	block   []byte       // of count entries, once it is full: a burst of many tags takes a tenth of the memory
	count   int
	bytes   int
	late    bool // all entries are history only
}

const (
	entryBytes = 160 // in memory, without its text
	blockBytes = 128 // in memory, beside its data
)

func sizeOf(e *link.Entry) int {
	if e.Event != nil {
		return entryBytes + len(e.Event.Text)
	}
	return entryBytes + len(e.Value.Text())
}

// observe takes changes from the tag engine, in the goroutine of a driver.
func (c *collector) observe(changes []tags.Change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.active {
		return
	}
	for i := range changes {
		if changes[i].Tag.Driver == c.host.o.DriverID {
			c.change(&changes[i])
		}
	}
}

// change adds one change. The lock is held.
func (c *collector) change(ch *tags.Change) {
	r := c.record(ch.Tag)
	if r == nil {
		return
	}
	sample := link.Sample{Tag: r.index, Time: ch.HistoryTime(), Value: ch.Value, Quality: ch.Quality, Reason: ch.Reason}
	if ch.Late || ch.Seq < r.seq {
		// Older than what was delivered: from a device's own buffer, or two goroutines of the tag engine met.
		c.add(link.Entry{Sample: sample}, true)
		return
	}
	r.seq, r.sample = ch.Seq, sample
	r.number = c.add(link.Entry{Sample: sample}, false)
	c.overtake(r)
}

// overtake notes that a tag's newest value is to go ahead. The lock is held.
func (c *collector) overtake(r *record) {
	if c.live && !r.dirty {
		r.dirty = true
		c.dirty = append(c.dirty, r)
	}
}

// record returns the record of a tag, and notices new and changed ones. It returns nil if the dictionary has no space. The lock is held.
func (c *collector) record(t *tags.Tag) *record {
	name := c.host.tagName(t.Name)
	r := c.records[name]
	if r == nil {
		if len(c.byIndex) == link.MaxNames {
			if !c.overfull {
				c.overfull = true
				c.log.Error("tags are not delivered: too many names since the buffer was made", "tag", t.Name, "names", link.MaxNames)
			}
			return nil
		}
		r = &record{name: name, index: uint32(len(c.byIndex))}
		c.byIndex = append(c.byIndex, r)
		c.records[name] = r
	}
	return r
}

// add appends an entry, which is history only if it is late, and returns its number. The lock is held.
func (c *collector) add(e link.Entry, late bool) uint64 {
	size := sizeOf(&e)
	f := &c.filling
	if len(f.entries) > 0 && (f.bytes+size > chunkBytes || f.late != late) {
		c.seal()
	}
	if len(f.entries) == 0 {
		f.first, f.late = c.next, late
	}
	f.entries = append(f.entries, e)
	f.bytes += size
	c.bytes += size
	c.pending++
	n := c.next
	c.next++
	switch len(f.entries) {
	case 1:
		c.work.Set()
	case chunkEntries:
		c.seal()
		c.work.Set()
	}
	for c.bytes > c.max && len(c.full) > 0 {
		c.dropOldest()
	}
	return n
}

// seal ends the chunk that is being filled. The lock is held.
func (c *collector) seal() {
	f := &c.filling
	if len(f.entries) == 0 {
		return
	}
	full := &chunk{first: f.first, block: link.Encode(f.entries), count: len(f.entries), late: f.late}
	full.bytes = len(full.block) + blockBytes
	c.bytes += full.bytes - f.bytes
	c.full = append(c.full, full)
	clear(f.entries) // their texts
	c.filling = chunk{entries: f.entries[:0]}
}

func (c *collector) dropOldest() {
	old := c.full[0]
	c.full[0] = nil
	c.full = c.full[1:]
	c.bytes -= old.bytes
	c.pending -= old.count
	if c.gap == 0 {
		c.log.Error("samples dropped: the offline buffer does not take them", "error", c.err)
	}
	c.dropped += uint64(old.count)
	c.gap += uint64(old.count)
	c.dropAt = c.host.o.Now()
}

// event adds an event. The lock is held.
func (c *collector) event(kind, text string) {
	if c.active {
		c.add(link.Entry{Event: &link.Event{Kind: kind, Time: c.host.o.Now().UTC(), Text: text}}, false)
	}
}
