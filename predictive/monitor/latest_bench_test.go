package monitor_test

import (
	"fmt"
	"testing"

	"github.com/otkit/otkit/predictive/monitor"
)

// One poll of a follower after one result, among so many targets.
func BenchmarkLatestChanges(b *testing.B) {
	for _, n := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			var l monitor.Latest
			targets := make([]monitor.Target, n)
			for i := range targets {
				targets[i] = monitor.Target{Kind: monitor.Failure, Equipment: "pump", Name: fmt.Sprint("pump.", i)}
				l.Put(monitor.Result{Target: targets[i]})
			}
			_, _, position := l.Changes(0)
			i := 0
			for b.Loop() {
				l.Put(monitor.Result{Target: targets[i%n]})
				i++
				_, _, position = l.Changes(position)
			}
		})
	}
}
