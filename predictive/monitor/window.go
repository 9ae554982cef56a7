package monitor

import (
	"math/bits"
	"time"
)

// window has the last results of a target as bits, the newest lowest.
type window struct {
	state    State
	positive uint64
	count    int
	sampled  time.Time // of the last anomaly that counted
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
