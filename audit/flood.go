package audit

import (
	"fmt"
	"sync"
	"time"
)

// flood counts the entries that strangers cause, a minute at a time.
type flood struct {
	limit int

	mu      sync.Mutex
	since   time.Time // when the minute began
	stored  int       // entries in this minute
	skipped int       // entries that were only counted
}

// allow reports whether one more entry may be stored now.
func (f *flood) allow(now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if age := now.Sub(f.since); age >= time.Minute || age < 0 {
		f.since, f.stored = now, 0
	}
	if f.stored < f.limit {
		f.stored++
		return true
	}
	f.skipped++
	return false
}

// skippedSince returns and resets the number of entries that were only counted.
func (f *flood) skippedSince() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.skipped
	f.skipped = 0
	return n
}

// SkippedAction is the action of entries that count what [Log.RecordRefused] did not record one by one.
const SkippedAction = "refusedNotListed"

func (l *Log) recordFlood() {
	if n := l.flood.skippedSince(); n > 0 {
		l.Record(Act{Actor: System, Via: "internal", Action: SkippedAction},
			Result{Outcome: Refused, Detail: fmt.Sprintf("%d further refusals were not recorded one by one", n)})
	}
}
