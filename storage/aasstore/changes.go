package aasstore

import (
	"sync"

	"github.com/otkit/otkit/aas/repository"
)

// changeLog are the last changes of what documents are found by that this process has made, so that
// totals can follow them. Those of others show in aas_counts alone.
type changeLog struct {
	mu       sync.Mutex
	begun    int64 // writes
	ended    int64
	finished int64 // changes
	list     []madeChange
}

// madeChange is one document of which aas_counts counts one change.
type madeChange struct {
	kind repository.Kind
	key  string
}

// maxChanges bounds the changes that are kept. A total that is further behind is counted again.
const maxChanges = 1000

// logMark is a moment between changes.
type logMark struct {
	finished int64 // changes that everybody sees who looks from now on
	begun    int64
	quiet    bool // no write is under way
}

func (c *changeLog) mark() logMark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return logMark{finished: c.finished, begun: c.begun, quiet: c.begun == c.ended}
}

// still reports whether no change was made since a mark.
func (c *changeLog) still(m logMark) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return m.quiet && c.begun == m.begun
}

// begin is called before a write begins, end when it has ended, with what it has changed.
func (c *changeLog) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
}

func (c *changeLog) end(made []madeChange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended++
	c.finished += int64(len(made))
	c.list = append(c.list, made...)
	if len(c.list) > 2*maxChanges {
		c.list = append([]madeChange(nil), c.list[len(c.list)-maxChanges:]...)
	}
}

// between returns the changes of documents of two kinds after one number of changes up to another.
// complete reports whether all of them are still known.
func (c *changeLog) between(after, upTo int64, one, other repository.Kind) (list []madeChange, complete bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.finished - int64(len(c.list))
	if after < first || after > upTo {
		return nil, false
	}
	for _, change := range c.list[after-first : upTo-first] {
		if change.kind == one || change.kind == other {
			list = append(list, change)
		}
	}
	return list, true
}
