package heapfloor

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// slack is how much more than half as much again as before a heap may take before it is trimmed, in bytes.
const slack = 8 << 20

// Trim looks at the heap at an interval until stop is called, and returns memory to the system when the heap has grown far beyond what it took
// after the last time: after a peak, such as hashing a password, a process that does little would keep the memory for minutes. It is for
// the process as a whole, so for main.
func Trim(interval time.Duration) (stop func()) {
	done := make(chan struct{})
	var wg sync.WaitGroup
	base, tries := held(), 0
	wg.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			if held() <= most(base) {
				continue
			}
			debug.FreeOSMemory()
			// What is still held may be in use for a moment only: it counts as the new size after a few tries.
			if tries++; held() <= most(base) || tries == maxTries {
				base, tries = held(), 0
			}
		}
	})
	return sync.OnceFunc(func() {
		close(done)
		wg.Wait()
	})
}

const maxTries = 5

func most(base uint64) uint64 { return base + base/2 + slack }

// held returns the bytes of the heap that the process has from the system.
func held() (sum uint64) {
	samples := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}, {Name: "/memory/classes/heap/free:bytes"}}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += s.Value.Uint64()
		}
	}
	return sum
}
