package bridge

import (
	"context"
	"time"

	"github.com/otkit/otkit/discovery/link"
)

const (
	liveInterval     = 100 * time.Millisecond
	lagLimit         = 500 * time.Millisecond // of an entry that was not sent: beyond it, newest values go ahead
	manifestInterval = time.Second
	peekBytes        = 1 << 20
	mergeCount       = 8000 // entries of one batch that was made of several small blocks
	mergeBytes       = 256 << 10
	mergeBlocks      = 512
)

// sender sends what is collected, in its own goroutine.
type sender struct {
	*session
	rate   time.Duration // for each entry that waited
	hash   string        // of the manifest that the engine has
	want   bool          // the engine wants the manifest
	names  int           // of the dictionary that the engine has
	cursor uint64        // all entries up to this one are sent, or lost

	peeked  []link.Block
	unacked []onTheWay
	bytes   int // of these

	live       bool
	overtaken  uint64 // Live frames have overtaken all entries up to this one
	nextLive   time.Time
	drainAt    time.Time // no entries that were overtaken before this
	counted    uint64    // numbers up to this one were there from the begin, or drainAt does without them
	manifestAt time.Time // not before this
}

type onTheWay struct {
	last  uint64
	bytes int
}

func newSender(s *session, w link.Welcome) *sender {
	_, waiting := s.collector.ahead()
	return &sender{session: s, rate: time.Second / time.Duration(s.host.o.DrainPerSecond), hash: s.hash, want: w.WantManifest,
		cursor: w.Position, counted: waiting}
}

// run sends until ctx ends or the link breaks.
func (s *sender) run(ctx context.Context) error {
	if err := s.sendManifest(ctx); err != nil {
		return nilOnEOF(err)
	}
	// The engine may have restarted: it gets the newest value of each tag, also if nothing waits.
	s.lag(0)
	for ctx.Err() == nil {
		grown := s.collector.grown.C()
		wait, err := s.step(ctx)
		if err != nil {
			return nilOnEOF(err)
		}
		var timer *time.Timer
		var due <-chan time.Time
		if wait >= 0 {
			timer = time.NewTimer(wait)
			due = timer.C
		}
		select {
		case <-grown:
		case <-s.acks.C():
		case <-s.host.manifests.changed.C():
		case <-due:
		case <-ctx.Done():
		}
		if timer != nil {
			timer.Stop()
		}
	}
	return nil
}

// step sends what can be sent now. It returns when to look again at the latest; -1 for never.
func (s *sender) step(ctx context.Context) (time.Duration, error) {
	s.settle()
	for {
		now := time.Now()
		if s.live && !now.Before(s.nextLive) {
			if err := s.sendLive(); err != nil {
				return 0, err
			}
			s.nextLive = time.Now().Add(liveInterval)
		}
		if s.host.manifestStale() || s.want {
			if wait := s.manifestAt.Sub(now); wait > 0 {
				return s.sooner(wait), nil // entries of new tags must come after the manifest
			}
			if err := s.sendManifest(ctx); err != nil {
				return 0, err
			}
		}
		if s.full() {
			return s.behind(), nil
		}
		batch, wait, err := s.next(ctx)
		if err != nil {
			return 0, err
		}
		if batch == nil {
			if wait > 0 {
				return s.sooner(wait), nil
			}
			return s.caughtUp(), nil
		}
		if err := s.sendBatch(batch); err != nil {
			return 0, err
		}
	}
}

// settle takes acknowledged batches out of the window.
func (s *sender) settle() {
	s.mu.Lock()
	acked := s.acked
	s.mu.Unlock()
	n := 0
	for n < len(s.unacked) && s.unacked[n].last <= acked {
		s.bytes -= s.unacked[n].bytes
		n++
	}
	s.unacked = s.unacked[n:]
}

func (s *sender) full() bool {
	return len(s.unacked) >= link.MaxUnackedBatches || s.bytes+mergeBytes > link.MaxUnackedBytes
}

// lag lets newest values go ahead of entries after a number, beginning now.
func (s *sender) lag(after uint64) {
	s.live, s.nextLive = true, time.Time{}
	s.collector.goLive(after)
}

// behind returns when to look again while the window is full.
func (s *sender) behind() time.Duration {
	if s.live {
		return time.Until(s.nextLive)
	}
	age, waits := s.collector.oldestAfter(s.epoch, s.cursor)
	switch {
	case !waits:
		return -1
	case age < lagLimit:
		return lagLimit - age
	}
	s.lag(s.cursor)
	return 0
}

// sooner returns the wait, or less when a Live frame is due earlier.
func (s *sender) sooner(wait time.Duration) time.Duration {
	if s.live {
		return min(wait, time.Until(s.nextLive))
	}
	return wait
}

// caughtUp is called when everything is sent.
func (s *sender) caughtUp() time.Duration {
	if s.live {
		s.collector.endLive()
		s.live = false
	}
	return -1
}

// again is the wait before something that can be done immediately.
const again = time.Nanosecond

