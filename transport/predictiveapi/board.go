package predictiveapi

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/otkit/otkit/predictive"
)

// maxPosted bounds the jobs of a board.
const maxPosted = 200

// board has the newest state of each job, so that a slow reader of the stream costs nothing.
type board struct {
	run string // tells its positions from those of others

	mu       sync.Mutex
	list     []posted // the oldest job first
	position uint64
	changed  chan struct{} // closed by the next change
}

type posted struct {
	predictive.Job
	position uint64
}

// newBoard returns a board with jobs, the newest first.
func newBoard(run string, jobs []predictive.Job) *board {
	b := &board{run: run, changed: make(chan struct{})}
	for _, j := range slices.Backward(jobs) {
		b.put(j)
	}
	return b
}

func (b *board) put(j predictive.Job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.position++
	if i := slices.IndexFunc(b.list, func(p posted) bool { return p.ID == j.ID }); i >= 0 {
		b.list[i] = posted{j, b.position}
	} else {
		b.list = append(b.list, posted{j, b.position})
		b.list = slices.Delete(b.list, 0, max(len(b.list)-maxPosted, 0))
	}
	close(b.changed)
	b.changed = make(chan struct{})
}

// since returns the jobs that changed after a position, the oldest job first, the position of the newest change, and a channel that the
// next one closes.
func (b *board) since(position uint64) (jobs []predictive.Job, now uint64, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range b.list {
		if p.position > position {
			jobs = append(jobs, p.Job)
		}
	}
	return jobs, b.position, b.changed
}

// eventID returns the id of an event that has the changes up to a position.
func (b *board) eventID(position uint64) string {
	return b.run + "." + strconv.FormatUint(position, 10)
}

// parse reads the id of an event, and reports whether it is one of this board.
func (b *board) parse(eventID string) (position uint64, ok bool) {
	text, ok := strings.CutPrefix(eventID, b.run+".")
	position, err := strconv.ParseUint(text, 10, 64)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !ok || err != nil || position > b.position {
		return 0, false
	}
	return position, true
}
