package linked

import (
	"context"
	"sync"

	"github.com/otkit/otkit/discovery/link"
	"github.com/otkit/otkit/tags"
)

// live has the newest value of each tag of a link, and passes values on that come ahead of the batches.
type live struct {
	mu      sync.Mutex // also held while emit is called, so that an older value never follows a newer one
	newest  []newest   // by index in the dictionary
	emit    func(i int, r tags.Reading)
	targets *targets // the points of emit
	count   uint64   // frames that were received
}

type newest struct {
	reading tags.Reading
	known   bool
	current bool // it is not one of a late sample
	// overtaken is the last entry that was received before the value came ahead of the batches: those up to it are late,
	// also where their batch was sent as current.
	overtaken uint64
}

func newLive() *live { return &live{} }

func readingOf(s *link.Sample, late bool) tags.Reading {
	return tags.Reading{Value: s.Value, Quality: s.Quality, Reason: s.Reason, Time: s.Time, Late: late}
}

// takeLive takes values that came ahead.
func (s *session) takeLive(l *link.Live) error {
	if len(l.Data) > link.MaxData {
		return link.ErrProtocol.Because("%d bytes of live values, at most %d are allowed", len(l.Data), link.MaxData)
	}
	entries, err := link.Decode(l.Data, nil)
	if err != nil {
		return link.ErrProtocol.Because("live values: %v", err)
	}
	s.live.ahead(entries, s.names(), s.queue.newest())
	return nil
}

func (l *live) ahead(entries []link.Entry, names []string, last uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.grow(len(names))
	l.count++
	for i := range entries {
		e := &entries[i]
		if e.Event != nil || int(e.Tag) >= len(names) {
			continue // it comes again in a batch, where it is counted
		}
		r := readingOf(&e.Sample, false)
		l.newest[e.Tag] = newest{reading: r, known: true, current: true, overtaken: last}
		if l.emit == nil {
			continue
		}
		l.targets.emit(l.emit, e.Tag, names, r)
	}
}

func (l *live) grow(n int) {
	if n > len(l.newest) {
		l.newest = append(l.newest, make([]newest, n-len(l.newest))...)
	}
}

// delivered notes a sample of a batch before it is stored, and reports whether it is late. The lock is held.
func (l *live) delivered(s *link.Sample, number uint64, late bool) bool {
	n := &l.newest[s.Tag]
	late = late || number <= n.overtaken
	if !late || !n.current { // whatever their times: the bridge's clock may have been set
		n.reading, n.known, n.current = readingOf(s, false), true, !late
	}
	return late
}

// repair emits again what came ahead of the batches while older values of the same tags were stored, which were current before. seen is the
// count of before.
func (l *live) repair(readings []tags.Forwarded, sources []source, seen uint64, names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count == seen || l.emit == nil {
		return
	}
	for i, from := range sources {
		n := &l.newest[from.tag]
		if !readings[i].Reading.Late && from.number <= n.overtaken {
			l.targets.emit(l.emit, from.tag, names, n.reading)
		}
	}
}

// read sets out to the newest readings of points.
func (l *live) read(names []string, points []tags.Point, out []tags.Reading) {
	index := make(map[string]int, len(names))
	for i, name := range names {
		index[name] = i
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, p := range points {
		if k, ok := index[p.Address]; ok && k < len(l.newest) && l.newest[k].known {
			out[i] = l.newest[k].reading
		} else {
			out[i].Err = tags.ErrNoSuchAddress
		}
	}
}

// Subscribe implements tags.Subscriber.
func (b *bridge) Subscribe(ctx context.Context, points []tags.Point, emit func(i int, r tags.Reading)) error {
	s := b.current()
	if s == nil {
		return tags.ErrNotConnected
	}
	s.live.subscribe(newTargets(points), emit, s.names)
	defer s.live.unsubscribe()
	select {
	case <-ctx.Done():
		return nil
	case <-s.ctx.Done():
		return tags.ErrNotConnected
	}
}

// subscribe emits what is known and lets values follow.
func (l *live) subscribe(t *targets, emit func(i int, r tags.Reading), names func() []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.emit, l.targets = emit, t
	all := names()
	for i := range l.newest {
		if !l.newest[i].known {
			continue
		}
		t.emit(emit, uint32(i), all, l.newest[i].reading)
	}
}

func (l *live) unsubscribe() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.emit, l.targets = nil, nil
}

// targets finds the points of tags.
type targets struct {
	byName  map[string]int
	same    map[int]int // the next point with the same address: people may define several tags of one
	byIndex []int32     // by index in the dictionary, -1 for none; as far as it was asked for
}

func newTargets(points []tags.Point) *targets {
	t := &targets{byName: make(map[string]int, len(points)), same: make(map[int]int)}
	for i, p := range points {
		if next, ok := t.byName[p.Address]; ok {
			t.same[i] = next
		}
		t.byName[p.Address] = i
	}
	return t
}

// emit emits a reading of a tag.
func (t *targets) emit(emit func(i int, r tags.Reading), index uint32, names []string, r tags.Reading) {
	for point := t.point(index, names); point >= 0; point = t.next(point) {
		emit(point, r)
	}
}

// next returns the next point of the tag of a point, -1 for none.
func (t *targets) next(point int) int {
	if next, ok := t.same[point]; ok {
		return next
	}
	return -1
}

// point returns the first point of a tag, -1 for none. The index is one of names.
func (t *targets) point(index uint32, names []string) int {
	for len(t.byIndex) <= int(index) {
		point, ok := t.byName[names[len(t.byIndex)]]
		if !ok {
			point = -1
		}
		t.byIndex = append(t.byIndex, int32(point))
	}
	return int(t.byIndex[index])
}
