package rules

import "time"

// recent has the times of the last late samples of a tag, so that a sample that is repeated or comes out of order is told
// from one after the clock was set back. The zero recent is ready.
type recent struct {
	at      [16]int64
	n       int // how many there were
	skipped int // since the last one that was taken
}

// timeOrder is how the time of a sample relates to those before.
type timeOrder uint8

const (
	timeNewer timeOrder = iota
	timeRepeated
	timeSkipped // between those before
	timeSetBack
)

// take adds the time of a sample, unless it is repeated or skipped.
func (q *recent) take(at time.Time) timeOrder {
	t := at.UnixNano()
	if q.n > 0 && t <= q.at[(q.n-1)%len(q.at)] {
		oldest := t
		for _, one := range q.at[:min(q.n, len(q.at))] {
			if one == t {
				return timeRepeated
			}
			oldest = min(oldest, one)
		}
		if q.skipped++; oldest < t && q.skipped <= len(q.at) {
			return timeSkipped
		}
		*q = recent{}
		q.add(t)
		return timeSetBack
	}
	q.add(t)
	return timeNewer
}

func (q *recent) add(t int64) {
	q.at[q.n%len(q.at)] = t
	q.n++
	q.skipped = 0
}
