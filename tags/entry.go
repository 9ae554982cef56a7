package tags

import (
	"cmp"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// entry is the engine's state of one tag. Its lock is never held across a driver call, and no two
// entries are locked at once; a subscription's lock may be taken inside it.
type entry struct {
	tag   atomic.Pointer[Tag]
	lower string // the name in lower case, for patterns

	mu      sync.Mutex
	fresh   time.Duration // how long a reading is good for; set by the runner
	pace    *pace         // of the group that the tag is polled in; nil when it is in none
	seen    time.Time     // when the last usable or pushed reading came; by time.Now, which a set clock does not move
	sample  Sample        // newest, in engineering units
	watches []watch
	counter *atomic.Uint64 // the engine's, of all changes
	wheel   *wheel         // the engine's
	planned int64          // slot of the wheel, 0 for none
	gone    atomic.Bool    // as removed, to be read without the lock

	// What was last sent to subscribers. The size of an entry counts: there are many of them.
	seq     uint64 // Change.Seq, 0 before the first
	value   Value
	at      time.Time // by time.Now, as seen
	quality Quality
	reason  Reason
	engine  int64 // Change.HistoryTime in µs if it is a time of the engine; 0 if it is that of the value

	pushed   bool // the device sent by itself what was last seen
	degraded bool // sample has the value of an older one, which is not good any more
	removed  bool
	recorded bool // see Change.Recorded
	remote   bool // see Change.Remote
	due      bool // the next sample is reported even if it is as before: it is the first of this engine
}

type watch struct {
	sub *Subscription
	i   int
}

func newEntry(t *Tag, now time.Time, reason Reason, counter *atomic.Uint64, w *wheel) *entry {
	e := &entry{lower: strings.ToLower(t.Name), counter: counter, wheel: w}
	e.tag.Store(t)
	e.sample = Sample{Quality: Bad, Reason: reason, SourceTime: now, ServerTime: now}
	return e
}

func (e *entry) snapshot() Snapshot {
	e.mu.Lock()
	defer e.mu.Unlock()
	return Snapshot{Tag: e.tag.Load(), Sample: e.sample}
}

// arrival is how a reading came.
type arrival struct {
	at    time.Time // by time.Now
	asked time.Time // when a poll requested it; zero for what the device sent by itself
	// forwarded: the newest value goes ahead of Late readings. Once it has come, times do not matter, because the
	// clock of the device may have been set in between.
	forwarded bool
}

// accept takes over the sample of c, which was made of the reading r by the definition c.Tag. It reports
// whether the change is to be reported. If so, it notifies the tag's subscriptions and completes c.
//
// A reading for an older definition may be of another address or device and is dropped; the runner
// reads the tag again within a second. What was requested before the device sent something by itself may be
// older than that and is dropped.
func (e *entry) accept(c *Change, r *Reading, came arrival) bool {
	next := &c.Sample
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.removed || e.tag.Load() != c.Tag || e.pushed && !came.asked.IsZero() && came.asked.Before(e.seen) {
		return false
	}
	c.Recorded, c.Remote = e.recorded, e.remote
	if r.Late && (came.forwarded && e.pushed && !e.degraded || !e.sample.Value.IsZero() && !next.SourceTime.After(e.sample.SourceTime)) {
		c.Seq, c.Late = e.counter.Add(1), true
		return true
	}
	if pushed := came.asked.IsZero() && !r.Late; pushed || next.Quality != Bad {
		e.seen, e.pushed = came.at, pushed
	}
	if next.Quality == Bad {
		if e.sample.Quality == Bad && e.sample.Reason == next.Reason {
			return false
		}
		if next.Value.IsZero() {
			next.Value = e.sample.Value
		}
		if c.Degraded = r.Err != nil; c.Degraded {
			next.SourceTime = e.sample.SourceTime
		}
	}
	if !e.set(c.Tag, next, came.at, c.Degraded) {
		return false
	}
	c.Seq = e.seq
	switch {
	case c.Degraded:
		e.fall(c, c.SourceTime)
	case !r.Late && e.restores(c):
		e.engine = c.moved
	case next.SourceTime.UnixMicro() > e.engine:
		e.engine = 0
	}
	return true
}

// restores reports whether a sample was taken before, and came after, the last change that history has by the time of the engine. If so, it moves
// the change to after that. What a Forwarder forwards has its own history.
func (e *entry) restores(c *Change) bool {
	source, server := c.SourceTime.UnixMicro(), c.ServerTime.UnixMicro()
	switch {
	case e.engine == 0 || e.recorded || source > e.engine:
		return false
	case server >= e.engine:
		c.moved = server
	case source > server && e.engine-server <= maxAhead.Microseconds(): // by the clock of the device, see fall
		c.moved = e.engine + 1
	default: // the engine's clock was set back
		return false
	}
	return true
}

// fall moves a change that tells a worse quality to after the value before it, which may have its time by a clock of the device that is ahead.
func (e *entry) fall(c *Change, value time.Time) {
	last, server := e.engine, c.ServerTime.UnixMicro()
	if last == 0 {
		last = value.UnixMicro()
	}
	if e.engine = server; !e.recorded && last > server && last-server <= maxAhead.Microseconds() {
		e.engine = last + 1
		c.moved = e.engine
	}
}

// degrade lowers the quality and keeps the value. It does nothing when the quality is as low already, or when the
// tag was removed meanwhile: its subscriptions may have given its place to another.
func (e *entry) degrade(q Quality, reason Reason, now time.Time) (Change, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lowerTo(q, reason, now)
}

// lowerTo is degrade with the lock held.
func (e *entry) lowerTo(q Quality, reason Reason, now time.Time) (Change, bool) {
	if e.removed || e.sample.Quality < q || e.sample.Quality == q && e.sample.Reason == reason && !e.due {
		return Change{}, false
	}
	next := e.sample
	next.Quality, next.Reason, next.ServerTime = q, reason, now
	return e.replace(next, true)
}

// replace is set for a sample that is not a reading.
func (e *entry) replace(next Sample, degraded bool) (Change, bool) {
	tag := e.tag.Load()
	value := e.sample.SourceTime
	told := e.set(tag, &next, time.Now(), degraded)
	c := Change{Tag: tag, Sample: next, Seq: e.seq, Degraded: degraded, Recorded: e.recorded, Remote: e.remote}
	if told {
		e.fall(&c, value)
	}
	return c, told
}

// set stores a sample and reports whether it is to be reported. The lock is held.
func (e *entry) set(tag *Tag, next *Sample, at time.Time, degraded bool) bool {
	e.sample, e.degraded = *next, degraded
	if e.planned == 0 {
		e.watchAge()
	}
	if e.seq > 0 && !e.due && !e.differs(tag, next, at) {
		return false
	}
	e.due = false
	e.seq = e.counter.Add(1)
	e.value, e.quality, e.reason, e.at = next.Value, next.Quality, next.Reason, at
	for _, w := range e.watches {
		w.sub.mark(w.i)
	}
	return true
}

// differs reports whether a sample differs enough from what was last reported. The lock is held.
func (e *entry) differs(tag *Tag, next *Sample, at time.Time) bool {
	if next.Quality != e.quality || next.Reason != e.reason {
		return true
	}
	band := &tag.Deadband
	if band.Heartbeat > 0 && at.Sub(e.at) >= band.Heartbeat {
		return true
	}
	if next.Value == e.value {
		return false
	}
	if band.Absolute == 0 && band.Percent == 0 {
		return true
	}
	was, ok1 := e.value.Float()
	is, ok2 := next.Value.Float()
	if !ok1 || !ok2 || next.Value.kind == kindBool {
		return true
	}
	diff := math.Abs(is - was)
	if band.Absolute > 0 && diff >= band.Absolute {
		return true
	}
	return band.Percent > 0 && diff >= band.Percent/100*(*tag.Max-*tag.Min)
}

// maxAhead is how far a device's clock may be ahead of the engine's. A time beyond it is a fault of the
// device, and would hide every later sample in history.
const maxAhead = 24 * time.Hour

// sampleOf turns a driver's reading into a sample in engineering units.
func sampleOf(tag *Tag, r *Reading, now time.Time) Sample {
	s := Sample{Quality: r.Quality, SourceTime: r.Time, ServerTime: now}
	if s.SourceTime.IsZero() || s.SourceTime.Sub(now) > maxAhead {
		s.SourceTime = now
	}
	if r.Err != nil {
		s.Quality, s.Reason = Bad, reasonOf(r.Err)
		return s
	}
	if r.Quality == Bad && r.Value.IsZero() {
		s.Reason = r.reason()
		return s
	}
	v, ok := tag.engineering(r.Value)
	if !ok {
		s.Quality, s.Reason = Bad, ReasonType
		return s
	}
	s.Value = v
	switch {
	case s.Quality != Good:
		s.Reason = r.reason()
	case tag.outside(v):
		s.Quality, s.Reason = Uncertain, ReasonOutOfRange
	}
	return s
}

// reason returns why the device's value is not good. That a tag was removed is for the engine alone to say: rules end the
// alarms of such a tag.
func (r *Reading) reason() Reason {
	if r.Reason == ReasonRemoved {
		return ReasonDriver
	}
	return cmp.Or(r.Reason, ReasonDriver)
}

// engineering applies value = raw*Scale + Offset and the tag's data type. An Int is rounded to the
// nearest whole number.
func (t *Tag) engineering(raw Value) (Value, bool) {
	if raw.IsZero() {
		return Value{}, false
	}
	if n, ok := t.integerEngineering(raw); ok {
		return IntValue(n), true
	}
	numeric := raw.kind == kindInt || raw.kind == kindFloat
	if numeric && (t.scaled() || raw.Type() != t.DataType) {
		f, _ := raw.Float()
		if d, ok := part(t.scale()); ok {
			return t.number(f/d + t.Offset)
		}
		return t.number(f*t.scale() + t.Offset)
	}
	return raw, raw.Type() == t.DataType
}

// raw is the inverse of engineering, for writes.
func (t *Tag) raw(v Value) (Value, bool) {
	if n, ok := t.integerRaw(v); ok {
		return IntValue(n), true
	}
	if f, ok := v.Float(); ok && t.scaled() && v.kind != kindBool {
		return t.number((f - t.Offset) / t.scale())
	}
	return v, true
}

// part returns 10 for a scale of 0.1, and so on: 569/10 is 56.9, while 569*0.1 is a little more.
func part(scale float64) (d float64, ok bool) {
	d = math.Round(1 / scale)
	return d, 1/d == scale
}

func (t *Tag) number(f float64) (Value, bool) {
	if t.DataType == Int {
		f = math.Round(f)
		if f < -1<<63 || f >= 1<<63 || math.IsNaN(f) {
			return Value{}, false
		}
		return IntValue(int64(f)), true
	}
	if t.DataType != Float {
		return Value{}, false
	}
	v := FloatValue(f)
	return v, !v.IsZero()
}

// outside reports whether a number lies outside the tag's limits. A Float that equals the limit in a 32-bit
// register is inside: the register holds 0.1 as a little more than 0.1.
func (t *Tag) outside(v Value) bool {
	if t.Min == nil && t.Max == nil || v.kind == kindBool {
		return false
	}
	f, ok := v.Float()
	if !ok || v.kind == kindFloat && (t.Min != nil && sameFloat32(f, *t.Min) || t.Max != nil && sameFloat32(f, *t.Max)) {
		return false
	}
	return t.Min != nil && f < *t.Min || t.Max != nil && f > *t.Max
}

// redefine takes a new definition over. What was read from another driver is not good any more, for
// the given reason; what was read by another type, address or scale is no value of this tag at all.
func (e *entry) redefine(t *Tag, reason Reason, now time.Time) (Change, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old := e.tag.Swap(t)
	switch {
	case !old.readsAs(t):
		return e.replace(Sample{Quality: Bad, Reason: reason, SourceTime: now, ServerTime: now}, false)
	case old.Driver != t.Driver:
		return e.lowerTo(Bad, reason, now)
	}
	return Change{}, false
}

// readsAs reports whether what was read by the definition t would be the same by the definition n.
func (t *Tag) readsAs(n *Tag) bool {
	return t.point() == n.point() && t.scale() == n.scale() && t.Offset == n.Offset
}

// remove marks the tag as removed for its subscriptions.
func (e *entry) remove(now time.Time) (Change, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c, told := e.lowerTo(Bad, ReasonRemoved, now)
	e.removed = true
	e.gone.Store(true)
	return c, told
}

// belongTo takes note of the driver that the tag is going to be attached to. A tag without a driver is what it was.
func (e *entry) belongTo(r *runner) {
	if r == nil {
		return
	}
	e.mu.Lock()
	e.recorded, e.remote = r.records(), r.onStandby()
	e.mu.Unlock()
}

// expect sets how long a reading is good for, from the tag's definition and polling interval, 0 for a tag
// that is not polled, whose reading is good until the next one.
func (e *entry) expect(interval time.Duration) {
	limit := e.tag.Load().StaleAfter
	if limit == 0 {
		limit = 3 * interval
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if shorter := limit < e.fresh; e.planned == 0 || shorter {
		e.fresh = limit
		e.watchAge()
	}
	e.fresh = limit
}

// follow makes p the pace by which the tag is polled.
func (e *entry) follow(p *pace) {
	e.mu.Lock()
	e.pace = p
	e.mu.Unlock()
}

// limit returns how old a reading may be: Tag.StaleAfter, or else three times the cycle that its
// driver can reach. The lock is held.
func (e *entry) limit() time.Duration {
	if e.pace != nil && e.tag.Load().StaleAfter == 0 {
		return max(e.fresh, 3*e.pace.reachable())
	}
	return e.fresh
}

// age lowers the quality of a reading that is too old: Uncertain at once, Bad after three times as long.
func (e *entry) age(now, at time.Time) (Change, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	old := at.Sub(e.seen)
	if e.remote || e.sample.Quality == Bad || e.fresh <= 0 || old <= e.fresh {
		return Change{}, false
	}
	switch limit := e.limit(); {
	case old <= limit:
		return Change{}, false
	case old/3 > limit:
		return e.lowerTo(Bad, ReasonStale, now)
	}
	return e.lowerTo(Uncertain, ReasonStale, now)
}