// next returns the next batch, or nil: when nothing waits, or only after a time.
func (s *sender) next(ctx context.Context) (*recentBlock, time.Duration, error) {
	if wait := time.Until(s.drainAt); s.cursor < s.overtaken && wait > 0 {
		return nil, wait, nil
	}
	if blocks, known := s.collector.after(s.epoch, s.cursor, mergeBlocks); known {
		s.peeked = nil
		if len(blocks) == 0 {
			return nil, 0, nil
		}
		return merge(blocks), 0, nil
	}
	if !s.live {
		s.lag(s.cursor)
		return nil, again, nil
	}
	if len(s.peeked) == 0 {
		floor := s.collector.floor()
		peeked, err := s.host.o.Buffer.Peek(ctx, s.epoch, s.cursor, peekBytes)
		switch {
		case err != nil && s.host.checkEpoch(ctx):
			return nil, 0, errRenewed
		case err != nil:
			return nil, 0, err
		case len(peeked) == 0: // what was there has given way to newer entries
			s.cursor = max(s.cursor, floor)
			return nil, again, nil
		}
		s.peeked = peeked
	}
	return s.fromPeeked(), 0, nil
}

// fromPeeked takes a batch from what was read from the buffer.
func (s *sender) fromPeeked() *recentBlock {
	blocks := make([]recentBlock, min(len(s.peeked), mergeBlocks))
	for i := range blocks {
		blocks[i].Block = s.peeked[i]
	}
	batch := merge(blocks)
	n := 0
	for n < len(s.peeked) && s.peeked[n].Last() <= batch.Last() {
		n++
	}
	s.peeked = s.peeked[n:]
	return batch
}

// merge returns the first of the blocks, together with those that follow it if they are small: an engine stores few large batches faster.
func merge(blocks []recentBlock) *recentBlock {
	first := blocks[0]
	n, count, size := 1, first.Count, len(first.Data)
	for ; n < len(blocks); n++ {
		b := &blocks[n]
		count, size = count+b.Count, size+len(b.Data)
		if first.Count >= chunkEntries || b.Count >= chunkEntries || b.First != blocks[n-1].Last()+1 || b.late != first.late ||
			count > mergeCount || size > mergeBytes {
			break
		}
	}
	if n == 1 {
		return &first
	}
	var entries []link.Entry
	for i := range blocks[:n] {
		var err error
		if entries, err = link.Decode(blocks[i].Data, entries); err != nil {
			return &first // the engine says what is wrong with it
		}
	}
	return &recentBlock{Block: link.Block{First: first.First, Count: len(entries), Data: link.Encode(entries)}, late: first.late}
}

func (s *sender) sendBatch(b *recentBlock) error {
	if err := s.sendNames(); err != nil {
		return err
	}
	last, late := b.Last(), 0
	switch {
	case b.late || s.overtaken >= last:
		late = b.Count
	case s.overtaken >= b.First:
		late = int(s.overtaken - b.First + 1)
	}
	s.slow(late)
	s.mu.Lock()
	s.sent = last // before it is sent: the acknowledgement may be quick
	s.mu.Unlock()
	s.host.delivered(last, 0)
	s.unacked = append(s.unacked, onTheWay{last, len(b.Data)})
	s.bytes += len(b.Data)
	s.cursor = last
	return s.conn.Send(link.FromBridge{Batch: &link.Batch{Block: b.Block, Late: late}})
}

// slow sets when entries that were overtaken are sent again. What the plant has added meanwhile does not count: else a busy one would keep its backlog
// for ever.
func (s *sender) slow(late int) {
	_, collected := s.collector.ahead()
	if late == 0 {
		s.counted = collected
	}
	added := min(collected-min(s.counted, collected), uint64(late)) //nolint:gosec // not negative
	s.counted += added
	if now := time.Now(); s.drainAt.Before(now) {
		s.drainAt = now
	}
	s.drainAt = s.drainAt.Add(time.Duration(late-int(added)) * s.rate) //nolint:gosec // at most late
}

// sendLive sends the newest values of the tags that have changed.
func (s *sender) sendLive() error {
	n, through := s.collector.ahead()
	for n > 0 {
		samples := s.collector.takeLive(n)
		if len(samples) == 0 {
			break
		}
		n -= len(samples)
		if err := s.sendNames(); err != nil {
			return err
		}
		if err := s.conn.Send(link.FromBridge{Live: &link.Live{Data: link.Encode(samples)}}); err != nil {
			return err
		}
	}
	s.overtaken = through
	return nil
}

// sendNames sends what is new in the dictionary.
func (s *sender) sendNames() error {
	names := s.collector.namesFrom(s.names)
	if len(names) == 0 {
		return nil
	}
	first := s.names
	s.names += len(names)
	return s.conn.Send(link.FromBridge{Names: &link.Names{First: uint32(first), Names: names}})
}

// sendManifest sends the manifest if the engine wants it or has another one, and the dictionary, which follows it.
func (s *sender) sendManifest(ctx context.Context) error {
	start := time.Now()
	if s.host.manifestStale() || s.want {
		m, hash, err := s.host.freshManifest(ctx)
		if err != nil {
			return err
		}
		if s.want || hash != s.hash {
			if err := s.conn.Send(link.FromBridge{Manifest: &m}); err != nil {
				return err
			}
		}
		s.hash, s.want = hash, false
	}
	s.manifestAt = time.Now().Add(max(manifestInterval, 5*time.Since(start)))
	return s.sendNames()
}
