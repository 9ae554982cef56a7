package bridge

import (
	"time"

	"github.com/otkit/otkit/discovery/link"
)

// recents are the newest blocks of the buffer, which are sent without reading them again. Not safe for concurrent use.
type recents struct {
	blocks []recentBlock // without the older ones
	bytes  int
	floor  uint64 // every entry of the buffer after this one is in blocks
}

type recentBlock struct {
	link.Block
	at   time.Time // when it was stored
	late bool      // all entries are history only
}

const (
	maxRecentBytes = 2 << 20
	maxRecent      = 512 // blocks
)

func (r *recents) reset(floor uint64) { *r = recents{floor: floor} }

func (r *recents) add(b recentBlock) {
	r.blocks = append(r.blocks, b)
	r.bytes += len(b.Data)
	for r.bytes > maxRecentBytes || len(r.blocks) > maxRecent {
		r.cut(1)
	}
}

// forget removes blocks up to a number, which nobody asks for again.
func (r *recents) forget(through uint64) {
	n := 0
	for n < len(r.blocks) && r.blocks[n].Last() <= through {
		n++
	}
	r.cut(n)
}

func (r *recents) cut(n int) {
	for i := range n {
		r.floor = r.blocks[i].Last()
		r.bytes -= len(r.blocks[i].Data)
	}
	clear(r.blocks[:n])
	r.blocks = r.blocks[n:]
	if len(r.blocks) == 0 {
		r.blocks = nil
	}
}

// after returns the blocks with entries after a number, at most so many, and whether these are all that the buffer has.
func (r *recents) after(number uint64, most int) (blocks []recentBlock, known bool) {
	if number < r.floor {
		return nil, false
	}
	for _, b := range r.blocks {
		if b.Last() > number && len(blocks) < most {
			blocks = append(blocks, b)
		}
	}
	return blocks, true
}
