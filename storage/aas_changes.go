package storage

import (
	"sync"

	"github.com/otkit/otkit/aas"
)

// aasChanges are the last changes of what documents are found by that this process has made, so that
// totals can follow them. Those of others show in aas_counts alone.
type aasChanges struct {
	mu       sync.Mutex
	begun    int64 // writes
	ended    int64
	finished int64 // changes
	list     []aasChange
}

// aasChange is one document of which aas_counts counts one change.
type aasChange struct {
	kind aas.Kind
	key  string
}

// maxChanges bounds the changes that are kept. A total that is further behind is counted anew.
const maxChanges = 1000

// aasMark is a moment between changes.
type aasMark struct {
	finished int64 // changes that everybody sees who looks from now on
	begun    int64
	quiet    bool // no write is under way
}

func (c *aasChanges) mark() aasMark {
	c.mu.Lock()
	defer c.mu.Unlock()
	return aasMark{finished: c.finished, begun: c.begun, quiet: c.begun == c.ended}
}

// still says whether no change was made since a mark.
func (c *aasChanges) still(m aasMark) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return m.quiet && c.begun == m.begun
}

// begin is called before a write begins, end when it has ended, with what it has changed.
func (c *aasChanges) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begun++
}

func (c *aasChanges) end(made []aasChange) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended++
	c.finished += int64(len(made))
	c.list = append(c.list, made...)
	if len(c.list) > 2*maxChanges {
		c.list = append([]aasChange(nil), c.list[len(c.list)-maxChanges:]...)
	}
}

// between gives the changes of documents of two kinds after one number of changes up to another.
// complete says whether all of them are still known.
func (c *aasChanges) between(after, upTo int64, one, other aas.Kind) (list []aasChange, complete bool) {
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
