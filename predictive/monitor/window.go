package monitor

import (
	"container/list"
	"math/bits"
	"time"
)

// window has the last results of a target as bits, the newest lowest.
type window struct {
	state    State
	positive uint64
	count    int
	newest   time.Time     // sample of the last result that counted, or the step that it is in
	life     time.Time     // when the life began that the results are of, zero if it is not known
	asked    time.Duration // when it was predicted for last, or came; see Monitor.elapsed
	turn     *list.Element // of Monitor.turns
}

// fresh reports whether a newest sample, or the step that it is in, is another one than that of the last result that counted. Zero, from a
// predictor that does not tell it, always is.
func (w *window) fresh(newest time.Time) bool {
	fresh := newest.IsZero() || !newest.Equal(w.newest)
	w.newest = newest
	return fresh
}

// live forgets the results of a life before. What was replaced does not fail any more.
func (w *window) live(start time.Time) {
	if !start.After(w.life) {
		return
	}
	w.life, w.positive, w.count = start, 0, 0
	if w.state == Failing {
		w.state = Normal
	}
}

// add counts a result: the target is Failing from n positive ones among the last m, and Normal again when at most clearing ones
// among m are positive. Between, the state stays.
func (w *window) add(positive bool, n, m, clearing int) {
	w.positive <<= 1
	if positive {
		w.positive |= 1
	}
	w.positive &= 1<<m - 1
	w.count = min(w.count+1, m)
	switch found := bits.OnesCount64(w.positive); {
	case found >= n:
		w.state = Failing
	case w.count == m && found <= clearing:
		w.state = Normal
	}
}
