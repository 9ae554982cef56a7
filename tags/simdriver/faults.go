package simdriver

import "time"

// number counts the cycles of a window since Start.
func (w Window) number(since time.Duration) int64 {
	if w.Every == 0 {
		return 0
	}
	return floorDiv(int64(since), int64(w.Every))
}

func (w Window) open(since time.Duration) bool {
	return w.Every > 0 && since >= w.opened(since)
}

// opened returns when the window of the present cycle opens; 0 for one that is always open.
func (w Window) opened(since time.Duration) time.Duration {
	if w.Every == 0 {
		return 0
	}
	return time.Duration(w.number(since)+1)*w.Every - w.For
}

// shares are the shares of points that have a fault at one time.
type shares struct{ err, stuck, uncertain float64 }

func (f Faults) at(since time.Duration) shares {
	return shares{err: f.Error.at(since), stuck: f.Stuck.at(since), uncertain: f.Uncertain.at(since)}
}

func (p PointFault) at(since time.Duration) float64 {
	if p.Window.Every == 0 || p.Window.open(since) {
		return p.Share
	}
	return 0
}
