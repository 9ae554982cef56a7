package tagsapi

import (
	"context"
	"sync"
	"time"

	"github.com/otkit/otkit/tags"
)

// maxWaits is how many calls of one caller may wait for outcomes of writes, since each holds a connection. More are answered immediately,
// with the writes as they are.
const maxWaits = 100

// waits are the calls that wait for an outcome.
type waits struct {
	ending context.Context // ends them, and later ones immediately
	end    context.CancelFunc

	mu sync.Mutex
	of map[string]int // by caller; none with 0
}

func newWaits() *waits {
	w := &waits{of: make(map[string]int)}
	w.ending, w.end = context.WithCancel(context.Background())
	return w
}

func (w *waits) enter(who string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[who] >= maxWaits {
		return false
	}
	w.of[who]++
	return true
}

func (w *waits) leave(who string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.of[who]--; w.of[who] == 0 {
		delete(w.of, who)
	}
}

// await returns a write when it has an outcome, or as it is when limit is over.
func (t *handlers) await(ctx context.Context, id string, limit time.Duration) (tags.Write, error) {
	who := t.caller(ctx)
	if !t.waits.enter(who) {
		return t.engine.GetWrite(ctx, id)
	}
	defer t.waits.leave(who)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(t.waits.ending, cancel)() // a stop of the server waits for no outcome
	return t.engine.AwaitWrite(ctx, id)
}
